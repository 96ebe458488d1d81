"""Newest values by two dimensions: models against runtimes, batch sizes against machines, whatever there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from benchwright.analysis import notes
from benchwright.analysis.best import Alternative, Respect, find_best
from benchwright.analysis.judged_metrics import in_order
from benchwright.analysis.judged_results import JudgedResults
from benchwright.analysis.rows import combine_estimates, show_scalar
from benchwright.errors import StoreError, did_you_mean
from benchwright.pages import at_once
from benchwright.pages.compared_lines import DIRECTIONS
from benchwright.pages.names import machine_names
from benchwright.pages.price_marks import prices_of
from benchwright.pages.shapes import Cell, Matrix, Missing
from benchwright.records import Estimate, Status
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Archive, ResultOutcome, Valued

K = TypeVar("K", bound=Hashable)

CASE, MACHINE = "case", "machine"
BEST, TIED = "best", "tied"  # standings of cells
CHOICES = 1000  # values of a dimension to choose from; an address may name any other
ABSENT = "-"  # where a case does not have the dimension
_RECENT_RUNS = 20  # among them failures are looked for
_LOOKED_INTO = 4  # of those that had any: every result of them is read
_DOUBTED_RUNS = 50  # the newest, whose results are asked whether the instrument trusts them
_COLUMNS = ("runtime", "device", MACHINE, "precision", "batch_size")  # the first that varies is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The newest rounds of one series, and where they stand in every dimension."""

    where: Mapping[str, str]
    rounds: Sequence[Valued]

    @property
    def estimate(self) -> Estimate:
        """Returns what all rounds say together."""
        first = self.rounds[0]
        return combine_estimates(first.metric, first.unit, [value.estimate for value in self.rounds])

    @property
    def at(self) -> int:
        """Returns when the series was measured last."""
        return max(value.at for value in self.rounds)


@at_once
def matrix(
    archive: Archive,
    *,
    metric: str = "",
    rows: str = "",
    columns: str = "",
    baseline: str = "",
    chosen: Mapping[str, str] | None = None,
    after: int = 0,
    limit: int | None = None,
    widest: int | None = None,
) -> Matrix:
    """The newest values of a metric. What is not said is chosen so that most can be seen.

    Of the rows those from `after` on, at most `limit`, and at most `widest` columns. `chosen` fixes other dimensions;
    where it does not, the value with most cells is taken. A word that is not known is a `StoreError` with the nearest
    one.
    """
    known = archive.metric_names()
    metric = _check_name("metric", metric, known) if metric else _usual_metric(known)
    places = places_of(archive, metric)
    varying = dimensions_of(places)
    row = _check_name("dimension", rows, varying) if rows else CASE
    column = _check_name("dimension", columns, varying) if columns else _usual_column(varying, row)
    others = {name: values for name, values in varying.items() if name not in (row, column)}
    given = {name: value for name, value in (chosen or {}).items() if name not in (row, column)}
    fixed, choices = _fix_dimensions(places, others, given)
    shown = _newest(places, fixed, row, column)
    missed = _find_missed(archive, shown, fixed, row, column)
    names = [_sort_names({key[i] for key in (*shown, *missed)}) for i in (0, 1)]
    if baseline:
        _check_name(column, baseline, names[1])
    sample = next(iter(shown.values())).rounds[0] if shown else None
    every = len(names[0])
    end = every if limit is None else min(every, after + limit)
    names[0], wide = names[0][after:end], len(names[1])
    seen = {key: place for key, place in shown.items() if key[0] in {*names[0]}}
    held = held_places(archive, seen)
    judged = {key: place for key, place in seen.items() if key not in held}
    standings = _standings(archive, judged)  # among all columns, be they shown or not
    names[1] = names[1][:widest]
    return Matrix(
        metric=metric,
        unit=sample.unit if sample else "",
        better=sample.better if sample else "",
        rows=names[0],
        columns=names[1],
        cells=_with_prices(archive, metric, _cells(seen, names[0], names[1], baseline, standings, held)),
        baseline=baseline,
        metrics=known,
        dimensions=list(varying),
        row_dimension=row,
        column_dimension=column,
        chosen=fixed,
        choices={name: offered(values, fixed[name]) for name, values in choices.items()},
        missing=_missing(missed, names[0], names[1]),
        row_count=every,
        column_count=wide,
        next=str(end) if end < every else "",
    )


