"""A series as a line of values, one for each run: what change points are looked for in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchwright.records import Estimate, Status
from benchwright.records.findings import Finding
from benchwright.stats.summary import combine
from benchwright.store import Point, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the rounds of a run say together of one revision."""

    run: str
    revision: str  # commit id or ""
    started_at: str
    estimate: Estimate
    results: tuple[str, ...]  # ids, one for each round


def timeline(points: Iterable[Point], *, order: Sequence[str] = ()) -> list[Moment]:
    """The moments of a series, oldest first; rounds without a value are left out.

    `order` names revisions, oldest first: what was measured of these stands in their order, however late it was
    measured, after whatever else there is. Without it time decides, and a run that measured several revisions against
    each other has no place.
    """
    groups: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        if point.status is Status.OK:
            groups.setdefault((point.run, point.revision), []).append(point)
    place = {revision: i for i, revision in enumerate(order)}
    several = _several(groups)
    kept = [_moment(g) for (run, revision), g in groups.items() if revision in place or run not in several]
    return sorted(kept, key=lambda moment: place.get(moment.revision, -1))  # stable: points come in order of time


def moments_of(
    store: Store, finding: Finding, *, order: Sequence[str] = (), limit: int = 10_000
) -> tuple[list[Moment], int | None]:
    """The moments of a finding's series, and which is the first after the change; None when it is not among them."""
    found = store.history(finding.case, metrics=[finding.metric], limit=limit)
    series = next((one for one in found if one.key == finding.series and one.unit == finding.unit), None)
    moments = timeline(series.points, order=order) if series else []
    place = next((i for i, moment in enumerate(moments) if moment.run == finding.run and i), None)
    return moments, place


def _several(groups: Iterable[tuple[str, str]]) -> set[str]:
    """The runs that measured more than one revision."""
    seen: set[str] = set()
    twice: set[str] = set()
    for run, _ in groups:
        (twice if run in seen else seen).add(run)
    return twice


def _moment(points: Sequence[Point]) -> Moment:
    first = points[0]
    return Moment(
        run=first.run,
        revision=first.revision,
        started_at=first.started_at,
        estimate=combine([point.estimate for point in points]),
        results=tuple(point.result for point in points),
    )
