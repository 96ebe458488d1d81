"""Finds the commit that changed a figure: pairs against the good revision, wherever the next one tells the most.

`stats.bisection` says what is known and what to measure next; here the commits are built, measured and kept. A commit
that cannot be built or measured is passed over. Results of an earlier bisection of the same range are used again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchwright import environment, schema
from benchwright.bisected import Bisected, Compared, Passed
from benchwright.builds import Builder, Built
from benchwright.contests import Contest, Side, chosen
from benchwright.duel import Keeping
from benchwright.errors import OptionError, TargetError
from benchwright.events import Planned, Staged
from benchwright.findings import Suspect
from benchwright.measuring import Measuring, Plan
from benchwright.planning import plan_in
from benchwright.records import Case, Estimate, Load, Metric, Result, Run, Scalar, Status
from benchwright.sources import Request
from benchwright.stats import bisection as statistics
from benchwright.vcs.history import Commit

REASON = "bisect"
MOST_RUNS = 200
_POSSIBLE = 0.01  # the least probability of a commit that may still be the one
_TRIES = 2  # failures after which a commit is passed over

CaseIn = Callable[[Built], Case]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is asked for, and what is known beforehand."""

    confidence: float = statistics.CONFIDENCE
    most_runs: int = MOST_RUNS  # of one process each, those of earlier bisections of the range among them
    metric: str = ""  # "": the first of those usually judged that the case has
    seed: int = 0  # of the order inside the pairs
    suspects: Mapping[str, float] = field(default_factory=dict)  # revision -> probability; none: all alike
    measured: Sequence[str] = ()  # revisions that were told apart before: a suspect stands for all since the last one
    effect: Estimate | None = None  # as a ratio, where it was estimated before
    rebuild: bool = False  # also what was built before, or failed


def bisect(
    builder: Builder,
    good: str,
    bad: str,
    case_in: CaseIn,
    terms: Terms | None = None,
    keeping: Keeping | None = None,
    *,
    earlier: Sequence[Run] = (),
    **plan: Any,
) -> Bisected:
    """The commit between `good` and `bad` behind a change. `case_in` tells the case as a revision has it.

    `earlier` are runs of bisections of the same range (`tag_of`), whose pairs count; `plan` goes to `Plan`. An end that
    cannot be built or has no such case is a `TargetError`; Ctrl-C ends it with what is known.
    """
    hunt = _Hunt(builder, good, bad, case_in, terms or Terms(), keeping or Keeping())
    return hunt.run(earlier, plan)


def tag_of(builder: Builder, good: str, bad: str, build: str) -> str:
    """What the runs of bisections of one range, built in one way, are tagged with."""
    ends = [builder.repository.resolve(name).revision.id for name in (good, bad)]
    return f"{REASON}-{hashlib.sha256(json.dumps([*ends, build]).encode()).hexdigest()[:12]}"


def planned(request: Request, *, name: str = "", finished: Callable[[Case], Case] = lambda case: case) -> CaseIn:
    """The one case of a request, or the one of that name among several, as each revision has it."""
    known: list[tuple[str, Mapping[str, Scalar]]] = []

    def case_in(built: Built) -> Case:
        cases = plan_in(built, request)
        wanted = [case for case in cases if case.name == name] if name else cases
        if known:
            wanted = [case for case in wanted if (case.name, case.params) == known[0]]
        if len(wanted) != 1:
            raise _not_one(built, cases, wanted)
        known[:] = [(wanted[0].name, wanted[0].params)]
        return finished(wanted[0])

    return case_in


def _not_one(built: Built, cases: Sequence[Case], wanted: Sequence[Case]) -> TargetError:
    where = f"revision {built.revision.id[:12]}"
    if not wanted:
        return TargetError(f"{where} does not have this case", remedy="choose a range in which both ends have it")
    labels = [" ".join([case.name, *(f"{key}={value}" for key, value in case.params.items())]) for case in cases]
    some = "; ".join(labels[:4]) + ("; ..." if len(labels) > 4 else "")
    return TargetError(f"{where}: {len(wanted)} cases, and one can be bisected: {some}", remedy="name one of them")


