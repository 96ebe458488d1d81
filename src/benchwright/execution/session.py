"""Measures one case at a time, in an order that the caller chooses as results come in, and saves each at once.

`rounds.execute` goes through rounds of cases; comparing, bisecting and watching choose what is next by what they saw.
"""

from __future__ import annotations

import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from benchwright import plugins, schema
from benchwright.errors import StoreError
from benchwright.events import Began, Ended, Event, Listener, Reached, nobody
from benchwright.execution import artifacts, precision
from benchwright.execution.attempt import (
    CHANNEL,
    INTERRUPTED,
    Attempt,
    AttemptOutcome,
    JobTerms,
    failure_of,
    make_job,
)
from benchwright.execution.hosts import LOST, RemoteHost
from benchwright.execution.new_runs import new_run as new_run
from benchwright.execution.new_runs import new_run_id as new_run_id
from benchwright.execution.new_runs import now as now
from benchwright.execution.passes import add_pass, add_to_answer, profile_case
from benchwright.execution.plans import DEFAULT_ROUNDS as DEFAULT_ROUNDS
from benchwright.execution.plans import MONITORS as MONITORS
from benchwright.execution.plans import Plan as Plan
from benchwright.execution.plans import Setting as Setting
from benchwright.execution.plans import price_on
from benchwright.execution.resume import EarlierResults, earlier_failures
from benchwright.execution.saver import ResultSink, Saver
from benchwright.records import (
    MORE_ROUNDS,
    Case,
    Environment,
    Failure,
    Profile,
    Result,
    ResultWarning,
    Run,
    Status,
)
from benchwright.system.interrupts import Interrupt
from benchwright.system.texts import MOST_MESSAGE, describe_error
from benchwright.worker.engine.arrivals import load_of_round

MORE = MORE_ROUNDS
MORE_AFTER_LOSS = 2  # attempts, when the machine went away under the first
REFUSALS = ("RequestError", "DeviceError", "NotInstalledError", "ModuleNotFoundError")  # kinds of failure
ARTIFACTS = Path(".benchwright", "artifacts")  # below the present folder, one for each run


