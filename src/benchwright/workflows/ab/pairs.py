"""One case on two sides: pairs of fresh processes next to each other, in an order that a coin decides.

Whatever the machine does meanwhile, it does to both. The coin is fair and thrown anew for each pair, so that when
nothing changed either side is as likely to come out ahead: that is what the test of `stats.pairs` stands on.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchwright.analysis.goals import goal_metric, limit_of
from benchwright.analysis.judged_metrics import directions_of, judged_metrics
from benchwright.errors import did_you_mean
from benchwright.execution.builds import BuiltRevision
from benchwright.execution.hosts import AnyHost
from benchwright.execution.hosts.matrix import MatrixHost
from benchwright.execution.hosts.revision import RevisionHost
from benchwright.execution.session import Measuring, Setting
from benchwright.records import Better, Case, Metric, Mode, Result, Status, Value, Verdict, is_sound
from benchwright.records.trials import AbRules, Pair, Stage, StageResult
from benchwright.stats.pairs import PairedEvidence, Sequential, is_in_vain, reach
from benchwright.worker.engine.engine import DEFAULT_DURATION

_CHOOSING = (8, 12)  # pairs after which the length of the processes is chosen
_LONGEST = 4.0  # times the usual length
_SHORTEN_AFTER = 2  # pairs, if they show a clear change: the rest are shorter
_SHORTEST = 0.2  # times the usual length
_TIMES_SMALLEST = 5.0  # a change is clear when it is so many times the smallest that matters,
_TIMES_SCATTER = 8.0  # and so many times what pairs scatter by
_TIMES_APART = 2.0  # sizes of differences show a change when they are so many times as large as they lie apart
_HALF_WIDTHS = 4.0  # median differences, over the root of the number of pairs: about half of the interval


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSide:
    """Something to measure, and the run that keeps what is measured of it. Two sides may share a run."""

    name: str  # control, treatment
    built: BuiltRevision
    measuring: Measuring

    def measure(self, case: Case, number: int, notes: Mapping[str, Value] | None = None) -> Result:
        """Measures a case as this side has it."""
        return self.measuring.measure(case, number, setting_of(self.built, {"side": self.name, **(notes or {})}))


def setting_of(built: BuiltRevision, notes: Mapping[str, Value] | None = None) -> Setting:
    """Where a case of a revision is measured: in its working copy, with its own Python."""
    host: AnyHost | None = built.there
    if built.parts:
        host = MatrixHost(built.parts)
    return Setting(
        host=host or RevisionHost(python=built.python, directory=built.folder, environment=built.environment),
        paths=built.paths,
        last_paths=built.last_paths,
        revision=built.revision if built.revision.vcs else None,
        notes=notes or {},
    )


class PairedCase:
    """A case that control and treatment both have: `case` as the control has it, `other` as the treatment does.

    `seed` decides the order inside the pairs; the first of the judged metrics that both sides have is
    compared, unless one is named.
    """

    def __init__(
        self,
        control: MeasuredSide,
        treatment: MeasuredSide,
        case: Case,
        *,
        other: Case | None = None,
        metric: str = "",
        seed: str = "",
    ) -> None:
        self.case = case
        self._sides = (control, treatment)
        self._cases = (case, other or case)
        self._wanted = metric
        self._coin = random.Random(seed)
        self.length = 1.0  # of the processes to come, times the usual one
        self.metric: Metric | None = None  # the first one seen: its name, unit and direction
        self.hopeless = ""  # why no pair will ever count
        self.is_left_out = False  # the benchmark says itself that it does not apply
        self.pairs: list[Pair] = []

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody pressed Ctrl-C."""
        return any(side.measuring.interrupted for side in self._sides)

    @property
    def is_elastic(self) -> bool:
        """Whether the length of the processes may be chosen, because the request does not fix it."""
        load = self.case.load
        fixed = load.duration or load.samples or load.once or load.precision or load.trace or load.find_rate
        return load.mode is Mode.CLOSED and not fixed

    def pair(self) -> Pair:
        """Measures both sides and saves both results. A failure makes a pair that does not count."""
        number = len(self.pairs)
        order = self._coin.choice(("AB", "BA"))
        results: dict[int, Result] = {}
        for index in (0, 1) if order == "AB" else (1, 0):
            notes: dict[str, Value] = {"pair": number, "order": order}
            results[index] = self._sides[index].measure(self._with_length(self._cases[index]), number, notes)
        pair = self._make_pair(number, order, results[0], results[1])
        self.pairs.append(pair)
        return pair

    def _with_length(self, case: Case) -> Case:
        if self.length == 1.0 or not self.is_elastic:
            return case
        return replace(case, load=replace(case.load, duration=self.length * DEFAULT_DURATION))

    def _make_pair(self, number: int, order: str, control: Result, treatment: Result) -> Pair:
        bare = Pair(number=number, order=order, control=None, treatment=None)
        failures = [
            f"{side.name}: {_describe_failure(result)}"
            for side, result in zip(self._sides, (control, treatment), strict=True)
            if result.status is not Status.OK and not self._tells_of_goal(result)
        ]
        if failures:
            self.is_left_out = is_sound(control) and is_sound(treatment)
            self.hopeless = "; ".join(failures) if self.is_left_out else ""
            return replace(bare, why="; ".join(failures))
        self.metric = self.metric or choose_metric(self._wanted, control, treatment)
        if self.metric is None or self.metric.better is None:
            self.hopeless = _explain_missing_metric(self._wanted, control)
            return replace(bare, why=self.hopeless)
        name = self.metric.name
        limits = [limit_of(result, name) for result in (control, treatment)]
        if any(limit is not None for limit in limits):
            return _pair_with_limit(bare, [_value(result, name) for result in (control, treatment)], limits)
        a, b = _value(control, name), _value(treatment, name)
        why = "" if a and b and min(a, b) > 0.0 else f"{name} is not above zero on both sides, so there is no ratio"
        return replace(bare, control=a, treatment=b, why=why)

    def _tells_of_goal(self, result: Result) -> bool:
        """Whether a result that ended at its timeout tells how long a goal was looked for that is compared."""
        wanted = self.metric.name if self.metric is not None else self._wanted
        return bool(wanted) and goal_metric(result, wanted) is not None


