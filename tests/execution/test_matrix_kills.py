"""Killing any one process of a matrix at any time ends in an honest record and leaves no process behind.

Twelve kills, and fifty in `make soak`, with a fixed seed: which process (a worker, its keeper, a load generator) and
when (while it starts, loads, warms up, measures or answers) is drawn; each kill hits one result of a run over one to
three copies.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from benchwright.events import Began, Ended, Event, Reached
from benchwright.execution import rounds
from benchwright.records import Case, Load, Mode, Result, Status, Target

SEED = 4
MOST_RUNS = 16  # of five results each: a kill that comes too late hits nobody and does not count
MARK = "BENCHWRIGHT_TEST_MARK"
LASTING = 0.12  # seconds of timed calls

TARGET = """
import time

time.sleep(0.02)  # loading takes long enough to be hit

def busy():
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end:
        pass
"""

# moment -> the phase that it follows, and after how many seconds
MOMENTS = {
    "starting": ("starting", (0.0, 0.08)),
    "loading": ("loading", (0.0, 0.03)),
    "warming": ("warming", (0.0, 0.05)),
    "timing": ("measuring", (0.0, 0.9 * LASTING)),
    "answering": ("measuring", (0.95 * LASTING, 1.1 * LASTING)),
}
WHILE_GENERATING = ("warming", "timing", "answering")


@dataclass(frozen=True, kw_only=True)
class Blow:
    """Who is killed, and when."""

    role: str
    moment: str
    delay: float
    which: float  # among several of the role, from 0 to 1


@dataclass
class Killer:
    """Listens to a runner and kills one process of each measurement."""

    mark: str
    chance: random.Random
    kills: int
    dealt: list[Blow] = field(default_factory=list)
    survivors: list[int] = field(default_factory=list)
    _phases: dict[str, threading.Event] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Began) and len(self.dealt) < self.kills:
            self._phases = {phase: threading.Event() for phase, _ in MOMENTS.values()}
            self._phases["starting"].set()
            self._over = threading.Event()
            self._thread = threading.Thread(target=self._strike, args=(self._draw(event.case),))
            self._thread.start()
        elif isinstance(event, Reached) and event.phase in self._phases:
            self._phases[event.phase].set()
        elif isinstance(event, Ended):
            self.survivors += marked(self.mark)
            self._rest()

    def _draw(self, case: Case) -> Blow:
        generated = case.load.mode is Mode.OPEN
        role = self.chance.choice(["worker", "keeper", *(["generator"] if generated else [])])
        moment = self.chance.choice(WHILE_GENERATING if role == "generator" else [*MOMENTS])
        delay = self.chance.uniform(*MOMENTS[moment][1])
        return Blow(role=role, moment=moment, delay=delay, which=self.chance.random())

    def _strike(self, blow: Blow) -> None:
        self._phases[MOMENTS[blow.moment][0]].wait()
        self._over.wait(blow.delay)
        while not self._over.is_set():
            found = [pid for pid in marked(self.mark) if role_of(pid) == blow.role]
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(found[int(blow.which * len(found))], signal.SIGKILL)
                    self.dealt.append(blow)
                    return
            time.sleep(0.001)  # it is not there yet, or it has just gone

    def _rest(self) -> None:
        self._over.set()
        for phase in self._phases.values():
            phase.set()
        if self._thread is not None:
            self._thread.join()


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


def role_of(pid: int) -> str:
    """What a process of the tree is: a keeper is our child, its worker is not, a generator runs code of its own."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        parent = int(
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[1]
        )
    except OSError:
        return "gone"
    if b"import generate" in command:
        return "generator"
    if b"benchwright.worker.main" not in command:
        return "other"
    return "keeper" if parent == os.getpid() else "worker"


def matrix(folder: Path) -> list[Case]:
    """Closed loops of one to three copies, and open loops, in which each copy has a generator."""
    file = folder / "busy.py"
    file.write_text(TARGET, encoding="utf-8")
    target = Target(runtime="python", uri=f"{file}::busy")
    closed = Load(duration=LASTING, warmup=0.05, timeout=30)
    opened = replace(closed, mode=Mode.OPEN, rate=100.0, workers=2)
    loads = [replace(closed, copies=n) for n in (1, 2, 3)] + [replace(opened, copies=n) for n in (1, 2)]
    return [Case(name=f"{load.mode} {load.copies}", target=target, load=load) for load in loads]


@pytest.mark.fresh  # a keeper is known by being a child of this process
@pytest.mark.serial
@pytest.mark.parametrize("kills", [12, pytest.param(50, marks=pytest.mark.soak)])
def test_any_one_process_may_be_killed_at_any_time(kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    killer = Killer(mark, random.Random(SEED), kills)
    plan = rounds.Plan(cases=matrix(tmp_path), rounds=1, monitors=())
    results: list[Result] = []
    for _ in range(MOST_RUNS):
        if len(killer.dealt) < kills:
            run = rounds.execute(plan, None, killer)
            assert [result.case for result in run.results] == plan.cases
            results += run.results
    assert len(killer.dealt) == kills
    assert {blow.role for blow in killer.dealt} == {"worker", "keeper", "generator"}
    assert {blow.moment for blow in killer.dealt} == set(MOMENTS)
    assert killer.survivors == []
    for result in results:
        assert_honest(result)
    statuses = Counter(result.status for result in results)
    assert statuses[Status.KILLED] and statuses[Status.FAILED], statuses


def assert_honest(result: Result) -> None:
    """The numbers of every copy, or a reason why there are none."""
    if result.status is Status.OK:
        assert [samples.copy for samples in result.samples] == list(range(result.case.load.copies))
        assert all(samples.calls == len(samples.columns["latency"]) > 0 for samples in result.samples)
        assert result.metric("latency_p50") is not None
        return
    assert result.status in (Status.FAILED, Status.KILLED)
    assert result.error is not None
    assert "SIGKILL" in result.error.message or "generator ended with -9" in result.error.message
    assert result.samples == () and result.metric("latency_p50") is None
