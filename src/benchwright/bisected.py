"""What a bisection comes to. Records like those of `records`."""

from __future__ import annotations

from dataclasses import dataclass

from benchwright.findings import Suspect
from benchwright.records import Better, Estimate, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A commit that could not be measured, and why."""

    revision: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The good revision and a commit, in one pair: the commit's figure over the good one's."""

    revision: str
    ratio: float
    run: str  # the run that keeps both results


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisected:
    """Which commit of a range changed a figure, and how sure that is."""

    id: str  # of the run that keeps what was measured
    case: str
    metric: str
    unit: str
    better: Better | None
    good: Revision
    bad: Revision
    commits: tuple[Suspect, ...]  # all of the range, oldest first
    culprits: tuple[Suspect, ...]  # the most probable commit; or several that nothing measurable tells apart
    probability: float  # that the culprit is among them
    nothing: float  # probability that none of the commits changed anything
    effect: Estimate | None  # of the change, as a ratio; None when nothing was measured
    noise: float | None  # of one pair's ratio
    confidence: float  # that was asked for
    why: str  # it ended
    pairs: tuple[Compared, ...] = ()
    passed: tuple[Passed, ...] = ()
    runs: int = 0  # measurements of this bisection, failed ones and those from before among them
    again: int = 0  # of these, how many were there from before
    plain: int | None = None  # measurements that halving the range would take to be as sure
    built: int = 0  # commits that were made ready
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def sure(self) -> bool:
        """Whether a culprit is named with the confidence that was asked for."""
        return bool(self.culprits) and self.probability >= self.confidence
