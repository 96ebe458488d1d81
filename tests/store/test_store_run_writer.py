"""A run that is kept without SQLAlchemy lies in the file as `SqlStore` would have put it there."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchwright.errors import StoreError, StoreLostError
from benchwright.execution.saver import ResultSink
from benchwright.records import Result, Run, Status
from benchwright.store import open_sink, open_store
from benchwright.store.sql import SqlStore
from benchwright.store.sql.run_writer import SqliteRunWriter, open_writer
from benchwright.store.sqlite_file import VERSION_TABLE
from hunting import examples

MakeRun = Callable[..., Run]
MakeResult = Callable[..., Result]
INSTANTS = st.datetimes(timezones=st.just(None)).map(lambda moment: moment.isoformat() + "Z")
counter = itertools.count()


def _writer(file: Path) -> SqliteRunWriter:
    writer = open_writer(str(file))
    assert writer is not None
    return writer


def _content(file: Path) -> dict[str, Any]:
    """Every table: how it was made, and its rows."""
    with closing(sqlite3.connect(file)) as connection:
        made = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
        names = [name for kind, name, _, _ in made if kind == "table"]
        rows = {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in names}
        arrived = connection.execute("SELECT result_id FROM arrivals ORDER BY result_id").fetchall()
        return {"": made} | rows | {"arrivals": arrived}  # not the instant at which each was kept


@pytest.fixture
def runs(make_run: MakeRun, make_result: MakeResult) -> list[Run]:
    """Two runs of one target; the second is of a commit, has tags, a failure and another direction of a metric."""
    first = (make_result("a-0", samples=40), make_result("a-1", number=1, value=2.0, samples=40))
    slow = make_result("b-0", minute=5, value=3.0, samples=7)
    turned = replace(slow, metrics=tuple(replace(metric, better=None) for metric in slow.metrics))
    failed = make_result("b-1", minute=6, status=Status.FAILED)
    return [
        make_run("a", results=first),
        make_run("b", results=(turned, failed), minute=5, tags=("x", "y", "x"), commit="c0ffee"),
    ]


def _keep(sink: ResultSink, run: Run) -> None:
    sink.begin(replace(run, results=()))
    for result in run.results:
        sink.add(run.id, result)
    sink.close()


def test_a_new_file_has_the_same_tables(tmp_path: Path) -> None:
    SqlStore(f"sqlite:///{tmp_path / 'theirs.db'}").close()
    _writer(tmp_path / "folder" / "ours.db").close()
    assert _content(tmp_path / "folder" / "ours.db") == _content(tmp_path / "theirs.db")


def test_runs_lie_in_it_as_in_the_other(runs: list[Run], tmp_path: Path) -> None:
    for run in runs:
        _keep(_writer(tmp_path / "ours.db"), run)
        _keep(SqlStore(f"sqlite:///{tmp_path / 'theirs.db'}"), run)
    assert _content(tmp_path / "ours.db") == _content(tmp_path / "theirs.db")
    with closing(open_store(tmp_path / "ours.db")) as store:
        assert store.run(run.id) == run


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_any_run_does(
    data: st.DataObject, records_of: Callable[[type], Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    drawn, at = data.draw(records_of(Run)), data.draw(INSTANTS)
    results = tuple(
        replace(
            result,
            id=f"{result.id}-{next(counter)}",
            started_at=at,
            metrics=tuple({m.name: m for m in result.metrics}.values()),
            samples=(),
        )
        for result in drawn.results
    )
    run, folder = replace(drawn, started_at=at, results=results), tmp_path_factory.mktemp("any")
    _keep(_writer(folder / "ours.db"), run)
    _keep(SqlStore(f"sqlite:///{folder / 'theirs.db'}"), run)
    assert _content(folder / "ours.db") == _content(folder / "theirs.db")


def test_a_result_takes_the_place_of_another(runs: list[Run], tmp_path: Path) -> None:
    run = runs[0]
    first, again = run.results[0], replace(run.results[0], id=f"{run.id}-again")
    for sink in (_writer(tmp_path / "ours.db"), SqlStore(f"sqlite:///{tmp_path / 'theirs.db'}")):
        sink.begin(replace(run, results=()))
        sink.add_all(run.id, run.results)
        sink.add(run.id, again, instead_of=first.id)
        with pytest.raises(StoreError, match="has no result"):
            sink.add(run.id, replace(again, id="third"), instead_of=first.id)
        sink.close()
    assert _content(tmp_path / "ours.db") == _content(tmp_path / "theirs.db")


def test_what_is_wrong_is_told_as_by_the_other(runs: list[Run], tmp_path: Path) -> None:
    run, writer = runs[0], _writer(tmp_path / "a.db")
    writer.begin(run)
    with pytest.raises(StoreError, match="is there already"):
        writer.begin(run)
    with pytest.raises(StoreLostError, match="no run 'other'"):
        writer.add("other", run.results[0])
    writer.add(run.id, run.results[0])
    with pytest.raises(StoreError, match="another record with the same id"):
        writer.add(run.id, run.results[0])
    writer.add(run.id, run.results[1])  # what was rolled back leaves nothing behind
    (tmp_path / "a.db").unlink()
    with pytest.raises(StoreLostError, match="was removed"):
        writer.close()


def test_another_version_and_another_database_are_left_to_the_store(tmp_path: Path) -> None:
    SqlStore(f"sqlite:///{tmp_path / 'newer.db'}").close()
    with closing(sqlite3.connect(tmp_path / "newer.db")) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        connection.commit()
    with closing(sqlite3.connect(tmp_path / "foreign.db")) as connection:
        connection.execute("CREATE TABLE shopping (item TEXT)")
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at" * 10, encoding="utf-8")
    for name, said in (("newer", "made by a newer"), ("foreign", "something else"), ("text", "not a database")):
        assert open_writer(str(tmp_path / f"{name}.db")) is None
        with pytest.raises(StoreError, match=said):
            open_sink(str(tmp_path / f"{name}.db"))
