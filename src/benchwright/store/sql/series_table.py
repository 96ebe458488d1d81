"""The series of `series_index` as columns of numbers: chosen, counted and ordered in milliseconds.

A loop over a hundred thousand takes a tenth of a second for each filter and each count beside one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from benchwright.store.archive import FacetValues, SeriesFilter
from benchwright.store.choices import facet_of, natural_key
from benchwright.store.sql.codec import plain
from benchwright.store.sql.counts import Sums
from benchwright.store.sql.series_index import SeriesIndex, pattern

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, numpy.dtype[Any]]

NAMES = 12  # parameters that are facets


class _Names:
    """The names in one column, each with a number."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.names: list[str] = []
        self._ranks: Array | None = None

    def code(self, name: str) -> int:
        found = self.codes.get(name)
        if found is None:
            found = self.codes[name] = len(self.names)
            self.names.append(name)
            self._ranks = None
        return found

    def table(self, fits: Callable[[str], bool]) -> Array:
        """Of each name whether it fits."""
        import numpy

        return numpy.fromiter((fits(name) for name in self.names), dtype=bool, count=len(self.names))

    def ranks(self) -> Array:
        """The place of each name in their order, numbers in them by size."""
        import numpy

        if self._ranks is None or len(self._ranks) != len(self.names):
            self._ranks = ranks_of(self.names)
        return numpy.asarray(self._ranks)


def ranks_of(names: Sequence[str]) -> Array:
    """The place of each of these names in their order: `batch_size=16` comes after `batch_size=8`."""
    import numpy

    order = sorted(range(len(names)), key=lambda place: (natural_key(names[place]), names[place]))
    ranks = numpy.empty(len(names), dtype=numpy.int64)
    ranks[order] = numpy.arange(len(names))
    return ranks


class SeriesTable:
    """The columns of all series. `at(connection)` is what is there now, which never changes afterwards."""

    def __init__(self, index: SeriesIndex) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._made: SeriesColumns | None = None

    def at(self, connection: Connection) -> SeriesColumns:
        """The columns of all the series that there are now."""
        made = self._made
        rows = self._index.rows(connection, len(made) if made is not None else -1)
        if made is not None and rows is None:
            return made
        with self._lock:  # one thread makes them, which takes a tenth of a second of a hundred thousand
            self._made = columns_of(rows or ())
            return self._made


def columns_of(rows: Iterable[tuple[int, str, str, str, str]]) -> SeriesColumns:
    """The columns of series, given by number, case, params, metric and machine."""
    import numpy

    names = {name: _Names() for name in ("case", "params", "metric", "machine")}
    numbers: list[int] = []
    codes: dict[str, list[int]] = {name: [] for name in names}
    pairs = _Names()  # "name=value" of params
    pairs_by_params: list[list[int]] = []
    for number, *told in rows:
        numbers.append(number)
        for (column, known), name in zip(names.items(), told, strict=True):
            code = known.code(name)
            codes[column].append(code)
            if column == "params" and code == len(pairs_by_params):
                pairs_by_params.append([pairs.code(pair) for pair in pairs_of(name)])
    flat = [(pair, params) for params, mine in enumerate(pairs_by_params) for pair in mine]
    pair_of, params_of = numpy.array(flat, dtype=numpy.int64).reshape(-1, 2).T
    return SeriesColumns(
        numbers=numpy.array(numbers, dtype=numpy.int64),
        names=names,
        codes={name: numpy.array(found, dtype=numpy.int64) for name, found in codes.items()},
        pairs=pairs,
        pair_of=pair_of,
        params_of=params_of,
    )


