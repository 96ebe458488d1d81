"""The child's whole life: one job in, one answer out. Standard library only until a runtime is loaded.

Started with three inherited pipe ends: control, answer, lifeline. Its stdout and stderr are a log. It loads the
model, warms up, says it is ready, waits for the parent's word, measures, answers, ends.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchwright import plugins, schema
from benchwright.errors import BenchwrightError, MeasureError, RequestError
from benchwright.records import Case
from benchwright.system import masking, orphans
from benchwright.system.scratch import JOB_VARIABLE, OUTPUT_VARIABLE
from benchwright.system.texts import shorten, words_of
from benchwright.worker import channel
from benchwright.worker.answers import measured_frame, ready_facts
from benchwright.worker.channel import Frame, Job
from benchwright.worker.engine.engine import PreparedLoad, prepare
from benchwright.worker.engine.subject import Subject
from benchwright.worker.runtimes import Loaded, Report, failures, user_objects

if TYPE_CHECKING:
    from benchwright.worker.profilers import Session
    from benchwright.worker.profilers.operator_pass import Recording

COPY_VARIABLE = "BENCHWRIGHT_COPY"  # tells it which copy it is, from 0
SHORT = 200  # characters of a second failure that are told beside the first
_ALSO = "closing failed too: "


def start(*, tied: bool = False) -> None:
    """The entry of the process: runs the job and leaves without exit handlers. It may be `tied` to its parent already.

    Frameworks' own threads and handlers must not turn an answer that was given into a hang.
    """
    code = main(sys.argv[1:], tied=tied)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main(arguments: list[str], *, tied: bool = False) -> int:
    """Runs one job. Every way it can end is told on the answer channel, or by the way the process ended."""
    control, answer, lifeline = map(int, arguments)
    for fd in (control, answer, lifeline):
        os.set_inheritable(fd, False)
    if not tied:
        orphans.die_with(lifeline)
        orphans.stand_guard(lifeline, os.environ[JOB_VARIABLE], closing=(control, answer))
    line = WorkerLine(control, answer, bytes.fromhex(os.environ[JOB_VARIABLE]))
    try:
        work(line)
    except BaseException as failure:  # the process border: whatever user code raises becomes an answer
        if not isinstance(failure, BenchwrightError):  # those say it all, or have logged where foreign code failed
            failures.log_traceback(failure)
        known = dict(failure.details) if isinstance(failure, MeasureError) else {}
        line.say("failed", **_failure_fields(failure), details=known)
        return 1
    return 0


class WorkerLine:
    """This worker's end of the channel."""

    def __init__(self, control: int, answer: int, token: bytes) -> None:
        self._control, self._answer, self._token = control, answer, token
        self._owner = os.getpid()

    def say(self, kind: str, /, **data: Any) -> None:
        """Sends a message without arrays."""
        self.send(Frame(kind=kind, data=data))

    def send(self, message: Frame) -> None:
        """Sends any message. A child that the measured code forked and that came back here has no say: it ends."""
        if os.getpid() != self._owner:
            os._exit(1)
        hidden = replace(message, data=masking.hide_secrets(message.data))
        channel.write_message(self._answer, self._token, hidden)

    def hear(self) -> Frame:
        """The parent's next message; a parent that has gone ends this process."""
        message = channel.read_message(self._control, self._token)
        if message is None:
            sys.exit("the parent has gone")
        return message


def work(line: WorkerLine) -> None:
    """Loads, prepares, waits for the others, measures, answers."""
    job = schema.decode(Job, line.hear().data, where="job")
    if job.protocol != channel.PROTOCOL:
        raise BenchwrightError(f"the parent speaks protocol {job.protocol}, this worker {channel.PROTOCOL}")
    _confine(job)
    gc.enable()
    line.say("loading", pid=os.getpid())
    session = _open_session(job)
    begin = time.perf_counter()
    runtime = plugins.load("runtimes", job.case.target.runtime)()
    if (enclose := getattr(runtime, "enclose", None)) is not None:
        answers: list[Frame] = []
        further = enclose(session.case, lambda loaded: answers.append(_measure(line, job, session, loaded, begin)))
        [answer] = answers
        details = {**answer.data["details"], **further}
        line.send(replace(answer, data={**answer.data, "details": details}))
        return
    loaded: Loaded = runtime.load(session.case)
    line.send(_measure(line, job, session, loaded, begin))
    if loaded.leave is not None:
        line.hear()  # until every copy has answered
        loaded.leave()


