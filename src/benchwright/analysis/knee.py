"""Sweeps of users or rates, and where more load stops paying: the knee of throughput against latency.

The knee is where the power, throughput over latency, is largest (L. Kleinrock: Power and deterministic rules of thumb
for probabilistic problems in computer communications, ICC 1979). Below it a server has room to spare, above it requests
mostly wait for one another. It needs no parameter, and no curve is fitted to the few points that a sweep has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.analysis.rows import Row, show_scalar
from benchwright.records import Estimate, Metric, Mode
from benchwright.records.request_metrics import are_of_requests
from benchwright.units import format_value

LATENCY, THROUGHPUT = "latency_p50", "throughput"
USERS, RATE = "users", "rate"
FEWEST = 3  # points of a sweep that has an inside
_OF_LOAD = ("workers", "copies", "rate", "concurrency", "users")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One case of a sweep: how much was asked of the server, and its row."""

    load: float  # users, or requests a second
    place: int  # of the row in its table
    row: Row

    @property
    def latency(self) -> Estimate:
        """The median latency."""
        return self.row.metrics[LATENCY].estimate

    @property
    def throughput(self) -> Estimate:
        """Requests that succeeded, a second."""
        return self.row.metrics[THROUGHPUT].estimate

    @property
    def power(self) -> Estimate:
        """Throughput over latency, with the widest interval that both allow."""
        up, across = self.throughput, self.latency
        low = high = None
        if up.low is not None and up.high is not None and across.low is not None and across.high is not None:
            low, high = up.low / across.high, up.high / max(across.low, 1e-12)
        return Estimate(point=up.point / across.point, low=low, high=high, method="throughput over latency")

    def metric(self, name: str) -> Metric | None:
        """A metric of the case, or None."""
        return self.row.metrics.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Cases of one served model that differ in nothing but how much is asked of it, in ascending order of that."""

    label: str  # what the sweep is of; "" where a table has one only
    kind: str  # USERS or RATE
    points: tuple[SweepPoint, ...]

    def load_text(self, point: SweepPoint) -> str:
        """How much was asked in a case, in words: `4 users`, `50.0/s`."""
        if self.kind == RATE:
            return format_value(point.load, "/s")
        return f"{point.load:g} user{'s' * (point.load != 1)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """The point of largest power; `inside` says whether more load than that was tried, and less.

    `rivals` are the points whose power cannot be told from it by the intervals.
    """

    point: SweepPoint
    inside: bool
    rivals: tuple[SweepPoint, ...]


def sweeps(table: Sequence[Row]) -> list[Sweep]:
    """Every sweep of a table's served models that has enough points, in the table's order."""
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[SweepPoint]] = {}
    for place, row in enumerate(table):
        if not are_of_requests(row.metrics) or not _is_positive(row):
            continue
        kind, load = _load_of(row)
        if load is not None:
            others = tuple((name, show_scalar(row.params[name])) for name in row.params if name not in _OF_LOAD)
            groups.setdefault((row.name, kind, others), []).append(SweepPoint(load=load, place=place, row=row))
    known = {key: found for key, found in groups.items() if len({point.load for point in found}) >= FEWEST}
    several = len(known) > 1
    return [
        Sweep(
            label=" ".join([name, *(f"{param}={value}" for param, value in others)]) if several else "",
            kind=kind,
            points=tuple(sorted(found, key=lambda point: point.load)),
        )
        for (name, kind, others), found in known.items()
    ]


def find_knee(sweep: Sweep) -> Knee:
    """The point where throughput over latency is largest."""
    best = max(sweep.points, key=lambda point: point.power.point)
    loads = [point.load for point in sweep.points]
    others = (point for point in sweep.points if point is not best)
    return Knee(
        point=best,
        inside=min(loads) < best.load < max(loads),
        rivals=tuple(point for point in others if _overlap(point.power, best.power)),
    )


def describe_knee(sweep: Sweep) -> str:
    """Where the knee of a sweep is, in a sentence, and how sure that is."""
    knee = find_knee(sweep)
    at = knee.point
    said = (
        f"{sweep.load_text(at)}: {format_value(at.throughput.point, '/s')} at {format_value(at.latency.point, 's')}"
        " (largest throughput over latency)"
    )
    if not knee.inside:
        is_last = at.load == max(point.load for point in sweep.points)
        more, above = ("more", "above") if is_last else ("less", "below")
        said += f"; {more} load was not tried, so the knee may lie {above}"
    if knee.rivals:
        said += f"; not told apart from {', '.join(sweep.load_text(point) for point in knee.rivals)}"
    return f"Knee{f' of {sweep.label}' if sweep.label else ''} at {said}"


def _overlap(one: Estimate, other: Estimate) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high


def _is_positive(row: Row) -> bool:
    return all(name in row.metrics and row.metrics[name].estimate.point > 0 for name in (LATENCY, THROUGHPUT))


def _load_of(row: Row) -> tuple[str, float | None]:
    load = row.case.load
    if load.mode is Mode.OPEN:
        return RATE, load.rate if not load.find_rate else None
    return USERS, float(load.workers * load.copies) if load.mode is Mode.CLOSED else None