def _pair_with_limit(bare: Pair, values: Sequence[float | None], limits: Sequence[float | None]) -> Pair:
    """A pair of which a side never reached the goal. It counts where that side took longer than the other for sure.

    Then the ratio is known to be beyond what the two numbers give. To exchange the sides turns it over, as the test of
    pairs needs; and to leave out the pairs that tell nothing is the same whichever side is which.
    """
    a, b = limits
    if a is not None and b is not None:
        return replace(bare, why="neither side reached the goal, so the pair does not tell which one is faster")
    late = "treatment" if b is not None else "control"
    limit, other = (b, values[0]) if b is not None else (a, values[1])
    if limit is None or other is None or not 0.0 < other < limit:
        return replace(bare, why=f"{late} was looked at for too short a time to tell whether it is the slower one")
    return replace(
        bare,
        control=other if b is not None else limit,
        treatment=limit if b is not None else other,
        limit=late,
    )


class PairedTest:
    """The sequential test of a paired case: it ends when it is decided, given up, or has had all its pairs."""

    def __init__(self, paired: PairedCase, rules: AbRules) -> None:
        self.paired = paired
        self._rules = rules
        self._sequential: Sequential | None = None
        self._look: PairedEvidence | None = None
        self._failures = 0  # in a row
        self._seconds = 0.0

    @property
    def goes_on(self) -> bool:
        """Whether another pair is wanted."""
        decided = self._look is not None and self._look.verdict is not None
        return not (decided or self._is_given_up or self._cannot_decide) and self.left > 0

    @property
    def left(self) -> int:
        """How many pairs the test may still have."""
        return self._rules.pairs - len(self.paired.pairs)

    @property
    def _is_given_up(self) -> bool:
        return bool(self.paired.hopeless) or self._failures >= self._rules.failures or self._has_no_pair

    @property
    def _is_left_out(self) -> bool:
        """Whether the benchmark says itself that it does not apply: that is no failure."""
        return self.paired.is_left_out

    @property
    def _has_no_pair(self) -> bool:
        """Whether all pairs are used and none counts; an interrupt makes a pair fail that says nothing of the case."""
        return self._look is None and self.left <= 0 and not self.paired.is_interrupted

    @property
    def _cannot_decide(self) -> bool:
        rules, look = self._rules, self._look
        return look is not None and is_in_vain(look, smallest=rules.smallest, most=rules.pairs)

    def step(self) -> None:
        """Measures one more pair."""
        begin = time.monotonic()
        pair = self.paired.pair()
        self._seconds += time.monotonic() - begin
        if pair.why or pair.control is None or pair.treatment is None:
            self._failures += 1
            return
        self._failures = 0
        if self._sequential is None:
            rules, metric = self._rules, self.paired.metric
            better = (metric.better if metric else None) or Better.LOWER
            self._sequential = Sequential(
                smallest=rules.smallest, false_alarms=rules.false_alarms, most=rules.pairs, better=better
            )
        self._look = self._sequential.add(pair.control, pair.treatment, control_first=pair.order == "AB")
        self._choose_length()

    def _choose_length(self) -> None:
        """Shortens the processes where the first pairs differ clearly and alike, and doubles their length where the
        pairs so far differ so much that all of them may not decide.

        The sizes of the differences tell, not their signs: what is chosen by signs would spoil the test, which
        exchanges the labels of these pairs and leaves the later ones as they are.
        """
        paired, rules = self.paired, self._rules
        sizes = [abs(math.log(ratio)) for pair in paired.pairs if (ratio := pair.ratio) is not None]
        if self._look is None or self._look.verdict is not None or not paired.is_elastic:
            return
        if (
            len(sizes) == _SHORTEN_AFTER
            and max(sizes) - min(sizes) < min(sizes) / _TIMES_SCATTER
            and min(sizes) > _TIMES_SMALLEST * rules.smallest
        ):
            paired.length = min(paired.length, _SHORTEST)
        if len(sizes) not in _CHOOSING:
            return
        if _may_stay_undecided(sizes, rules):
            paired.length = min(_LONGEST, 2.0 * max(1.0, paired.length))

    def stage_result(self, stage: Stage) -> StageResult:
        """The verdict of its pairs together, as a record."""
        look, pairs = self._look, tuple(self.paired.pairs)
        verdict = (look.verdict if look else None) or Verdict.UNCLEAR
        why = look.why if look else "no pair counts"
        if self._is_given_up:
            verdict, why = Verdict.UNCLEAR, pairs[-1].why
        elif look is None or look.verdict is None:
            why = self._explain_unclear(len(pairs))
        if limited := sum(bool(pair.limit) for pair in pairs):
            why += (
                f"; in {limited} of {_count(len(pairs))} a side never got there, and counts with what it took at least"
            )
            verdict = Verdict.UNCLEAR if verdict is Verdict.SAME else verdict  # at least as long may be much longer
        return StageResult(
            stage=stage,
            verdict=verdict,
            why=why,
            pairs=pairs,
            effect=look.effect if look else None,
            p_value=look.p_value if look else 1.0,
            seconds=self._seconds,
            failed=self._is_given_up and not self._is_left_out,
            length=self.paired.length if self.paired.is_elastic else 1.0,
        )

    def _explain_unclear(self, pairs: int) -> str:
        """Why there is no verdict, and where the machine is to blame, what would help."""
        look, rules = self._look, self._rules
        told = reach(look, rules.pairs) if look is not None else None
        if self._cannot_decide and told is not None:
            early = f"ended after {_count(pairs)}: {rules.pairs} tell changes from about {100 * told:.2g} % on here; "
            longer = "" if self.paired.is_elastic else "a longer --duration, "
            return f"{early}what helps is a quieter machine, {longer}or a larger --smallest"
        return f"cut off after {_count(pairs)}" if self.left > 0 else f"{_count(rules.pairs)} could not tell"


