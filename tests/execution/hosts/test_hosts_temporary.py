"""What a benchmark leaves in the temporary folder goes with its worker, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchwright.execution.hosts.forked import ForkingHost
from benchwright.execution.hosts.local import LocalWorker
from benchwright.execution.rounds import Plan, execute
from benchwright.execution.venvs import commands
from benchwright.records import Case, Load, Status, Target
from benchwright.system import temporary_folder
from benchwright.workflows import run as api

FILE = """
import os, subprocess, tempfile, time
IMPORTED = tempfile.mkdtemp(prefix="of-import-")

def leaves():
    tempfile.mkdtemp(prefix="left-")
    open(os.path.join(os.environ["TMP"], "by-name"), "w").close()
    closed = tempfile.mkdtemp(prefix="closed-")
    open(os.path.join(closed, "file"), "w").close()
    os.chmod(closed, 0o500)

def exits():
    leaves()
    os._exit(3)

def killed():
    leaves()
    os.kill(os.getpid(), 9)

def hangs():
    leaves()
    open("reached", "w").close()
    time.sleep(600)

def by_a_child():
    subprocess.run(["sh", "-c", 'mktemp > /dev/null'], check=True)
"""


@pytest.fixture
def usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place for temporary files of whoever measures, empty; the present folder has the benchmark file."""
    place = tmp_path / "usual"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench_left.py").write_text(FILE)
    return place


def _status(name: str, **more: object) -> Status:
    run = api.run(f"bench_left:{name}", load=Load(samples=2, warmup=0), rounds=2, save=False, **more)  # type: ignore[arg-type]
    return run.record.results[0].status


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("leaves", Status.OK),
        ("exits", Status.FAILED),
        ("killed", Status.KILLED),
        ("by_a_child", Status.OK),
    ],
)
def test_nothing_is_left_in_the_usual_place(usual: Path, name: str, status: Status) -> None:
    assert _status(name) is status
    assert list(usual.iterdir()) == []


def test_a_worker_that_takes_too_long_leaves_nothing_either(usual: Path) -> None:
    run = api.run("bench_left:hangs", load=Load(samples=2, warmup=0, timeout=2.0), rounds=1, save=False)
    assert run.record.results[0].status is Status.TIMEOUT
    assert list(usual.iterdir()) == []


@pytest.mark.parametrize("name", ["leaves", "exits", "killed"])
def test_forked_workers_leave_nothing(usual: Path, tmp_path: Path, name: str) -> None:
    case = Case(
        name=name,
        target=Target(runtime="python", uri=f"{tmp_path}/bench_left.py:{name}"),
        load=Load(samples=2, warmup=0),
    )
    with ForkingHost() as host:
        run = execute(Plan(cases=[case], rounds=1, host=host, monitors=()))
        assert not [path for path in usual.rglob("*") if path.name.startswith(("left-", "by-name", "closed-"))]
    assert (run.results[0].status is Status.OK) == (name == "leaves")
    assert list(usual.iterdir()) == []


def test_it_goes_when_everybody_is_killed(usual: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchwright", "run", "bench_left:hangs", "--no-save", "--warmup", "0"]
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait(lambda: (tmp_path / "reached").exists())
        assert list(usual.rglob("left-*"))
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
    _wait(lambda: not list(usual.iterdir()))  # no deeper look: folders go while it is taken


def test_a_build_leaves_nothing(usual: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    failure = commands.run("mktemp; mktemp -d; exit 3", tmp_path, {}, log=log, timeout=30, what="it")
    assert failure is not None
    assert str(usual) in log.read_text()
    assert list(usual.iterdir()) == []


def test_a_worker_that_cannot_start_leaves_nothing(usual: Path) -> None:
    with pytest.raises(OSError, match="no-such-python"):
        LocalWorker(python="/no-such-python")
    assert list(usual.iterdir()) == []


def test_what_torch_compiled_stays_where_it_is_found_again(usual: Path) -> None:
    told = temporary_folder.variables("/own", {})
    assert told["TMPDIR"] == told["TEMP"] == told["TMP"] == "/own"
    assert told["TORCHINDUCTOR_CACHE_DIR"].startswith(f"{usual}/torchinductor_")
    assert "TORCHINDUCTOR_CACHE_DIR" not in temporary_folder.variables("/own", {"TORCHINDUCTOR_CACHE_DIR": "/chosen"})


def _wait(is_so: object) -> None:
    deadline = time.monotonic() + 30
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)
