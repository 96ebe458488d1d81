"""Results read from documents without a record for each of their metrics: what a database keeps of many of them.

A document that is as this version writes it, with all keys and each value of its plain type, is checked column by
column, at a tenth of the cost. Whatever else comes is left to `schema.open_document`, which takes what is right all
the same and says what is wrong. Both let the same documents pass.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from operator import itemgetter
from typing import Any

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records import Better, Estimate, Metric, Result, Run
from benchwright.schema import parsing, quick_json

_RUN, _RESULT, _METRIC, _ESTIMATE = (
    tuple(one.name for one in fields(kind)) for kind in (Run, Result, Metric, Estimate)
)
_ENVELOPE = {"format", "kind", "data"}
_TEXT, _NUMBER, _WHOLE, _LIST, _MAPPING = frozenset({str}), frozenset({float}), frozenset({int}), {list}, {dict}
_PERHAPS, _WORD = _NUMBER | {type(None)}, _TEXT | {type(None)}
_METRIC_VALUES, _ESTIMATE_VALUES = itemgetter(*_METRIC), itemgetter(*_ESTIMATE)
_KINDS = (_TEXT, _TEXT, _WORD, _WHOLE, _LIST, _TEXT)  # of names, units, directions, counts, values, methods
_BETTER = frozenset({None, *(one.value for one in Better)})
_BEYOND = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumns:
    """The metrics of one result, each field of all of them side by side."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    better: tuple[str, ...]  # "" for neither
    points: tuple[float, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    confidences: tuple[float, ...]
    methods: tuple[str, ...]


_NONE = MetricColumns(names=(), units=(), better=(), points=(), lows=(), highs=(), confidences=(), methods=())


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickResult:
    """A result that is sound, with its metrics apart: as columns, and encoded as they came."""

    head: Result  # without metrics
    columns: MetricColumns
    metrics: Sequence[dict[str, Any]]

    def whole(self) -> Result:
        """The result as a record."""
        return replace(self.head, metrics=schema.decode(tuple[Metric, ...], [*self.metrics], where="metrics"))


def columns_of(metrics: Sequence[Metric]) -> MetricColumns:
    """The columns of metrics that are records."""
    if not metrics:
        return _NONE
    names, units, better, told = zip(*((one.name, one.unit, one.better, one.estimate) for one in metrics), strict=True)
    rows = ((one.point, one.low, one.high, one.confidence, one.method) for one in told)
    points, lows, highs, confidences, methods = zip(*rows, strict=True)
    return MetricColumns(
        names=names,
        units=units,
        better=tuple(one.value if one else "" for one in better),
        points=tuple(map(float, points)),
        lows=tuple(None if low is None else float(low) for low in lows),
        highs=tuple(None if high is None else float(high) for high in highs),
        confidences=tuple(map(float, confidences)),
        methods=methods,
    )


def open_quickly(text: bytes, kind: str) -> Any:
    """The data of a versioned document of this kind and of the present format; None where it takes a closer look."""
    if not quick_json.can_read():
        return None
    try:
        document = quick_json.loads(text)
    except ValueError:
        return None
    if type(document) is not dict or document.keys() != _ENVELOPE or document["kind"] != kind:
        return None
    version = document["format"]
    return document["data"] if type(version) is int and version == schema.FORMAT else None


def read_run(data: Any, *, deepest: int = parsing.DEEPEST) -> tuple[Run, list[QuickResult]] | None:
    """The run in the data of a document, without its results, and these; None where it takes a closer look."""
    if type(data) is not dict or tuple(data) != _RUN or type(data["results"]) is not list:
        return None
    rest = {**data, "results": []}
    if not parsing.is_plain(rest, deepest - 1):
        return None
    results = []
    for one in data["results"]:
        found = read_result(one, deepest=deepest - 2)
        if found is None:
            return None
        results.append(found)
    try:
        return schema.decode(Run, rest), results
    except DecodeError:
        return None


def read_result(data: Any, *, deepest: int = parsing.DEEPEST) -> QuickResult | None:
    """The result in the data of a document; None where it takes a closer look."""
    if type(data) is not dict or tuple(data) != _RESULT:
        return None
    columns = _read_columns(data["metrics"])
    rest = {**data, "metrics": []}
    if columns is None or not _is_plain(rest, deepest - 1):
        return None
    try:
        return QuickResult(head=schema.decode(Result, rest), columns=columns, metrics=data["metrics"])
    except DecodeError:
        return None


def _is_plain(data: dict[str, Any], deepest: int) -> bool:
    """The same as `parsing.is_plain`; what thousands of results repeat is looked through once."""
    for name in _REPEATED:
        try:
            seen = deepest, marshal.dumps(data[name], 2)
        except ValueError:
            return False
        if seen not in _plain:
            if not parsing.is_plain([data[name]], deepest):
                return False
            if len(seen[1]) <= _LONGEST:
                if len(_plain) >= _MOST:
                    _plain.clear()
                _plain.add(seen)
    return parsing.is_plain({**data, **_ABSENT}, deepest)


_REPEATED = ("case", "environment")
_ABSENT = dict.fromkeys(_REPEATED)
_plain: set[tuple[int, bytes]] = set()
_MOST, _LONGEST = 512, 16 << 10  # parts that are remembered, and bytes of each


def _read_columns(items: Any) -> MetricColumns | None:
    """The columns of encoded metrics; None where one is not as this version writes it, or is not sound."""
    if type(items) is not list:
        return None
    if not items:
        return _NONE
    columns = _columns(items, _METRIC_VALUES, len(_METRIC))
    told = columns and _columns(columns[3], _ESTIMATE_VALUES, len(_ESTIMATE))
    if not told:
        return None
    names, units, better, _, counts, values, least, most = columns
    points, lows, highs, confidences, methods = told
    for column, kind in zip((names, units, better, counts, values, methods), _KINDS, strict=True):
        if not {*map(type, column)} <= kind:
            return None
    # What is a mapping or a list could not be looked for among the directions: its type is refused before.
    if not {*better} <= _BETTER or len({*names}) < len(names) or not -_BEYOND <= min(counts) <= max(counts) < _BEYOND:
        return None
    several = [one for some in values for one in some] if any(values) else ()
    if not all(_are_certain(numbers, _NUMBER) for numbers in (points, confidences, several)):
        return None
    if not all(_are_certain(numbers, _PERHAPS) for numbers in (lows, highs, least, most)):
        return None
    if not (min(confidences) >= 0.0 and max(confidences) <= 1.0):
        return None
    return MetricColumns(
        names=names,
        units=units,
        better=tuple([one or "" for one in better]),
        points=points,
        lows=lows,
        highs=highs,
        confidences=confidences,
        methods=methods,
    )


_CUT = 2.0**63  # a number from here on may have been a whole one that lost digits when it was read


def _columns(items: Sequence[Any], values: Any, count: int) -> list[tuple[Any, ...]]:
    """The values of mappings that have these keys and no others, each key of all of them side by side; else nothing."""
    if {*map(type, items)} != _MAPPING or {*map(len, items)} != {count}:
        return []
    try:
        return [*zip(*map(values, items), strict=True)]
    except KeyError:
        return []


def _are_certain(numbers: Sequence[float | None], kind: frozenset[type]) -> bool:
    """Whether all are of these types, and none may have lost digits."""
    kinds = {*map(type, numbers)}
    if not kinds <= kind:
        return False
    there: Any = [number for number in numbers if number is not None] if type(None) in kinds else numbers
    return not there or bool(min(there) > -_CUT and max(there) < _CUT)
