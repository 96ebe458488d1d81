"""What a bisection comes to. Records like those of `records`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.records import Better, Estimate, Revision
from benchwright.records.findings import Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A commit that could not be measured, and why."""

    revision: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair:
    """A commit and its control in one pair: the commit's figure over the control's."""

    revision: str
    ratio: float
    run: str  # the run that keeps both results
    against: str = ""  # the control's revision: the good one, or the commit's parent
    control: float | None = None  # its figure
    figure: float | None = None  # the commit's
    control_first: bool | None = None  # which of them ran first
    length: float = 1.0  # of the processes, in usual ones: where those told too little


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """A commit that changed the figure, or several that nothing measurable tells apart."""

    commits: tuple[Suspect, ...]
    probability: float  # that the figure changed with one of them
    parent: str  # the revision before, which it was measured against
    effect: Estimate | None = None  # of its change alone, as a ratio; None when it was not measured against its parent

    @property
    def is_shown(self) -> bool:
        """Whether pairs with its parent alone show the change."""
        effect = self.effect
        return (
            effect is not None
            and effect.low is not None
            and effect.high is not None
            and (effect.low > 1.0 or effect.high < 1.0)
        )


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
    commits: tuple[Suspect, ...]  # all of the range, oldest first, each with the probability that the figure changed
    culprits: tuple[Suspect, ...]  # the commit with the largest change; or several that nothing measurable tells apart
    probability: float  # that the figure changed there
    nothing: float  # probability that none of the commits changed anything
    effect: Estimate | None  # of the culprit's change alone, as a ratio; None when it was not measured with its parent
    noise: float | None  # of one process, those apart that something disturbed
    confidence: float  # that was asked for
    why: str  # it ended
    whole: Estimate | None = None  # the bad end over the good one, as a ratio; None when nothing was measured
    elsewhere: Estimate | None = None  # what of it none of the named commits explains, as a ratio
    further: tuple[Culprit, ...] = ()  # others that were named, where all were asked for
    pairs: tuple[ComparedPair, ...] = ()
    passed: tuple[Passed, ...] = ()
    runs: int = 0  # measurements of this bisection, failed ones and those from before among them
    again: int = 0  # of these, how many were there from before
    length: float = 1.0  # of the last processes, in usual ones
    built: int = 0  # commits that were made ready
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def sure(self) -> bool:
        """Whether a culprit is named with the confidence that was asked for, and its parent agrees."""
        first = Culprit(commits=self.culprits, probability=self.probability, parent="", effect=self.effect)
        return bool(self.culprits) and self.probability >= self.confidence and first.is_shown


def elsewhere(whole: Estimate | None, effects: Sequence[Estimate | None]) -> Estimate | None:
    """What of the whole change these do not explain, as a ratio; both are uncertain, independently of each other."""
    known = [each for each in (whole, *effects) if each is not None and each.low and each.high]
    if whole is None or not effects or len(known) < 1 + len(effects):
        return None
    centre = math.log(whole.point) - sum(math.log(each.point) for each in known[1:])
    half = math.sqrt(sum((math.log(each.high / each.low) / 2) ** 2 for each in known if each.low and each.high))
    low, point, high = (math.exp(centre + side * half) for side in (-1, 0, 1))
    return Estimate(point=point, low=low, high=high, method="the whole change over those of the commits")
