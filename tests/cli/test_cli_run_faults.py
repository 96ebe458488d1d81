"""What happens to `benchwright run` from outside: signals, and stores that cannot be written."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchwright.records import Run, Status
from benchwright.store import open_store

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]
MARK = "BENCHWRIGHT_TEST_MARK"
FAKE = "fake:constant?ms=1&clock=virtual"
QUICK = ("--rounds", "1", "--samples", "50", "--warmup", "0")


@dataclass
class Started:
    """A command line that runs in a session of its own, whose descendants all carry a mark."""

    process: subprocess.Popen[str]
    mark: str

    def descendants(self) -> list[int]:
        wanted, found = f"{MARK}={self.mark}".encode(), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != self.process.pid:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def all_gone(self, seconds: float) -> bool:
        return _within(seconds, lambda: not self.descendants())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """`start("run", ...)` begins a command line in `tmp_path` and returns at once."""
    begun: list[Started] = []

    def begin(*arguments: str) -> Started:
        mark = uuid.uuid4().hex
        process = subprocess.Popen(
            [sys.executable, "-m", "benchwright", *arguments],
            cwd=tmp_path,
            env={**os.environ, MARK: mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        begun.append(Started(process, mark))
        return begun[-1]

    yield begin
    for started in begun:
        if started.process.poll() is None:
            started.process.kill()
        started.process.communicate()


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _kept(path: Path) -> Run:
    store = open_store(path)
    with closing(store):
        (summary,) = store.runs()
        return store.run(summary.id)


def _measuring(started: Started, pid_file: Path) -> int:
    """Waits until the measured code has left a grandchild in a session of its own; its process id."""
    assert _within(60, lambda: pid_file.exists() and pid_file.read_text(encoding="ascii").strip() != "")
    grandchild = int(pid_file.read_text(encoding="ascii"))
    assert grandchild in started.descendants()
    return grandchild


@pytest.mark.parametrize("wait", [pytest.param("sleep", marks=pytest.mark.soak), "hold"])
def test_kill_9_of_the_parent_leaves_no_process_and_what_was_saved(
    wait: str, start: Callable[..., Started], benchwright: Benchwright, tmp_path: Path
) -> None:
    """With `hold` the worker never gives its interpreter back, so only the kernel and the guard can end it."""
    pid_file = tmp_path / "pid"
    slow = f"fake:constant?latency=3600s&wait={wait}&crash=fork&pid_file={pid_file}"
    started = start("run", FAKE, slow, *QUICK, "--store", "results.db")
    _measuring(started, pid_file)
    started.process.kill()
    started.process.wait()
    assert started.all_gone(2.0), started.descendants()
    run = _kept(tmp_path / "results.db")
    assert [result.status for result in run.results] == [Status.OK]
    assert run.results[0].samples[0].calls == 50
    assert run.planned == 2
    shown = benchwright("show", "--store", "results.db")
    assert "incomplete: 1 of 2 results; it was interrupted" in shown.stdout
    assert "  1 of 2 results  " in benchwright("list", "--store", "results.db").stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ending_the_parent_politely_leaves_no_process_either(
    number: signal.Signals, start: Callable[..., Started], tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    started = start("run", f"fake:constant?latency=3600s&wait=sleep&crash=fork&pid_file={pid_file}", *QUICK)
    _measuring(started, pid_file)
    started.process.send_signal(number)
    assert started.process.wait(60) == 130  # as after Ctrl-C
    assert started.all_gone(10.0)


def test_ctrl_c_while_modules_are_imported_is_no_traceback(tmp_path: Path) -> None:
    """A module that never ends being imported stands for a slow disk."""
    (tmp_path / "click.py").write_text(
        "import pathlib, time\npathlib.Path('importing').touch()\ntime.sleep(60)\n", encoding="utf-8"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "benchwright", "run", FAKE]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert _within(60, (tmp_path / "importing").exists)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (130, "benchwright: interrupted\n")


def test_ctrl_c_keeps_what_was_measured_and_skips_the_rest(start: Callable[..., Started], tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    slow = f"fake:constant?latency=3600s&wait=sleep&crash=fork&pid_file={pid_file}"
    arguments = ("--rounds", "2", "--samples", "50", "--warmup", "0", "--store", "results.db")
    started = start("run", FAKE, slow, *arguments)
    _measuring(started, pid_file)
    os.killpg(started.process.pid, signal.SIGINT)
    output, errors = started.process.communicate(timeout=30)
    assert started.process.returncode == 130, errors
    assert started.descendants() == []
    run = _kept(tmp_path / "results.db")
    assert [r.status for r in run.results] == [Status.OK, Status.KILLED, Status.SKIPPED, Status.SKIPPED]
    assert {r.error.kind for r in run.results if r.error} == {"interrupted"}
    assert "Traceback" not in errors
    assert "1.000" in output  # the table of what there is


def test_two_runs_at_once_share_a_store(start: Callable[..., Started], tmp_path: Path) -> None:
    several = [
        start("run", FAKE, "--rounds", "3", "--samples", "2000", "--warmup", "0", "--store", "results.db", "--json")
        for _ in range(2)
    ]
    ids = set()
    for started in several:
        output, errors = started.process.communicate(timeout=90)
        assert (started.process.returncode, errors) == (0, "")
        ids.add(json.loads(output)["data"]["id"])
    with closing(open_store(tmp_path / "results.db")) as store:
        assert set(store.run_ids()) == ids
        assert [len(store.run(run_id).results) for run_id in ids] == [3, 3]


# ---- stores that cannot be used ----


Shell = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def in_namespace(private_mounts: tuple[str, ...], tmp_path: Path) -> Shell:
    """Runs shell lines where mounts are private; `$bw` is the command line, `$m` an empty folder to mount on."""
    (tmp_path / "mount").mkdir()
    environment = {**os.environ, "bw": f"{sys.executable} -m benchwright", "m": str(tmp_path / "mount")}
    options: dict[str, Any] = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}

    def run(script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*private_mounts, "sh", "-c", script], timeout=100, check=False, **options)

    return run


def test_a_full_disk_loses_nothing_that_was_measured(
    in_namespace: Shell, benchwright: Benchwright, tmp_path: Path
) -> None:
    (tmp_path / "tmp").mkdir()
    target = "'fake:lognormal?ms=1&clock=virtual&period=100000'"
    script = (
        "mount -t tmpfs -o size=1m tmpfs $m && "
        f"TMPDIR={tmp_path / 'tmp'} $bw run {target} --rounds 4 --samples 100000 --warmup 0 --store $m/results.db"
    )
    ended = in_namespace(script)
    assert ended.returncode == 1, ended.stderr
    assert "fake:lognormal" in ended.stdout  # what was measured is shown all the same
    assert "the disk is full" in ended.stderr
    assert "Traceback" not in ended.stderr
    (rescued,) = (tmp_path / "tmp").glob("benchwright-*.jsonl")
    assert f"benchwright import {rescued}" in ended.stderr
    assert benchwright("import", str(rescued), "--store", "elsewhere.db").returncode == 0
    run = _kept(tmp_path / "elsewhere.db")
    assert run.results
    assert [r.round for r in run.results] == list(range(4 - len(run.results), 4))  # with what the full store took, all
    assert all(r.status is Status.OK for r in run.results)


def test_a_read_only_store_is_refused_before_anything_is_measured(
    in_namespace: Shell, benchwright: Benchwright
) -> None:
    assert benchwright("run", FAKE, *QUICK, "--store", "results.db").returncode == 0
    script = (
        "mount -t tmpfs tmpfs $m && cp results.db $m/ && mount -o remount,bind,ro $m && "
        f"$bw run '{FAKE}' {' '.join(QUICK)} --store $m/results.db"
    )
    ended = in_namespace(script)
    assert ended.returncode == 2, ended.stderr
    assert "read-only" in ended.stderr and "--store" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_a_damaged_store_is_refused_and_left_as_it_is(benchwright: Benchwright, tmp_path: Path) -> None:
    broken = tmp_path / "results.db"
    broken.write_bytes(b"this was never a database\n" * 500)
    before = broken.read_bytes()
    ended = benchwright("run", FAKE, *QUICK, "--store", "results.db")
    assert ended.returncode == 2
    assert "results.db" in ended.stderr and "--store" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert broken.read_bytes() == before


def test_a_newer_store_is_refused_and_left_as_it_is(benchwright: Benchwright, tmp_path: Path) -> None:
    assert benchwright("run", FAKE, *QUICK, "--store", "results.db").returncode == 0
    with closing(sqlite3.connect(tmp_path / "results.db")) as database:
        (table,) = database.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%version_num%'").fetchone()
        database.execute(f"UPDATE {table} SET version_num = '9999'")
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = (tmp_path / "results.db").read_bytes()
    ended = benchwright("run", FAKE, *QUICK, "--store", "results.db")
    assert ended.returncode == 2
    assert "newer" in ended.stderr and "pip install --upgrade benchwright" in ended.stderr
    assert (tmp_path / "results.db").read_bytes() == before


def test_a_store_without_a_place_is_refused(benchwright: Benchwright, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = benchwright("run", FAKE, *QUICK, "--store", "file/results.db")
    assert ended.returncode == 2
    assert "cannot make the folder" in ended.stderr and "--store" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


# ---- keys that are not known ----


def test_an_unknown_key_in_the_settings_is_refused_with_the_nearest(benchwright: Benchwright, tmp_path: Path) -> None:
    (tmp_path / "benchwright.toml").write_text('stores = "results.db"\n', encoding="utf-8")
    ended = benchwright("run", FAKE, *QUICK)
    assert ended.returncode == 2
    assert "benchwright.toml: unknown key 'stores'" in ended.stderr
    assert "did you mean 'store'?" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["benchwright.toml"]


def test_an_unknown_key_in_an_exported_file_is_refused_with_its_place(benchwright: Benchwright, tmp_path: Path) -> None:
    ended = benchwright("run", FAKE, *QUICK, "--no-save", "--json")
    document = json.loads(ended.stdout)
    document["data"]["results"][0]["case"]["target"]["runtme"] = "fake"
    (tmp_path / "runs.jsonl").write_text(json.dumps(document) + "\n", encoding="utf-8")
    ended = benchwright("import", "runs.jsonl", "--store", "results.db")
    assert ended.returncode == 2
    assert "runs.jsonl:1: run.results[0].case.target: unknown key 'runtme'" in ended.stderr
    assert "did you mean 'runtime'?" in ended.stderr
