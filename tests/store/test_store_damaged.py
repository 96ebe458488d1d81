"""One damaged run costs that run; a clock that was wrong costs no order; a store that nobody may write can be read."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Table

from benchwright.errors import StoreError, UserError
from benchwright.pages.matrix import matrix
from benchwright.pages.overview import overview
from benchwright.pages.runs import runs_page
from benchwright.pages.series import series_view
from benchwright.records import Result, Run, Status
from benchwright.records.findings import Mute, Threshold
from benchwright.store.copies import copy
from benchwright.store.sql import SqlStore, tables

Inside = Callable[..., "subprocess.CompletedProcess[str]"]
MakeRun = Callable[..., Run]
MakeResult = Callable[..., Result]

DAMAGES = {
    "the run's record": "UPDATE runs SET document = substr(document, 1, 40) WHERE run = 'bad'",
    "a key too many": "UPDATE runs SET document = '{\"what\": 1}' WHERE run = 'bad'",
    "a result": "UPDATE documents SET document = x'00' WHERE result_id IN "
    "(SELECT results.id FROM results JOIN runs ON runs.id = run_id WHERE run = 'bad')",
}


@pytest.fixture(params=DAMAGES)
def damaged(request: pytest.FixtureRequest, tmp_path: Path, make_run: MakeRun, make_result: MakeResult) -> Path:
    """A store of three runs, the second of which is damaged."""
    file = tmp_path / "results.db"
    with closing(SqlStore(f"sqlite:///{file}")) as store:
        for number, name in enumerate(("first", "bad", "last")):
            results = (
                make_result(f"{name}-0", samples=5),
                make_result(f"{name}-1", status=Status.FAILED, number=1),
            )
            store.add_run(make_run(name, minute=number, results=results))
    with closing(sqlite3.connect(file)) as database:
        assert database.execute(DAMAGES[request.param]).rowcount > 0
        database.commit()
    return file


def test_the_others_are_listed_and_exported_and_it_is_named(damaged: Path, inside: Inside, tmp_path: Path) -> None:
    exported = inside("export", "--all", "all.jsonl", "--store", str(damaged))
    assert exported.returncode == 1
    assert "run bad is left out: " in exported.stderr and "2 runs written, 1 damaged and left out" in exported.stderr
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["data"]["id"] for line in lines] == ["first", "last"]
    listed = inside("list", "--store", str(damaged))
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["last", "bad", "first"]
    rows = json.loads(inside("list", "--json", "--store", str(damaged)).stdout)["data"]
    assert [row["id"] for row in rows] == ["last", "bad", "first"]
    is_shown = bool(rows[1]["damaged"])
    assert listed.returncode == int(is_shown)
    assert ("run bad: " in listed.stderr) == is_shown
    assert inside("show", "last", "--store", str(damaged)).returncode == 0
    shown = inside("show", "bad", "--store", str(damaged))
    assert shown.returncode == 2 and "bad" in shown.stderr and "Traceback" not in shown.stderr


def test_history_and_pages_do_not_fall_over(damaged: Path, inside: Inside) -> None:
    ended = inside("history", "model.onnx", "--metric", "latency", "--store", str(damaged))
    assert ended.returncode == 0, ended.stderr
    with closing(SqlStore(f"sqlite:///{damaged}")) as store:
        assert [line.id for line in runs_page(store).runs] == ["last", "bad", "first"]
        assert overview(store) and matrix(store)
        assert [miss.run for miss in store.misses("model.onnx")] == ["first", "bad", "last"]
        assert store.subjects(["x"]) == {}


def test_a_copy_takes_the_others(damaged: Path, tmp_path: Path) -> None:
    with (
        closing(SqlStore(f"sqlite:///{damaged}")) as source,
        closing(SqlStore(f"sqlite:///{tmp_path / 'copy.db'}")) as target,
    ):
        copied = copy(source, target)
        assert copied.added == 2
        assert any("bad cannot be read" in line for line in copied.differing)
        assert list(target.run_ids()) == ["first", "last"]


def test_the_last_run_is_the_one_that_was_added_last(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    ahead = replace(
        make_run("ahead", results=(make_result("a-0"),), tags=("t",)), started_at="2027-04-05T10:00:00+00:00"
    )
    store.add_run(make_run("before", results=(make_result("b-0"),)))
    store.add_run(ahead)
    store.add_run(make_run("after", results=(make_result("c-0"),), minute=5, tags=("t",)))
    assert [store.find(name) for name in ("last", "last~1", "last~2", "t")] == ["after", "ahead", "before", "after"]
    assert [run.id for run in store.runs()] == ["after", "ahead", "before"]
    assert list(store.run_ids()) == ["before", "ahead", "after"]
    assert [run.id for run in store.runs_page(before="ahead")] == ["before"]


def test_a_store_in_a_folder_that_cannot_be_written_to_can_be_read(
    private_mounts: tuple[str, ...], inside: Inside, tmp_path: Path, make_run: MakeRun, make_result: MakeResult
) -> None:
    """Read-only for everybody, root as well: a mount. The file itself lies on a disk that can be written to."""
    folder = tmp_path / "shared"
    with closing(SqlStore(f"sqlite:///{folder / 'results.db'}")) as store:
        store.add_run(make_run("r1", results=(make_result("r1-0"),)))
    bw = f"{sys.executable} -m benchwright"
    script = (
        f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && "
        f"{bw} list --store {folder}/results.db && {bw} show last --store {folder}/results.db"
    )
    ended = subprocess.run(
        [*private_mounts, "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("r1 ")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users")
def test_a_store_of_somebody_else_can_be_read(
    request: pytest.FixtureRequest, make_run: MakeRun, make_result: MakeResult
) -> None:
    """Its folder and file belong to another user, who lets everybody read them."""
    # Not below pytest's own folder: each session that begins meanwhile closes that one to others.
    outer = Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(outer))
    outer.chmod(0o755)
    folder = outer / "theirs"
    with closing(SqlStore(f"sqlite:///{folder / 'results.db'}")) as store:
        store.add_run(make_run("r1", results=(make_result("r1-0"),)))
    assert not list(folder.glob("*-wal"))
    for mode in (0o555, 0o755):
        folder.chmod(mode)
        (folder / "results.db").chmod(0o444)
        _as_nobody(folder)
        assert not list(folder.glob("*-wal"))
    folder.chmod(0o755)


def _as_nobody(folder: Path) -> None:
    script = (
        "import os, sys\n"
        "from benchwright.store.sql import SqlStore\n"
        "from benchwright.errors import StoreError\n"
        "import sqlalchemy.dialects.sqlite\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "store = SqlStore(sys.argv[1])\n"
        "assert [run.id for run in store.runs()] == ['r1']\n"
        "run = store.run('r1')\n"
        "try: store.add_run(run.__class__(id='r2', started_at=run.started_at, harness='0'))\n"
        "except StoreError as error: print(error.message)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, f"sqlite:///{folder / 'results.db'}"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "read-only" in ended.stdout


def test_an_unknown_older_revision_is_said_and_nothing_is_changed(tmp_path: Path, inside: Inside) -> None:
    file = tmp_path / "results.db"
    SqlStore(f"sqlite:///{file}").close()
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE benchwright_schema SET version_num = '0000'")
        database.commit()
    before = shutil.copyfile(file, tmp_path / "before.db").read_bytes()
    for verb in (["list"], ["run", "fake:constant?ms=1&clock=virtual", "--rounds", "1", "--samples", "5"]):
        ended = inside(*verb, "--store", str(file))
        assert (ended.returncode, "Traceback" in ended.stderr) == (2, False)
        assert "schema '0000'" in ended.stderr
    assert file.read_bytes() == before
    with pytest.raises(StoreError, match="schema '0000'"):
        SqlStore(f"sqlite:///{file}")


@pytest.mark.parametrize("each", [1, pytest.param(3, marks=pytest.mark.soak)])  # wrong values of a column
@pytest.mark.parametrize("table", tables.metadata.sorted_tables, ids=lambda table: table.name)
def test_a_cell_that_holds_something_else_is_shown_or_said(
    table: Table, each: int, tmp_path: Path, make_run: MakeRun, make_result: MakeResult
) -> None:
    file, wrong = tmp_path / "results.db", tmp_path / "wrong.db"
    with closing(SqlStore(f"sqlite:///{file}")) as store:
        for number, name in enumerate(("first", "last")):
            store.add_run(make_run(name, minute=number, results=(make_result(f"{name}-0", samples=5),)))
        store.mute(Mute(what="other"))
        store.set_threshold(Threshold(case="other", smallest=0.1))
        key = store.history("*")[0].key
    values = itertools.cycle((b"\xff", "x", -1.5))  # each column meets another one first
    for column, value in [(column, next(values)) for column in table.columns for _ in range(each)]:
        shutil.copyfile(file, wrong)
        changed = 0
        with closing(sqlite3.connect(wrong)) as database, suppress(sqlite3.IntegrityError):  # rows' numbers are whole
            changed = database.execute(f"UPDATE OR IGNORE {table.name} SET {column.name} = ?", (value,)).rowcount
            database.commit()
        if not changed:  # no row, or none that takes it: the store is as it was
            continue
        with closing(SqlStore(f"sqlite:///{wrong}")) as store:
            _look_everywhere(store, key)


def _look_everywhere(store: SqlStore, key: str) -> None:
    looks: tuple[Callable[[], object], ...] = (
        store.runs,
        lambda: store.run("last"),
        lambda: store.history("*"),
        lambda: [f"{each.smallest:g} {each.case.lower()}" for each in store.thresholds()],
        lambda: [each.what.lower() for each in store.mutes()],
        lambda: series_view(store, key),
        lambda: overview(store),
        lambda: matrix(store),
        lambda: runs_page(store),
    )
    for look in looks:
        with suppress(UserError):
            look()
