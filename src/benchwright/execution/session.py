"""Measures one case at a time, in an order that the caller chooses as results come in, and saves each at once.

`rounds.execute` goes through rounds of cases; comparing, bisecting and watching choose what is next by what they saw.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from benchwright import plugins, schema
from benchwright._version import VERSION
from benchwright.errors import StoreError
from benchwright.events import Began, Ended, Listener, Reached, nobody
from benchwright.execution import artifacts, precision
from benchwright.execution.attempt import (
    CHANNEL,
    INTERRUPTED,
    Attempt,
    AttemptOutcome,
    add_pass,
    add_to_answer,
    failure_of,
    profile_case,
)
from benchwright.execution.hosts import Host
from benchwright.execution.resume import EarlierResults, earlier_failures
from benchwright.execution.saver import ResultSink, Saver
from benchwright.records import (
    Case,
    Environment,
    Failure,
    Profile,
    Result,
    ResultWarning,
    Revision,
    Run,
    Status,
    Value,
)
from benchwright.system.interrupts import Interrupt
from benchwright.system.texts import describe_error
from benchwright.worker.engine.arrivals import load_of_round

DEFAULT_ROUNDS = 5
MORE = 4  # times as many rounds at most, when a precision was asked for
MONITORS = ("process", "pressure", "gpu", "power")
REFUSALS = ("RequestError", "DeviceError", "NotInstalledError", "ModuleNotFoundError")  # kinds of failure
ARTIFACTS = Path(".benchwright", "artifacts")  # below the present folder, one for each run


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure and how often."""

    cases: Sequence[Case] = ()  # none: whoever measures chooses them as it goes
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
    baseline: str = ""  # the run that this one is measured against
    command: Sequence[str] = ()  # what repeats this run
    directory: Path = field(default_factory=Path.cwd)  # whose revision is recorded
    cost_per_hour: float | None = None  # of the machine, in any currency
    resumed: Run | None = None  # goes on with this run of the same cases and rounds: what is not ok there
    pause: Callable[[Case], float] | None = None  # seconds to rest before a case; not before the first
    notes: Callable[[Case], Mapping[str, Value]] | None = None  # what is kept with each result, among its details
    by_hand: bool = False  # somebody tries: a request that a model does not take is refused, which is no failure of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where one measurement takes place, where that is not what the plan says: None is the plan's own."""

    host: Host | None = None
    paths: Sequence[str] | None = None
    last_paths: Sequence[str] | None = None
    cpus: Sequence[int] | None = None
    revision: Revision | None = None
    tags: Sequence[str] = ()  # added to those of the case in the result
    notes: Mapping[str, Value] = field(default_factory=dict)  # kept with the result, among its details


