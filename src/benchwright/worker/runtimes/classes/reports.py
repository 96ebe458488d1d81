"""What a benchmark tells of itself: through the function it is handed, or in TensorFlow's report files.

Either way it becomes metrics with their bounds, warnings, and one mapping that keeps what was told as it was told.
Standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.errors import DecodeError
from benchwright.records import Better, Estimate, Metric, ResultWarning, Value
from benchwright.schema import soundness
from benchwright.worker.runtimes.classes import entries

NOTHING = "reported-nothing"
NOT_FINITE = "not-finite"
OBJECTIVE_MISSED = "objective-missed"  # as the instrument calls it; a bound on what is no number does not hold
PREFIX = "reported_"
# What a result is given by us. A benchmark that reports such a name gets the prefix in front of its own.
_OURS = re.compile(
    r"(?:latency|service|lateness)(?:_.+)?|throughput|rate|max_rate|makespan|load_time|first_call|warmup_time|wall_time"
    r"|imbalance|cost_per_million"
    r"|cpu|cpu_others|threads|steal|energy|(?:rss|gpu|psi|io)_\w+|(?:context_switches|page_faults)(?:_\w+)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedNumber:
    """One number that the benchmark reported; it need not be finite."""

    name: str
    value: float
    unit: str = ""
    better: Better | None = None
    least: float | None = None
    most: float | None = None


class Reporter:
    """The function that a method is handed as its parameter `report`."""

    def __init__(self) -> None:
        self.numbers: list[ReportedNumber] = []

    def __call__(
        self,
        name: str,
        value: float,
        *,
        unit: str = "",
        better: str | None = None,
        least: float | None = None,
        most: float | None = None,
    ) -> None:
        """Reports one metric. `better` is "lower" or "higher"; `least` and `most` are bounds that must hold."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"report: the name of a metric is text, not {name!r}")
        if any(told.name == name for told in self.numbers):
            raise ValueError(f"report: {name!r} was reported before")
        self.numbers.append(
            ReportedNumber(
                name=name,
                value=_number(name, value),
                unit=unit,
                better=read_direction(f"report: {name}", better),
                least=None if least is None else _number(f"least of {name}", least),
                most=None if most is None else _number(f"most of {name}", most),
            )
        )


def read_direction(name: str, better: object) -> Better | None:
    """The direction that counts as better, None where nothing is said; a `ValueError` says which there are."""
    found = next((each for each in Better if each == better), None)
    if found is None and better is not None:
        raise ValueError(f"{name}: better is {better!r}, and can be {' or '.join(repr(str(each)) for each in Better)}")
    return found


def _number(name: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"report: {name} is {value!r}, which is not a number") from None


# ---- what TensorFlow wrote ----


def read_entries(files: Iterable[Path]) -> list[entries.ReportEntry]:
    """Every entry of the files, in the order given; a `DecodeError` names the file."""
    found: list[entries.ReportEntry] = []
    for file in files:
        try:
            found += entries.decode(file.read_bytes())
        except DecodeError as error:
            raise DecodeError(f"{file.name}: {error.message}", remedy=error.remedy) from None
    return found


def numbers_of_entry(entry: entries.ReportEntry, *, within: str = "") -> list[ReportedNumber]:
    """An entry's metrics, then what it says of time and throughput; `within` goes in front of every name."""
    own = [
        ReportedNumber(
            name=f"{within}{_avoid_own_names(m.name or 'metric')}", value=m.value, least=m.least, most=m.most
        )
        for m in entry.metrics
    ]
    usual = [
        ReportedNumber(name="wall_time", value=entry.wall_time, unit="s", better=Better.LOWER),
        ReportedNumber(name="cpu_time", value=entry.cpu_time, unit="s", better=Better.LOWER),
        ReportedNumber(name="throughput", value=entry.throughput, unit="/s", better=Better.HIGHER),
        ReportedNumber(name="iters", value=float(entry.iters)),
    ]
    return own + [replace(t, name=f"{within}{PREFIX}{t.name}") for t in usual if t.value != 0]


# ---- as a result holds it ----


def metrics(told: Iterable[ReportedNumber]) -> tuple[list[Metric], list[ResultWarning]]:
    """Metrics of unique names unlike ours; what is not finite becomes warnings instead."""
    found: list[Metric] = []
    warnings: list[ResultWarning] = []
    names: set[str] = set()
    for each in told:
        name = _unique(_avoid_own_names(each.name), names)
        if not soundness.is_sane(each.value):
            warnings += _warn_not_finite(replace(each, name=name))
            continue
        least, most = _drop_idle_bound(each.least, -math.inf), _drop_idle_bound(each.most, math.inf)
        if not all(bound is None or math.isfinite(bound) for bound in (least, most)):
            warnings.append(_missed_bound(f"{name} has a bound that nothing meets: {least}, {most}"))
            least = most = None
        estimate = Estimate(point=each.value, low=None, high=None, method="reported")
        found.append(Metric(name=name, unit=each.unit, better=each.better, estimate=estimate, least=least, most=most))
    return found, warnings


def as_details(entry: entries.ReportEntry) -> dict[str, Value]:
    """An entry as a result's details keep it: in its order, and numbers JSON cannot hold as words."""
    return {
        "name": entry.name,
        "iters": entry.iters,
        "cpu_time": _jsonable(entry.cpu_time),
        "wall_time": _jsonable(entry.wall_time),
        "throughput": _jsonable(entry.throughput),
        "extras": [{"name": name, "value": _jsonable(value)} for name, value in entry.extras],
        "metrics": [
            {
                "name": metric.name,
                "value": _jsonable(metric.value),
                **({} if metric.least is None else {"min_value": _jsonable(metric.least)}),
                **({} if metric.most is None else {"max_value": _jsonable(metric.most)}),
            }
            for metric in entry.metrics
        ],
    }


def as_entry(name: str, told: Sequence[ReportedNumber], wall_time: float) -> entries.ReportEntry:
    """What the function was told, in the form of an entry; `wall_time` is what we measured."""
    own = [entries.EntryMetric(name=t.name, value=t.value, least=t.least, most=t.most) for t in told]
    return entries.ReportEntry(name=name, iters=1, wall_time=wall_time, metrics=tuple(own))


def _avoid_own_names(name: str) -> str:
    return f"{PREFIX}{name}" if _OURS.fullmatch(name) else name


def _unique(name: str, taken: set[str]) -> str:
    """The name, numbered when another metric has it; the list that TensorFlow takes may repeat one."""
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    taken.add(unique)
    return unique


def _drop_idle_bound(bound: float | None, always: float) -> float | None:
    """The bound; None for one that always holds, which is no bound."""
    return None if bound == always else bound


def _warn_not_finite(told: ReportedNumber) -> list[ResultWarning]:
    seen = f"{told.name} was reported as {_jsonable(told.value)}, so there is no such metric"
    found = [ResultWarning(code=NOT_FINITE, seen=seen, remedy="see what the benchmark divides or takes the mean of")]
    if told.least is not None or told.most is not None:
        found.append(_missed_bound(f"{told.name} has a bound and is {_jsonable(told.value)}"))
    return found


def _missed_bound(seen: str) -> ResultWarning:
    return ResultWarning(code=OBJECTIVE_MISSED, seen=seen, remedy="the benchmark itself set the bound")


def _jsonable(value: float | str) -> float | str:
    if isinstance(value, str) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
