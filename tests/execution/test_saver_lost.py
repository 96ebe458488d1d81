"""Stores that are removed, replaced or cut while a run goes on: nothing that was measured may be lost with them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.execution.saver import Saver
from benchwright.records import Case, Environment, Result, Run, Status, Target
from benchwright.store import open_store
from benchwright.store.files.transfer import import_runs
from benchwright.store.sql import SqlStore

Inside = Callable[..., "subprocess.CompletedProcess[str]"]
ROUNDS = 4
RUN = Run(id="r1", started_at="2026-01-01T00:00:00Z", harness="0", planned=ROUNDS)
RESULTS = [
    Result(
        id=f"r1-{number}",
        case=Case(name="case", target=Target(runtime="fake", uri="fake:")),
        round=number,
        status=Status.OK,
        environment=Environment(machine={}, system={}),
        started_at="2026-01-01T00:00:00Z",
        duration=1.0,
    )
    for number in range(ROUNDS)
]


def _keep(file: Path, after_each: Callable[[int], None], *, resumed: Run | None = None) -> None:
    """Saves the results as a run does that is being measured."""
    saver = Saver(lambda: open_store(file), lambda: False, resumed=resumed)
    saver.check(RUN)
    for result in RESULTS[len(resumed.results) if resumed else 0 :]:
        saver.save(RUN, result)
        after_each(result.round)
    saver.close()
    saver.report(replace(RUN, results=tuple(RESULTS)))


def _remove_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def _remove(file: Path) -> None:
    file.unlink()


def _remove_all(file: Path) -> None:
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()


def _replace(file: Path) -> None:
    other = _other(file)
    other.rename(file)


def _overwrite(file: Path) -> None:
    shutil.copyfile(_other(file), file)  # as `cp` does: the same inode with other content


def _cut(file: Path) -> None:
    os.truncate(file, 0)


def _cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _remove_log(file: Path) -> None:
    file.with_name(f"{file.name}-wal").unlink()


def _cut_log(file: Path) -> None:
    os.truncate(file.with_name(f"{file.name}-wal"), 0)


def _drop_tables(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            other.execute(f"DROP TABLE {name}")
        other.commit()


def _other(file: Path) -> Path:
    other = file.with_name("other.db")
    SqlStore(f"sqlite:///{other}").close()
    return other


DAMAGES = (
    _remove_folder,
    _remove,
    _remove_all,
    _replace,
    _overwrite,
    _cut,
    _cut_in_half,
    _remove_log,
    _cut_log,
    _drop_tables,
)


@pytest.fixture
def rescue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where rescue files go."""
    folder = tmp_path / "rescue"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.parametrize(
    ("damage", "after"),
    # A log that is empty when nothing was written since looks as SQLite itself may leave it; and who drops tables after
    # the last result does what may be done a minute later as well.
    [
        (damage, after)
        for damage in DAMAGES
        for after in (1, ROUNDS - 1)
        if after == 1 or damage not in (_cut_log, _drop_tables)
    ],
)
def test_all_that_was_measured_is_in_the_rescue_file(
    damage: Callable[[Path], None], after: int, tmp_path: Path, rescue: Path
) -> None:
    file = tmp_path / "kept" / "results.db"
    _fill(file)
    with pytest.raises(StoreError, match=f"{ROUNDS} results were kept in") as caught:
        _keep(file, lambda number: damage(file) if number == after else None)
    assert str(file) in caught.value.message
    assert len(caught.value.measured.results) == ROUNDS
    (rescued,) = rescue.iterdir()
    assert [r.round for r in schema.loads(rescued.read_text(encoding="utf-8"), Run).results] == [*range(ROUNDS)]
    with closing(open_store(tmp_path / "elsewhere.db")) as store:
        assert len(import_runs(store, str(rescued)).added) == 1


def _fill(file: Path) -> None:
    """A store with another run, all of it in the file itself and nothing in a log."""
    with closing(open_store(file)) as store:
        more = [replace(RESULTS[0], id=f"r0-{number}", log_tail="x" * 2000) for number in range(30)]
        store.add_run(replace(RUN, id="r0", results=tuple(more)))


def test_the_rescue_file_can_be_imported_where_part_of_the_run_is_left(tmp_path: Path, rescue: Path) -> None:
    file, aside = tmp_path / "results.db", tmp_path / "aside.db"
    _fill(file)

    def move(number: int) -> None:
        if number == 1:
            file.rename(aside)
            for end in ("-wal", "-shm"):
                shutil.copyfile(f"{file}{end}", f"{aside}{end}")

    with pytest.raises(StoreError, match="was removed while it was in use"):
        _keep(file, move)
    (rescued,) = rescue.iterdir()
    with closing(open_store(aside)) as store:
        assert len(import_runs(store, str(rescued)).added) == 1


def test_a_store_that_others_write_to_vacuum_and_check_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    _fill(file)

    def use(number: int) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("CREATE TABLE filler AS SELECT zeroblob(300000)" if number == 0 else "DROP TABLE filler")
            other.execute("VACUUM")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if number:
                other.execute("CREATE TABLE filler (a)")

    _keep(file, use)
    with closing(open_store(file)) as store:
        assert len(store.run(RUN.id, samples=False).results) == ROUNDS


def test_the_command_line_says_so_and_ends_with_1(inside: Inside, tmp_path: Path, rescue: Path) -> None:
    (tmp_path / "bench.py").write_text(
        "import shutil\nfrom pathlib import Path\n"
        "if Path('.benchwright').exists():\n    shutil.rmtree('.benchwright')\ndef f(): pass\n",
        encoding="utf-8",
    )
    ended = inside("run", "bench.py::f", "--rounds", "3", "--samples", "5", "--warmup", "0")
    assert ended.returncode == 1, ended.stderr
    (rescued,) = rescue.iterdir()
    assert f"the store was removed while it was in use; 3 results were kept in {rescued}" in ended.stderr
    assert "Traceback" not in ended.stderr and "saved in" not in ended.stdout
    assert "bench.py::f" in ended.stdout  # what was measured is shown
    imported = inside("import", str(rescued))
    assert imported.returncode == 0
    assert "3 results" in inside("list").stdout


def test_a_resumed_run_that_loses_its_store_is_rescued_whole(tmp_path: Path, rescue: Path) -> None:
    file = tmp_path / "kept" / "results.db"
    before = replace(RUN, results=tuple(RESULTS[:2]))
    with closing(open_store(file)) as store:
        store.add_run(before)
    with pytest.raises(StoreError, match=f"{ROUNDS} results were kept"):
        _keep(file, lambda number: _remove_folder(file) if number == 2 else None, resumed=before)
    (rescued,) = rescue.iterdir()
    assert {r.round for r in schema.loads(rescued.read_text(encoding="utf-8"), Run).results} == {*range(ROUNDS)}


def test_several_results_are_kept_in_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = 0
    confirm = SqlStore.confirm

    def counted(store: SqlStore, *, is_last: bool = False) -> None:
        nonlocal commits
        commits += 1
        confirm(store, is_last=is_last)

    monkeypatch.setattr(SqlStore, "confirm", counted)
    saver = Saver(lambda: open_store(tmp_path / "results.db"), lambda: False)
    saver.save_all(RUN, RESULTS)
    assert commits == 2  # the run without results, and all of them
    saver.close()
    with closing(open_store(tmp_path / "results.db")) as store:
        assert [r.id for r in store.run(RUN.id).results] == [r.id for r in RESULTS]
