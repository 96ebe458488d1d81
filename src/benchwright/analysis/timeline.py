"""A series as a line of values, one for each run: what change points are looked for in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from benchwright.records import Estimate, Status
from benchwright.stats.summary import combine
from benchwright.units import QuantityLimits


class RoundPoint(Protocol):
    """One round of one run, as a store hands it out."""

    @property
    def run(self) -> str: ...
    @property
    def result(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def status(self) -> Status: ...
    @property
    def revision(self) -> str: ...
    @property
    def estimate(self) -> Estimate: ...


P = TypeVar("P", bound=RoundPoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the rounds of a run say together of one revision."""

    run: str
    revision: str  # commit id or ""
    started_at: str
    estimate: Estimate
    results: tuple[str, ...]  # ids, one for each round


def rounds_by_run(points: Iterable[P]) -> dict[str, list[P]]:
    """The rounds of each run that have a value; runs and rounds keep the order of the points."""
    groups: dict[str, list[P]] = {}
    for point in points:
        if point.status is Status.OK:
            groups.setdefault(point.run, []).append(point)
    return groups


def combine_rounds(rounds: Iterable[RoundPoint], limits: QuantityLimits | None = None) -> Estimate:
    """The one value that the rounds of a run give together; its interval ends within `limits`."""
    return combine([point.estimate for point in rounds], limits=limits)


def timeline(points: Iterable[RoundPoint], *, order: Sequence[str] = ()) -> list[Moment]:
    """The moments of a series, oldest first; rounds without a value are left out.

    `order` names revisions, oldest first: what was measured of these stands in their order, however late it was
    measured, after whatever else there is. Without it time decides, and a run that measured several revisions against
    each other has no place.
    """
    place = {revision: i for i, revision in enumerate(order)}
    moments: list[Moment] = []
    for rounds in rounds_by_run(points).values():
        revisions = dict.fromkeys(point.revision for point in rounds)
        chosen = [revision for revision in revisions if revision in place or len(revisions) == 1]
        moments += [_moment([point for point in rounds if point.revision == revision]) for revision in chosen]
    return sorted(moments, key=lambda moment: place.get(moment.revision, -1))  # stable: points come in order of time


def _moment(points: Sequence[RoundPoint]) -> Moment:
    first = points[0]
    return Moment(
        run=first.run,
        revision=first.revision,
        started_at=first.started_at,
        estimate=combine_rounds(points),
        results=tuple(point.result for point in points),
    )
