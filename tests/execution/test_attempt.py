"""One case measured once: phases, the barrier over copies, CPUs, time limits, and what an end means."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import StoreError
from benchwright.execution.attempt import Attempt, AttemptOutcome, timeout
from benchwright.execution.hosts.local import LocalHost, LocalWorker
from benchwright.records import Case, Load, Mode, Scalar, Status, Target
from benchwright.system.interrupts import Interrupt
from benchwright.worker.channel import Job


class Watched(LocalHost):
    """The local host, with what it launched."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Job] = []
        self.workers: list[LocalWorker] = []

    def launch(self, job: Job) -> LocalWorker:
        self.jobs.append(job)
        self.workers.append(super().launch(job))
        return self.workers[-1]


def _case(uri: str = "fake:constant?ms=1", **load: Any) -> Case:
    whole = Load(**{"samples": 20, "warmup": 0.0, **load})
    return Case(name="c", target=Target(runtime="fake" if uri.startswith("fake:") else "python", uri=uri), load=whole)


def _run(case: Case, host: LocalHost | None = None, **fields: Any) -> AttemptOutcome:
    return Attempt(case, host or LocalHost(), **fields).run()


def _failed(outcome: AttemptOutcome) -> str:
    assert outcome.failure is not None
    return outcome.failure.message


def test_phases_are_told_in_order() -> None:
    phases: list[str] = []
    outcome = _run(_case(), on_phase=phases.append)
    assert outcome.status is Status.OK, outcome.failure
    assert phases == ["loading", "warming", "ready", "measuring"]


def test_what_takes_long_is_done_while_the_workers_load() -> None:
    host, seen = Watched(), []
    outcome = _run(_case(copies=2), host, while_loading=lambda: seen.append(len(host.workers)))
    assert outcome.status is Status.OK
    assert seen == [2]


def test_an_error_of_ours_comes_out_and_no_worker_is_left() -> None:
    host = Watched()

    def unusable() -> None:
        raise StoreError("the store is gone")

    with pytest.raises(StoreError, match="the store is gone"):
        _run(_case(), host, while_loading=unusable)
    assert [worker.gone() for worker in host.workers] == [True]


def test_copies_measure_at_the_same_time(tmp_path: Path) -> None:
    """Each copy's calls last 400 ms, and one of the copies takes half a second longer to load."""
    file = tmp_path / "slow.py"
    file.write_text(
        "import os, time\n"
        "try:\n"
        f"    os.mkdir({str(tmp_path / 'first')!r})\n"
        "    time.sleep(0.5)\n"
        "except FileExistsError:\n"
        "    pass\n"
        "def f():\n"
        "    time.sleep(0.02)\n",
        encoding="utf-8",
    )
    outcome = _run(_case(f"{file}::f", copies=2, samples=20))
    assert outcome.status is Status.OK, outcome.failure
    first, second = (answer.samples for answer in outcome.answers)
    assert [first.copy, second.copy] == [0, 1]
    begins = [samples.columns["end"][0] - samples.columns["latency"][0] for samples in (first, second)]
    ends = [samples.columns["end"][-1] for samples in (first, second)]  # since the time zero that they share
    assert min(ends) - max(begins) > 0.5 * max(ends)


def test_copies_share_the_cpus_out(tmp_path: Path) -> None:
    file = tmp_path / "where.py"
    file.write_text("import os\ndef f():\n    print(sorted(os.sched_getaffinity(0)), flush=True)\n", encoding="utf-8")
    cpus = sorted(os.sched_getaffinity(0))[:2]
    host = Watched()
    outcome = _run(_case(f"{file}::f", copies=len(cpus), loops=1), host, cpus=cpus)
    assert outcome.status is Status.OK, outcome.failure
    assert [job.cpus for job in host.jobs] == [(cpu,) for cpu in cpus]
    assert [worker.log_tail().splitlines()[-1] for worker in host.workers] == [f"[{cpu}]" for cpu in cpus]


def test_more_copies_than_cpus_share_them_all() -> None:
    host, cpu = Watched(), min(os.sched_getaffinity(0))
    assert _run(_case(copies=2), host, cpus=[cpu]).status is Status.OK
    assert [job.cpus for job in host.jobs] == [(cpu,), (cpu,)]


def test_the_log_is_that_of_the_copy_that_failed(tmp_path: Path) -> None:
    file = tmp_path / "which.py"
    file.write_text(
        "import os\n"
        "try:\n"
        f"    os.mkdir({str(tmp_path / 'first')!r})\n"
        "    print('all is well here', flush=True)\n"
        "    FIRST = True\n"
        "except FileExistsError:\n"
        "    FIRST = False\n"
        "def f():\n"
        "    if not FIRST: raise LookupError('not here')\n",
        encoding="utf-8",
    )
    outcome = _run(_case(f"{file}::f", copies=2, loops=1))
    assert outcome.status is Status.FAILED
    assert "LookupError: not here" in outcome.log_tail
    assert "all is well" not in outcome.log_tail