def _measure(
    line: WorkerLine, job: Job, session: Session | Recording | _NoProfiling, loaded: Loaded, begin: float
) -> Frame:
    """Prepares what was loaded since `begin`, waits for the others, measures; returns the answer."""
    took = time.perf_counter() - begin if loaded.load_time is None else loaded.load_time
    load_time = took + user_objects.seconds_before_fork(job.case.target.uri)
    loaded.tell = lambda text: line.say("live", text=text)
    loaded.keep = lambda known: line.say("known", details=known)
    try:
        session.ready()
        line.say("warming")
        prepared = _warm_up(loaded, job)
        line.say("ready", load_time=load_time, **ready_facts(loaded, prepared))
        zero = int(line.hear().data["zero"])
        loaded.begin()
        with session.during(zero, time.perf_counter_ns):
            finish = prepared.time(zero if loaded.clock is None else loaded.clock.now())
            line.say("done")  # nothing is timed any more: who watches may stop
        measured = finish()
        report = session.add_to(_check_answers(loaded.report(), loaded, job), loaded)
        details = {**loaded.details, **report.details}
    except BaseException as failure:
        _close_after(loaded, failure)
        raise
    loaded.close()  # before the answer: a teardown that fails is a failure, not a matter of timing
    return measured_frame(measured, details, report)


def _warm_up(loaded: Loaded, job: Job) -> PreparedLoad:
    """Warms up. Where a library refuses the inputs, the error says what to do."""
    if loaded.prepare is not None:
        prepared: PreparedLoad = loaded.prepare(job.case.load, job.copy)
        return prepared
    try:
        return prepare(_subject(loaded), job.case.load, clock=loaded.clock, copy=job.copy)
    except Exception as error:  # the border to the library: which kinds there are, only it knows
        source = job.case.inputs.source if loaded.feed is not None else ""
        if not (loaded.drawn or source) or isinstance(error, BenchwrightError) or failures.lacks_memory(error):
            raise
        failures.log_traceback(error)
        inputs = loaded.details.get("inputs")
        given = ", ".join(f"{name} {what}" for name, what in inputs.items()) if isinstance(inputs, dict) else "random"
        random = (
            f"its inputs were random where nothing was given ({given}): give real ones with --input data.npz, "
            "a number with --value NAME=NUMBER, other sizes with --shape"
        )
        raise RequestError(
            f"{job.case.target.runtime} could not make the first call: {failures.first_line(error)}",
            remedy=random if loaded.drawn else f"does the model take the values of --input {source}?",
        ) from None


def _close_after(loaded: Loaded, failure: BaseException) -> None:
    """Closes what failed. That closing fails as well is told, never in place of the first failure."""
    try:
        loaded.close()
        if loaded.leave is not None:
            loaded.leave()
    except BaseException as second:  # the process border: whatever a teardown raises
        failures.log_traceback(second)
        note = f"{_ALSO}{type(second).__name__}: {words_of(second)}"
        if len(note) <= SHORT:
            failure.add_note(note)


def _confine(job: Job) -> None:
    sys.path[:0] = job.paths
    sys.path += job.last_paths
    os.environ.pop(OUTPUT_VARIABLE, None)  # of whoever started the parent
    if job.folder:
        os.environ[OUTPUT_VARIABLE] = job.folder
    os.environ[COPY_VARIABLE] = str(job.copy)
    if job.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job.cpus)
    if job.memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (job.memory, job.memory))


class _NoProfiling:
    """The session of a worker in which nothing is profiled."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def ready(self) -> None:
        pass

    def during(self, zero: int, now: Callable[[], int]) -> AbstractContextManager[object]:
        return nullcontext()

    def add_to(self, report: Report, loaded: Loaded) -> Report:
        return report


def _open_session(job: Job) -> Session | Recording | _NoProfiling:
    if job.profile is None:
        return _NoProfiling(job.case)
    from pathlib import Path

    if job.profile.operators:
        from benchwright.worker.profilers.operator_pass import Recording

        return Recording(job.case, Path(job.folder))
    from benchwright.worker.profilers import Session

    return Session(job.profile, job.case, Path(job.folder), copy=job.copy)


def _subject(loaded: Loaded) -> Subject:
    event_loop = None
    if loaded.is_async:
        import asyncio

        event_loop = asyncio.new_event_loop()
        asyncio.set_event_loop(event_loop)
    return Subject(call=loaded.call, arguments=loaded.arguments, event_loop=event_loop)


def _check_answers(report: Report, loaded: Loaded, job: Job) -> Report:
    """Adds to the report what comparing the model's answers found; of several copies one is enough."""
    if job.case.expected is None or job.copy:
        return report
    from benchwright.worker.runtimes.outputs import answers

    return answers.compare_answers(report, loaded, job.case, job.folder)


def _failure_fields(failure: BaseException) -> dict[str, str]:
    if isinstance(failure, BenchwrightError):
        text, remedy = shorten(failure.message), failure.remedy
    else:
        text = words_of(failure) or ("out of memory" if isinstance(failure, MemoryError) else type(failure).__name__)
        remedy = failures.memory_remedy() if failures.lacks_memory(failure) else ""
    notes = [note for note in getattr(failure, "__notes__", ()) if isinstance(note, str)]
    also = [note for note in notes if note.startswith(_ALSO)]
    kind = failure.kind if isinstance(failure, BenchwrightError) else type(failure).__name__
    return {"kind": kind, "message": "; ".join((text, *also)), "remedy": remedy}