def _check_name(what: str, word: str, known: Iterable[str]) -> str:
    names = list(known)
    if word not in names:
        raise StoreError(f"no {what} {word!r} here", remedy=did_you_mean(word, names))
    return word


def _usual_metric(known: Sequence[str]) -> str:
    return next(iter(in_order(known)), "")


def _usual_column(varying: Mapping[str, Sequence[str]], row: str) -> str:
    """The first of the usual ones that varies, else any that does, else the machine."""
    names = [*_COLUMNS, *varying]
    found = (name for name in names if name != row and len(varying.get(name, ())) > 1)
    return next(found, MACHINE if row != MACHINE else CASE)


# ---- dimensions ----


def places_of(archive: Archive, metric: str) -> list[Place]:
    """Every series of the metric in the unit that most of them have."""
    values = archive.newest_values(metrics=[metric]) if metric else []
    units = Counter(value.unit for value in values)
    unit = units.most_common(1)[0][0] if units else ""
    names = machine_names(archive)
    rounds: dict[str, list[Valued]] = {}
    for value in values:
        if value.unit == unit:
            rounds.setdefault(value.series, []).append(value)
    return [Place(where=_where(several[0], names), rounds=several) for several in rounds.values()]


def _where(value: Valued | ResultOutcome, names: Mapping[str, str]) -> dict[str, str]:
    params = {name: show_scalar(one) for name, one in json_mapping(value.params).items()}
    return {**params, CASE: value.case, MACHINE: names.get(value.machine) or value.machine}


def dimensions_of(places: Sequence[Place]) -> dict[str, list[str]]:
    """The values of each dimension, cases and machines first."""
    found: dict[str, set[str]] = {CASE: set(), MACHINE: set()}
    for place in places:
        for name, value in place.where.items():
            found.setdefault(name, set()).add(value)
    return {name: _sort_names(values) for name, values in found.items()}


def _fix_dimensions(
    places: Sequence[Place], others: Mapping[str, Sequence[str]], given: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Sequence[str]]]:
    """What is chosen of every other dimension that varies, and what could be."""
    for name in given:
        _check_name("dimension to choose", name, others)
    choices = {name: values for name, values in others.items() if len(values) > 1 or name in given}
    fixed = {name: _check_name(name, given[name], values) for name, values in choices.items() if name in given}
    for name in choices:
        if name not in fixed:
            counts = Counter(place.where[name] for place in places if name in place.where and _fits(place, fixed))
            fixed[name] = counts.most_common(1)[0][0] if counts else choices[name][0]
    return fixed, choices


def offered(values: Sequence[str], chosen: str = "") -> list[str]:
    """The values of a dimension that a page offers: as many as somebody can choose from, and what is chosen."""
    shown = [*values[:CHOICES]]
    return shown if not chosen or chosen in shown else [*shown, chosen]


def _fits(place: Place, fixed: Mapping[str, str]) -> bool:
    """Whether a place has the chosen value in every dimension that it has."""
    return all(place.where.get(name, value) == value for name, value in fixed.items())


def _sort_names(values: Iterable[str]) -> list[str]:
    """Numbers by size, then words by the alphabet, then what lacks the dimension."""

    def place(text: str) -> tuple[int, float, str]:
        number = _number(text)
        return (2 if text == ABSENT else 1, 0.0, text) if number is None else (0, number, text)

    return sorted(values, key=place)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# ---- cells ----


def _newest(places: Sequence[Place], fixed: Mapping[str, str], row: str, column: str) -> dict[tuple[str, str], Place]:
    """Returns the newest values of each cell."""
    shown: dict[tuple[str, str], Place] = {}
    for place in places:
        if _fits(place, fixed):
            key = place.where.get(row, ABSENT), place.where.get(column, ABSENT)
            if key not in shown or place.at > shown[key].at:
                shown[key] = place
    return shown


def _find_missed(
    archive: Archive, shown: Mapping[tuple[str, str], Place], fixed: Mapping[str, str], row: str, column: str
) -> dict[tuple[str, str], ResultOutcome]:
    """Where the newest runs tried and got no number, unless there is one from later."""
    names = machine_names(archive)
    recent = (run for run in archive.runs_page(limit=_RECENT_RUNS) if run.failed and not run.is_race)
    runs = [run.id for run in recent][:_LOOKED_INTO]
    found: dict[tuple[str, str], ResultOutcome] = {}
    for outcome in archive.outcomes(runs):
        if outcome.status in (Status.OK, Status.SKIPPED):
            continue
        where = _where(outcome, names)
        key = where.get(row, ABSENT), where.get(column, ABSENT)
        newest = max(shown[key].rounds[0].run if key in shown else "", found[key].run if key in found else "")
        if outcome.run > newest and all(where.get(name, value) == value for name, value in fixed.items()):
            found[key] = outcome
    return found


