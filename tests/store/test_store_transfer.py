"""What is exported and imported equals what was kept; a bad line stops with its place."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchwright.errors import DecodeError, NotInstalledError, OptionError, StoreError, TargetError
from benchwright.records import Run, Status
from benchwright.report.html import html_page
from benchwright.store.files import parquet
from benchwright.store.files.transfer import add_all, export_runs, import_runs, read_lines, read_runs, write_lines
from benchwright.store.sql import SqlStore
from hunting import examples

Make = Callable[..., Any]
ENDINGS = (".jsonl", ".jsonl.gz", ".parquet")


@pytest.fixture
def runs(make_run: Make, make_result: Make) -> list[Run]:
    return [
        make_run("one", minute=1, results=tuple(make_result(f"a{i}", samples=100) for i in range(3)), tags=("t", "u")),
        make_run("empty", minute=2, commit="abc"),
        make_run("failed", minute=3, results=(make_result("b", status=Status.FAILED),)),
    ]


@pytest.fixture
def filled(tmp_path: Path, runs: list[Run]) -> Iterator[SqlStore]:
    store = SqlStore(f"sqlite:///{tmp_path / 'filled.db'}")
    for run in runs:
        store.add_run(run)
    yield store
    store.close()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_round_trip_is_exact_and_the_second_import_adds_nothing(
    filled: SqlStore, store: SqlStore, runs: list[Run], tmp_path: Path, ending: str
) -> None:
    path = str(tmp_path / f"runs{ending}")
    assert export_runs(filled, filled.run_ids(), path) == 3
    assert list(read_runs(path)) == runs
    first = import_runs(store, path)
    assert (first.added, first.present) == (("one", "empty", "failed"), ())
    assert [store.run(name) for name in store.run_ids()] == runs
    assert store.history("*") == filled.history("*")
    second = import_runs(store, path)
    assert (second.added, second.present) == ((), ("one", "empty", "failed"))
    assert [store.run(name) for name in store.run_ids()] == runs


@pytest.mark.parametrize("ending", ENDINGS)
def test_without_samples(filled: SqlStore, runs: list[Run], tmp_path: Path, ending: str) -> None:
    path = str(tmp_path / f"runs{ending}")
    export_runs(filled, ["one"], path, samples=False)
    bare = replace(runs[0], results=tuple(replace(result, samples=()) for result in runs[0].results))
    assert list(read_runs(path)) == [bare]


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_any_runs_come_back_from_either_format(data: st.DataObject, records_of: Make, tmp_path_factory: Any) -> None:
    runs = data.draw(st.lists(records_of(Run), max_size=2))
    runs = [replace(run, id=f"{run.id}{i}") for i, run in enumerate(runs)]  # as in any store, ids differ
    lines = io.BytesIO()
    write_lines(runs, lines)
    assert list(read_lines(io.BytesIO(lines.getvalue()), "lines")) == runs
    path = tmp_path_factory.mktemp("parquet") / "runs.parquet"
    with path.open("wb") as file:
        parquet.write(runs, file)
    assert list(parquet.read(str(path))) == runs


def test_the_parquet_columns_can_be_queried(filled: SqlStore, runs: list[Run], tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    export_runs(filled, filled.run_ids(), str(path))
    table = pyarrow.parquet.read_table(path)
    assert table.column("run_id").to_pylist() == ["one"] * 3 + ["empty", "failed"]
    assert table.column("status").to_pylist() == ["ok"] * 3 + [None, "failed"]
    assert table.column("tags").to_pylist()[0] == ["t", "u"]
    first = table.column("metrics").to_pylist()[0]
    assert {m["name"]: (m["unit"], m["point"]) for m in first} == {
        m.name: (m.unit, m.estimate.point) for m in runs[0].results[0].metrics
    }


def test_the_same_runs_give_the_same_bytes(filled: SqlStore, tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        export_runs(filled, filled.run_ids(), str(tmp_path / name))
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


# ---- files ----


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_never_replaced_unasked(filled: SqlStore, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"dear{ending}"
    path.write_text("dear to me")
    with pytest.raises(OptionError, match=r"is there already\n  add --force"):
        export_runs(filled, ["one"], str(path))
    assert path.read_text() == "dear to me"
    export_runs(filled, ["one"], str(path), force=True)
    assert [run.id for run in read_runs(str(path))] == ["one"]


def test_a_file_that_appears_meanwhile_is_kept(filled: SqlStore, tmp_path: Path) -> None:
    path = tmp_path / "dear.jsonl"

    def ids() -> Iterator[str]:
        path.write_text("dear to me")
        yield "one"

    with pytest.raises(OptionError, match="is there already"):
        export_runs(filled, ids(), str(path))
    assert path.read_text() == "dear to me"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_export_that_fails_leaves_no_file(filled: SqlStore, tmp_path: Path, ending: str, force: bool) -> None:
    with pytest.raises(Exception, match="no run 'missing'"):
        export_runs(filled, ["one", "missing"], str(tmp_path / f"runs{ending}"), force=force)
    assert [p.name for p in tmp_path.iterdir() if "runs" in p.name] == []


def test_the_file_has_the_usual_permissions(filled: SqlStore, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        export_runs(filled, ["one"], str(tmp_path / "runs.jsonl"))
    finally:
        os.umask(before)
    assert (tmp_path / "runs.jsonl").stat().st_mode & 0o777 == 0o640


def test_names_that_say_no_format_or_no_file(filled: SqlStore, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"use \.jsonl, \.jsonl\.gz or \.parquet"):
        export_runs(filled, ["one"], str(tmp_path / "runs.csv"))
    with pytest.raises(OptionError, match="cannot be written: No such file or directory"):
        export_runs(filled, ["one"], str(tmp_path / "nowhere" / "runs.jsonl"))
    with pytest.raises(TargetError, match="no such file"):
        import_runs(filled, str(tmp_path / "runs.jsonl"))


# ---- bad input ----


def test_a_bad_line_stops_with_its_place_and_what_came_before_stays(
    filled: SqlStore, store: SqlStore, tmp_path: Path
) -> None:
    path = tmp_path / "runs.jsonl"
    export_runs(filled, filled.run_ids(), str(path))
    lines = path.read_text().splitlines()
    document = json.loads(lines[2])
    document["data"]["results"][0]["case"]["nmae"] = document["data"]["results"][0]["case"].pop("name")
    path.write_text("\n".join([lines[0], "", json.dumps(document), lines[1]]))
    with pytest.raises(DecodeError) as caught:
        import_runs(store, str(path))
    assert str(caught.value).startswith(f"{path}:3: run.results[0].case: unknown key 'nmae'")
    assert "did you mean 'name'?" in str(caught.value)
    assert list(store.run_ids()) == ["one"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[]", "not a Benchwright document"),
        ('{"format": 99, "kind": "run", "data": {}}', "format 99"),
        ('{"format": 1, "kind": "case", "data": {}}', "holds a 'case'"),
        ("\x00\x01", "not JSON"),
    ],
)
def test_a_line_that_is_no_run(store: SqlStore, tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(DecodeError, match=rf"runs\.jsonl:1: {says}"):
        import_runs(store, str(path))
    assert list(store.run_ids()) == []


def test_a_cut_off_archive_stops_with_its_place(filled: SqlStore, store: SqlStore, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl.gz"
    export_runs(filled, filled.run_ids(), str(path))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DecodeError, match=r"runs\.jsonl\.gz:\d+: the compressed file is damaged"):
        import_runs(store, str(path))
    path.write_bytes(b"not gzip at all")
    with pytest.raises(DecodeError, match=r"runs\.jsonl\.gz:1: the compressed file is damaged"):
        import_runs(store, str(path))


def test_parquet_of_something_else(store: SqlStore, tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(DecodeError, match="not a Parquet file"):
        import_runs(store, str(path))
    pyarrow.parquet.write_table(pyarrow.table({"run": ["x"]}), path)
    with pytest.raises(DecodeError, match="column 'result' is absent"):
        import_runs(store, str(path))
    pyarrow.parquet.write_table(pyarrow.table({"run": ["{}"], "result": [None]}), path)
    with pytest.raises(DecodeError, match=r"runs\.parquet: row 1: not a Benchwright document"):
        import_runs(store, str(path))
    pyarrow.parquet.write_table(pyarrow.table({"run": [1], "result": [2]}), path)
    with pytest.raises(DecodeError, match="column 'run' is int64, not text"):
        import_runs(store, str(path))


def test_parquet_without_pyarrow_says_what_to_install(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NotInstalledError, match=r"pip install 'benchwright\[parquet\]'"):
        export_runs(store, [], str(tmp_path / "runs.parquet"))
    assert [p.name for p in tmp_path.iterdir() if "runs" in p.name] == []


def test_json_lines_need_no_pyarrow() -> None:
    program = "import sys, benchwright.store.files.transfer; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_gzip_is_gzip(filled: SqlStore, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl.gz"
    export_runs(filled, ["one"], str(path))
    assert json.loads(gzip.decompress(path.read_bytes()))["data"]["id"] == "one"


def test_files_name_authors_without_their_addresses(tmp_path: Path, make_run: Make) -> None:
    run = make_run("one", minute=1, commit="abc")
    told = replace(run.revision, author="Ada <ada@mail.example>", subject="Fix it (ada@mail.example)")
    with closing(SqlStore(f"sqlite:///{tmp_path / 'mail.db'}")) as store:
        store.add_run(replace(run, revision=told))
        for ending in ENDINGS:
            path = str(tmp_path / f"out{ending}")
            export_runs(store, ["one"], path)
            [back] = read_runs(path)
            assert back.revision is not None
            assert (back.revision.author, back.revision.subject) == ("Ada", "Fix it (ada)")
        assert import_runs(store, path).present == ("one",)
        assert "mail.example" not in html_page([replace(run, revision=told)])


def test_runs_before_one_that_cannot_be_kept_stay_whatever_shares_their_transaction(
    store: SqlStore, make_run: Make, make_result: Make
) -> None:
    runs = [make_run(f"r{i}", results=(make_result(f"r{i}-0"),)) for i in range(4)]
    runs[2] = replace(runs[2], results=(make_result("r0-0"),))  # an id that is taken
    with pytest.raises(StoreError):
        add_all(store, runs)
    assert [*store.run_ids()] == ["r0", "r1"]
    assert add_all(store, [runs[0], runs[3]]).present == ("r0",) and store.run("r3") == runs[3]
