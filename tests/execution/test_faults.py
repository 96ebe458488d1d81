"""Whatever a worker does, its case yields one record with a status, a reason and the log's tail, and nothing survives.

All faults are cases of one run, so each also shows that the run goes on after it.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchwright import events
from benchwright.execution import attempt, rounds
from benchwright.records import Case, Load, Result, Run, Scalar, Status, Target
from benchwright.worker.runtimes.faults import FLOOD_BYTES

pytestmark = pytest.mark.fresh  # what a fault leaves behind depends on how the worker started

MARK = "BENCHWRIGHT_TEST_MARK"
QUICK = Load(samples=20, warmup=0, timeout=60)
SHORT = Load(samples=20, warmup=0, timeout=1.5)

FAULTY = r"""
import os, signal, subprocess, sys, time
from benchwright.decorator import benchmark

calls = 0

def second():
    global calls
    calls += 1
    return calls == 2

def leaves():
    if second():
        sys.exit("bye")

def leaves_quietly():
    if second():
        print("about to go", flush=True)
        os._exit(7)

def interrupts():
    raise KeyboardInterrupt

def broken_setup():
    print("setting up", flush=True)
    raise LookupError("no data here")

@benchmark(setup=broken_setup)
def unprepared(data):
    pass

def broken_teardown(data):
    raise LookupError("cannot clean up")

@benchmark(setup=lambda: {}, teardown=broken_teardown)
def untidy(data):
    time.sleep(0.001)

def shouts():
    os.write(2, b"\xff\xfe caf\xe9 \x80\n")
    raise ValueError("heard?")

def dies_and_leaves_the_line_open():
    if second():
        if os.fork() == 0:
            time.sleep(3600)
            os._exit(0)
        os._exit(4)

def forks_a_child_that_comes_back():
    time.sleep(0.001)
    if second() and os.fork() == 0:
        sys.exit("I am the child")

def forks_a_child_that_measures_on():
    time.sleep(0.001)
    if second():
        os.fork()

def closes_everything():
    os.closerange(3, 256)
    time.sleep(3600)

def daemonises():
    if second():
        subprocess.Popen(["setsid", "sleep", "3600"], stdin=subprocess.DEVNULL)
        subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); os.fork(); time.sleep(3600)"])
    time.sleep(0.001)

def ignores_signals_and_hangs():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; sleep 3600"])
    time.sleep(3600)

def answers_wrongly():
    for fd in range(3, 64):
        try:
            os.write(fd, b'{"kind": "measured", "data": {}}')
        except OSError:
            pass
    time.sleep(0.01)
"""


@dataclass(frozen=True)
class Fault:
    """What is run, and what the record must say."""

    name: str
    status: Status
    kind: str = ""
    message: str = ""
    tail: str = ""
    load: Load = QUICK
    fake: str = ""  # options of the fake runtime; none: a function of FAULTY

    def case(self, file: Path) -> Case:
        if self.fake:
            return Case(name=self.name, target=Target(runtime="fake", uri=f"fake:?{self.fake}"), load=self.load)
        return Case(name=self.name, target=Target(runtime="python", uri=f"{file}::{self.name}"), load=self.load)


LATE = r"no answer within 1.5 s; the worker was \w+"
COPIES = Load(samples=100, copies=2, warmup=0)

FAULTS = [
    Fault("segfault", Status.FAILED, "signal", "SIGSEGV", fake="crash=segfault&crash_at=9"),
    Fault("segfault while loading", Status.FAILED, "signal", "SIGSEGV", fake="crash=segfault&crash_at=load"),
    Fault("exit", Status.FAILED, "exit", "exit code 3", fake="crash=exit&crash_at=9"),
    Fault("sigkill", Status.KILLED, "signal", "SIGKILL", fake="crash=kill&crash_at=9"),
    Fault("out of memory", Status.FAILED, "MemoryError", tail="MemoryError", fake="crash=oom&crash_at=9"),
    Fault("hang", Status.TIMEOUT, "timeout", LATE, load=SHORT, fake="crash=hang&crash_at=9"),
    Fault("hang while loading", Status.TIMEOUT, "timeout", LATE, load=SHORT, fake="crash=hang&crash_at=load"),
    Fault("hang with the lock held", Status.TIMEOUT, "timeout", LATE, load=SHORT, fake="latency=3600s&wait=hold"),
    Fault("rubbish", Status.FAILED, "channel", "carried something else", fake="crash=channel&crash_at=9"),
    Fault("call", Status.FAILED, "RuntimeError", "scripted failure of call 13", "Traceback", fake="fail_after=12"),
    Fault("an unknown option", Status.FAILED, "RequestError", "no option 'latncy'", fake="latncy=1"),
    Fault("flood", Status.OK, fake="crash=flood&crash_at=9"),
    Fault("fork", Status.OK, fake="crash=fork&crash_at=9"),
    Fault("one of two dies", Status.FAILED, "exit", "exit code 3", load=COPIES, fake="crash=exit&crash_at=40"),
    Fault("leaves", Status.FAILED, "SystemExit", "bye", "SystemExit: bye"),
    Fault("leaves_quietly", Status.FAILED, "exit", "exit code 7", "about to go"),
    Fault("interrupts", Status.FAILED, "KeyboardInterrupt"),
    Fault("unprepared", Status.FAILED, "LoadError", "setup failed: LookupError: no data here", "setting up"),
    Fault("untidy", Status.FAILED, "LookupError", "cannot clean up"),
    Fault("shouts", Status.FAILED, "ValueError", "heard", "\ufffd\ufffd caf\ufffd"),
    Fault("dies_and_leaves_the_line_open", Status.FAILED, "exit", "exit code 4"),
    Fault("forks_a_child_that_comes_back", Status.OK),
    Fault("forks_a_child_that_measures_on", Status.OK),
    Fault("closes_everything", Status.FAILED, "channel", "closed its answer channel"),
    Fault("daemonises", Status.OK),
    Fault("ignores_signals_and_hangs", Status.TIMEOUT, "timeout", LATE, load=SHORT),
    Fault("answers_wrongly", Status.FAILED, "channel", "measured"),
    Fault("is_not_there", Status.FAILED, "LoadError", "is_not_there"),
]


def marked(mark: str) -> list[int]:
    """Processes that inherited the mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def mark() -> Iterator[str]:
    """In the environment of every process that these tests start, and of what those start."""
    with pytest.MonkeyPatch.context() as patch:
        value = uuid.uuid4().hex
        patch.setenv(MARK, value)
        yield value