class _Hunt:
    """One bisection while it takes place."""

    def __init__(self, builder: Builder, good: str, bad: str, case_in: CaseIn, terms: Terms, keeping: Keeping) -> None:
        self._builder, self._case_in, self._terms, self._keeping = builder, case_in, terms, keeping
        self._good = builder.repository.resolve(good)
        self._commits = _between(builder, self._good, good, bad)
        self._index = {commit.revision.id: index for index, commit in enumerate(self._commits)}
        self._prior = _prior(terms, self._index)
        self._pairs: list[Compared] = []
        self._skipped: dict[int, str] = {}
        self._failures: dict[int, int] = {}
        self._contests: dict[int, Contest] = {}
        self._again = 0
        self._looked_at = -1
        self._metric: Metric | None = None

    def run(self, earlier: Sequence[Run], plan: dict[str, Any]) -> Bisected:
        begin = time.monotonic()
        good, bad = self._end(self._good.revision.id), self._end(self._commits[-1].revision.id)
        case, last = self._case_in(good), self._case_in(bad)
        self._recall(earlier, case)
        measuring = self._measuring(plan, good)
        with measuring:
            control = Side(name="good", built=good, measuring=measuring)
            self._contest(len(self._commits) - 1, control, case, bad, last)
            step, why = self._search(control, case)
        return self._told(measuring, case, step, why, time.monotonic() - begin)

    # ---- before anything is measured ----

    def _end(self, revision: str) -> Built:
        built = self._build(revision)
        if built.failure is not None:
            raise TargetError(f"an end of the range: {built.failure.message}", remedy=built.failure.remedy)
        return built

    def _build(self, revision: str) -> Built:
        return self._builder.prepare(revision, rebuild=self._terms.rebuild)

    def _measuring(self, plan: dict[str, Any], good: Built) -> Measuring:
        keeping = self._keeping
        return Measuring(
            Plan(**plan, rounds=0, reason=REASON, directory=good.folder),
            keeping.open_store,
            keeping.listener,
            looks_ready=keeping.looks_ready,
            interrupt=keeping.interrupt,
        )

    def _recall(self, earlier: Sequence[Run], case: Case) -> None:
        """Takes over the pairs of earlier runs that are about this case on such a machine: elsewhere a change may have
        another size."""
        here = schema.environment_key(environment.collect()) if earlier else ""
        for run in earlier:
            for control, treatment in _adjacent(run, self._good.revision.id, case):
                if schema.environment_key(treatment.environment) != here:
                    continue
                metric = chosen(self._metric.name if self._metric else self._terms.metric, control, treatment)
                ratio = _ratio(control, treatment, metric)
                revision = treatment.revision.id if treatment.revision else ""
                if ratio is not None and revision in self._index:
                    self._pairs.append(Compared(revision=revision, ratio=ratio, run=run.id))
                    self._metric = self._metric or metric
        self._again = 2 * len(self._pairs)

    # ---- the search ----

    def _search(self, control: Side, case: Case) -> tuple[statistics.Step, str]:
        """Until one commit is sure, the budget is used, or nothing more can be learnt."""
        measuring = control.measuring
        last = len(self._commits) - 1
        while True:
            step = self._step()
            if measuring.interrupted:
                return step, "interrupted"
            if step.commit is None:
                return step, "sure enough"
            if self._again + len(measuring.results) + 2 > self._terms.most_runs:
                return step, f"{self._terms.most_runs} runs do not tell"
            if last in self._skipped:
                return step, f"the bad end cannot be measured: {self._skipped[last]}"
            self._announce(step, len(measuring.results))
            contest = self._contests.get(step.commit) or self._candidate(step.commit, control, case)
            if contest is not None and (failure := self._pair(step.commit, contest, measuring)):
                return step, failure

    def _step(self) -> statistics.Step:
        pairs = [statistics.Pair(commit=self._index[pair.revision], ratio=pair.ratio) for pair in self._pairs]
        ready = set(self._contests)
        return statistics.following(
            self._prior, pairs, confidence=self._terms.confidence, skipped=set(self._skipped), ready=ready
        )

    def _announce(self, step: statistics.Step, done: int) -> None:
        most = max(self._terms.most_runs - self._again - done, 2)
        left = min(2 * statistics.expected_pairs(step.posterior), most)
        self._keeping.listener(Planned(total=done + left, done=done))
        if step.commit is not None and step.commit != self._looked_at:
            self._looked_at = step.commit
            possible = sum(share >= _POSSIBLE for share in step.posterior.commits)
            short = self._commits[step.commit].revision.id[:12]
            commits = f"{possible} of {len(self._commits)} commits may be the one"
            self._keeping.listener(Staged(text=f"looking at {short}; {commits}, about {left} runs left"))

    def _candidate(self, index: int, control: Side, case: Case) -> Contest | None:
        """Makes a commit ready; None when that is not possible, which is remembered."""
        built = self._build(self._commits[index].revision.id)
        if built.failure is not None:
            self._skipped[index] = built.failure.message
            return None
        try:
            other = self._case_in(built)
        except TargetError as error:
            self._skipped[index] = error.message
            return None
        return self._contest(index, control, case, built, other)

    def _contest(self, index: int, control: Side, case: Case, built: Built, other: Case) -> Contest:
        known = self._metric.name if self._metric else self._terms.metric
        treatment = Side(name="candidate", built=built, measuring=control.measuring)
        seed = json.dumps([self._terms.seed, built.revision.id, len(self._pairs)])
        self._contests[index] = Contest(control, treatment, case, other=other, metric=known, seed=seed)
        return self._contests[index]

    def _pair(self, index: int, contest: Contest, measuring: Measuring) -> str:
        """Measures one; why nothing more can be learnt, if that is so."""
        pair = contest.pair()
        if contest.hopeless:
            raise OptionError(contest.hopeless)
        self._metric = self._metric or contest.metric
        if pair.ratio is not None:
            self._failures.clear()
            revision = self._commits[index].revision.id
            self._pairs.append(Compared(revision=revision, ratio=pair.ratio, run=measuring.id))
            return ""
        bad_control = any(
            result.status is not Status.OK and result.revision and result.revision.id == self._good.revision.id
            for result in measuring.results[-2:]
        )
        which = -1 if bad_control else index
        self._failures[which] = self._failures.get(which, 0) + 1
        if self._failures[which] < _TRIES or measuring.interrupted:
            return ""
        if bad_control:
            return f"the good end cannot be measured: {pair.why}"
        self._skipped[index] = pair.why
        return ""

    # ---- what it comes to ----

    def _told(self, measuring: Measuring, case: Case, step: statistics.Step, why: str, seconds: float) -> Bisected:
        posterior = step.posterior
        suspects = [_suspect(*each) for each in zip(self._commits, posterior.commits, strict=True)]
        best = posterior.groups(set(self._skipped))[0]
        sure_of_none = posterior.nothing >= self._terms.confidence
        metric = self._metric
        named = bool(self._pairs) and not sure_of_none
        return Bisected(
            id=measuring.id,
            case=case.name,
            metric=metric.name if metric else self._terms.metric,
            unit=metric.unit if metric else "",
            better=metric.better if metric else None,
            good=self._good.revision,
            bad=self._commits[-1].revision,
            commits=tuple(suspects),
            culprits=tuple(suspects[i] for i in best.commits) if named else (),
            probability=best.probability,
            nothing=posterior.nothing,
            effect=posterior.effect if self._pairs else None,
            noise=posterior.noise if self._pairs else None,
            confidence=self._terms.confidence,
            why="nothing changed in this range" if sure_of_none else why,
            pairs=tuple(self._pairs),
            passed=tuple(
                Passed(revision=self._commits[i].revision.id, why=words) for i, words in sorted(self._skipped.items())
            ),
            runs=len(measuring.results) + self._again,
            again=self._again,
            plain=statistics.plain_runs(posterior, self._terms.confidence) if self._pairs else None,
            built=1 + len(self._contests),
            seconds=seconds,
            interrupted=measuring.interrupted,
        )


