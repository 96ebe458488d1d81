"""Finds the commit that changed a figure: pairs against the good revision, wherever the next one tells the most.

`stats.bisection` says what is known and what to measure next; here the commits are built, measured and kept. A commit
that cannot be built or measured is passed over. Where pairs tell too little, processes are made longer; where that does
not help, the search ends with what is known. Results of an earlier bisection of the same range are used again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchwright import schema
from benchwright.errors import OptionError, TargetError
from benchwright.events import Planned, Staged
from benchwright.execution.builds import BuiltRevision, RevisionBuilder
from benchwright.execution.session import Measuring, Plan
from benchwright.records import Case, Estimate, Metric, Run, Status
from benchwright.records.bisections import Bisected, ComparedPair, Culprit, Passed, elsewhere
from benchwright.stats import bisection as statistics
from benchwright.stats.bisection import GOOD, BisectionStep
from benchwright.workflows.ab.pairs import MeasuredSide, PairedCase, choose_metric
from benchwright.workflows.ab.trial import TrialDestination
from benchwright.workflows.bisect.pairs import (
    CANDIDATE,
    LENGTHS,
    can_last,
    commits_between,
    compare_adjacent,
    find_adjacent,
    is_at_revision,
    make_suspect,
    seconds_of,
    with_length,
)

REASON = "bisect"
MOST_RUNS = 200
_POSSIBLE = 0.01  # of the expected change: a commit that may still be the one
_TRIES = 2  # failures after which a commit is passed over
_FAR = 30  # pairs: a search that is expected to take more is worth longer processes
_PATIENCE = 4  # steps in a row that expect so
_LAST_PATIENCE = 12  # the same where processes cannot be longer, before the search ends
_SETTLED = 8  # pairs before the first such step counts

CaseIn = Callable[[BuiltRevision], Case]
_Ends = tuple[str, str]  # the good and the bad revision, as they were named


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionTerms:
    """The terms of a bisection: what is asked for, and what is known before it starts."""

    confidence: float = statistics.CONFIDENCE
    most_runs: int = MOST_RUNS  # of one process each, those of earlier bisections of the range among them
    metric: str = ""  # "": the first of those usually judged that the case has
    seed: int = 0  # of the order inside the pairs
    suspects: Mapping[str, float] = field(default_factory=dict)  # revision -> probability; none: all alike
    measured: Sequence[str] = ()  # revisions that were told apart before: a suspect stands for all since the last one
    effect: Estimate | None = None  # as a ratio, where it was estimated before
    rebuild: bool = False  # also what was built before, or failed
    every: bool = False  # go on to the next culprit when one is named


def bisect(
    builder: RevisionBuilder,
    good: str,
    bad: str,
    case_in: CaseIn,
    terms: BisectionTerms | None = None,
    keeping: TrialDestination | None = None,
    *,
    earlier: Sequence[Run] = (),
    plan: Plan | None = None,
) -> Bisected:
    """The commit between `good` and `bad` behind a change. `case_in` tells the case as a revision has it.

    `earlier` are runs of bisections of the same range (`tag_of`), whose pairs count; `plan` is that of the new run. An
    end that cannot be built or has no such case is a `TargetError`; Ctrl-C ends it with what is known.
    """
    search = _Search(builder, (good, bad), case_in, terms or BisectionTerms(), keeping or TrialDestination())
    return search.run(earlier, plan or Plan())


def tag_of(builder: RevisionBuilder, good: str, bad: str, build: str) -> str:
    """What the runs of bisections of one range, built in one way, are tagged with."""
    ends = [builder.repository.resolve(name).revision.id for name in (good, bad)]
    return f"{REASON}-{hashlib.sha256(json.dumps([*ends, build]).encode()).hexdigest()[:12]}"


class _Search:
    """One bisection while it runs."""

    def __init__(
        self, builder: RevisionBuilder, ends: _Ends, case_in: CaseIn, terms: BisectionTerms, keeping: TrialDestination
    ) -> None:
        self._builder, self._case_in, self._terms, self._keeping = builder, case_in, terms, keeping
        self._good = builder.repository.resolve(ends[0])
        self._commits = commits_between(builder, self._good, *ends)
        self._index = {commit.revision.id: index for index, commit in enumerate(self._commits)}
        self._prior = _prior(terms, self._index)
        self._pairs: list[ComparedPair] = []
        self._skipped: dict[int, str] = {}
        self._failures: dict[int, int] = {}
        self._ready: dict[int, tuple[BuiltRevision, Case]] = {}
        self._paired_cases: dict[tuple[int, int, float], PairedCase] = {}
        self._named: list[Culprit] = []
        self._again = 0
        self._looked_at = (-1, -1)
        self._metric: Metric | None = None
        self._length, self._in_vain = LENGTHS[0], 0

    def run(self, earlier: Sequence[Run], plan: Plan) -> Bisected:
        begin = time.monotonic()
        good, bad = self._build_end(self._good.revision.id), self._build_end(self._commits[-1].revision.id)
        case = self._case_in(good)
        self._ready = {GOOD: (good, case), len(self._commits) - 1: (bad, self._case_in(bad))}
        self._recall(earlier, case)
        with self._session(plan, good) as measuring:
            step, why = self._search(measuring)
        return self._conclude(measuring, case, step, why, time.monotonic() - begin)

    # ---- before anything is measured ----

    def _build_end(self, revision: str) -> BuiltRevision:
        built = self._build(revision)
        if built.failure is not None:
            raise TargetError(f"an end of the range: {built.failure.message}", remedy=built.failure.remedy)
        return built

    def _build(self, revision: str) -> BuiltRevision:
        return self._builder.prepare(revision, rebuild=self._terms.rebuild)

    def _session(self, plan: Plan, good: BuiltRevision) -> Measuring:
        keeping = self._keeping
        return Measuring(
            replace(plan, rounds=0, reason=REASON, directory=good.folder),
            keeping.open_store,
            keeping.listener,
            looks_ready=keeping.looks_ready,
            interrupt=keeping.interrupt,
        )

    def _recall(self, earlier: Sequence[Run], case: Case) -> None:
        """Takes over the pairs of earlier runs that are about this case on such a machine: elsewhere a change may have
        another size."""
        here = schema.environment_key(self._builder.collect_environment()) if earlier else ""
        for run in sorted(earlier, key=lambda each: each.started_at):
            for adjacent in find_adjacent(run, case):
                control, treatment = adjacent.control, adjacent.treatment
                if schema.environment_key(treatment.environment) != here:
                    continue
                metric = choose_metric(self._metric.name if self._metric else self._terms.metric, control, treatment)
                pair = compare_adjacent(adjacent, metric, run.id)
                if pair is not None and self._places_of(pair) is not None:
                    self._pairs.append(pair)
                    self._metric = self._metric or metric
        self._again = 2 * len(self._pairs)

    def _places_of(self, pair: ComparedPair) -> tuple[int, int] | None:
        """The places of the control and the commit; None where one of them is not in the range."""
        base = GOOD if pair.against == self._good.revision.id else self._index.get(pair.against)
        commit = self._index.get(pair.revision)
        return None if base is None or commit is None else (base, commit)

    # ---- the search ----

    def _search(self, measuring: Measuring) -> tuple[BisectionStep, str]:
        """Searches until the culprits are named, the budget is used, or nothing more can be learnt."""
        last = len(self._commits) - 1
        while True:
            step = self._step()
            if measuring.interrupted:
                return step, "interrupted"
            if step.commit is None:
                if not self._goes_on(step):
                    return step, "sure enough"
                continue
            if self._again + len(measuring.results) + 2 > self._terms.most_runs:
                return step, f"{self._terms.most_runs} runs are not enough to name a commit"
            if last in self._skipped:
                return step, f"the bad end cannot be measured: {self._skipped[last]}"
            if self._is_in_vain(step, len(measuring.results)):
                return step, "on a machine as noisy as this, more such runs would tell next to nothing"
            self._announce(step, len(measuring.results))
            paired = self._paired_case(step.base, step.commit, measuring)
            if paired is not None and (failure := self._pair(step, paired, measuring)):
                return step, failure

    def _step(self) -> BisectionStep:
        return statistics.choose_next_step(
            self._prior,
            self._known_pairs(),
            confidence=self._terms.confidence,
            skipped=set(self._skipped),
            ready=set(self._ready),
            named={self._index[each.revision] for culprit in self._named for each in culprit.commits},
        )

    def _known_pairs(self) -> list[statistics.CommitPair]:
        found = []
        for pair in self._pairs:
            places = self._places_of(pair)
            if places is not None and pair.control is not None and pair.figure is not None:
                found.append(
                    statistics.CommitPair(
                        base=places[0],
                        commit=places[1],
                        control=pair.control,
                        figure=pair.figure,
                        length=pair.length,
                        control_first=pair.control_first,
                    )
                )
        return found

    def _goes_on(self, step: BisectionStep) -> bool:
        """Notes the culprit that a step is sure of; whether another one is wanted."""
        if step.group is None:
            return False
        culprit = self._culprit(step.group, step)
        if not culprit.is_shown:
            return False
        self._named.append(culprit)
        return self._terms.every

    def _is_in_vain(self, step: BisectionStep, done: int) -> bool:
        """Whether the search is to end, as further pairs tell too little; makes processes longer before that."""
        far = step.group is None and statistics.expected_pairs(step) > _FAR
        self._in_vain = self._in_vain + 1 if far and len(self._pairs) >= _SETTLED else 0
        if self._in_vain < _PATIENCE:
            return False
        case = self._ready[GOOD][1]
        longer = next((each for each in LENGTHS if each > self._length), None)
        if longer is not None and can_last(case, longer):
            self._length, self._in_vain = longer, 0
            seconds = longer * seconds_of(case)
            self._keeping.listener(Staged(text=f"pairs tell too little: processes of {seconds:.3g} s from here on"))
            return False
        left = (self._terms.most_runs - self._again - done) // 2
        return self._in_vain >= _LAST_PATIENCE and statistics.expected_pairs(step) > 2 * left

    def _announce(self, step: BisectionStep, done: int) -> None:
        most = max(self._terms.most_runs - self._again - done, 2)
        left = min(2 * statistics.expected_pairs(step, self._known_pairs()), most)
        self._keeping.listener(Planned(total=done + left, done=done))
        if step.commit is not None and (step.base, step.commit) != self._looked_at:
            self._looked_at = (step.base, step.commit)
            expected = [share * size for share, size in zip(step.posterior.commits, step.posterior.sizes, strict=True)]
            possible = sum(each >= _POSSIBLE * sum(expected) for each in expected)
            short = self._commits[step.commit].revision.id[:12]
            commits = f"{possible} of {len(self._commits)} commits may be the one"
            text = f"looking at {short}; {commits}, about {left} runs left"
            if step.group is not None:
                text = f"setting {short} against its parent {self._revision(step.base)[:12]}, about {left} runs left"
            self._keeping.listener(Staged(text=text))

    def _revision(self, place: int) -> str:
        return self._good.revision.id if place == GOOD else self._commits[place].revision.id

    def _paired_case(self, base: int, commit: int, measuring: Measuring) -> PairedCase | None:
        """Returns the case with both sides built; None when that is not possible, which is remembered."""
        key = (base, commit, self._length)
        if key in self._paired_cases:
            return self._paired_cases[key]
        for place in (base, commit):
            if place not in self._ready and not self._prepare(place):
                return None
        (control, case), (treatment, other) = self._ready[base], self._ready[commit]
        self._paired_cases[key] = PairedCase(
            MeasuredSide(name="good" if base == GOOD else "parent", built=control, measuring=measuring),
            MeasuredSide(name=CANDIDATE, built=treatment, measuring=measuring),
            with_length(case, self._length),
            other=with_length(other, self._length),
            metric=self._metric.name if self._metric else self._terms.metric,
            seed=json.dumps([self._terms.seed, treatment.revision.id, len(self._pairs)]),
        )
        return self._paired_cases[key]

    def _prepare(self, place: int) -> bool:
        """Makes a commit ready, or notes why it cannot be."""
        built = self._build(self._commits[place].revision.id)
        if built.failure is not None:
            self._skipped[place] = built.failure.message
            return False
        try:
            self._ready[place] = (built, self._case_in(built))
        except TargetError as error:
            self._skipped[place] = error.message
            return False
        return True

    def _pair(self, step: BisectionStep, paired: PairedCase, measuring: Measuring) -> str:
        """Measures one pair; returns why the search cannot go on, or ""."""
        pair = paired.pair()
        if paired.hopeless:
            raise OptionError(paired.hopeless)
        self._metric = self._metric or paired.metric
        base, commit = step.base, step.commit if step.commit is not None else GOOD
        if pair.ratio is not None:
            self._failures.clear()
            self._pairs.append(
                ComparedPair(
                    revision=self._revision(commit),
                    ratio=pair.ratio,
                    run=measuring.id,
                    against=self._revision(base),
                    control=pair.control,
                    figure=pair.treatment,
                    control_first=pair.order == "AB",
                    length=self._length,
                )
            )
            return ""
        failed = [result for result in measuring.results[-2:] if result.status is not Status.OK]
        which = base if any(is_at_revision(result, self._revision(base)) for result in failed) else commit
        self._failures[which] = self._failures.get(which, 0) + 1
        if self._failures[which] < _TRIES or measuring.interrupted:
            return ""
        if which == GOOD:
            return f"the good end cannot be measured: {pair.why}"
        self._skipped[which] = pair.why
        return ""

    # ---- what it comes to ----

    def _culprit(self, group: statistics.Group, step: BisectionStep) -> Culprit:
        size = step.size if step.group == group else None
        members = [self._commits[place] for place in group.commits]
        own = size if len(members) == 1 else None
        suspects = [make_suspect(each, step.posterior.commits[self._index[each.revision.id]], own) for each in members]
        return Culprit(
            commits=tuple(suspects),
            probability=group.probability,
            parent=self._revision(group.edge[0]),
            effect=size,
        )

    def _conclude(self, measuring: Measuring, case: Case, step: BisectionStep, why: str, seconds: float) -> Bisected:
        posterior, metric = step.posterior, self._metric
        alike = step.commit is None and step.group is None and not self._named
        best = step.group or posterior.groups(set(self._skipped))[0]
        first = self._named[0] if self._named else self._culprit(best, step)
        if alike:
            why = "nothing changed in this range"
        elif why == "sure enough" and not first.is_shown:
            why = "pairs with its own parent do not show it"
        own = {each.commits[0].revision: each.effect for each in (first, *self._named) if len(each.commits) == 1}
        suspects = [
            make_suspect(commit, share, own.get(commit.revision.id))
            for commit, share in zip(self._commits, posterior.commits, strict=True)
        ]
        whole = posterior.effect if self._pairs else None
        return Bisected(
            id=measuring.id,
            case=case.name,
            metric=metric.name if metric else self._terms.metric,
            unit=metric.unit if metric else "",
            better=metric.better if metric else None,
            good=self._good.revision,
            bad=self._commits[-1].revision,
            commits=tuple(suspects),
            culprits=first.commits if self._pairs and not alike else (),
            probability=first.probability,
            nothing=posterior.nothing,
            effect=first.effect,
            noise=posterior.noise if self._pairs else None,
            confidence=self._terms.confidence,
            why=why,
            whole=whole,
            elsewhere=elsewhere(whole, [each.effect for each in self._named]),
            further=tuple(self._named[1:]),
            pairs=tuple(self._pairs),
            passed=tuple(
                Passed(revision=self._commits[i].revision.id, why=words) for i, words in sorted(self._skipped.items())
            ),
            runs=len(measuring.results) + self._again,
            again=self._again,
            length=self._length,
            built=len(self._ready),
            seconds=seconds,
            interrupted=measuring.interrupted,
        )


def _prior(terms: BisectionTerms, index: Mapping[str, int]) -> statistics.Prior:
    marks = sorted({index[each] for each in (*terms.measured, *terms.suspects) if each in index})
    places: dict[int, float] = {}
    for revision, share in terms.suspects.items():
        if revision in index:
            end = index[revision]
            begin = max((mark for mark in marks if mark < end), default=-1) + 1
            for place in range(begin, end + 1):
                places[place] = places.get(place, 0.0) + share / (end + 1 - begin)
    return statistics.prior_from_weights(places, len(index), effect=terms.effect)
