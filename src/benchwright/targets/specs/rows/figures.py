"""What entries mean in our own terms: metrics in base units with their intervals, and operators."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from benchwright.errors import OptionError
from benchwright.records import Better, Estimate, Metric, Operator
from benchwright.targets.specs.rows.entries import NETS, Entries, RowEntry
from benchwright.units import parse_quantity

LATENCY = "latency"
SHAPES = "tensor_shapes"
_BASES = ("s", "B")
_AMBIGUOUS = frozenset({"m", "h"})  # of time only where a person types it
_CAFFE2_ID = re.compile(r"ID_\d+_([A-Za-z][A-Za-z0-9]*)(?:_.*)?")


def metrics(entries: Iterable[RowEntry]) -> list[Metric]:
    """One metric for each entry with numbers: the median of its values, or the mean its program told."""
    return [metric for entry in entries if (metric := _metric(entry)) is not None]


def operators(entries: Entries) -> list[Operator]:
    """The model's operators, the longest first: entries of latencies that are neither the model's nor sums."""
    found: list[tuple[RowEntry, float]] = []
    for entry in entries:
        factor, unit = base(entry.unit)
        point = _point(entry)
        if unit == "s" and point is not None and _is_operator(entry):
            found.append((entry, point * factor))
    total = math.fsum(seconds for _, seconds in found)
    listed = [
        Operator(
            name=entry.type,
            kind=entry.kind or _kind(entry.type),
            seconds=seconds,
            share=seconds / total if total else 0.0,
            shapes=_shapes(entries, entry),
        )
        for entry, seconds in found
    ]
    return sorted(listed, key=lambda operator: -operator.seconds)


def base(unit: str) -> tuple[float, str]:
    """What a number in `unit` is multiplied with, and the base unit it is then in; unknown units stay."""
    if unit and unit not in _AMBIGUOUS:
        for known in _BASES:
            try:
                return parse_quantity(f"1 {unit}", known), known
            except OptionError:
                continue
    return 1.0, unit


def _metric(entry: RowEntry) -> Metric | None:
    estimate, count = _from_values(entry.values) if entry.values else _from_summary(entry)
    if estimate is None:
        return None
    from benchwright.stats.summary import scale_estimate

    factor, unit = base(entry.unit)
    return Metric(
        name=entry.key,
        unit=unit,
        better=Better.LOWER if unit == "s" else None,
        estimate=scale_estimate(estimate, factor),
        count=count,
        values=tuple(value * factor for value in entry.values),
    )


def _from_values(values: Sequence[float]) -> tuple[Estimate, int]:
    from benchwright.stats.summary import quantile_interval

    return quantile_interval(values, 0.5), len(values)


def _from_summary(entry: RowEntry) -> tuple[Estimate | None, int]:
    """The mean that the program told, with Student's interval when it also told the spread and the count."""
    point = _point(entry)
    if point is None:
        return None, 0
    count, spread = entry.runs or 1, _summary_number(entry, "stdev")
    if spread is None or count < 2:
        return Estimate(point=point, low=None, high=None, method="the program's own"), count
    from benchwright.stats.distributions import student_quantile

    half = student_quantile(0.975, count - 1.0) * spread / math.sqrt(count)
    return Estimate(point=point, low=point - half, high=point + half, method="t, from the program's own summary"), count


def _point(entry: RowEntry) -> float | None:
    """The middle of an entry in its own unit."""
    if not entry.values:
        return next((number for name in ("p50", "mean") if (number := _summary_number(entry, name)) is not None), None)
    ordered = sorted(entry.values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _summary_number(entry: RowEntry, name: str) -> float | None:
    value = (entry.summary or {}).get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_operator(entry: RowEntry) -> bool:
    return entry.metric in ("", LATENCY) and entry.type not in NETS and not entry.is_sum


def _kind(name: str) -> str:
    """Caffe2 calls its operators `ID_<place>_<kind>_<output>`; what others mean by their names is unknown."""
    match = _CAFFE2_ID.fullmatch(name)
    return match[1] if match else name


def _shapes(entries: Entries, entry: RowEntry) -> str:
    shapes = entries.get(f"{entry.type} {SHAPES}")
    return (shapes.info or "") if shapes is not None else ""