def pairs_of(params: str) -> list[str]:
    """`name=value` of each parameter in the JSON of a series."""
    try:
        found = json.loads(params)
    except ValueError:
        return []
    return [f"{name}={_shown(value)}" for name, value in found.items()] if isinstance(found, dict) else []


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class SeriesColumns:
    """The series of one moment: arrays of equal length."""

    def __init__(
        self,
        *,
        numbers: Array,
        names: Mapping[str, _Names],
        codes: Mapping[str, Array],
        pairs: _Names,
        pair_of: Array,
        params_of: Array,
    ) -> None:
        self.numbers = numbers
        self._settled: tuple[Mapping[int, int], Array] | None = None  # what was counted, and which of these it has
        self._names, self._codes = names, codes
        self._pairs, self._pair_of, self._params_of = pairs, pair_of, params_of

    def __len__(self) -> int:
        return len(self.numbers)

    def alive(self, counts: Sums[int, int]) -> Array:
        """Which of the series have points. Of what is settled it is remembered."""
        import numpy

        known = self._settled
        if known is None or known[0] is not counts.settled:
            known = self._settled = (counts.settled, numpy.isin(self.numbers, _whole_numbers(counts.settled)))
        return known[1] | numpy.isin(self.numbers, _whole_numbers(counts.recent))

    def distinct(self, column: str) -> Sequence[str]:
        """The names that occur in a column; `codes` tells which series has which."""
        return self._names[column].names

    def codes(self, column: str) -> Array:
        """Of each series the place of its name among the distinct ones."""
        return self._codes[column]

    def names_at(self, column: str) -> Array:
        """The place of each series in the order of a column's names."""
        codes: Array = self._codes[column]
        return self._names[column].ranks()[codes]

    def conditions(self, chosen: SeriesFilter) -> dict[str, Array]:
        """Of each part of the filter which series it lets pass, by the name of the facet that it belongs to."""
        found: dict[str, Array] = {}
        for column, name, several in (
            ("case", chosen.case, ()),
            ("metric", chosen.metric, chosen.metrics),
            ("machine", chosen.machine, chosen.machines),
        ):
            if name:
                found[f"{column} given"] = self._where(column, _fits(name, wildcards=column != "machine"))
            if several:
                wanted = {plain(one) for one in several}
                found[column] = self._where(column, wanted.__contains__)
        for word in plain(chosen.words).casefold().split():
            case, params, metric = (self._where(one, _holds(word)) for one in ("case", "params", "metric"))
            found[f"word {word}"] = case | params | metric
        by_name: dict[str, set[str]] = {}
        for pair in chosen.params:
            by_name.setdefault(pair.partition("=")[0], set()).add(plain(pair))
        for name, pairs in by_name.items():
            found[f"{PARAM}{name}"] = self._where_params(pairs)
        return found

    def _where(self, column: str, fits: Callable[[str], bool]) -> Array:
        codes: Array = self._codes[column]
        return self._names[column].table(fits)[codes]

    def _where_params(self, pairs: Iterable[str]) -> Array:
        import numpy

        wanted = numpy.array([code for pair in pairs if (code := self._pairs.codes.get(pair)) is not None], dtype=int)
        table = numpy.zeros(len(self._names["params"].names), dtype=bool)
        table[self._params_of[numpy.isin(self._pair_of, wanted)]] = True
        codes: Array = self._codes["params"]
        return table[codes]

    def facets(self, alive: Array, conditions: Mapping[str, Array], chosen: SeriesFilter) -> list[FacetValues]:
        """How many series each value would leave, given what else is chosen: what one facet has does not narrow it."""
        import numpy

        found = []
        for column, given in (("metric", chosen.metrics), ("machine", chosen.machines)):
            names = self._names[column]
            mask = joined(alive, conditions, besides=column)
            counts = numpy.bincount(self._codes[column][mask], minlength=len(names.names))
            found.append(facet_of(column, zip(names.names, counts.tolist(), strict=False), given))
        found += self._param_facets(alive, conditions, chosen)
        return found

    def _param_facets(self, alive: Array, conditions: Mapping[str, Array], chosen: SeriesFilter) -> list[FacetValues]:
        every = self._count_pairs(joined(alive, conditions))
        given = {pair.partition("=")[0] for pair in chosen.params}
        totals: dict[str, int] = {}
        for pair, count in zip(self._pairs.names, every, strict=False):
            if count:
                name = pair.partition("=")[0]
                totals[name] = totals.get(name, 0) + count
        names = sorted(totals, key=lambda name: (-totals[name], name))[:NAMES]
        found = []
        for name in dict.fromkeys([*names, *sorted(given)]):
            own = f"{PARAM}{name}"
            counts = every if own not in conditions else self._count_pairs(joined(alive, conditions, besides=own))
            mine = [
                (pair.partition("=")[2], count)
                for pair, count in zip(self._pairs.names, counts, strict=False)
                if pair.startswith(f"{name}=")
            ]
            values = [pair.partition("=")[2] for pair in chosen.params if pair.startswith(f"{name}=")]
            found.append(facet_of(own, mine, values))
        return found

    def _count_pairs(self, mask: Array) -> list[int]:
        import numpy

        by_params = numpy.bincount(self._codes["params"][mask], minlength=len(self._names["params"].names))
        weights = by_params[self._params_of]
        counts: list[float] = numpy.bincount(self._pair_of, weights=weights, minlength=len(self._pairs.names)).tolist()
        return [int(count) for count in counts]


PARAM = "param."  # before the name of a parameter, where facets of both kinds stand together


def _whole_numbers(numbers: Iterable[Any]) -> Array:
    import numpy

    found = list(numbers)
    try:
        return numpy.array(found, dtype=numpy.int64)
    except (ValueError, TypeError, OverflowError):  # a damaged store may hold anything
        return numpy.array([one for one in found if isinstance(one, int)], dtype=numpy.int64)


def _fits(name: str, *, wildcards: bool) -> Callable[[str], bool]:
    if wildcards and "*" in name:
        whole = pattern(name)
        return lambda text: whole.fullmatch(text) is not None
    wanted = plain(name)
    return lambda text: text == wanted


def _holds(word: str) -> Callable[[str], bool]:
    return lambda text: word in text.casefold()


def joined(alive: Array, conditions: Mapping[str, Array], *, besides: str = "") -> Array:
    """Which series pass all conditions but one."""
    mask = alive
    for name, condition in conditions.items():
        if name != besides:
            mask = mask & condition
    return mask
