"""One case measured once: starts its copies, holds the barrier, watches, collects.

Whatever a worker does, the answer is an outcome and never an exception.
"""

from __future__ import annotations

import contextlib
import select
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from benchwright import schema
from benchwright.errors import BenchwrightError, ChannelError
from benchwright.execution.hosts import Host, Worker
from benchwright.execution.searches import add_found
from benchwright.machine.monitors import Observation
from benchwright.records import Case, Failure, Mode, Profile, Samples, Status
from benchwright.units import format_value
from benchwright.worker import channel
from benchwright.worker.channel import PROTOCOL, Frame, Job
from benchwright.worker.endpoints import serve_options
from benchwright.worker.endpoints.wire import hide_key

LOAD_ALLOWANCE = 300.0  # seconds for loading, before warm-up and measuring begin to count
UNKNOWN = 3600.0  # seconds for a count of calls, of which nobody knows how long they take
GRACE = 5.0  # seconds a worker may take to end after its answer
LEAVE_GRACE = 15.0  # and one that ends a server first
HEAD_START = 3_000_000  # ns between the parent's word and time zero, per copy
LOOK = 0.25  # seconds between two looks at the clock while waiting
_ENDS = ("exit", "signal")  # the kinds of failure of a worker that has gone without a word
CHANNEL = "channel"  # the kind of failure of a worker whose answer cannot be used
_EARLY = ("starting", "loading", "warming")  # the phases before a copy is ready to be timed
INTERRUPTED = "interrupted"  # the kind of failure that Ctrl-C makes
_OUT_OF_TURN = "does the measured code write to the worker's line?"
# What a worker says, and what it must be doing then: see `worker.main.work`.
_BEFORE = {"loading": "starting", "warming": "loading", "ready": "warming", "done": "measuring", "measured": "done"}
# What says how long a benchmark may take, beside --timeout, by its runtime.
_TIMEOUT_OF = {"asv": ", or say more where the benchmark is: `timeout`, default_benchmark_timeout"}
_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


class JobTerms(TypedDict, total=False):
    """What a job says beside its case: where code is found, what it may use, where it may leave files."""

    paths: Sequence[str]
    cpus: Sequence[int]
    memory: int | None
    last_paths: Sequence[str]
    folder: Path | None
    profile: Profile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyAnswer:
    """The answer of one copy of a case: its samples, and the data of its messages `ready` and `measured`."""

    samples: Samples
    ready: Mapping[str, Any]
    measured: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """How the attempt ended; answers of every copy when the status is ok."""

    status: Status
    answers: tuple[CopyAnswer, ...] = ()
    failure: Failure | None = None
    observation: Observation = field(default_factory=Observation)
    log_tail: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)  # of a failed attempt: what was known before its calls
    early: bool = False  # of a failed attempt: it ended before the copy that failed was ready to be timed


@dataclass(slots=True, kw_only=True)
class WorkerCopy:
    """The worker of one copy, and the phase that it has reached."""

    index: int
    worker: Worker
    phase: str = "starting"
    ready: dict[str, Any] = field(default_factory=dict)
    measured: Frame | None = None
    known: dict[str, Any] = field(default_factory=dict)  # what it found so far, which is kept if it is cut off


class _BrokenError(Exception):
    """One of the copies can give no answer any more."""

    def __init__(self, status: Status, failure: Failure, copy: WorkerCopy | None = None) -> None:
        super().__init__(failure.message)
        self.status, self.failure, self.copy = status, failure, copy


