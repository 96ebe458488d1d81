"""Making the tables at once and step by step gives the same; newer and foreign databases are left alone."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from benchwright.errors import StoreError
from benchwright.records import Revision
from benchwright.store.sql import SqlStore, codec, tables, upgrade
from benchwright.store.sql import engine as engines


def _described(url: str) -> dict[str, Any]:
    """Every table as the database itself describes it."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    inspector = inspect(engine)
    found = {
        name: {
            "columns": [{**column, "type": str(column["type"])} for column in inspector.get_columns(name)],
            "primary key": inspector.get_pk_constraint(name),
            "foreign keys": sorted(map(str, inspector.get_foreign_keys(name))),
            "unique": sorted(map(str, inspector.get_unique_constraints(name))),
            "indexes": sorted(map(str, inspector.get_indexes(name))),
            "options": inspector.get_table_options(name),
        }
        for name in inspector.get_table_names()
    }
    engine.dispose()
    return found


def _migrated(url: str) -> None:
    engine = engines.connect(url, timeout=5)
    with engine.connect() as connection, engines.writing(connection).begin():
        upgrade.upgrade(connection)
    engine.dispose()


def test_both_ways_give_the_same_tables(tmp_path: Path) -> None:
    SqlStore(f"sqlite:///{tmp_path / 'made.db'}").close()
    _migrated(f"sqlite:///{tmp_path / 'stepped.db'}")
    made, stepped = (_described(f"sqlite:///{tmp_path / name}") for name in ("made.db", "stepped.db"))
    assert made == stepped
    assert made.keys() == {*tables.metadata.tables, tables.VERSION_TABLE}
    versions = []
    for name in ("made.db", "stepped.db"):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            versions.append(connection.execute(f"SELECT * FROM {tables.VERSION_TABLE}").fetchall())
            rowless = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'points'").fetchone()[0]
            assert "WITHOUT ROWID" in rowless
    assert versions == [[(tables.VERSION,)], [(tables.VERSION,)]]


def test_the_migrations_lack_nothing_that_the_tables_state(url: str) -> None:
    _migrated(url)
    engine = engines.connect(url, timeout=5)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": tables.VERSION_TABLE, "compare_type": True}
        )
        found = compare_metadata(context, tables.metadata)
        if connection.dialect.name == "postgresql":  # where points have no references
            found = [one for one in found if one[0] != "add_fk" or one[1].table.name != tables.points.name]
        assert found == []
    engine.dispose()


def test_a_store_that_was_migrated_works(
    url: str, make_run: Callable[..., Any], make_result: Callable[..., Any]
) -> None:
    _migrated(url)
    store = SqlStore(url)
    run = make_run("run-1", results=(make_result("r1", samples=10),))
    store.add_run(run)
    assert store.run("run-1") == run
    store.close()


STEP = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = "{next}", "{last}"
def upgrade():
    with op.batch_alter_table("runs") as table:
        table.add_column(sa.Column("note", sa.Text, nullable=False, server_default="none"))
    {then}
"""


@pytest.fixture
def next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Adds a made-up migration, as a later version of Benchwright would."""

    def add(then: str) -> None:
        migrations = tmp_path / "migrations"
        shutil.copytree(upgrade.MIGRATIONS, migrations)
        last, following = tables.VERSION, f"{int(tables.VERSION) + 1:04d}"
        step = STEP.format(next=following, last=last, then=then)
        (migrations / "versions" / f"{following}_made_up.py").write_text(step)
        monkeypatch.setattr(upgrade, "MIGRATIONS", migrations)
        monkeypatch.setattr(tables, "VERSION", following)

    return add


def test_an_older_store_is_brought_up_to_date_and_keeps_its_runs(
    url: str, make_run: Callable[..., Any], make_result: Callable[..., Any], next_step: Callable[[str], None]
) -> None:
    store = SqlStore(url)
    run = make_run("run-1", results=(make_result("r1", samples=10),))
    store.add_run(run)
    store.close()
    next_step("pass")
    lifted = SqlStore(url)
    assert lifted.run("run-1") == run
    with lifted._reading() as connection:
        assert connection.exec_driver_sql("SELECT note FROM runs").scalars().all() == ["none"]
    lifted.close()


def test_branches_and_dates_of_commits_are_taken_from_the_runs_that_are_there(
    url: str, make_run: Callable[..., Any]
) -> None:
    before = "0005"
    told = Revision(vcs="git", id="c1", branch="topic", committed_at="2026-11-01T10:00:00+01:00")
    run = replace(make_run("run-1"), revision=told)
    engine = engines.connect(url, timeout=5)
    row = "INSERT INTO runs (run, at, revision, format, document) VALUES (:run, 1, :revision, 1, :document)"
    with engine.connect() as connection, engines.writing(connection).begin():
        upgrade.upgrade(connection, to=before)
        for name, revision, document in (
            ("run-1", "c1", codec.run_document(run)),
            ("run-2", "", "{"),  # damaged: it costs this run's branch, not the upgrade
            ("run-3", "c3", '{"revision": {"branch": "\\u0000", "committed_at": "yesterday"}}'),
        ):
            connection.execute(text(row), {"run": name, "revision": revision, "document": document})
    engine.dispose()
    store = SqlStore(url)
    with store._reading() as connection:
        branches = dict(connection.exec_driver_sql("SELECT run, branch FROM runs").all())
    assert branches == {"run-1": "topic", "run-2": "", "run-3": ""}
    assert store.commit_dates(["c1", "c3"]) == {"c1": 1_793_523_600_000_000}
    store.close()


def test_a_step_that_fails_leaves_the_store_as_it_was(
    url: str, make_run: Callable[..., Any], next_step: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqlStore(url)
    store.add_run(make_run("run-1"))
    store.close()
    next_step("raise RuntimeError('half way')")
    with pytest.raises(RuntimeError, match="half way"):
        SqlStore(url)
    monkeypatch.undo()
    again = SqlStore(url)
    assert again.find("last") == "run-1"
    assert "note" not in [column["name"] for column in _described(url)["runs"]["columns"]]
    again.close()


def test_a_newer_store_is_refused_and_left_alone(url: str) -> None:
    SqlStore(url).close()
    engine = engines.connect(url, timeout=5)
    with engine.connect() as connection, engines.writing(connection).begin():
        connection.exec_driver_sql(f"UPDATE {tables.VERSION_TABLE} SET version_num = '0417'")
    engine.dispose()
    before = _described(url)
    with pytest.raises(StoreError, match=r"newer Benchwright \(schema 0417; .*\n  pip install --upgrade benchwright"):
        SqlStore(url)
    assert _described(url) == before


def test_the_database_of_something_else_is_left_alone(url: str) -> None:
    engine = engines.connect(url, timeout=5)
    with engine.connect() as connection, engines.writing(connection).begin():
        connection.exec_driver_sql("CREATE TABLE cookies (x int)")
    engine.dispose()
    with pytest.raises(StoreError, match="has a table 'cookies'"):
        SqlStore(url)
    assert _described(url).keys() == {"cookies"}