class Measuring:
    """One run while it is being measured; a context manager.

    Inside, the first Ctrl-C, SIGTERM or SIGHUP ends the measurement in flight, and whatever is asked for then is
    recorded as skipped: look at `interrupted`. Runs that are measured in turns share one `interrupt`. An unusable store
    raises before anything is measured; one that fails later raises at the end, when all that was measured is in a
    rescue file. `looks_ready` may say that the store need not be opened to know that it will do.
    """

    def __init__(
        self,
        plan: Plan,
        open_store: Callable[[], ResultSink] | None = None,
        listener: Listener = nobody,
        *,
        looks_ready: Callable[[], bool] = lambda: False,
        interrupt: Interrupt | None = None,
    ) -> None:
        self.plan = plan
        self._listener = listener
        self._saver = Saver(open_store, looks_ready, resumed=plan.resumed)
        self._host = plan.host or plugins.load("hosts", "local")()
        self._record = replace(plan.resumed, results=()) if plan.resumed else _new_run(plan)
        self._environment: Environment | None = None
        self._revision = self._record.revision
        self._interrupt = interrupt or Interrupt()
        self._before = EarlierResults(plan.resumed)
        self._index = self._before.free
        self._measured_now: list[Result] = []
        self._recorded: list[Case] = []  # whose operators were asked for already
        self._setting = Setting()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self._interrupt.watch())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._open:
            self._saver.close()
        another = isinstance(error, StoreError) and error.measured is not None  # another run's failure
        if kind is None or another or isinstance(error, KeyboardInterrupt):
            self._saver.report(self.run)

    @property
    def id(self) -> str:
        """The run's id."""
        return self._record.id

    @property
    def interrupted(self) -> bool:
        """Whether somebody pressed Ctrl-C: nothing is measured any more."""
        return self._interrupt.seen

    @property
    def results(self) -> list[Result]:
        """Returns all results so far; of a run that was resumed, with those from before."""
        return [*self._before.results, *self._measured_now]

    @property
    def run(self) -> Run:
        """The run with all its results so far."""
        return replace(self._record, results=tuple(self.results))

    def has_numbers(self, case: Case, number: int) -> bool:
        """Whether a run that was resumed holds numbers for this case in this round."""
        return self._before.has_numbers(case, number)

    def failed_result(self, case: Case, number: int) -> Result | None:
        """The record of a run that was resumed that says why it holds none, if there is one."""
        return self._before.failed_result(case, number)

    def measure(self, case: Case, number: int, setting: Setting | None = None) -> Result:
        """Measures the case in a fresh process and keeps the result, whatever came of it, as that of round `number`."""
        self._setting = setting or Setting()
        index, self._index = self._index, self._index + 1
        self._rest(case)
        stop = self._interrupt.seen
        result = self._skipped_result(index, case, number) if stop else self._measure(index, case, number)
        notes = {**(self.plan.notes(case) if self.plan.notes else {}), **self._setting.notes}
        if notes:
            result = replace(result, details={**result.details, **notes})
        self._keep(result)
        self._listener(Ended(index=index, result=result))
        return result

    def skip(self, planned: Iterable[tuple[Case, int]]) -> None:
        """Records cases, each in its round, that are not measured because the run was interrupted; all at once.

        None of them has a record from before.
        """
        self._setting = Setting()
        start = self._index
        skipped = [self._skipped_result(start + i, case, number) for i, (case, number) in enumerate(planned)]
        if self.plan.notes:
            skipped = [replace(each, details={**each.details, **self.plan.notes(each.case)}) for each in skipped]
        self._index += len(skipped)
        self._measured_now += skipped
        self._saver.save_all(self._record, skipped)
        for index, result in enumerate(skipped, start):
            self._listener(Ended(index=index, result=result))

    def _keep(self, result: Result) -> None:
        earlier = self._before.failed_result(result.case, result.round)
        if earlier is not None:
            self._before.replace(earlier)
        self._measured_now.append(result)
        self._saver.save(self._record, result, instead_of=earlier.id if earlier else "")

    def _rest(self, case: Case) -> None:
        """Waits as long as the plan says between two measurements; Ctrl-C ends it."""
        if self.plan.pause is None or not self._measured_now or self._interrupt.seen:
            return
        try:
            with self._interrupt.allow():
                time.sleep(self.plan.pause(case))
        except KeyboardInterrupt:
            self._interrupt.seen = True

    # ---- one result ----

    def _measure(self, index: int, case: Case, number: int) -> Result:
        self._listener(Began(index=index, case=case, round=number, run=self._record, done=self._count_done()))
        started_at, begin = now(), time.monotonic()
        failures: list[Failure] = []
        folder = self._folder(index, case, number)
        inline = self.plan.profile if self.plan.profile_inline else None
        if enter := getattr(self._setting.host or self._host, "enter_round", None):
            enter(number)
        load = precision.next_load(case, self.results, self.plan.rounds, MORE * self.plan.rounds)
        drawn = replace(case, load=load_of_round(load, number))  # the record keeps what was asked for
        outcome = self._attempt(index, drawn, folder, inline)
        while (bad := failure_of(outcome)) and len(failures) < self.plan.retries and not self._interrupt.seen:
            failures.append(bad)
            outcome = self._attempt(index, drawn, folder, inline)
        if self._wants_profile(outcome, number):
            self._listener(Reached(index=index, phase="profiling"))
            profiled = self._attempt(index, profile_case(case, self.plan.profile), folder, self.plan.profile)
            outcome = add_pass(outcome, profiled, "profile")
        if self._wants_operators(case, outcome):
            outcome = self._with_operators(index, case, outcome)
        result = self._result(index, case, number, outcome, started_at, time.monotonic() - begin)
        if folder is not None:
            result = replace(result, artifacts=artifacts.collect(folder))
        told = [*_retry_warnings([*earlier_failures(self._before.failed_result(case, number)), *failures])]
        remark = getattr(self._setting.host or self._host, "remark", None)
        if remark is not None and (said := remark(case)) is not None:
            told.append(said)
        seen = [*self.results, result]
        if precision.is_last(case, seen, number + 1, self.plan.rounds, MORE * self.plan.rounds):
            told += precision.missed_warnings(case, seen)
        return replace(result, warnings=(*result.warnings, *told))

    def _count_done(self) -> int:
        return len(self._measured_now) + sum(result.status is Status.OK for result in self._before.results)

    def _wants_profile(self, outcome: AttemptOutcome, number: int) -> bool:
        """Whether to profile a case now: once, after its first round, when that went well."""
        asked = self.plan.profile is not None and not self.plan.profile_inline
        return asked and number == 0 and outcome.status is Status.OK and not self._interrupt.seen

    def _wants_operators(self, case: Case, outcome: AttemptOutcome) -> bool:
        """Whether to record the case's operators now: once, after the first good round, unless that recorded them."""
        if not self.plan.operators or outcome.status is not Status.OK or self._interrupt.seen:
            return False
        known = any(result.operators for result in self.results if result.case == case)
        return not (known or case in self._recorded or outcome.answers[0].measured["operators"])

    def _with_operators(self, index: int, case: Case, outcome: AttemptOutcome) -> AttemptOutcome:
        from benchwright.worker.profilers import operator_pass

        self._recorded.append(case)
        if refused := operator_pass.refusal(case):
            return add_to_answer(outcome, warnings=[schema.encode(refused)])
        self._listener(Reached(index=index, phase="recording operators"))
        with tempfile.TemporaryDirectory(prefix="benchwright-operators-") as folder:
            extra = self._attempt(index, operator_pass.case_of(case), Path(folder), operator_pass.PASS)
        return add_pass(outcome, extra, operator_pass.CODE)

    def _folder(self, index: int, case: Case, number: int) -> Path | None:
        """Returns the folder in which this attempt may leave files; it exists when the attempt begins."""
        if self.plan.folder is not None:
            folder = self.plan.folder(case, number)
        elif number == 0 and (self.plan.profile is not None or (case.expected and case.expected.keep)):
            folder = self.plan.directory / ARTIFACTS / self._record.id / str(index)
        else:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _attempt(self, index: int, case: Case, folder: Path | None, profile: Profile | None) -> AttemptOutcome:
        plan, setting = self.plan, self._setting
        host = setting.host or self._host
        attempt = Attempt(
            case,
            host,
            paths=plan.paths if setting.paths is None else setting.paths,
            cpus=plan.cpus if setting.cpus is None else setting.cpus,
            memory=plan.memory,
            last_paths=plan.last_paths if setting.last_paths is None else setting.last_paths,
            folder=folder,
            profile=profile,
            monitors=plan.monitors if getattr(host, "watched", True) else (),
            while_loading=self._get_ready,
            on_phase=lambda phase: self._listener(Reached(index=index, phase=phase)),
        )
        with self._interrupt.allow():
            outcome = attempt.run()
        if outcome.failure is not None and outcome.failure.kind == INTERRUPTED:
            self._interrupt.seen = True  # also when somebody else's handler raised it
        return outcome

    def _get_ready(self) -> None:
        """Does the slow preparations of the parent while the first worker loads its framework."""
        if self._environment is not None:
            return
        from benchwright import vcs
        from benchwright.machine import environment

        self._environment = environment.collect()
        host = self._setting.host or self._host
        if inside := getattr(host, "system", None):  # a host may have another system than its machine
            self._environment = replace(self._environment, system={**self._environment.system, **inside})
        self._revision = self._setting.revision or vcs.revision(self.plan.directory)
        if self.plan.resumed is None:
            self._record = replace(self._record, revision=self._revision)
        # Where a precision is asked for, what counts is when all is done, not when the first call is made.
        self._saver.check(self._record, early=any(case.load.precision is not None for case in self.plan.cases))

    def _result(
        self, index: int, case: Case, number: int, outcome: AttemptOutcome, started_at: str, duration: float
    ) -> Result:
        bare = Result(
            id=f"{self._record.id}-{index}",
            case=replace(case, tags=(*case.tags, *self._setting.tags)) if self._setting.tags else case,
            round=number,
            status=Status.REFUSED if self.plan.by_hand and _is_refusal(outcome) else outcome.status,
            environment=self._environment or Environment(machine={}, system={}),
            started_at=started_at,
            duration=duration,
            revision=self._setting.revision or self._revision,
            error=outcome.failure,
            log_tail="" if outcome.failure else outcome.log_tail,
            timelines=outcome.observation.timelines,
        )
        if outcome.status is not Status.OK:
            return replace(bare, metrics=outcome.observation.metrics, details=dict(outcome.details))
        try:
            from benchwright.execution.results import with_numbers  # numpy comes with it: after the first measurement

            return with_numbers(bare, outcome, cost_per_hour=self.plan.cost_per_hour)
        except Exception as error:  # the border to another process: what it answered may be any numbers at all
            said = f"the worker's answer cannot be evaluated: {describe_error(error, 400)}"
            kind = "memory" if isinstance(error, ImportError | MemoryError | SystemError) else CHANNEL
            failure = Failure(kind=kind, message=said, log_tail=bare.log_tail)
            return replace(bare, status=Status.FAILED, error=failure, log_tail="")

    def _skipped_result(self, index: int, case: Case, number: int) -> Result:
        failure = Failure(kind=INTERRUPTED, message="the run was interrupted before this began")
        return self._result(index, case, number, AttemptOutcome(status=Status.SKIPPED, failure=failure), now(), 0.0)


def _is_refusal(outcome: AttemptOutcome) -> bool:
    """Whether the request is why nothing was measured: inputs, options, a device, a package that is not there."""
    failure = outcome.failure
    return outcome.status is Status.FAILED and outcome.early and failure is not None and failure.kind in REFUSALS


def _new_run(plan: Plan) -> Run:
    return Run(
        id=new_run_id(),
        started_at=now(),
        harness=VERSION,
        command=tuple(plan.command),
        reason=plan.reason,
        baseline=plan.baseline,
        tags=tuple(plan.tags),
        planned=len(plan.cases) * plan.rounds,
    )


def _retry_warnings(failures: Sequence[Failure]) -> Iterator[ResultWarning]:
    if failures:
        seen = f"{len(failures)} attempts failed before this one: {failures[-1].message}"
        yield ResultWarning(code="retried", seen=seen, remedy="find out why the case fails at times")


def new_run_id() -> str:
    """An id that sorts by time, to the millisecond."""
    present = datetime.now(UTC)
    return f"{present:%Y%m%dT%H%M%S}{present.microsecond // 1000:03d}-{os.urandom(3).hex()}"


def now() -> str:
    """The present instant, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