class Attempt:
    """Measures `case` on `host`. `while_loading` runs once the workers are started and before they are released.

    Where `should_stop` says so, it ends as it does when somebody presses Ctrl-C.
    """

    def __init__(
        self,
        case: Case,
        host: Host,
        *,
        monitors: Sequence[str] = (),
        while_loading: Callable[[], None] = lambda: None,
        on_phase: Callable[[str], None] = lambda phase: None,
        should_stop: Callable[[], bool] = lambda: False,
        **terms: Unpack[JobTerms],
    ) -> None:
        self._case, self._host, self._monitors = case, host, monitors
        self._job = make_job(case, **terms)
        self._while_loading, self._on_phase, self._should_stop = while_loading, on_phase, should_stop
        self._copies: list[WorkerCopy] = []
        self._selector = selectors.DefaultSelector()
        self._watch: Any = None
        self._observation = Observation()

    def run(self) -> AttemptOutcome:
        """Measures the case; returns an outcome whatever happens to the workers, none of whose processes is left."""
        try:
            self._launch()
            self._prepare_watching()
            self._while_loading()
            deadline = time.monotonic() + timeout(self._case)
            self._collect(deadline, until="ready")
            self._release()
            self._collect(deadline, until="measured")
            self._stop_watching()
            return self._finish()
        except _BrokenError as broken:
            return self._break_off(broken.status, broken.failure, broken.copy)
        except KeyboardInterrupt as interrupt:
            by = f"by {interrupt}" if str(interrupt) else "from the keyboard"
            return self._break_off(Status.KILLED, Failure(kind=INTERRUPTED, message=f"interrupted {by}"))
        finally:
            self._stop_watching()
            for copy in self._copies:
                copy.worker.end(0)
            self._selector.close()

    # ---- the steps ----

    def _launch(self) -> None:
        shared = replace(self._job, case=_choose_port(self._case))
        for index in range(self._case.load.copies):
            job = _job_for_copy(shared, index, self._case.load.copies)
            try:
                copy = WorkerCopy(index=index, worker=self._host.launch(job))
            except OSError as error:
                failure = Failure(kind="start", message=f"a worker could not be started: {error}")
                raise _BrokenError(Status.FAILED, failure) from None
            except BenchwrightError as error:  # a host that refuses says why
                failure = Failure(kind=error.kind, message=error.message, remedy=error.remedy)
                raise _BrokenError(Status.FAILED, failure) from None
            self._copies.append(copy)
            self._selector.register(copy.worker.fileno(), selectors.EVENT_READ, copy)

    def _release(self) -> None:
        """Releases the barrier: every copy is ready, so the clock may start."""
        if self._watch is not None:
            self._watch.start([copy.worker.pid for copy in self._copies], measured=self._find_measured())
        zero = time.perf_counter_ns() + HEAD_START * len(self._copies)
        for copy in self._copies:
            copy.phase = "measuring"
            copy.worker.tell(Frame(kind="go", data={"zero": zero}))
        self._on_phase("measuring")

    def _collect(self, deadline: float, *, until: str) -> None:
        while any(copy.phase != until for copy in self._copies):
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._timeout_error(until)
            if self._should_stop():  # in a thread, where no signal is heard
                raise KeyboardInterrupt
            for key, _ in self._selector.select(min(LOOK, left)):
                self._hear(cast(WorkerCopy, key.data))
            for copy in self._copies:
                copy.worker.bound_log()
                if copy.phase != until and copy.worker.gone():
                    self._hear_out(copy, until)

    def _hear(self, copy: WorkerCopy) -> None:
        try:
            messages = copy.worker.hear()
        except ChannelError as error:
            raise _BrokenError(Status.FAILED, _channel_failure(error), copy) from None
        if messages is None:
            self._selector.unregister(copy.worker.fileno())
            if copy.phase == "measured":  # it has answered and gone; others may still be measuring
                return
            raise _BrokenError(*_explain_silence(copy.worker), copy)
        from benchwright.execution import frames  # here: there is time while the worker loads

        for message in messages:
            try:
                self._take(copy, frames.check_frame(message))
            except ChannelError as error:
                raise _BrokenError(Status.FAILED, _channel_failure(error), copy) from None

    def _hear_out(self, copy: WorkerCopy, until: str) -> None:
        """Reads what an ended worker left on its line; another process that holds the line open does not count."""
        while copy.phase != until:
            if not select.select([copy.worker], [], [], 0)[0]:
                raise _BrokenError(*_explain_death(copy.worker.end(0)), copy)
            self._hear(copy)

    def _take(self, copy: WorkerCopy, message: Frame) -> None:
        if message.kind == "failed":
            from benchwright.execution import frames

            if known := message.data.get("details"):
                copy.ready.setdefault("details", known)
            raise _BrokenError(*frames.end_of(message), copy)
        if message.kind == "known":
            copy.known = message.data["details"]
        if message.kind == "live":  # a word from what is measured, while it is measured
            self._on_phase(str(message.data["text"]))
        if message.kind in ("known", "live"):
            return
        if copy.phase != _BEFORE[message.kind]:
            raise ChannelError(f"the worker sent {message.kind!r} while it was {copy.phase}", remedy=_OUT_OF_TURN)
        copy.phase = message.kind
        if message.kind == "ready":
            copy.ready = message.data
        elif message.kind == "done" and all(each.phase in ("done", "measured") for each in self._copies):
            self._stop_watching()  # the last copy has issued its last call
        elif message.kind == "measured":
            copy.measured = message
        if copy.index == 0 and message.kind in ("loading", "warming", "ready"):
            self._on_phase(message.kind)

    def _finish(self) -> AttemptOutcome:
        answers = []
        for copy in self._copies:
            assert copy.measured is not None
            samples = channel.unpack_samples(copy.measured.data["samples"], copy.measured.arrays)
            answers.append(CopyAnswer(samples=samples, ready=copy.ready, measured=copy.measured.data))
            copy.worker.tell(Frame(kind="end", data={}))  # for who ends what all of them used
        for copy in self._copies:
            copy.worker.end(LEAVE_GRACE if copy.ready.get("pids") else GRACE)
        tail = hide_key(self._copies[0].worker.log_tail(), self._case.target.options)
        return AttemptOutcome(status=Status.OK, answers=tuple(answers), observation=self._observation, log_tail=tail)

    def _break_off(self, status: Status, failure: Failure, guilty: WorkerCopy | None = None) -> AttemptOutcome:
        self._stop_watching()  # what was seen until now counts
        for copy in self._copies:
            copy.worker.end(0)
        teller = guilty or next(iter(self._copies), None)
        tail = hide_key(teller.worker.log_tail().strip(), self._case.target.options) if teller else ""
        known = teller.known if teller else {}
        told = replace(add_found(self._blame_memory_limit(failure, guilty), self._case, known), log_tail=tail)
        return AttemptOutcome(
            status=status,
            failure=told,
            observation=self._observation,
            log_tail=told.log_tail,
            details={**(guilty.ready.get("details", {}) if guilty else {}), **known},
            early=guilty is None or guilty.phase in _EARLY,
        )

    def _blame_memory_limit(self, failure: Failure, guilty: WorkerCopy | None) -> Failure:
        """Names the memory limit as the cause: libraries that lack memory end in many ways, mostly while they load."""
        if self._job.memory is None or guilty is None or guilty.phase != "loading" or failure.kind not in _ENDS:
            return failure
        given = format_value(self._job.memory, "B")
        message = f"{failure.message}, loading {self._case.target.uri} with {given} of memory at most"
        return replace(failure, message=message, remedy="give --memory-limit more, or leave it out")

    def _timeout_error(self, until: str) -> _BrokenError:
        late = [copy for copy in self._copies if copy.phase != until]
        phases = sorted({copy.phase for copy in late})
        message = f"no answer within {timeout(self._case):g} s; the worker was {', '.join(phases)}"
        remedy = f"give --timeout more seconds{_TIMEOUT_OF.get(self._case.target.runtime, '')}"
        failure = Failure(kind="timeout", message=message, remedy=remedy)
        return _BrokenError(Status.TIMEOUT, failure, late[0])

    # ---- watching from outside ----

    def _prepare_watching(self) -> None:
        if self._monitors:
            from benchwright.machine.monitors.watch import Watch

            self._watch = Watch(names=list(self._monitors))

    def _find_measured(self) -> list[int]:
        """The processes that workers name as what is measured, as far as they are their own and numbered as here."""
        from benchwright.system import process

        found: list[int] = []
        for copy in self._copies:
            if named := copy.ready.get("pids"):
                found += sorted({*named} & {*process.descendants(copy.worker.pid)})
        return found

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._observation = self._watch.stop()
            self._watch = None


