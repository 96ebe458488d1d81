"""Hooks run in processes of their own; whatever they do, the others run and the caller lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import UploadError
from benchwright.exchange.uploads import hooks

SUMMARY = {"execution_id": "at1", "benchmark_result": {"wall_time": 2.5, "note": "größer"}, "list": [1, None, True]}
HOOKS = """
import asyncio, json, os, signal, subprocess, sys, time
from pathlib import Path

HERE = Path(__file__).parent

def keep(summary):
    (HERE / "kept.json").write_text(json.dumps([summary, os.getpid()]))

async def later(summary):
    await asyncio.sleep(0)
    keep(summary)

class Sender:
    @staticmethod
    def send(summary):
        keep(summary)

    @classmethod
    def class_send(cls, summary):
        assert cls is Sender
        keep(summary)

    def method(self, summary):
        keep(summary)

    class Inner:
        @staticmethod
        def send(summary):
            keep(summary)

def fails(summary):
    print("about to fail")
    raise ValueError("no such table")

def changes(summary):
    summary.clear()

def leaves(summary):
    sys.exit(0)

def vanishes(summary):
    print("going")
    sys.stdout.flush()
    os._exit(0)

def crashes(summary):
    os.kill(os.getpid(), signal.SIGSEGV)

def kills_its_group(summary):
    os.killpg(0, signal.SIGKILL)

def hangs(summary):
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    (HERE / "pid").write_text(str(child.pid))
    (HERE / "hook").write_text(f"{os.getpid()}.")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)

def prints(summary):
    print("x" * 100_000)
    sys.stderr.write("y" * 100_000)
    os.write(1, b"\\xff")

def forks(summary):
    if os.fork():
        os.wait()

def asks(summary):
    assert sys.stdin.read() == ""

NUMBER = 3
"""


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("")
    (tmp_path / "mine" / "hooks.py").write_text(HOOKS)
    (tmp_path / "mine" / "broken.py").write_text("import a_package_that_is_not_there\n")
    return [str(tmp_path)]


def _kept(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "mine" / "kept.json").read_text())


@pytest.mark.parametrize(
    "name",
    ["keep", "later", "Sender.send", "Sender.class_send", "Sender.Inner.send"],
)
def test_a_function_or_method_is_given_the_summary_elsewhere(paths: list[str], tmp_path: Path, name: str) -> None:
    before = [*sys.path]
    hooks.call([f"mine.hooks.{name}"], SUMMARY, paths=paths)
    summary, pid = _kept(tmp_path)
    assert summary == SUMMARY
    assert pid != os.getpid()
    assert "mine" not in sys.modules and sys.path == before


def test_paths_come_behind_what_is_installed(paths: list[str], tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    hooks.call(["mine.hooks.keep"], SUMMARY, paths=paths)
    assert _kept(tmp_path)[0] == SUMMARY


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mine.hooks.fails", "ValueError: no such table"),
        ("mine.hooks.leaves", "SystemExit: 0"),
        ("mine.hooks.vanishes", "ended with exit code 0 before the hook returned\ngoing"),
        ("mine.hooks.crashes", "killed by SIGSEGV"),
        ("mine.hooks.kills_its_group", "killed by SIGKILL"),
        ("mine.hooks.Sender.method", "make it a static or a class method"),
        ("mine.hooks.NUMBER", "is int, which cannot be called"),
        ("mine.hooks.nothing", "has no attribute 'nothing'"),
        ("mine.nothing.keep", "No module named 'mine.nothing'"),
        ("mine.broken.keep", "No module named 'a_package_that_is_not_there'"),
        ("nothing.at_all", "No module named 'nothing'"),
        ("keep", "not of the form module.function"),
        ("mine..keep", "not of the form module.function"),
    ],
)
def test_whatever_one_does_the_others_are_called(paths: list[str], tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(UploadError) as caught:
        hooks.call([name, "mine.hooks.keep"], SUMMARY, paths=paths)
    assert caught.value.message.startswith(f"1 of 2 result upload methods failed:\n{name}: ")
    assert says in caught.value.message
    assert _kept(tmp_path)[0] == SUMMARY


def test_every_failure_is_told_at_once_with_what_was_printed(paths: list[str]) -> None:
    with pytest.raises(UploadError) as caught:
        hooks.call(["mine.hooks.fails", "mine.hooks.changes", "mine.hooks.crashes"], SUMMARY, paths=paths)
    message = caught.value.message
    assert message.startswith("2 of 3 result upload methods failed:")
    assert "about to fail" in message and "Traceback" in message
    assert message.index("no such table") < message.index("SIGSEGV")
    assert SUMMARY["execution_id"] == "at1"


def test_what_it_prints_forks_or_reads_hurts_nobody(paths: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    hooks.call([f"mine.hooks.{name}" for name in ("prints", "forks", "asks", "changes")], SUMMARY, paths=paths)
    assert capfd.readouterr() == ("", "")


def test_one_that_hangs_is_ended_with_all_it_started(paths: list[str], tmp_path: Path) -> None:
    with pytest.raises(UploadError, match="did not end within 3 s"):
        hooks.call(["mine.hooks.hangs"], SUMMARY, paths=paths, timeout=3)
    assert not _lives(int((tmp_path / "mine" / "pid").read_text()))


def test_none_outlives_the_process_that_called_it(paths: list[str], tmp_path: Path) -> None:
    code = f"from benchwright.exchange.uploads import hooks; hooks.call(['mine.hooks.hangs'], {{}}, paths={paths!r})"
    caller = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
    begun = tmp_path / "mine" / "hook"
    try:
        _until(lambda: begun.exists() and begun.read_text().endswith("."))
    finally:
        caller.kill()
        caller.wait()
    hook, started = int(begun.read_text().removesuffix(".")), int((tmp_path / "mine" / "pid").read_text())
    _until(lambda: not _lives(hook) and not _lives(started))


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] != "Z"  # ended, not yet reaped
    except FileNotFoundError:
        return False


def test_a_flood_is_cut(paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "MOST_LOG", 1000)
    (tmp_path / "mine" / "flood.py").write_text(
        "import os, time\n"
        "def run(summary):\n"
        "    most = 0\n"
        "    end = time.monotonic() + 20\n"
        "    while time.monotonic() < end:\n"
        "        os.write(1, b'x' * 1000)\n"
        "        size = os.fstat(1).st_size\n"
        "        if size < most:\n"
        "            raise ValueError('it was cut')\n"
        "        most = size\n"
        "        time.sleep(0.01)\n"
        "    raise ValueError('it only grew')\n"
    )
    with pytest.raises(UploadError, match=r"ValueError: it was cut\n(?!\0)"):
        hooks.call(["mine.flood.run"], SUMMARY, paths=paths)


def test_nothing_to_call_is_nothing_to_do() -> None:
    hooks.call([], SUMMARY)
