"""The child's whole life: one job in, one answer out. Standard library only until a runtime is loaded.

Started with three inherited pipe ends: control, answer, lifeline. Its stdout and stderr are a log. It loads the
model, warms up, says it is ready, waits for the parent's word, measures, answers, ends.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import Any

from benchwright import channel, orphans, plugins, schema
from benchwright.channel import Job, Message
from benchwright.errors import BenchwrightError
from benchwright.measure.engine import Measured, Prepared, prepare
from benchwright.measure.subject import Subject
from benchwright.orphans import TOKEN_VARIABLE
from benchwright.runtimes import Loaded


def start() -> None:
    """The entry of the process: runs the job and leaves without exit handlers.

    Frameworks' own threads and handlers must not turn an answer that was given into a hang.
    """
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main(arguments: list[str]) -> int:
    """Runs one job. Every way it can end is told on the answer channel, or by the way the process ended."""
    control, answer, lifeline = map(int, arguments)
    for fd in (control, answer, lifeline):
        os.set_inheritable(fd, False)
    orphans.die_with(lifeline)
    orphans.stand_guard(lifeline, os.environ[TOKEN_VARIABLE], closing=(control, answer))
    line = Line(control, answer, bytes.fromhex(os.environ[TOKEN_VARIABLE]))
    try:
        work(line)
    except BaseException as failure:  # the process border: whatever user code raises becomes an answer
        if not isinstance(failure, BenchwrightError) or failure.__cause__ is not None:
            import traceback

            traceback.print_exc()
        line.say("failed", **_described(failure))
        return 1
    return 0


class Line:
    """This worker's end of the channel."""

    def __init__(self, control: int, answer: int, token: bytes) -> None:
        self._control, self._answer, self._token = control, answer, token
        self._owner = os.getpid()

    def say(self, kind: str, /, **data: Any) -> None:
        """Sends a message without arrays."""
        self.send(Message(kind=kind, data=data))

    def send(self, message: Message) -> None:
        """Sends any message. A child that the measured code forked and that came back here has no say: it ends."""
        if os.getpid() != self._owner:
            os._exit(1)
        channel.write_message(self._answer, self._token, message)

    def hear(self) -> Message:
        """The parent's next message; a parent that has gone ends this process."""
        message = channel.read_message(self._control, self._token)
        if message is None:
            sys.exit("the parent has gone")
        return message


def work(line: Line) -> None:
    """Loads, prepares, waits for the others, measures, answers."""
    job = schema.decode(Job, line.hear().data, where="job")
    if job.protocol != channel.PROTOCOL:
        raise BenchwrightError(f"the parent speaks protocol {job.protocol}, this worker {channel.PROTOCOL}")
    _confine(job)
    gc.enable()
    line.say("loading")
    begin = time.perf_counter()
    loaded: Loaded = plugins.load("runtimes", job.case.target.runtime)().load(job.case)
    load_time = time.perf_counter() - begin
    try:
        line.say("warming")
        prepared = prepare(_subject(loaded), job.case.load, clock=loaded.clock, copy=job.copy)
        line.say("ready", load_time=load_time, **_facts(loaded, prepared))
        zero = int(line.hear().data["zero"])
        finish = prepared.time(zero if loaded.clock is None else loaded.clock.now())
        line.say("done")  # nothing is timed any more: who watches may stop
        measured = finish()
        details = dict(loaded.details)
    finally:
        loaded.close()
    line.send(_answer(measured, details))  # after closing: a teardown that fails is a failure, not a matter of timing


def _confine(job: Job) -> None:
    sys.path[:0] = job.paths
    if job.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job.cpus)
    if job.memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (job.memory, job.memory))


def _subject(loaded: Loaded) -> Subject:
    event_loop = None
    if loaded.is_async:
        import asyncio

        event_loop = asyncio.new_event_loop()
        asyncio.set_event_loop(event_loop)
    return Subject(call=loaded.call, arguments=loaded.arguments, event_loop=event_loop)


def _facts(loaded: Loaded, prepared: Prepared) -> dict[str, Any]:
    warmup, facts = prepared.warmup, prepared.facts
    return {
        "device": loaded.device,
        "items_per_call": loaded.items_per_call,
        "versions": dict(loaded.versions),
        "warnings": schema.encode(tuple(loaded.warnings)),
        "clock": {"read": facts.read, "loop": facts.loop, "resolution": facts.resolution},
        "warmup": {name: getattr(warmup, name) for name in type(warmup).__slots__},
        "oversleep": prepared.oversleep,
        "virtual": loaded.clock is not None,
    }


def _answer(measured: Measured, details: dict[str, Any]) -> Message:
    from benchwright.environment import installed_packages  # only now: nothing is timed any more

    data, columns = channel.pack_samples(measured.samples)
    probes = [{"rate": p.rate, "meets": p.meets} for p in measured.probes]
    whole = {
        "samples": data,
        "gc_collections": measured.gc_collections,
        "probes": probes,
        "rate": measured.rate,
        "details": details,
        "packages": installed_packages(),
    }
    return Message(kind="measured", data=whole, arrays=columns)


def _described(failure: BaseException) -> dict[str, str]:
    if isinstance(failure, BenchwrightError):
        return {"kind": type(failure).__name__, "message": failure.message, "remedy": failure.remedy}
    text = str(failure).strip() or repr(failure)
    return {"kind": type(failure).__name__, "message": text, "remedy": ""}
