"""A run on a leased machine that is killed with signal 9: `benchwright cloud sweep` ends what it left, and no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aws_faults import Call, Faults
from benchwright.cloud.ledger import CloudLedger
from leased_machine import LeasedMachines

Inside = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def marked(machines: LeasedMachines, tmp_path: Path) -> None:
    """What is measured leaves a mark as soon as it is called."""
    mark = f"pathlib.Path({str(tmp_path / 'measuring')!r}).touch()"
    (tmp_path / "bench.py").write_text(f"import pathlib, time\ndef f():\n    {mark}\n    time.sleep(0.2)\n")


def start(machines: LeasedMachines, folder: Path, samples: int = 3) -> subprocess.Popen[bytes]:
    words = ["run", "bench.py::f", "--host", machines.spec(python=sys.executable), "--samples", str(samples)]
    return subprocess.Popen(
        [sys.executable, "-m", "benchwright", *words, "--warmup", "0", "--rounds", "1", "--budget", "1USD"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def check_swept(machines: LeasedMachines, inside: Inside) -> None:
    """After a sweep nothing of ours is there, and what is not ours is."""
    told = inside("cloud", "sweep")
    assert told.returncode in (0, 1), told.stderr  # 1: it cannot be told yet whether a machine came of an order
    assert machines.alive() == [], told.stdout


def kill_at(machines: LeasedMachines, folder: Path, number: int, *, after: bool) -> list[str]:
    """Kills a run at its question of that number, before or after the cloud does what it is asked."""
    begun: list[subprocess.Popen[bytes]] = []

    def hit(call: Call) -> bool:
        if call.number == number:
            os.kill(begun[0].pid, signal.SIGKILL)
        return call.number >= number

    faults = machines.cloud.faults
    if after:
        faults.after = hit
    else:
        faults.before = lambda call: (500, b"") if hit(call) else None
    begun.append(start(machines, folder))
    begun[0].wait(120)
    asked = faults.actions()
    machines.cloud.faults = Faults()
    return asked


def test_a_run_that_is_killed_while_it_measures_leaves_no_machine(
    machines: LeasedMachines, inside: Inside, tmp_path: Path
) -> None:
    run, deadline = start(machines, tmp_path, samples=500), time.monotonic() + 90
    while not (tmp_path / "measuring").exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(machines.alive()) == 1
    run.kill()
    run.wait()
    check_swept(machines, inside)
    [entry] = CloudLedger().machines()
    assert not entry.is_open and "process that ordered it is gone" in entry.reason


def test_a_run_that_is_killed_before_the_answer_of_its_order_leaves_no_machine(
    machines: LeasedMachines, inside: Inside, tmp_path: Path
) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def lose(call: Call) -> bool:
        if call.action == "RunInstances":
            os.kill(begun[0].pid, signal.SIGKILL)
            return True
        return False

    machines.cloud.faults.after = lose
    begun.append(start(machines, tmp_path))
    begun[0].wait(120)
    machines.cloud.faults = Faults()
    assert len(machines.alive()) == 1, "it was made, and nobody wrote down which it is"
    check_swept(machines, inside)


@pytest.mark.soak
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, 21))
def test_kills_at_every_question_leave_no_machine(
    machines: LeasedMachines, inside: Inside, tmp_path: Path, number: int, after: bool
) -> None:
    kill_at(machines, tmp_path, number, after=after)
    check_swept(machines, inside)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_kills_at_instants_of_a_run_leave_no_machine(
    machines: LeasedMachines, inside: Inside, tmp_path: Path, part: int
) -> None:
    run = start(machines, tmp_path)
    deadline = time.monotonic() + 90
    while not CloudLedger().machines() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(part * 0.15)
    run.kill()
    run.wait()
    check_swept(machines, inside)


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
@pytest.mark.parametrize("part", range(7))
def test_whoever_is_asked_to_end_gives_the_machine_back_itself(
    machines: LeasedMachines, tmp_path: Path, number: signal.Signals, part: int
) -> None:
    run = start(machines, tmp_path, samples=500)
    deadline = time.monotonic() + 90
    while not CloudLedger().machines() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(part * 0.3)
    run.send_signal(number)
    assert run.wait(60) != 0
    assert machines.alive() == [], "without a sweep"
    # Between the line in the ledger and the question nothing is made: a sweep closes that line.
    assert [one for one in CloudLedger().open_machines() if one.id] == []
