"""What a program starts and hides, in another session and without its environment, ends with the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchwright.execution.rounds import execute
from benchwright.execution.session import Plan
from benchwright.execution.venvs import commands
from benchwright.records import Case, Load, Status, Target
from benchwright.system import process

Hidden = Callable[[], list[int]]
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no other kernel hands orphans over")


@pytest.fixture
def seconds() -> str:
    """A time to sleep that no other process sleeps, so that sleepers can be found by it."""
    return f"300.{uuid.uuid4().int % 10**12}"


@pytest.fixture
def hidden(seconds: str) -> Iterator[Hidden]:
    """`hidden()` are the sleepers that there are."""

    def find() -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if (entry / "cmdline").read_bytes() == b"sleep\0%b\0" % seconds.encode():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    yield find
    for pid in find():
        os.kill(pid, signal.SIGKILL)


def _line(seconds: str) -> str:
    """A shell line that lets a sleeper go, after which it has run for a while."""
    return f"env -i setsid sleep {seconds} </dev/null >/dev/null 2>&1 & sleep 0.2"


def _case(file: Path, name: str = "f") -> Case:
    return Case(
        name=name,
        target=Target(runtime="python", uri=f"{file}::{name}"),
        load=Load(samples=1, loops=1, warmup=0.0, timeout=60.0),
    )


def _target(folder: Path, seconds: str) -> Path:
    file = folder / "hiding.py"
    file.write_text(
        "import os, psutil, signal, subprocess\n"
        f"subprocess.run(['sh', '-c', {_line(seconds)!r}])\n"
        "def f():\n"
        f"    assert any({seconds!r} in (each.info['cmdline'] or ()) for each in psutil.process_iter(['cmdline']))\n"
        "def killed(): os.kill(os.getpid(), signal.SIGKILL)\n"
        "def crash(): os.abort()\n",
        encoding="utf-8",
    )
    return file


@pytest.mark.parametrize(("name", "status"), [("f", Status.OK), ("killed", Status.KILLED), ("crash", Status.FAILED)])
def test_what_a_worker_hid_ends_with_it_however_it_ended(
    name: str, status: Status, tmp_path: Path, seconds: str, hidden: Hidden
) -> None:
    run = execute(Plan(cases=[_case(_target(tmp_path, seconds), name)], rounds=1, monitors=()))
    assert run.results[0].status is status, run.results[0].error
    assert hidden() == []
    assert _zombies() == []


def test_the_users_own_children_are_left_alone(tmp_path: Path, seconds: str, hidden: Hidden) -> None:
    """Used as a library: what the user's process started before and lets run is not what was measured."""
    own = subprocess.Popen(["sleep", "200"], start_new_session=True, env={})
    orphan = subprocess.run(
        ["sh", "-c", "setsid sleep 200 >/dev/null 2>&1 & echo $!"], stdout=subprocess.PIPE, check=True, text=True
    )
    try:
        assert execute(Plan(cases=[_case(_target(tmp_path, seconds))], rounds=1, monitors=())).results
        assert own.poll() is None
        os.kill(int(orphan.stdout), 0)
        assert hidden() == []
    finally:
        own.kill()
        own.wait()
        os.kill(int(orphan.stdout), signal.SIGKILL)


def test_what_a_command_hid_ends_with_the_run(
    inside: Callable[..., subprocess.CompletedProcess[str]], seconds: str, hidden: Hidden
) -> None:
    ended = inside(
        "run", "--rounds", "1", "--samples", "1", "--warmup", "0", "--no-save", "--", "sh", "-c", _line(seconds)
    )
    assert ended.returncode == 0, ended.stderr
    assert hidden() == []


@pytest.mark.parametrize("timeout", [60.0, 1.0])
def test_what_a_build_hid_ends_with_it(timeout: float, tmp_path: Path, seconds: str, hidden: Hidden) -> None:
    line = _line(seconds) if timeout > 10 else f"{_line(seconds)}; sleep {seconds}"
    failure = commands.run(line, tmp_path, {}, log=tmp_path / "build.log", timeout=timeout, what="x")
    assert (failure is None) == (timeout > 10)
    assert hidden() == []


def test_what_was_hidden_ends_when_the_parent_is_killed(tmp_path: Path, seconds: str, hidden: Hidden) -> None:
    file = _target(tmp_path, seconds)
    file.write_text(file.read_text(encoding="utf-8") + "import time\ndef slow(): time.sleep(60)\n", encoding="utf-8")
    command = [sys.executable, "-m", "benchwright", "run", f"{file}::slow", "--warmup", "0", "--no-save"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        assert _within(60, lambda: bool(hidden()))
        parent.kill()
        parent.communicate()
    assert _within(10, lambda: not hidden())


def test_a_build_that_floods_its_log_keeps_beginning_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands.BoundedLog.__init__, "__defaults__", (40_000,))  # type: ignore[attr-defined]
    monkeypatch.setattr(commands, "LOOK", 0.05)
    line = "echo first; for i in 1 2 3 4; do seq 20000; sleep 0.2; done; echo last; exit 3"
    log = tmp_path / "build.log"
    failure = commands.run(line, tmp_path, {}, log=log, timeout=60.0, what="x")
    assert failure is not None
    assert failure.log_tail.endswith("last")
    text = log.read_text(encoding="utf-8")
    assert text.startswith("first\n") and text.endswith("last\n")
    assert len(text) <= 41_000
    assert text.count("bytes are left out here") == 1
    left_out = int(text.partition("[")[2].split()[0])
    whole = len("first\nlast\n") + 4 * sum(len(f"{i}\n") for i in range(1, 20001))
    assert whole // 2 < left_out < whole


def test_descendants_are_found_level_by_level() -> None:
    with subprocess.Popen(["sh", "-c", "sh -c 'sleep 100; true'; true"], start_new_session=True) as child:
        assert _within(20, lambda: len(process.descendants(child.pid)) == 2)
        assert set(process.descendants(child.pid)) < set(process.descendants(os.getpid()))
        os.killpg(child.pid, signal.SIGKILL)


def _zombies() -> list[str]:
    found = []
    for pid in process.descendants(os.getpid()):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state == "Z":
            found.append(str(pid))
    return found


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
