"""Every way a database file can fail says what happened, where, and what to do; and nothing is overwritten."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import NotInstalledError, StoreError
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

MakeRun = Callable[..., Any]


def _filled(path: Path, make_run: MakeRun, make_result: MakeRun, runs: int = 20) -> Path:
    store = SqlStore(f"sqlite:///{path}")
    for i in range(runs):
        store.add_run(make_run(f"run-{i}", minute=i, results=(make_result(f"r{i}", samples=200),)))
    store.close()
    return path


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes, and they are dear to me.\n" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"notes\.txt: not a database\n  nothing was changed"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the folder"):
        open_store(tmp_path / "file" / "results.db")


def test_an_url_without_a_file() -> None:
    with pytest.raises(StoreError, match="names no file"):
        open_store("sqlite://")


def test_a_file_overwritten_in_the_middle(tmp_path: Path, make_run: MakeRun, make_result: MakeRun) -> None:
    path = _filled(tmp_path / "r.db", make_run, make_result)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size // 2))
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        store = SqlStore(f"sqlite:///{path}")
        try:
            for run_id in store.run_ids():
                store.run(run_id)
        finally:
            store.close()
    assert "r.db: the database is damaged: " in str(caught.value)
    assert ".recover" in caught.value.remedy
    assert path.read_bytes() == before


def test_a_truncated_file(tmp_path: Path, make_run: MakeRun, make_result: MakeRun) -> None:
    path = _filled(tmp_path / "r.db", make_run, make_result)
    os.truncate(path, path.stat().st_size // 3)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        store = SqlStore(f"sqlite:///{path}")
        try:
            for run_id in store.run_ids():
                store.run(run_id)
        finally:
            store.close()
    assert "damaged" in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", ["documents", "environments", "samples"])
def test_a_flipped_bit_in_a_document_is_noticed(
    tmp_path: Path, make_run: MakeRun, make_result: MakeRun, table: str
) -> None:
    path = _filled(tmp_path / "r.db", make_run, make_result, runs=1)
    with closing(sqlite3.connect(path)) as connection:
        (blob,) = connection.execute(f"SELECT document FROM {table}").fetchone()
        flipped = bytearray(blob)
        flipped[len(blob) // 2] ^= 4
        connection.execute(f"UPDATE {table} SET document = ?", (bytes(flipped),))
        connection.commit()
    store = SqlStore(f"sqlite:///{path}")
    with pytest.raises(StoreError, match=r"result r0: the stored document is damaged"):
        store.run("run-0")
    store.close()


def test_a_lock_held_beyond_the_timeout(tmp_path: Path, make_run: MakeRun, make_result: MakeRun) -> None:
    path = _filled(tmp_path / "r.db", make_run, make_result, runs=1)
    store = SqlStore(f"sqlite:///{path}", timeout=0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process holds the store"):
            store.add_run(make_run("run-x"))
        assert store.find("last") == "run-0"  # readers do not wait for writers
        other.execute("ROLLBACK")
    assert store.add_run(make_run("run-x"))
    store.close()


def test_postgresql_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NotInstalledError, match=r"pip install 'benchwright\[postgres\]'"):
        open_store("postgresql://nobody:secret@127.0.0.1:1/none")


def test_an_unknown_kind_of_store() -> None:
    with pytest.raises(Exception, match="unknown store 'carrier'"):
        open_store("carrier://pigeon")


# ---- file systems: each in a mount namespace of its own, so nothing is left behind ----

_CHILD = """
import sys
sys.path[:0] = {paths!r}
from benchwright.errors import StoreError
from benchwright.records import Run, Result, Case, Target, Environment, Status
from benchwright.store import open_store

def result(name, size):
    import random
    noise = random.Random(name).randbytes(size).hex()
    return Result(id=name, case=Case(name="m", target=Target(runtime="fake", uri="m")), round=0, status=Status.OK,
        environment=Environment(machine={{}}, system={{}}), started_at="2026-01-01T00:00:00Z", duration=1.0,
        instrument={{"noise": noise}})

run = Run(id="run-1", started_at="2026-01-01T00:00:00Z", harness="1")
"""


Steps = Callable[..., list[str]]


@pytest.fixture
def in_a_small_file_system(private_mounts: tuple[str, ...], tmp_path: Path) -> Steps:
    """`(size, *steps)` runs shell steps with a tmpfs of `size` mounted at $M; a step `python: ...` is Python."""
    return lambda size, *steps: _lines(private_mounts, tmp_path, size, *steps)


def _lines(private_mounts: tuple[str, ...], tmp_path: Path, size: str, *steps: str) -> list[str]:
    mount = tmp_path / "mount"
    mount.mkdir()
    lines = [f"export M={mount}", f"mount -t tmpfs -o size={size} tmpfs $M"]
    for number, step in enumerate(steps):
        if step.startswith("python:"):
            script = tmp_path / f"step{number}.py"
            head = _CHILD.format(paths=[p for p in sys.path if p])
            script.write_text(head + f"M = {str(mount)!r}\n" + step.removeprefix("python:"))
            step = f"{sys.executable} {script}"
        lines.append(step)
    done = subprocess.run(
        [*private_mounts, "sh", "-e", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_full_disk(in_a_small_file_system: Steps) -> None:
    lines = in_a_small_file_system(
        "600k",
        """python:
store = open_store(M + "/r.db")
store.begin(run)
kept = 0
try:
    for i in range(100):
        store.add("run-1", result(f"r{i}", 20_000))
        kept += 1
except StoreError as error:
    print(error)
print(kept, [r.id for r in store.run("run-1").results] == [f"r{i}" for i in range(kept)])
store.close()
""",
        """python:
store = open_store(M + "/r.db")
print(len(store.run("run-1").results))
with store._reading() as connection:
    print(connection.exec_driver_sql("PRAGMA integrity_check").scalar())
""",
    )
    assert lines[0].endswith("mount/r.db: the disk is full; what was saved before is safe")
    assert lines[1] == "  free space, or choose another place with --store"
    kept, whole = lines[2].split()
    assert 0 < int(kept) < 100 and whole == "True"
    assert lines[3:] == [kept, "ok"]


def test_a_disk_too_full_to_begin(in_a_small_file_system: Steps) -> None:
    (line, *_) = in_a_small_file_system(
        "16k",
        "head -c 12000 /dev/zero > $M/filler",
        """python:
try:
    open_store(M + "/r.db")
except StoreError as error:
    print(error)
""",
    )
    assert "r.db: the disk is full" in line


def test_a_read_only_store_can_be_read_and_says_why_it_cannot_be_written(in_a_small_file_system: Steps) -> None:
    lines = in_a_small_file_system(
        "4m",
        """python:
store = open_store(M + "/r.db")
store.begin(run)
store.add("run-1", result("r1", 10))
store.close()
""",
        "mount -o remount,bind,ro $M",
        """python:
store = open_store(M + "/r.db")
print(store.find("last"), len(store.run("run-1").results))
try:
    store.add("run-1", result("r2", 10))
except StoreError as error:
    print(error)
try:
    open_store(M + "/new/r.db")
except StoreError as error:
    print(error)
try:
    open_store(M + "/new.db")
except StoreError as error:
    print(error)
""",
    )
    assert lines[0] == "run-1 1"
    assert lines[1].endswith("r.db: the store is read-only") and "--store" in lines[2]
    assert "cannot make the folder: Read-only file system" in lines[3] and "--store" in lines[4]
    assert "new.db: the store cannot be opened" in lines[5]
