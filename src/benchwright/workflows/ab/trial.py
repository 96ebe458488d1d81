"""Control against treatment: interleaved pairs, verdicts with a stated rate of false alarms, everything kept.

Three stages, as older systems had them, each with two runs of its own, whose `reason` is the name of the stage:

- benchmark: all cases take turns, a pair at a time, until each is decided (`stats.pairs`).
- verify: where a change was seen, a second look at fresh pairs. A change is named when both looks agree, and its size
  is that of the second look, which was not chosen for being large.
- regress: one more pair of what is now known to be worse, so that these can be found by the reason of their runs.

Over many cases: one that did not change comes to the second look with probability `false_alarms` at most, and is then
called again no more often than the level of that look, at most 1/cases, allows. So `false_alarms` times the p-value of
the second look is one of both (`stats.fdr.verified`), small enough to stand among all cases. Without a second look the
level of the first is `false_alarms`/cases.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from benchwright.errors import StoreError, TargetError
from benchwright.events import Listener, Planned, Staged, nobody
from benchwright.execution.builds import BuiltRevision
from benchwright.execution.plan_elsewhere import plan_in
from benchwright.execution.saver import ResultSink
from benchwright.execution.session import Measuring, Plan, new_run_id
from benchwright.records import Case, Verdict
from benchwright.records.trials import AbRules, Stage, StageResult, Trial, TrialRow, TrialSide
from benchwright.stats import fdr
from benchwright.system.interrupts import Interrupt
from benchwright.targets.sources import Request
from benchwright.workflows.ab.pairs import MeasuredSide, PairedCase, PairedTest, later_length

__all__ = ["AbRules", "MatchedCases", "MeasuredSide", "PairedCase", "Trial", "TrialDestination", "ab", "match", "trial"]

TAG = "ab"
_DOING = {Stage.BENCHMARK: "measuring", Stage.VERIFY: "looking again at", Stage.REGRESS: "one more pair of"}
_CHANGES = (Verdict.WORSE, Verdict.BETTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedCases:
    """The cases that both sides have, as control and treatment have them, and the names of the others."""

    cases: tuple[tuple[Case, Case], ...]
    only_control: tuple[str, ...] = ()
    only_treatment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialDestination:
    """The store that results go to, and the listener that hears of them."""

    open_store: Callable[[], ResultSink] | None = None  # None: nowhere
    looks_ready: Callable[[], bool] = lambda: False
    listener: Listener = nobody
    labels: tuple[str, str] = ("control", "treatment")  # how control and treatment were asked for
    interrupt: Interrupt = field(default_factory=Interrupt)


def ab(
    control: BuiltRevision,
    treatment: BuiltRevision,
    request: Request,
    rules: AbRules | None = None,
    keeping: TrialDestination | None = None,
    plan: Plan | None = None,
) -> Trial:
    """Sets the treatment against the control in every case of the request that both have.

    `plan` holds what all runs of the trial have in common. A side that could not be built makes a trial without rows.
    """
    if not (control.ok and treatment.ok):
        return _new_trial(control, treatment, rules or AbRules(), keeping or TrialDestination())
    return trial(control, treatment, match(control, treatment, request), rules, keeping, plan)


def match(control: BuiltRevision, treatment: BuiltRevision, request: Request) -> MatchedCases:
    """Plans the request on both sides and pairs the cases by name and parameters; a `TargetError` when none pairs."""
    control_cases, treatment_cases = (dict(_key_cases(plan_in(built, request))) for built in (control, treatment))
    shared = [key for key in control_cases if key in treatment_cases]
    if not shared:
        raise TargetError(
            "control and treatment have no case in common: "
            f"control has {_list_names(control_cases)}, treatment has {_list_names(treatment_cases)}",
            remedy="name a target that both have, or give the same --param",
        )
    return MatchedCases(
        cases=tuple((control_cases[key], treatment_cases[key]) for key in shared),
        only_control=tuple(_labels_of_missing(control_cases, treatment_cases)),
        only_treatment=tuple(_labels_of_missing(treatment_cases, control_cases)),
    )


def trial(
    control: BuiltRevision,
    treatment: BuiltRevision,
    matched: MatchedCases,
    rules: AbRules | None = None,
    keeping: TrialDestination | None = None,
    plan: Plan | None = None,
) -> Trial:
    """Runs the stages over cases that are matched, each result saved at once. Ctrl-C ends it with what is known.

    `plan` holds what all runs of the trial have in common: its tags, CPUs and command line, and more.
    """
    return _TrialRunner(
        control, treatment, matched, rules or AbRules(), keeping or TrialDestination(), plan or Plan()
    ).run()


class _TrialRunner:
    """One trial while it takes place."""

    def __init__(
        self,
        control: BuiltRevision,
        treatment: BuiltRevision,
        matched: MatchedCases,
        rules: AbRules,
        keeping: TrialDestination,
        plan: Plan,
    ) -> None:
        self._built = (control, treatment)
        self._matched, self._rules, self._keeping, self._plan = matched, rules, keeping, plan
        self._trial = _new_trial(control, treatment, rules, keeping)
        self._heats: list[list[StageResult]] = [[] for _ in matched.cases]
        self._paired_cases: list[PairedCase] = []  # of the first stage, which know the metrics
        self._runs: dict[str, tuple[str, str]] = {}
        self._unsaved: list[str] = []

    def run(self) -> Trial:
        begin = time.monotonic()
        count, alarms = len(self._matched.cases), self._rules.false_alarms
        last = fdr.level(count, rate=1.0 if self._rules.verify else alarms, most=alarms)  # of the look that decides
        self._run_stage(Stage.BENCHMARK, range(count), self._tests_at_level(alarms if self._rules.verify else last))
        if self._rules.verify:
            changed = [i for i, heats in enumerate(self._heats) if heats[0].verdict in _CHANGES]
            self._run_stage(Stage.VERIFY, changed, self._tests_at_level(last))
        rows = self._rows(last)
        self._run_stage(Stage.REGRESS, [i for i, row in enumerate(rows) if row.verdict is Verdict.WORSE], _OneMorePair)
        return replace(
            self._trial,
            rows=tuple(replace(row, heats=tuple(heats)) for row, heats in zip(rows, self._heats, strict=True)),
            only_control=self._matched.only_control,
            only_treatment=self._matched.only_treatment,
            runs=self._runs,
            seconds=time.monotonic() - begin,
            interrupted=self._keeping.interrupt.seen,
            unsaved=tuple(self._unsaved),
        )

    def _tests_at_level(self, level: float) -> Callable[[PairedCase], PairedTest]:
        return lambda paired: PairedTest(paired, replace(self._rules, false_alarms=level))

    def _run_stage(self, stage: Stage, indexes: Sequence[int], test_of: Callable[[PairedCase], PairedTest]) -> None:
        """Lets the cases of these indexes take turns until each is decided."""
        if not indexes or (self._keeping.interrupt.seen and stage is not Stage.BENCHMARK):
            return
        control = self._session(stage, "control")
        treatment = self._session(stage, "treatment", baseline=control.id)
        self._runs[stage] = (control.id, treatment.id)
        sides = [
            MeasuredSide(name=name, built=built, measuring=measuring)
            for name, built, measuring in zip(("control", "treatment"), self._built, (control, treatment), strict=True)
        ]
        tests = [test_of(self._paired_case(stage, i, sides)) for i in indexes]
        for i, test in zip(indexes, tests, strict=True):
            test.paired.length = later_length(self._heats[i], self._rules.pairs)
        cases = "1 case" if len(tests) == 1 else f"{len(tests)} cases"
        most = max(test.left for test in tests)
        self._keeping.listener(Staged(text=_describe_stage(stage, cases, most)))
        try:
            with control, treatment:
                self._take_turns(tests)
        except StoreError as failure:
            if failure.measured is None:
                raise  # the store was unusable from the beginning
            self._unsaved += _messages_of(failure)
        for i, test in zip(indexes, tests, strict=True):
            self._heats[i].append(test.stage_result(stage))
        self._paired_cases = self._paired_cases or [test.paired for test in tests]

    def _take_turns(self, tests: Sequence[PairedTest]) -> None:
        interrupt = self._keeping.interrupt
        while (going := [test for test in tests if test.goes_on]) and not interrupt.seen:
            done = sum(2 * len(test.paired.pairs) for test in tests)
            self._keeping.listener(Planned(total=done + sum(2 * test.left for test in going), done=done))
            for test in going:
                if not interrupt.seen:
                    test.step()

    def _session(self, stage: Stage, side: str, *, baseline: str = "") -> Measuring:
        keeping = self._keeping
        built = self._built[side == "treatment"]
        plan = replace(
            self._plan,
            tags=(*self._plan.tags, TAG, f"{TAG}-{self._trial.id}", side),
            rounds=0,
            reason=stage.value,
            baseline=baseline,
            directory=built.folder,
        )
        return Measuring(
            plan,
            keeping.open_store,
            keeping.listener,
            looks_ready=keeping.looks_ready,
            interrupt=keeping.interrupt,
        )

    def _paired_case(self, stage: Stage, index: int, sides: Sequence[MeasuredSide]) -> PairedCase:
        case, other = self._matched.cases[index]
        seed = json.dumps([self._rules.seed, stage, *_key(case)])
        return PairedCase(sides[0], sides[1], case, other=other, metric=self._rules.metric, seed=seed)

    # ---- what it all says ----

    def _rows(self, level: float) -> list[TrialRow]:
        p_values = [_p_value(heats, self._rules, level) for heats in self._heats]
        return [
            _row(paired, heats, p_value, adjusted, self._rules)
            for paired, heats, p_value, adjusted in zip(
                self._paired_cases, self._heats, p_values, fdr.adjusted(p_values), strict=True
            )
        ]


def _describe_stage(stage: Stage, cases: str, most: int) -> str:
    limit = "" if stage is Stage.REGRESS else f", {most} pair{'s' * (most > 1)} at most"
    return f"{_DOING[stage]} {cases}{limit}"


class _OneMorePair(PairedTest):
    """One more pair of what two looks have found worse already, for the record."""

    def __init__(self, paired: PairedCase) -> None:
        super().__init__(paired, AbRules(pairs=1))

    def stage_result(self, stage: Stage) -> StageResult:
        return replace(
            super().stage_result(stage), verdict=Verdict.WORSE, why="for the record", effect=None, failed=False
        )


def _row(paired: PairedCase, heats: Sequence[StageResult], p_value: float, adjusted: float, rules: AbRules) -> TrialRow:
    verdict, why = _conclude(heats, adjusted, rules)
    metric = paired.metric
    return TrialRow(
        name=paired.case.name,
        params=paired.case.params,
        verdict=verdict,
        why=why,
        # of the same stage as `TrialRow.telling`
        effect=next((heat.effect for heat in reversed(heats) if heat.effect is not None), None),
        p_value=p_value,
        adjusted=adjusted,
        heats=tuple(heats),
        metric=metric.name if metric else rules.metric,
        unit=metric.unit if metric else "",
        better=metric.better if metric else None,
    )


def _conclude(heats: Sequence[StageResult], adjusted: float, rules: AbRules) -> tuple[Verdict, str]:
    first, last = heats[0], heats[-1]
    if first.verdict not in _CHANGES:
        return first.verdict, first.why
    if rules.verify and last is first:
        return Verdict.UNCLEAR, f"{first.verdict} at the first look; cut off before the second"
    if last.verdict is not first.verdict:
        return Verdict.UNCLEAR, f"{first.verdict} at the first look, {last.verdict} at the second: {last.why}"
    if adjusted > rules.false_alarms:
        return Verdict.UNCLEAR, f"{last.why}; but so many cases show as much by chance"
    return last.verdict, last.why


def _p_value(heats: Sequence[StageResult], rules: AbRules, level: float) -> float:
    """The p-value of "nothing changed" over all looks; 1 for a case that was not called, or not called again."""
    first, last = heats[0], heats[-1]
    if first.verdict not in _CHANGES:
        return 1.0
    if not rules.verify:
        return min(first.p_value, level)
    confirmed = len(heats) > 1 and last.verdict is first.verdict
    return fdr.verified(rules.false_alarms, min(last.p_value, level) if confirmed else 1.0)


def _new_trial(control: BuiltRevision, treatment: BuiltRevision, rules: AbRules, keeping: TrialDestination) -> Trial:
    ours, theirs = (
        TrialSide(
            label=label,
            revision=built.revision if built.revision.vcs else None,
            folder=str(built.folder),
            python=built.python,
            seconds=built.seconds,
            cached=built.cached,
            failure=built.failure,
        )
        for label, built in zip(keeping.labels, (control, treatment), strict=True)
    )
    machine = control.there.name if control.there is not None else ""
    return Trial(id=new_run_id(), control=ours, treatment=theirs, rules=rules, machine=machine)


def _messages_of(failure: StoreError) -> Iterator[str]:
    """Where the results of each run went: leaving the second session raised one error, leaving the first the other."""
    if isinstance(failure.__context__, StoreError):
        yield from _messages_of(failure.__context__)
    yield f"{failure.message} ({failure.remedy})" if failure.remedy else failure.message


def _key_cases(cases: Sequence[Case]) -> Iterator[tuple[tuple[str, ...], Case]]:
    """Each case by its name and parameters; where these are not enough, by how many of them came before."""
    seen: dict[tuple[str, ...], int] = {}
    for case in cases:
        key = _key(case)
        seen[key] = seen.get(key, -1) + 1
        yield (*key, str(seen[key])), case


def _key(case: Case) -> tuple[str, ...]:
    return case.name, json.dumps(dict(case.params), sort_keys=True)


def _labels_of_missing(mine: dict[tuple[str, ...], Case], others: dict[tuple[str, ...], Case]) -> Iterator[str]:
    """The cases that only one side has: the name alone where the other side has no case of that name."""
    known = {case.name for case in others.values()}
    missing = [case for key, case in mine.items() if key not in others]
    for name in dict.fromkeys(case.name for case in missing):
        if name not in known:
            yield name
            continue
        for case in (each for each in missing if each.name == name):
            yield " ".join([name, *(f"{key}={value}" for key, value in case.params.items())])


def _list_names(cases: dict[tuple[str, ...], Case]) -> str:
    names = list(dict.fromkeys(case.name for case in cases.values()))
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
