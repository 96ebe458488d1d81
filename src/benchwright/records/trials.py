"""What comes of setting two sides against each other: pairs, looks and verdicts. Records like those of `records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchwright.records import Better, Estimate, Failure, Revision, Scalar, Verdict


class Stage(StrEnum):
    """How far a case was looked into; also the reason of the runs that keep what was measured."""

    BENCHMARK = "benchmark"
    VERIFY = "verify"  # a change was seen: an independent second look
    REGRESS = "regress"  # both looks say worse


@dataclass(frozen=True, slots=True, kw_only=True)
class AbRules:
    """When a verdict is called."""

    smallest: float = 0.01  # a change below this counts as none
    false_alarms: float = 0.01  # at most, over all looks at a case that did not change; and among all changes named
    pairs: int = 40  # at most, in each look at a case
    failures: int = 3  # pairs of a case that may fail in a row before it is given up
    metric: str = ""  # "": latency_p50, or wall_time of what is called once
    seed: int = 0  # of the order inside the pairs
    verify: bool = True  # a change is named only when a second look says the same


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSide:
    """One of the two sides."""

    label: str  # as it was asked for
    revision: Revision | None = None
    folder: str = ""
    python: str = ""
    seconds: float = 0.0  # that building took
    cached: bool = False
    failure: Failure | None = None  # why it could not be built


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One process of each side, next to each other."""

    number: int
    order: str  # "AB": the control went first
    control: float | None  # None: no value
    treatment: float | None
    why: str = ""  # of a pair that does not count
    limit: str = ""  # the side that never reached the goal which is compared: its value is what it took at least

    @property
    def ratio(self) -> float | None:
        """Treatment over control; None when the pair does not count."""
        if self.why or not self.control or self.treatment is None:
            return None
        return self.treatment / self.control


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """One stage of one case: its pairs and what they say together."""

    stage: Stage
    verdict: Verdict
    why: str
    pairs: tuple[Pair, ...] = ()
    effect: Estimate | None = None  # treatment / control; None: too few pairs that count
    p_value: float = 1.0
    seconds: float = 0.0
    failed: bool = False  # given up because a side kept failing
    length: float = 1.0  # of its last processes, times the usual one: chosen from what the first pairs showed

    @property
    def counted(self) -> int:
        """How many pairs count."""
        return sum(pair.ratio is not None for pair in self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """One case on both sides: the verdict after its last stage."""

    name: str
    params: Mapping[str, Scalar]
    verdict: Verdict
    why: str
    effect: Estimate | None
    p_value: float  # of "nothing changed"
    adjusted: float  # the p-value in view of all cases of the trial
    heats: tuple[StageResult, ...]
    metric: str = ""
    unit: str = ""
    better: Better | None = None

    @property
    def stage(self) -> Stage:
        """How far it was looked into."""
        return self.heats[-1].stage

    @property
    def telling(self) -> StageResult | None:
        """The look that `effect` comes from: the last one with an estimate, or else with a pair that counts."""
        looks = [heat for heat in reversed(self.heats) if heat.effect is not None or heat.counted]
        return next((heat for heat in looks if heat.effect is not None), looks[0] if looks else None)

    @property
    def seen_twice(self) -> bool:
        """Whether a second look at fresh pairs said the same as the first."""
        verdicts = [heat.verdict for heat in self.heats if heat.stage in (Stage.BENCHMARK, Stage.VERIFY)]
        return len(verdicts) == 2 and set(verdicts) == {self.verdict}

    @property
    def pairs(self) -> int:
        """How many pairs count, over all stages."""
        return sum(heat.counted for heat in self.heats)

    @property
    def seconds(self) -> float:
        """How long all its pairs took."""
        return sum(heat.seconds for heat in self.heats)

    @property
    def failed(self) -> bool:
        """Whether it was given up because a side kept failing."""
        return any(heat.failed for heat in self.heats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Treatment against control, over all cases."""

    id: str  # also a tag of all its runs: ab-ID
    control: TrialSide
    treatment: TrialSide
    rules: AbRules
    rows: tuple[TrialRow, ...] = ()
    only_control: tuple[str, ...] = ()  # cases that only one side has
    only_treatment: tuple[str, ...] = ()
    runs: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # stage: the runs of control and treatment
    seconds: float = 0.0
    interrupted: bool = False
    unsaved: tuple[str, ...] = ()  # where results are that the store did not take
    machine: str = ""  # that measured both sides; "": this one

    @property
    def built(self) -> bool:
        """Whether both sides could be built."""
        return self.control.failure is None and self.treatment.failure is None

    @property
    def worse(self) -> bool:
        """Whether a case became worse."""
        return any(row.verdict is Verdict.WORSE for row in self.rows)

    @property
    def ok(self) -> bool:
        """Whether both sides were built, every case was measured on both and kept, and none became worse."""
        bad = self.worse or self.interrupted or self.unsaved or any(row.failed for row in self.rows)
        return self.built and not bad
