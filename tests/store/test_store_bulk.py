"""Many rows at once leave the same tables as one result at a time, and nothing by halves."""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Estimate, Metric, Result, Run, Status
from benchwright.schema import quick_json
from benchwright.store import copies
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore, codec, counts, engine, raw_runs, tables, write

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]
MANY = 230  # results: PostgreSQL is given them by COPY, SQLite in several statements


@pytest.fixture
def many(make_run: MakeRun, make_result: MakeResult) -> Run:
    """A run whose results come from a few cases, with samples here and there, and failures."""
    results = [
        make_result(
            f"many-{i}",
            number=i,
            value=1.0 + i % 7,
            samples=30 if i % 50 == 0 else 0,
            status=Status.FAILED if i % 40 == 39 else Status.OK,
        )
        for i in range(MANY)
    ]
    return make_run("many", results=tuple(results), tags=("nightly",), commit="abc")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqlStore]:
    """An SQLite file beside the database under test."""
    with closing(SqlStore(f"sqlite:///{tmp_path / 'other.db'}")) as store:
        yield store


def _content(store: SqlStore) -> dict[str, list[Any]]:
    """All rows but those that tell of now, with what they name in the place of numbers."""
    names: dict[str, dict[int, Any]] = {}
    found: dict[str, list[Any]] = {}
    with store._reading() as connection:
        for table, name in (("runs", "run"), ("environments", "hash"), ("methods", "method"), ("results", "result")):
            rows = connection.execute(select(tables.metadata.tables[table])).mappings()
            names[table] = {row["id"]: row[name] for row in rows}
        rows = connection.execute(select(tables.series)).mappings()
        names["series"] = {row["id"]: (row["key"], row["unit"]) for row in rows}
        meant = {"run_id": "runs", "environment_id": "environments", "series_id": "series", "method_id": "methods"}
        meant["result_id"] = "results"
        filled = ("runs", "run_tags", "environments", "series", "methods", "results", "documents", "points", "samples")
        for table in (*filled, "sample_columns", "revisions", "revision_tags", "arrivals"):
            found[table] = sorted(
                [
                    {
                        name: names[meant[name]][value] if name in meant else value
                        for name, value in row.items()
                        if name != "id" and (table, name) != ("arrivals", "at")
                    }
                    for row in connection.execute(select(tables.metadata.tables[table])).mappings()
                ],
                key=repr,
            )
    return found


def test_a_run_at_once_leaves_what_its_results_leave_one_by_one(store: SqlStore, other: SqlStore, many: Run) -> None:
    assert store.add_run(many)
    other.begin(replace(many, results=()))
    for result in many.results:
        other.add(many.id, result)
    assert _content(store) == _content(other)
    assert store.run("many") == many
    assert not store.add_run(many)  # there already: nothing changes
    assert _content(store) == _content(other)


def test_several_runs_at_once_leave_what_they_leave_one_by_one(
    store: SqlStore, other: SqlStore, many: Run, make_run: MakeRun
) -> None:
    first = replace(many, id="first", results=many.results[:90])
    second = make_run("second", results=many.results[90:100], tags=("nightly", "weekly"), commit="def")
    third = replace(many, id="third", results=many.results[100:])
    store.add_run(make_run("there"))
    other.add_run(make_run("there"))
    several = [first, make_run("there", results=()), second, replace(second, results=()), third]
    assert [other.add_run(run) for run in several] == [True, False, True, False, True]
    sent = [(replace(run, results=()), write.prepare_to_send(run.results)) for run in several]  # from another process
    given: list[write.RunOfParts] = [(first, ()), *pickle.loads(pickle.dumps(sent[1:]))]
    assert store.add_runs(given) == [True, False, True, False, True]
    assert _content(store) == _content(other)


def test_rows_copied_are_the_rows_there_were(
    store: SqlStore, other: SqlStore, many: Run, make_run: MakeRun, make_result: MakeResult
) -> None:
    other.add_run(many)
    for number in range(30):
        results = (make_result(f"small-{number}", minute=number),) if number % 3 else ()
        other.add_run(make_run(f"small-{number}", minute=number, results=results))
    done = copies.copy(other, store)
    assert (done.runs, done.added, done.differing) == (31, 31, ())
    assert _content(store) == _content(other)
    assert done.results == MANY + 20
    again = copies.copy(other, store)
    assert (again.added, again.completed, again.differing) == (0, 0, ())
    assert _content(store) == _content(other)