@pytest.mark.fresh
def test_a_worker_that_cannot_be_started_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")
    outcome = _run(_case())
    assert outcome.status is Status.FAILED
    assert outcome.failure is not None
    assert outcome.failure.kind == "start"
    assert "/no/such/python" in outcome.failure.message


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGKILL, Status.KILLED), (signal.SIGTERM, Status.KILLED), (signal.SIGSEGV, Status.FAILED)],
    ids=["SIGKILL", "SIGTERM", "SIGSEGV"],
)
def test_a_signal_from_outside_is_told_from_a_crash(number: signal.Signals, status: Status) -> None:
    host = Watched()

    def shoot(phase: str) -> None:
        if phase == "measuring":
            os.kill(host.workers[0].pid, number)

    outcome = _run(_case("fake:constant?latency=10s&wait=sleep"), host, on_phase=_once_warm(shoot))
    assert outcome.status is status
    assert outcome.failure is not None
    assert outcome.failure.kind == "signal"
    assert number.name in outcome.failure.message


def _once_warm(act: Callable[[str], None]) -> Callable[[str], None]:
    """Treats the first call, which the warm-up makes and which takes for ever here, as the measurement."""
    return lambda phase: act("measuring" if phase == "warming" else "")


def test_a_signal_without_a_name_is_told_too() -> None:
    host = Watched()

    def shoot(phase: str) -> None:
        if phase == "measuring":
            os.kill(host.workers[0].pid, signal.SIGRTMIN + 5)

    outcome = _run(_case("fake:constant?latency=10s&wait=sleep"), host, on_phase=_once_warm(shoot))
    assert outcome.status is Status.KILLED
    assert f"signal {signal.SIGRTMIN + 5}" in _failed(outcome)


@pytest.mark.parametrize(
    ("number", "says"), [(signal.SIGINT, "from the keyboard"), (signal.SIGTERM, "interrupted by SIGTERM")]
)
def test_an_interrupt_ends_the_attempt_and_its_workers(number: int, says: str) -> None:
    host, interrupt = Watched(), Interrupt()

    def press(phase: str) -> None:
        if phase == "measuring":
            signal.raise_signal(number)

    with interrupt.watch(), interrupt.allow():
        outcome = _run(_case("fake:constant?latency=1s&wait=sleep", copies=2), host, on_phase=press)
    assert outcome.status is Status.KILLED
    assert outcome.failure is not None
    assert outcome.failure.kind == "interrupted"
    assert says in outcome.failure.message
    assert all(worker.gone() for worker in host.workers)


def test_a_host_that_refuses_says_why_in_its_own_words() -> None:
    class Refusing(LocalHost):
        def launch(self, job: Job) -> LocalWorker:
            raise StoreError("not today", remedy="come back tomorrow")

    outcome = _run(_case(), Refusing())
    assert outcome.status is Status.FAILED and outcome.failure is not None
    told = outcome.failure
    assert (told.kind, told.message, told.remedy) == ("StoreError", "not today", "come back tomorrow")


def test_time_is_limited_while_measuring_too() -> None:
    begin = time.monotonic()
    outcome = _run(_case("fake:constant?latency=200ms&wait=sleep", samples=1000, timeout=8.0))
    assert outcome.status is Status.TIMEOUT
    assert "the worker was measuring" in _failed(outcome)
    assert outcome.failure is not None
    assert "--timeout" in outcome.failure.remedy
    assert time.monotonic() - begin < 40


@pytest.mark.parametrize(
    ("load", "seconds"),
    [
        (Load(timeout=7.0), 7.0),
        (Load(duration=100.0, timeout=None, warmup=0.0), 300 + 200),
        (Load(duration=100.0), 300 + 5 + 200),
        (Load(samples=10), 300 + 5 + 2 * 3600),
        (Load(mode=Mode.OPEN, rate=0.1, samples=1000, warmup=0.0), 300 + 2 * 10_000),
        (Load(mode=Mode.OPEN, find_rate=True, duration=10.0, warmup=0.0), 300 + 20 * 60),
    ],
)
def test_without_a_limit_there_is_time_enough(load: Load, seconds: float) -> None:
    assert timeout(Case(name="c", target=Target(runtime="fake", uri="fake:"), load=load)) == seconds


def test_a_server_that_is_started_has_time_of_its_own() -> None:
    options: dict[str, Scalar] = {"serve": "server {port}", "serve_timeout": "900s"}
    served = Target(runtime="openai", uri="http://127.0.0.1:{port}/v1/completions", options=options)
    assert timeout(Case(name="c", target=served, load=Load(duration=100.0, warmup=0.0))) == 300 + 900 + 200


def test_monitors_watch_the_timed_phase_of_every_copy() -> None:
    outcome = _run(_case("fake:constant?latency=20ms", copies=2, samples=25), monitors=["process"])
    assert outcome.status is Status.OK, outcome.failure
    peak = next(metric for metric in outcome.observation.metrics if metric.name == "rss_peak")
    assert peak.estimate.point > 2 * 5e6  # two interpreters
    assert threading.active_count() == 1 or not [t for t in threading.enumerate() if t.name == "benchwright-watch"]


def test_what_was_seen_before_a_failure_is_kept(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text("import time\ndef fail():\n    time.sleep(0.3)\n    raise RuntimeError('boom')\n")
    target = Target(runtime="python", uri=f"{tmp_path / 'late.py'}::fail")
    outcome = Attempt(
        Case(name="c", target=target, load=Load(mode=Mode.SINGLE)), LocalHost(), monitors=("process",)
    ).run()
    assert outcome.status is Status.FAILED
    assert {timeline.name for timeline in outcome.observation.timelines} >= {"rss"}
    assert any(metric.name == "rss_peak" and metric.estimate.point > 0 for metric in outcome.observation.metrics)