def make_job(case: Case, **terms: Unpack[JobTerms]) -> Job:
    """The job of the first copy of a case."""
    folder = terms.get("folder")
    return Job(
        protocol=PROTOCOL,
        case=case,
        paths=tuple(terms.get("paths", ())),
        cpus=tuple(terms.get("cpus", ())),
        memory=terms.get("memory"),
        last_paths=tuple(terms.get("last_paths", ())),
        folder="" if folder is None else str(folder.absolute()),
        profile=terms.get("profile"),
    )


def timeout(case: Case) -> float:
    """Seconds an attempt may take: what the load says, or time enough for loading, warm-up and measuring."""
    load = case.load
    if load.timeout is not None:
        return load.timeout
    endless = load.samples or load.once or load.trace or load.mode is Mode.SINGLE
    measuring = load.duration or (UNKNOWN if endless else 60.0)
    if load.rate and load.samples:
        measuring = max(measuring, load.samples / load.rate)
    return (
        LOAD_ALLOWANCE
        + _serve_patience(case)
        + (5.0 if load.warmup is None else load.warmup)
        + (20 * max(60.0, measuring) if load.find_rate else 2 * measuring)  # a search ends before by itself
    )


def _choose_port(case: Case) -> Case:
    """The case with a port that all copies know, where one of them starts a server."""
    if not case.target.options.get("serve"):
        return case
    return serve_options.choose_port(case)