def test_a_run_of_which_a_document_is_lost_is_not_copied_as_rows(
    store: SqlStore, other: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    other.add_run(make_run("whole", minute=1, results=(make_result("a", minute=1),)))
    other.add_run(make_run("hurt", minute=2, results=(make_result("b", minute=2), make_result("c", minute=3))))
    with other._writing() as connection:
        lost = select(tables.results.c.id).where(tables.results.c.result == "c").scalar_subquery()
        connection.execute(delete(tables.documents).where(tables.documents.c.result_id == lost))
    assert [*other.raw_runs(["whole", "hurt"])] == ["whole"]
    assert copies.copy(other, store).added == 2  # what can be read of the other goes as records


def test_batches_are_bounded(other: SqlStore, many: Run, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    other.add_run(many)
    for number in range(3):
        other.add_run(make_run(f"small-{number}", minute=number))
    monkeypatch.setattr(raw_runs, "_RESULTS", MANY // 2)
    names = ["small-0", "many", "small-1", "small-2", "unknown"]
    assert other.raw_batches(names) == [["small-0"], ["many"], ["small-1", "small-2"]]


def test_what_is_cut_off_in_the_middle_leaves_nothing(
    store: SqlStore, other: SqlStore, many: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.add_run(many)
    (raw,) = other.raw_runs(["many"]).values()
    empty = _content(store)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    insert = engine.insert_tuples
    for table in ("documents", "points", "samples", "arrivals"):
        monkeypatch.setattr(
            engine, "insert_tuples", lambda c, t, r, at=table: fail() if t.name == at else insert(c, t, r)
        )
        for add in (lambda: store.add_run(many), lambda: store.add_raw_runs([raw])):
            with pytest.raises(KeyboardInterrupt):
                add()
            assert _content(store) == empty
    monkeypatch.undo()
    assert store.add_raw_runs([raw]) == ["many"]  # and what was learnt on the way does not mislead
    assert _content(store) == _content(other)
    assert store.add_raw_runs([raw]) == []


def test_a_result_whose_id_is_taken_is_refused_whole(
    store: SqlStore, other: SqlStore, many: Run, make_run: MakeRun
) -> None:
    store.add_run(make_run("first", results=many.results[:1]))
    before = _content(store)
    with pytest.raises(StoreError, match="another record with the same id"):
        store.add_run(many)
    assert _content(store) == before
    other.add_run(many)
    with pytest.raises(StoreError, match="another record with the same id"):
        store.add_raw_runs([*other.raw_runs(["many"]).values()])
    assert _content(store) == before


def test_a_direction_that_is_stated_anew_is_copied(
    store: SqlStore, other: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    result = make_result("r")
    store.add_run(make_run("before", results=(result,)))
    turned = tuple(replace(metric, better=None) for metric in result.metrics)
    other.add_run(make_run("after", results=(replace(result, id="s", metrics=turned),)))
    copies.copy(other, store)
    assert {one.series.better for one in store.series(SeriesFilter())} == {""}
    store.add("after", replace(result, id="t"))
    assert {one.series.better for one in store.series(SeriesFilter())} == {
        metric.better or "" for metric in result.metrics
    }


# ---- documents ----


def test_a_document_is_what_the_slow_way_writes(make_result: MakeResult) -> None:
    result = make_result("r", samples=5)
    odd = replace(result, details={"text": "ä\udcff", "large": 2**63, "small": 1e-300, "none": None}, log_tail="\x00")
    for one in (result, odd, replace(result, metrics=())):
        written = json.loads(zlib.decompress(codec.result_document(one)))
        told = schema.encode(replace(one, samples=()))
        told["environment"] = {name: told["environment"][name] for name in ("knobs", "collected_at")}
        assert written == told and [*written] == [*told]
        assert zlib.decompress(codec.result_document(one)).isascii()


@pytest.mark.parametrize("place", ["point", "low", "values", "most"])
def test_a_number_that_is_none_is_never_kept(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult, place: str
) -> None:
    wrong: dict[str, Any] = {"point": 1.0, "low": 0.5, "high": 1.5}
    values: tuple[float, ...] = ()
    if place in wrong:
        wrong[place] = float("nan")
    elif place == "values":
        values = (1.0, float("inf"))
    metric = Metric(name="m", unit="s", better=None, estimate=Estimate(**wrong), values=values)
    metric = replace(metric, most=float("-inf")) if place == "most" else metric
    with pytest.raises(ValueError, match="cannot be recorded"):
        store.add_run(make_run("run", results=(replace(make_result("r"), metrics=(metric,)),)))
    assert list(store.run_ids()) == []


def test_plain_json_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"a": [1, 2.5, None, True, "x\n"], "b": {"c": 1e22}}
    fast = quick_json.dumps(told)
    monkeypatch.setattr(quick_json, "_orjson", lambda: None)
    assert json.loads(quick_json.dumps(told)) == json.loads(fast) == told


# ---- what is remembered ----


def test_series_of_a_slow_transaction_are_found(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add_run(make_run("run", results=(make_result("r"),)))
    before = store.series(SeriesFilter(words="model"))
    assert before
    # As if the first series had come from a transaction that ended after a later one.
    index = store._index
    index._known.discard(before[0].number)
    for group in index._groups.values():
        group.metrics = {name: [n for n in several if n != before[0].number] for name, several in group.metrics.items()}
    assert len(store.series(SeriesFilter(words="model"))) == len(before) - 1
    index._looked = float("-inf")
    assert store.series(SeriesFilter(words="model")) == before


def test_what_is_old_is_counted_again_now_and_then(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "UNSETTLED", 2)
    store.add_run(make_run("run", results=tuple(make_result(f"r{i}", number=i) for i in range(12))))
    whole = store.totals()["points"]
    with closing(SqlStore(store._engine.url.render_as_string(hide_password=False).replace("+psycopg", ""))) as other:
        gone = store.series(SeriesFilter())[0]
        with other._writing() as connection:  # what another process takes away
            connection.execute(tables.points.delete().where(tables.points.c.series_id == gone.number))
    assert store.totals()["points"] == whole  # within ten minutes
    store._points._since -= counts._LASTS
    store._points._lately.forget()
    assert store.totals()["points"] == whole - gone.count
