"""Cases × rounds become results: one fresh process each, interleaved, saved one by one."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchwright import artifacts, plugins, precision, schema
from benchwright._version import VERSION
from benchwright.attempt import INTERRUPTED, Attempt, Outcome
from benchwright.events import Began, Ended, Listener, Planned, Reached, nobody
from benchwright.hosts import Host
from benchwright.interrupts import Interrupt
from benchwright.records import (
    Case,
    Environment,
    Failure,
    Mode,
    Profile,
    Result,
    ResultWarning,
    Run,
    Status,
    Value,
)
from benchwright.resuming import Before, why_bad
from benchwright.saving import Keeper, Saver

DEFAULT_ROUNDS = 5
MORE = 2  # times as many rounds at most, when a precision was asked for
MONITORS = ("process", "pressure", "gpu", "power")
ARTIFACTS = Path(".benchwright", "artifacts")  # below the present folder, one for each run


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure and how often."""

    cases: Sequence[Case]
    rounds: int = DEFAULT_ROUNDS
    retries: int = 0
    host: Host | None = None  # None: this machine
    paths: Sequence[str] = ()
    last_paths: Sequence[str] = ()  # behind sys.path
    folder: Callable[[Case, int], Path] | None = None  # where a case may leave files in a round; None: nowhere
    profile: Profile | None = None
    profile_inline: bool = False  # profile what is measured; otherwise a pass of its own, whose times are dropped
    operators: bool = False  # record each case's operators in a pass of its own
    cpus: Sequence[int] = ()
    memory: int | None = None
    monitors: Sequence[str] = MONITORS
    reason: str = ""
    tags: Sequence[str] = ()
    command: Sequence[str] = ()  # what repeats this run
    directory: Path = field(default_factory=Path.cwd)  # whose revision is recorded
    cost_per_hour: float | None = None  # of the machine, in any currency
    resumed: Run | None = None  # goes on with this run of the same cases and rounds: what is not ok there
    pause: Callable[[Case], float] | None = None  # seconds to rest before a case; not before the first
    notes: Callable[[Case], Mapping[str, Value]] | None = None  # what is kept with each result, among its details


def execute(
    plan: Plan,
    open_store: Callable[[], Keeper] | None = None,
    listener: Listener = nobody,
    *,
    looks_ready: Callable[[], bool] = lambda: False,
) -> Run:
    """Measures every case in every round and returns the whole run.

    Rounds are interleaved over the cases, so that a machine that changes meanwhile changes for all of them. Each result
    is saved as soon as there is one. An unusable store raises before anything is measured; `looks_ready` may say that
    the store need not be opened to know that it will do.
    """
    return _Execution(plan, Saver(open_store, looks_ready, resumed=plan.resumed is not None), listener).run()