def _missing(
    missed: Mapping[tuple[str, str], ResultOutcome], rows: Sequence[str], columns: Sequence[str]
) -> list[Missing]:
    return [
        Missing(
            row=rows.index(name),
            column=columns.index(other),
            status=outcome.status,
            reason=outcome.failure.message if outcome.failure else "",
            run=outcome.run,
            result=outcome.result,
        )
        for (name, other), outcome in missed.items()
        if name in rows and other in columns
    ]


def _cells(
    shown: Mapping[tuple[str, str], Place],
    rows: Sequence[str],
    columns: Sequence[str],
    baseline: str,
    standings: Mapping[tuple[str, str], str],
    held: Container[tuple[str, str]],
) -> list[Cell]:
    values = {key: place.estimate for key, place in shown.items()}
    return [
        Cell(
            row=i,
            column=j,
            estimate=values[name, other],
            relative=_relative(values[name, other], values.get((name, baseline))),
            series=shown[name, other].rounds[0].series,
            result=shown[name, other].rounds[0].result,
            run=shown[name, other].rounds[0].run,
            standing=standings.get((name, other), ""),
            is_held=(name, other) in held,
        )
        for i, name in enumerate(rows)
        for j, other in enumerate(columns)
        if (name, other) in shown
    ]


def _with_prices(archive: Archive, metric: str, cells: list[Cell]) -> list[Cell]:
    """The cells of a cost with what each rests on."""
    prices = prices_of(archive, [metric], (cell.run for cell in cells))
    return [replace(cell, price=prices.get(cell.result, "")) for cell in cells] if prices else cells


def _relative(value: Estimate, base: Estimate | None) -> float | None:
    return value.point / base.point if base is not None and base.point > 0 else None


# ---- the best of a row ----


def _standings(archive: Archive, shown: Mapping[tuple[str, str], Place]) -> dict[tuple[str, str], str]:
    """Which cell of each row is the best, and which cannot be told from it; nothing of a row with one cell alone."""
    found: dict[tuple[str, str], str] = {}
    by_row: dict[str, list[tuple[str, str]]] = {}
    for key in shown:
        by_row.setdefault(key[0], []).append(key)
    trusted = doubted_results(archive, shown.values())
    for keys in by_row.values():
        respect = respect_of(shown[keys[0]])
        if len(keys) < 2 or respect is None:
            continue
        best = find_best([alternative_of(shown[key], trusted) for key in keys], respect)
        if best is not None:
            found[keys[best.place]] = BEST
            found |= {keys[i]: TIED for i in best.ties}
    return found


def held_places(archive: Archive, places: Mapping[K, Place]) -> set[K]:
    """Those with a value that was measured in quarantine: they are shown, and neither best nor worse than others."""
    judged = JudgedResults(archive)
    return {key for key, place in places.items() if any(map(judged.is_held_value, place.rounds))}


def respect_of(place: Place) -> Respect | None:
    """How values of this metric are compared; None where neither direction is better, or a damaged store tells none."""
    known = place.rounds[0]
    better = DIRECTIONS.get(known.better)
    return None if better is None else Respect(metric=known.metric, better=better)


def alternative_of(place: Place, doubted: frozenset[str]) -> Alternative:
    """A place as one of several to choose from; `doubted` are results that the instrument does not trust."""
    rounds = [value.estimate for value in place.rounds]
    unsure = sum(value.result in doubted for value in place.rounds)
    return Alternative(rounds, place.estimate.point, 2 * unsure >= len(rounds) and unsure > 0)


def doubted_results(archive: Archive, places: Iterable[Place]) -> frozenset[str]:
    """The results behind these places that the instrument calls unreliable, as far as the newest runs tell."""
    runs = sorted({value.run for place in places for value in place.rounds}, reverse=True)[:_DOUBTED_RUNS]
    return frozenset(one.result for one in archive.outcomes(runs) if notes.is_doubtful([one.verdict]))