def _may_stay_undecided(sizes: Sequence[float], rules: AbRules) -> bool:
    """Whether pairs that differ by these logarithms, without their signs, may not decide even when all are measured.

    Sizes that lie close together, far from zero, show a change: then how far they lie apart is what counts, and half of
    the change is what an interval has to tell.
    """
    middle = statistics.median(sizes)
    apart = statistics.median(abs(size - middle) for size in sizes)
    scatter, needed = middle, math.log1p(rules.smallest)
    if middle > _TIMES_APART * apart:
        scatter, needed = apart, max(needed, middle / 2.0)
    return _HALF_WIDTHS * scatter / math.sqrt(rules.pairs) > needed


def later_length(heats: Sequence[StageResult], most: int) -> float:
    """How long the processes of the next look are, times the usual length: a fifth where the first look was clear.

    What is eight times as large as the scatter of the pairs is still clear when they scatter twice as much. A first
    look that was decided with half of the `most` pairs shows that processes of the usual length will do.
    """
    first = heats[0] if heats else None
    if first is None:
        return 1.0
    ratios = [math.log(pair.ratio) for pair in first.pairs if pair.ratio]
    if first.effect is None or first.verdict is Verdict.UNCLEAR or len(first.pairs) > most / 2:
        return first.length
    change = math.log(first.effect.point)
    scatter = statistics.median(abs(ratio - change) for ratio in ratios)
    if len(ratios) <= _CHOOSING[0] and _TIMES_SCATTER * scatter < abs(change):
        return _SHORTEST
    return min(first.length, 1.0)


def choose_metric(wanted: str, control: Result, treatment: Result) -> Metric | None:
    """The metric to compare: the one that is wanted, or the first of those judged; None: not on both sides."""
    known = {metric.name for metric in treatment.metrics}
    shared = {metric.name: metric for metric in control.metrics if metric.name in known}
    if wanted:
        of_goal = goal_metric(control, wanted) and goal_metric(
            treatment, wanted
        )  # a round that never got there has one
        return shared.get(wanted) or of_goal
    return next((shared[name] for name in judged_metrics(directions_of(shared.values()))), None)


def _explain_missing_metric(wanted: str, result: Result) -> str:
    directed = [metric.name for metric in result.metrics if metric.better is not None]
    if not wanted:
        return "no metric that both sides have says which direction is better"
    if result.metric(wanted) is not None and wanted not in directed:
        return f"neither direction of {wanted} is better; those that can be judged: {', '.join(directed)}"
    return f"there is no metric {wanted!r} on both sides; {did_you_mean(wanted, directed)}"


def _value(result: Result, name: str) -> float | None:
    metric = result.metric(name)
    return metric.estimate.point if metric is not None else None


def _count(pairs: int) -> str:
    return "1 pair" if pairs == 1 else f"{pairs} pairs"


def _describe_failure(result: Result) -> str:
    return (result.error.message if result.error else "") or str(result.status)