@dataclass
class Ended:
    run: Run
    survivors: dict[str, list[int]]
    seconds: dict[str, float]


@pytest.fixture(scope="module")
def ended(mark: str, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Every fault, one after the other, and what was left right after each."""
    file = tmp_path_factory.mktemp("faults") / "faulty.py"
    file.write_text(FAULTY, encoding="utf-8")
    survivors: dict[str, list[int]] = {}
    seconds: dict[str, float] = {}

    def listen(event: object) -> None:
        if isinstance(event, events.Ended):
            survivors[event.result.case.name] = marked(mark)
            seconds[event.result.case.name] = event.result.duration

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "GRACE", 1.0)
        plan = rounds.Plan(cases=[fault.case(file) for fault in FAULTS], rounds=1, monitors=(), directory=file.parent)
        return Ended(rounds.execute(plan, listener=listen), survivors, seconds)


def _result(ended: Ended, name: str) -> Result:
    (found,) = [result for result in ended.run.results if result.case.name == name]
    return found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_one_record_and_leaves_no_process(fault: Fault, ended: Ended) -> None:
    result = _result(ended, fault.name)
    assert result.status is fault.status, result.error
    assert ended.survivors[fault.name] == []
    if fault.status is Status.OK:
        assert result.error is None
        assert result.samples[0].calls == fault.load.samples
        return
    assert result.error is not None
    assert result.error.kind == fault.kind
    assert re.search(fault.message, result.error.message), result.error.message
    assert result.error.message
    assert re.search(fault.tail, result.error.log_tail), result.error.log_tail
    assert result.metrics == () and result.samples == ()


def test_every_planned_case_has_exactly_one_record_in_order(ended: Ended) -> None:
    assert [result.case.name for result in ended.run.results] == [fault.name for fault in FAULTS]


def test_a_dead_worker_is_noticed_although_its_line_is_held_open(ended: Ended) -> None:
    assert ended.seconds["dies_and_leaves_the_line_open"] < 20  # and not the 60 of its timeout


def test_a_flood_of_output_is_cut_to_its_tail(tmp_path: Path, mark: str) -> None:
    options: dict[str, Scalar] = {"latency": "1ms", "crash": "flood", "crash_at": 2, "fail_after": 5}
    case = Case(name="flood", target=Target(runtime="fake", uri="fake:", options=options), load=QUICK)
    begin = time.monotonic()
    (result,) = rounds.execute(rounds.Plan(cases=[case], rounds=1, monitors=(), directory=tmp_path)).results
    assert FLOOD_BYTES >= 100_000_000
    assert time.monotonic() - begin < 30
    assert result.error is not None
    assert len(result.error.log_tail) <= 8192
    assert "scripted failure of call 6" in result.error.log_tail
    assert marked(mark) == []


def test_a_worker_may_be_given_less_memory(tmp_path: Path, mark: str) -> None:
    file = tmp_path / "hungry.py"
    file.write_text("def eat():\n    bytearray(2 << 30)\n", encoding="utf-8")
    case = Case(name="eat", target=Target(runtime="python", uri=f"{file}::eat"), load=QUICK)
    plan = rounds.Plan(cases=[case], rounds=1, monitors=(), memory=1 << 30, directory=tmp_path)
    (result,) = rounds.execute(plan).results
    assert result.status is Status.FAILED
    assert result.error is not None
    assert result.error.kind == "MemoryError"
    assert "MemoryError" in result.error.log_tail
    assert marked(mark) == []


def test_the_mark_finds_processes(mark: str) -> None:
    """Otherwise the tests above could not fail."""
    child = os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)
    try:
        assert marked(mark) == [child]
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