class Measuring:
    """One run while it is being measured; a context manager.

    Inside, the first Ctrl-C, SIGTERM or SIGHUP ends the measurement in flight, and whatever is asked for then is
    recorded as skipped: look at `interrupted`. Runs that are measured in turns share one `interrupt`. An unusable store
    raises before anything is measured; one that fails later raises at the end, when all that was measured is in a
    rescue file. `looks_ready` may say that the store need not be opened to know that it will do. `record` is the run
    that it measures for, where that is not a new one.
    """

    def __init__(
        self,
        plan: Plan,
        open_store: Callable[[], ResultSink] | None = None,
        listener: Listener = nobody,
        *,
        looks_ready: Callable[[], bool] = lambda: False,
        interrupt: Interrupt | None = None,
        record: Run | None = None,
    ) -> None:
        self.plan = plan
        self._listener = listener
        self._saver = Saver(open_store, looks_ready, resumed=plan.resumed)
        self._host = plan.host or plugins.load("hosts", "local")()
        self._record = record or (replace(plan.resumed, results=()) if plan.resumed else new_run(plan))
        self._environment: Environment | None = None
        self._is_ready = False
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
        host = self._setting.host or self._host
        notes = {**getattr(host, "notes", dict)(), **(self.plan.notes(case) if self.plan.notes else {})}
        notes |= self._setting.notes
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

    def take(self, event: Ended) -> None:
        """Keeps a result that was measured elsewhere for this run, and tells of it."""
        self._keep(event.result)
        self._listener(event)

    def tell(self, event: Event) -> None:
        """Tells the listener of something that happened elsewhere for this run."""
        self._listener(event)

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
        while (bad := failure_of(outcome)) and self._tries_again(bad, failures):
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
        told += getattr(self._setting.host or self._host, "warnings", list)()
        remark = getattr(self._setting.host or self._host, "remark", None)
        if remark is not None and (said := remark(case)) is not None:
            told.append(said)
        seen = [*self.results, result]
        if precision.is_last(case, seen, number + 1, self.plan.rounds, MORE * self.plan.rounds):
            told += precision.missed_warnings(case, seen)
        return replace(result, warnings=(*result.warnings, *told))

    def _tries_again(self, bad: Failure, before: Sequence[Failure]) -> bool:
        """Whether to make another attempt: as often as asked for, and when the machine was lost, not the case."""
        lost = bad.kind in LOST and sum(one.kind in LOST for one in before) < MORE_AFTER_LOSS
        return not self._interrupt.seen and (lost or len(before) < self.plan.retries)

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

        def tell(phase: str) -> None:
            self._listener(Reached(index=index, phase=phase))

        terms = JobTerms(
            paths=plan.paths if setting.paths is None else setting.paths,
            cpus=plan.cpus if setting.cpus is None else setting.cpus,
            memory=plan.memory,
            last_paths=plan.last_paths if setting.last_paths is None else setting.last_paths,
            folder=folder,
            profile=profile,
        )
        with self._interrupt.allow():
            if isinstance(host, RemoteHost):
                outcome = host.attempt(
                    make_job(case, **terms),
                    directory=Path.cwd(),
                    monitors=plan.monitors,
                    while_loading=self.get_ready,
                    on_phase=tell,
                )
                # Where a node was lost the next attempt may be made on another one.
                self._environment = getattr(host, "last_environment", None) or self._environment
            else:
                monitors = plan.monitors if getattr(host, "watched", True) else ()
                if hasattr(host, "tell"):  # it may wait before a worker starts
                    host.tell = tell
                outcome = Attempt(
                    case,
                    host,
                    monitors=monitors,
                    while_loading=self.get_ready,
                    on_phase=tell,
                    should_stop=lambda: self._interrupt.seen,
                    **terms,
                ).run()
        if outcome.failure is not None and outcome.failure.kind == INTERRUPTED:
            self._interrupt.seen = True  # also when somebody else's handler raised it
        return outcome

    def get_ready(self, setting: Setting | None = None) -> None:
        """Does the slow preparations of the parent while the first worker loads its framework."""
        if self._is_ready:
            return
        self._is_ready, self._setting = True, setting or self._setting
        from benchwright import vcs
        from benchwright.machine import environment

        host = self._setting.host or self._host
        if isinstance(host, RemoteHost) and not self.plan.hosts:
            self._environment = host.environment()
        elif not self.plan.hosts:
            self._environment = environment.collect()
            if inside := getattr(host, "system", None):  # a host may have another system than its machine
                self._environment = replace(self._environment, system={**self._environment.system, **inside})
        self._revision = self._setting.revision or self.plan.revision or vcs.revision(self.plan.directory)
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
            environment=self._environment or self._unseen_environment(),
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

            return with_numbers(bare, outcome, price=price_on(self.plan, self._setting.host or self._host))
        except Exception as error:  # the border to another process: what it answered may be any numbers at all
            said = f"the worker's answer cannot be evaluated: {describe_error(error, 400)}"
            kind = "memory" if isinstance(error, ImportError | MemoryError | SystemError) else CHANNEL
            where = "".join(traceback.format_exception(error))[-MOST_MESSAGE:]  # or nobody finds what could not be
            failure = Failure(kind=kind, message=said, log_tail=f"{bare.log_tail}\n{where}".lstrip("\n"))
            return replace(bare, status=Status.FAILED, error=failure, log_tail="")

    def _unseen_environment(self) -> Environment:
        """What is known of a machine that nobody has reached: its name."""
        host = self._setting.host or self._host
        system = getattr(host, "system", {}) if isinstance(host, RemoteHost) else {}
        return Environment(machine={}, system=dict(system))

    def _skipped_result(self, index: int, case: Case, number: int) -> Result:
        failure = Failure(kind=INTERRUPTED, message="the run was interrupted before this began")
        return self._result(index, case, number, AttemptOutcome(status=Status.SKIPPED, failure=failure), now(), 0.0)


def _is_refusal(outcome: AttemptOutcome) -> bool:
    """Whether the request is why nothing was measured: inputs, options, a device, a package that is not there."""
    failure = outcome.failure
    return outcome.status is Status.FAILED and outcome.early and failure is not None and failure.kind in REFUSALS


def _retry_warnings(failures: Sequence[Failure]) -> Iterator[ResultWarning]:
    if failures:
        seen = f"{len(failures)} attempts failed before this one: {failures[-1].message}"
        yield ResultWarning(code="retried", seen=seen, remedy="find out why the case fails at times")