def _between(builder: Builder, good: Commit, good_name: str, bad_name: str) -> list[Commit]:
    bad = builder.repository.resolve(bad_name)
    commits = builder.repository.after(good.revision.id, bad.revision.id)
    if not commits:
        same = good.revision.id == bad.revision.id
        problem = "are one commit" if same else "are no range: the former is no ancestor of the latter"
        raise TargetError(f"{good_name} and {bad_name} {problem}", remedy="give --good the older one, --bad the newer")
    return commits


def _prior(terms: Terms, index: Mapping[str, int]) -> statistics.Prior:
    marks = sorted({index[each] for each in (*terms.measured, *terms.suspects) if each in index})
    places: dict[int, float] = {}
    for revision, share in terms.suspects.items():
        if revision in index:
            end = index[revision]
            begin = max((mark for mark in marks if mark < end), default=-1) + 1
            for place in range(begin, end + 1):
                places[place] = places.get(place, 0.0) + share / (end + 1 - begin)
    return statistics.placed(places, len(index), effect=terms.effect)


def _suspect(commit: Commit, probability: float) -> Suspect:
    known = commit.revision
    return Suspect(revision=known.id, probability=probability, subject=known.subject, author=known.author)


def _adjacent(run: Run, good: str, case: Case) -> Iterator[tuple[Result, Result]]:
    """The pairs of a run, as good and candidate: two results next to each other, one of each, of this case under the
    same load; only the seed may differ, as each run has its own."""
    asked = _asked(case)
    results = [each for each in run.results if _asked(each.case) == asked]
    waiting: Result | None = None
    for result in results:
        if waiting is not None and waiting.round == result.round and _is_of(waiting, good) != _is_of(result, good):
            yield (waiting, result) if _is_of(waiting, good) else (result, waiting)
            waiting = None
        else:
            waiting = result


def _asked(case: Case) -> tuple[str, dict[str, Scalar], Load]:
    return case.name, dict(case.params), replace(case.load, seed=0)


def _is_of(result: Result, revision: str) -> bool:
    return result.revision is not None and result.revision.id == revision


def _ratio(control: Result, treatment: Result, metric: Metric | None) -> float | None:
    """The candidate's figure over the good one's; None where there is none."""
    if metric is None or control.status is not Status.OK or treatment.status is not Status.OK:
        return None
    a, b = (result.metric(metric.name) for result in (control, treatment))
    if a is None or b is None or min(a.estimate.point, b.estimate.point) <= 0:
        return None
    return b.estimate.point / a.estimate.point