class _Execution:
    """One call of `execute`: what it has learnt so far."""

    def __init__(self, plan: Plan, saver: Saver, listener: Listener) -> None:
        self._plan, self._saver, self._listener = plan, saver, listener
        self._host = plan.host or plugins.load("hosts", "local")()
        self._record = replace(plan.resumed, results=()) if plan.resumed else _new_run(plan)
        self._environment: Environment | None = None
        self._revision = self._record.revision
        self._interrupt = Interrupt()
        self._before = Before(plan.resumed)
        self._measured_now: list[Result] = []
        self._recorded: list[Case] = []  # whose operators were asked for already

    def run(self) -> Run:
        self._listener(Planned(total=sum(1 for _ in self._planned())))
        try:
            with self._interrupt.watched():
                for index, (case, number) in enumerate(self._interleaved(), start=self._before.free):
                    self._rest(case)
                    stop = self._interrupt.seen
                    result = self._skipped(index, case, number) if stop else self._measured(index, case, number)
                    if self._plan.notes is not None:
                        result = replace(result, details={**result.details, **self._plan.notes(case)})
                    self._keep(result)
                    self._listener(Ended(index=index, result=result))
        finally:
            self._saver.close()
        whole = replace(self._record, results=tuple(self._results))
        self._saver.report(whole)
        return whole

    @property
    def _results(self) -> list[Result]:
        return [*self._before.results, *self._measured_now]

    def _planned(self) -> Iterator[tuple[Case, int]]:
        """Every case in every round, but for what is there from before."""
        for number in range(self._plan.rounds):
            yield from ((case, number) for case in self._plan.cases if not self._before.stands(case, number))

    def _interleaved(self) -> Iterator[tuple[Case, int]]:
        """What is planned; then as many again, at most, for cases not yet known as well as was asked."""
        for case, number in self._planned():
            if not (self._interrupt.seen and self._before.bad(case, number)):  # a skip says less than what is there
                yield case, number
        for number in range(self._plan.rounds, MORE * self._plan.rounds):
            for case in self._plan.cases:
                if not self._interrupt.seen and self._wants_more(case, number):
                    yield case, number

    def _wants_more(self, case: Case, number: int) -> bool:
        if self._before.stands(case, number):
            return False
        return self._before.bad(case, number) is not None or precision.is_wanting(case, self._results)

    def _keep(self, result: Result) -> None:
        earlier = self._before.bad(result.case, result.round)
        if earlier is not None:
            self._before.replace(earlier)
        self._measured_now.append(result)
        self._saver.save(self._record, result, instead_of=earlier.id if earlier else "")

    def _rest(self, case: Case) -> None:
        """Waits as long as the plan says between two measurements; Ctrl-C ends it."""
        if self._plan.pause is None or not self._measured_now or self._interrupt.seen:
            return
        try:
            with self._interrupt.allowed():
                time.sleep(self._plan.pause(case))
        except KeyboardInterrupt:
            self._interrupt.seen = True

    # ---- one result ----

    def _measured(self, index: int, case: Case, number: int) -> Result:
        self._listener(Began(index=index, case=case, round=number))
        started_at, begin = now(), time.monotonic()
        failures: list[Failure] = []
        folder = self._folder(index, case, number)
        inline = self._plan.profile if self._plan.profile_inline else None
        outcome = self._attempt(index, case, folder, inline)
        while (bad := _bad(outcome)) and len(failures) < self._plan.retries and not self._interrupt.seen:
            failures.append(bad)
            outcome = self._attempt(index, case, folder, inline)
        if self._wants_profile(outcome, number):
            self._listener(Reached(index=index, phase="profiling"))
            profiled = self._attempt(index, _profiled(case, self._plan.profile), folder, self._plan.profile)
            outcome = _with_pass(outcome, profiled, "profile")
        if self._wants_operators(case, outcome):
            outcome = self._with_operators(index, case, outcome)
        result = self._result(index, case, number, outcome, started_at, time.monotonic() - begin)
        if folder is not None:
            result = replace(result, artifacts=artifacts.collect(folder))
        told = [*_retried([*why_bad(self._before.bad(case, number)), *failures])]
        if number == MORE * self._plan.rounds - 1:
            told += precision.missed(case, [*self._results, result])
        return replace(result, warnings=(*result.warnings, *told))

    def _wants_profile(self, outcome: Outcome, number: int) -> bool:
        """Each case is profiled once, after its first round, when that went well."""
        asked = self._plan.profile is not None and not self._plan.profile_inline
        return asked and number == 0 and outcome.status is Status.OK and not self._interrupt.seen

    def _wants_operators(self, case: Case, outcome: Outcome) -> bool:
        """Once for each case, after the first round that went well, unless that told of them already."""
        if not self._plan.operators or outcome.status is not Status.OK or self._interrupt.seen:
            return False
        known = any(result.operators for result in self._results if result.case == case)
        return not (known or case in self._recorded or outcome.answers[0].measured["operators"])

    def _with_operators(self, index: int, case: Case, outcome: Outcome) -> Outcome:
        from benchwright.profilers import recording

        self._recorded.append(case)
        if refused := recording.refusal(case):
            return _with_told(outcome, warnings=[schema.encode(refused)])
        self._listener(Reached(index=index, phase="recording operators"))
        with tempfile.TemporaryDirectory(prefix="benchwright-operators-") as folder:
            extra = self._attempt(index, recording.case_of(case), Path(folder), recording.PASS)
        return _with_pass(outcome, extra, recording.CODE)

    def _folder(self, index: int, case: Case, number: int) -> Path | None:
        """Where this attempt may leave files; it exists when the attempt begins."""
        if self._plan.folder is not None:
            folder = self._plan.folder(case, number)
        elif number == 0 and (self._plan.profile is not None or (case.expected and case.expected.keep)):
            folder = self._plan.directory / ARTIFACTS / self._record.id / str(index)
        else:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _attempt(self, index: int, case: Case, folder: Path | None, profile: Profile | None) -> Outcome:
        plan = self._plan
        attempt = Attempt(
            case,
            self._host,
            paths=plan.paths,
            cpus=plan.cpus,
            memory=plan.memory,
            last_paths=plan.last_paths,
            folder=folder,
            profile=profile,
            monitors=plan.monitors if getattr(self._host, "watched", True) else (),
            while_loading=self._get_ready,
            on_phase=lambda phase: self._listener(Reached(index=index, phase=phase)),
        )
        with self._interrupt.allowed():
            outcome = attempt.run()
        if outcome.failure is not None and outcome.failure.kind == INTERRUPTED:
            self._interrupt.seen = True  # also when somebody else's handler raised it
        return outcome

    def _get_ready(self) -> None:
        """What takes long and can be done while the first worker loads its framework."""
        if self._environment is not None:
            return
        from benchwright import environment, vcs

        self._environment = environment.collect()
        if inside := getattr(self._host, "system", None):  # a host may have another system than its machine
            self._environment = replace(self._environment, system={**self._environment.system, **inside})
        self._revision = vcs.revision(self._plan.directory)
        if self._plan.resumed is None:
            self._record = replace(self._record, revision=self._revision)
        self._saver.check(self._record)

    def _result(
        self, index: int, case: Case, number: int, outcome: Outcome, started_at: str, duration: float
    ) -> Result:
        bare = Result(
            id=f"{self._record.id}-{index}",
            case=case,
            round=number,
            status=outcome.status,
            environment=self._environment or Environment(machine={}, system={}),
            started_at=started_at,
            duration=duration,
            revision=self._revision,
            error=outcome.failure,
            log_tail="" if outcome.failure else outcome.log_tail,
            timelines=outcome.observation.timelines,
        )
        if outcome.status is not Status.OK:
            return replace(bare, metrics=outcome.observation.metrics, details=dict(outcome.details))
        from benchwright.results import with_numbers  # numpy comes with it: after the first measurement

        return with_numbers(bare, outcome, cost_per_hour=self._plan.cost_per_hour)

    def _skipped(self, index: int, case: Case, number: int) -> Result:
        failure = Failure(kind=INTERRUPTED, message="the run was interrupted before this began")
        return self._result(index, case, number, Outcome(status=Status.SKIPPED, failure=failure), now(), 0.0)