def _serve_patience(case: Case) -> float:
    """Seconds that a server may take which is started for the case."""
    if not case.target.options.get("serve"):
        return 0.0
    return serve_options.read_patience(case.target.options) if serve_options.serves(case) else 0.0


def _channel_failure(error: ChannelError) -> Failure:
    """Returns the failure for a channel that carried something else than a worker's messages."""
    return Failure(kind=CHANNEL, message=error.message, remedy=error.remedy)


def _job_for_copy(job: Job, index: int, copies: int) -> Job:
    """The job of one copy: its share of the CPUs when there are enough to give each its own."""
    cpus = job.cpus
    if copies > 1 and len(cpus) >= copies:
        share = len(cpus) // copies
        cpus = cpus[index * share : (index + 1) * share]
    return replace(job, copy=index, cpus=cpus)


def _explain_silence(worker: Worker) -> tuple[Status, Failure]:
    """What a line that was closed without an answer means: an end that is due any moment, or a worker without voice."""
    deadline = time.monotonic() + GRACE
    while not worker.gone() and time.monotonic() < deadline:
        time.sleep(0.005)
    if worker.gone():
        return _explain_death(worker.end(0))
    message = "the worker closed its answer channel and went on"
    remedy = "the measured code closes file descriptors it did not open"
    return Status.FAILED, Failure(kind=CHANNEL, message=message, remedy=remedy)


def _explain_death(exit_status: int) -> tuple[Status, Failure]:
    """Returns the failure for a channel that ended without an answer."""
    if exit_status >= 0:
        message = f"the worker ended with exit code {exit_status} before it answered"
        return Status.FAILED, Failure(kind="exit", message=message, remedy="does the measured code call exit?")
    number = -exit_status
    with contextlib.suppress(ValueError):
        name = signal.Signals(number).name
        status = Status.KILLED if number in _FROM_OUTSIDE else Status.FAILED
        remedy = "out of memory? see dmesg" if number == signal.SIGKILL else ""
        return status, Failure(kind="signal", message=f"the worker was ended by {name}", remedy=remedy)
    return Status.KILLED, Failure(kind="signal", message=f"the worker was ended by signal {number}")


def failure_of(outcome: AttemptOutcome) -> Failure | None:
    """Why an attempt went wrong: its workers failed, or the target told of its own failure."""
    if outcome.failure is not None or not outcome.answers:
        return outcome.failure
    told = outcome.answers[0].measured.get("failure")
    return schema.decode(Failure, told, where="answer.failure") if told else None