def _new_run(plan: Plan) -> Run:
    return Run(
        id=new_run_id(),
        started_at=now(),
        harness=VERSION,
        command=tuple(plan.command),
        reason=plan.reason,
        tags=tuple(plan.tags),
        planned=len(plan.cases) * plan.rounds,
    )


def _bad(outcome: Outcome) -> Failure | None:
    """Why an attempt went wrong: its workers failed, or the target told of its own failure."""
    if outcome.failure is not None or not outcome.answers:
        return outcome.failure
    told = outcome.answers[0].measured.get("failure")
    return schema.decode(Failure, told, where="answer.failure") if told else None


def _retried(failures: Sequence[Failure]) -> Iterator[ResultWarning]:
    if failures:
        seen = f"{len(failures)} attempts failed before this one: {failures[-1].message}"
        yield ResultWarning(code="retried", seen=seen, remedy="find out why it fails at times")


def _profiled(case: Case, profile: Profile | None) -> Case:
    """The case for a pass with profilers: a closed loop that lasts until the last window closes."""
    from benchwright.profilers.opener import FOREVER

    case = replace(case, expected=None)  # answers are compared where times are kept
    load = case.load
    if profile is None or load.mode is not Mode.CLOSED or load.once:
        return case
    last = max(end for _, end in profile.windows)
    lasting = load.duration or 1.0
    if last < FOREVER:
        lasting = max(lasting, last)
    return replace(case, load=replace(load, duration=lasting, samples=None, precision=None))


def _with_pass(measured: Outcome, extra: Outcome, code: str) -> Outcome:
    """What was measured, with what a pass of its own found and what there is to say about it."""
    if extra.failure is not None:
        seen = f"the pass of its own failed: {extra.failure.message}"
        return _with_told(
            measured, warnings=[schema.encode(ResultWarning(code=code, seen=seen, remedy=extra.failure.remedy))]
        )
    told = extra.answers[0].measured
    return _with_told(measured, **{name: told[name] for name in ("warnings", "operators", "details")})


def _with_told(measured: Outcome, *, warnings: Any, operators: Any = (), details: Any = None) -> Outcome:
    """The outcome whose first worker also told these; of details, what it did not tell itself."""
    first = measured.answers[0]
    told = {
        **first.measured,
        "warnings": [*first.measured["warnings"], *warnings],
        "operators": first.measured["operators"] or list(operators),
        "details": {**(details or {}), **first.measured["details"]},
    }
    return replace(measured, answers=(replace(first, measured=told), *measured.answers[1:]))


def new_run_id() -> str:
    """An id that sorts by time, to the millisecond."""
    present = datetime.now(UTC)
    return f"{present:%Y%m%dT%H%M%S}{present.microsecond // 1000:03d}-{os.urandom(3).hex()}"


def now() -> str:
    """The present instant, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
