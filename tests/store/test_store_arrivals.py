"""What has arrived waits until it is judged: every result, whichever way it came, and each is settled once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from benchwright import schema
from benchwright.records import CALIBRATION_TAG, Revision, Status
from benchwright.records.races import CELL
from benchwright.schema.series_identity import series_key_of
from benchwright.store import copies
from benchwright.store.archive import Progress
from benchwright.store.arrivals import ArrivedBatch, JudgingTrouble
from benchwright.store.files.transfer import import_runs, write_lines
from benchwright.store.sql import SqlStore, retention, tables, upgrade
from benchwright.store.sql import engine as engines
from benchwright.store.sql.run_writer import open_writer

Make = Callable[..., Any]
METRIC_NAMES = ("latency", "latency_p50", "throughput")  # that the results of `make_result` have


def _waiting(store: SqlStore) -> int:
    return store.judging().waiting


def _settle(store: SqlStore) -> int:
    batch = store.arrived()
    return store.settle_arrivals(batch) if batch else 0


def _backdate(store: SqlStore, seconds: float) -> None:
    """Everything that waits arrived so long ago."""
    with store._writing() as connection:
        table = tables.arrivals
        connection.execute(update(table).values(at=table.c.at - round(seconds * 1e6)))


def _key(result: Any, metric: str = "latency_p50") -> str:
    return schema.series_key(result.case, result.environment, metric)


def test_what_a_race_measured_is_a_series_of_its_own_that_nobody_judges(
    store: SqlStore, make_run: Make, make_result: Make, tmp_path: Path
) -> None:
    store.add_run(make_run("nightly", results=(make_result("n"),)))
    raced = replace(make_result("r", number=1), details={CELL: 3})
    run = make_run("race", minute=1, results=(raced,))
    store.add_run(run)
    [usual, race] = store.history(raced.case.name, metrics=["latency_p50"])
    assert ([p.run for p in usual.points], [p.run for p in race.points]) == (["nightly"], ["race"])
    assert usual.key == _key(raced) and race.key == series_key_of(raced, "latency_p50") != usual.key
    assert json.loads(race.params) == {**json.loads(usual.params), "in_race": True}
    batch = store.arrived()
    assert batch is not None and [run.run for run in batch.runs] == ["nightly"]
    store.settle_arrivals(batch)
    assert _waiting(store) == 0
    with (tmp_path / "kept.jsonl").open("wb") as file:
        write_lines([run], file)
    with closing(SqlStore(f"sqlite:///{tmp_path}/other.db")) as other:
        import_runs(other, str(tmp_path / "kept.jsonl"))
        assert [one.key for one in other.history(raced.case.name, metrics=["latency_p50"])] == [race.key]


def test_every_way_in_puts_what_has_values_on_the_list(store: SqlStore, make_run: Make, make_result: Make) -> None:
    store.add_run(make_run("whole", results=(make_result("w1"), make_result("w2", status=Status.FAILED))))
    store.begin(make_run("piece by piece", minute=1))
    store.add("piece by piece", make_result("p1"))
    store.add_all("piece by piece", [make_result("p2", number=1), make_result("p3", number=2)])
    assert store.put("piece by piece", make_result("p4", number=3))
    assert not store.put("piece by piece", make_result("p4", number=3))  # the same again
    assert store.put_results("piece by piece", [make_result("p4", number=3), make_result("p5", number=4)]) == 1
    assert _waiting(store) == 6  # all but the one that failed
    assert _settle(store) == 6
    assert (_waiting(store), store.judging().judged, store.arrived()) == (0, 6, None)
    assert not store.put("piece by piece", make_result("p5", number=4))  # what is judged stays so
    assert _waiting(store) == 0


def test_the_small_writer_and_a_copy_put_it_there_too(tmp_path: Path, make_run: Make, make_result: Make) -> None:
    writer = open_writer(str(tmp_path / "results.db"))
    assert writer is not None
    writer.begin(make_run("run-1"))
    writer.add("run-1", make_result("r1"))
    writer.close()
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as first:
        assert _settle(first) == 1
        with closing(SqlStore(f"sqlite:///{tmp_path / 'other.db'}")) as second:
            copies.copy(first, second)
            assert (_waiting(first), _waiting(second)) == (0, 1)


def test_of_several_runs_each_series_is_looked_at_by_the_newest(
    store: SqlStore, make_run: Make, make_result: Make
) -> None:
    for minute, cases in enumerate((("a", "b", "c"), ("a", "b"), ("a",))):
        results = tuple(make_result(f"{case}{minute}", case=case, minute=minute) for case in cases)
        store.add_run(make_run(f"run-{minute}", results=results, minute=minute))
    batch = store.arrived()
    assert batch is not None and (len(batch.results), batch.of_runs) == (6, 3)
    assert [run.run for run in batch.runs] == ["run-0", "run-1", "run-2"]  # the oldest first
    looked = {run.run: run.series for run in batch.runs}
    for run, case in (("run-2", "a"), ("run-1", "b"), ("run-0", "c")):
        assert _key(make_result("x", case=case)) in looked[run] and len(looked[run]) == 3  # its three metrics
    assert len(frozenset.union(*looked.values())) == 9


def test_where_several_branches_arrive_each_series_is_looked_at_by_the_newest_run_of_its_main_line(
    store: SqlStore, make_run: Make, make_result: Make
) -> None:
    plan = [("main", "ab"), ("topic", "ac"), ("", "b"), ("topic", "abc"), ("other", "c")]
    for minute, (branch, cases) in enumerate(plan):
        results = tuple(make_result(f"{case}{minute}", case=case, minute=minute) for case in cases)
        run = make_run(f"run-{minute}", results=results, minute=minute)
        store.add_run(replace(run, revision=Revision(vcs="git", id=f"c{minute}", branch=branch)))
    batch = store.arrived()
    assert batch is not None and len(batch.results) == 9
    looked = {run.run: run.series for run in batch.runs}
    assert [*looked] == ["run-0", "run-2", "run-3"]
    for run, case in (("run-0", "a"), ("run-2", "b"), ("run-3", "c")):
        assert looked[run] == {_key(make_result("x", case=case), metric) for metric in METRIC_NAMES}
    assert store.settle_arrivals(batch) == 9 and _waiting(store) == 0


def test_what_no_run_of_the_main_line_arrived_for_is_settled_without_a_look(
    store: SqlStore, make_run: Make, make_result: Make
) -> None:
    for minute, branch in enumerate(["main", "one", "two"]):
        run = make_run(f"run-{minute}", minute=minute, results=(make_result(f"a{minute}", minute=minute),))
        store.add_run(replace(run, revision=Revision(vcs="git", id=f"c{minute}", branch=branch)))
        if branch == "main":
            assert _settle(store) == 1
    batch = store.arrived()
    assert batch is not None and (len(batch.results), batch.runs) == (2, ())
    assert store.settle_arrivals(batch) == 2


def test_a_long_list_is_taken_case_by_case_so_that_a_series_is_looked_at_once(
    store: SqlStore, make_run: Make, make_result: Make
) -> None:
    for minute in range(10):
        results = tuple(make_result(f"{case}{minute}", case=case, minute=minute) for case in "abcd")
        store.add_run(make_run(f"run-{minute}", results=results, minute=minute))
    looked: list[str] = []
    sizes = []
    while batch := store.arrived(limit=20):
        assert {run.run for run in batch.runs} == {"run-9"}
        looked += [key for run in batch.runs for key in run.series]
        sizes.append(store.settle_arrivals(batch))
    assert sizes == [20, 20] and len(looked) == len({*looked}) == 12


def test_a_run_that_is_under_way_waits_until_it_is_complete(store: SqlStore, make_run: Make, make_result: Make) -> None:
    store.begin(make_run("run-1"))
    store.add("run-1", make_result("r1"))
    store.add_run(make_run("run-2", results=(make_result("r2", case="other"),)))
    word = Progress(run="run-1", started_at="", planned=2, done=1, phase="measuring")
    store.tell_progress(word)
    batch = store.arrived()
    assert batch is not None and [run.run for run in batch.runs] == ["run-2"]
    store.settle_arrivals(batch)
    assert store.arrived() is None and _waiting(store) == 1
    with store._writing() as connection:  # it was killed: it has said nothing for a while
        table = tables.progress
        connection.execute(update(table).values(at=table.c.at - 300_000_000))
    assert store.arrived() is not None
    store.tell_progress(word)
    store.tell_progress(replace(word, phase="ended"))
    assert store.arrived() is not None


def test_a_run_that_grows_waits_for_a_while_but_not_for_ever(
    store: SqlStore, make_run: Make, make_result: Make
) -> None:
    store.begin(make_run("run-1"))
    store.add("run-1", make_result("r1"))
    assert store.arrived(quiet=10.0) is None and store.arrived() is not None
    _backdate(store, 30.0)
    store.add("run-1", make_result("r2", number=1))
    assert store.arrived(quiet=10.0) is None  # half a minute old, and just now there was more
    _backdate(store, 11.0)
    assert store.arrived(quiet=10.0) is not None
    store.add("run-1", make_result("r3", number=2))
    _backdate(store, 60.0)
    assert store.arrived(quiet=10.0) is not None and store.arrived(quiet=300.0) is None
    with store._writing() as connection:
        connection.execute(update(tables.arrivals).values(at=tables.arrivals.c.at - 600_000_000))
    store.add("run-1", make_result("r4", number=3))
    assert store.arrived(quiet=10.0) is not None  # ten minutes are enough
    _settle(store)
    store.add("run-1", make_result("r5", number=4))
    _backdate(store, -3600.0)  # a clock that is an hour ahead holds nothing up
    assert store.arrived(quiet=10.0) is not None


def test_what_arrives_while_others_are_judged_is_not_settled_with_them(
    store: SqlStore, make_run: Make, make_result: Make
) -> None:
    store.begin(make_run("run-1"))
    store.add("run-1", make_result("r1"))
    batch = store.arrived()
    assert batch is not None
    store.add("run-1", make_result("r2", number=1))
    assert store.settle_arrivals(batch) == 1 and _waiting(store) == 1
    assert store.settle_arrivals(batch) == 0  # nobody counts twice
    assert store.judging().judged == 1
    again = store.arrived()
    assert again is not None
    time.sleep(0.001)
    store.add("run-1", make_result("r2", number=1, value=2.0), instead_of="r2")  # perhaps in the row of the former
    assert store.settle_arrivals(again) == 0 and _waiting(store) == 1


def test_it_says_until_which_run_everything_is_judged(store: SqlStore, make_run: Make, make_result: Make) -> None:
    assert (store.judging().until, store.judging().waiting) == ("", 0)
    for number in range(3):
        result = make_result(f"r{number}", minute=number)
        store.add_run(make_run(f"run-{number}", results=(result,), minute=9 - number))  # their clocks go backwards
    assert (store.judging().until, store.judging().waiting) == ("", 3)
    assert store.mark_judged("run-0") == 1 and store.mark_judged("run-0") == 0
    assert (store.judging().until, store.judging().waiting) == ("run-0", 2)
    assert store.mark_judged("run-2") == 1
    assert store.judging().until == "run-0"  # the one between is not judged yet
    assert 0 < time.time() - store.judging().since / 1e6 < 600
    _settle(store)
    state = store.judging()
    assert (state.until, state.waiting, state.judged, state.since) == ("run-2", 0, 3, 0)
    store.begin(make_run("run-3", minute=20))
    store.add("run-3", make_result("r3"))
    _settle(store)
    store.add("run-3", make_result("r4", number=1))
    assert store.judging().until == "run-2"  # run-3 is only judged in part


def test_what_was_removed_waits_no_more(store: SqlStore, make_run: Make, make_result: Make) -> None:
    store.add_run(make_run("run-1", results=(make_result("r1"), make_result("r2", number=1))))
    store.add("run-1", make_result("r3", number=1), instead_of="r2")
    assert _waiting(store) == 2
    store.prune(retention.RetentionRules(runs=1.0))
    assert _waiting(store) == 0 and list(store.run_ids()) == []


def test_a_calibration_is_settled_without_a_look(store: SqlStore, make_run: Make, make_result: Make) -> None:
    store.add_run(make_run("run-1", results=(make_result("r1"),), tags=(CALIBRATION_TAG,)))
    batch = store.arrived()
    assert batch is not None and batch.runs == ()
    assert store.settle_arrivals(batch) == 1


def test_everything_can_be_judged_again(store: SqlStore, make_run: Make, make_result: Make) -> None:
    store.add_run(make_run("run-1", results=(make_result("r1"), make_result("r2", status=Status.FAILED))))
    _settle(store)
    store.add_run(make_run("run-2", results=(make_result("r3"),)))
    assert store.list_again() == 2 and store.list_again() == 2


def test_troubles_are_kept_until_the_series_was_looked_at(store: SqlStore, make_run: Make, make_result: Make) -> None:
    store.add_run(make_run("run-1", results=(make_result("r1"),)))
    batch = store.arrived()
    assert isinstance(batch, ArrivedBatch)
    key = _key(make_result("x"))
    store.settle_arrivals(batch, [JudgingTrouble(series=key, run="run-1", why="it is damaged" + "!" * 1000)])
    (trouble,) = store.judging().troubles
    assert (trouble.series, trouble.run) == (key, "run-1") and trouble.why.startswith("it is damaged!")
    assert len(trouble.why) == 500 and trouble.at > 0
    store.add_run(make_run("run-2", results=(make_result("r2", case="other"),)))
    _settle(store)
    assert store.judging().troubles == (trouble,)
    store.add_run(make_run("run-3", results=(make_result("r3"),)))
    _settle(store)
    assert store.judging().troubles == ()


def test_a_judge_that_fails_is_named_until_it_does_well(store: SqlStore) -> None:
    store.note_judge_failure("no memory")
    since = store.judging().failing_since
    store.note_judge_failure("still no memory")
    assert (store.judging().failing, store.judging().failing_since) == ("still no memory", since)
    store.note_judge_failure("")
    assert (store.judging().failing, store.judging().failing_since) == ("", 0)


def test_looks_that_came_to_no_end_are_counted_by_run(store: SqlStore) -> None:
    assert [store.begin_look(run) for run in ("run-1", "run-2", "run-1")] == [1, 1, 2]
    store.end_look("run-1")
    assert [store.begin_look(run) for run in ("run-1", "run-2")] == [1, 2]
    assert (store.judging().judged, store.judging().troubles) == (0, ())


def test_findings_to_tell_of_are_noted_once(store: SqlStore) -> None:
    store.note_untold("f1", "run-1")
    store.note_untold("f2", "run-2")
    store.note_untold("f1", "run-3")
    assert {(one.finding, one.run) for one in store.untold()} == {("f1", "run-1"), ("f2", "run-2")}
    store.drop_untold(["f1", "f9"])
    assert [one.finding for one in store.untold()] == ["f2"]


def test_one_process_at_a_time_judges_a_database(store: SqlStore, url: str) -> None:
    with closing(SqlStore(url)) as other:
        with store.hold_judging() as is_held:
            assert is_held is not None and is_held()
            with other.hold_judging() as second:
                assert second is None
        with other.hold_judging() as third:
            assert third is not None and third()


def test_an_upgrade_counts_what_was_kept_before_and_puts_nothing_on_the_list(
    url: str, make_run: Make, make_result: Make, inside: Make
) -> None:
    _make_older(url)
    with closing(SqlStore(url)) as store:
        state = store.judging()
        assert (state.older, state.waiting, state.until) == (1, 0, "run-1")
        if url.startswith("sqlite"):
            said = inside("findings", "judge", "--all", "--store", url)
            assert said.returncode == 0 and "are left out (1); --anew judges them too" in said.stderr
        store.add_run(make_run("run-2", results=(make_result("r3"),)))
        assert (store.judging().older, _settle(store)) == (1, 1)
        assert store.list_again() == 2 and store.judging().older == 0
    with closing(SqlStore(url)) as store:
        assert store.judging().waiting == 2


def _make_older(url: str) -> None:
    """A store of the version before, with a run of two results, one of which failed."""
    engine = engines.connect(url, timeout=5)
    with engine.connect() as connection, engines.writing(connection).begin():
        upgrade.upgrade(connection, to="0003")
        for statement in (
            "INSERT INTO runs (id, run, at, revision, format, document) VALUES (1, 'run-1', 0, '', 1, '{}')",
            "INSERT INTO environments (id, hash, document) VALUES (1, 'a', '')",
            "INSERT INTO results"
            " (id, result, run_id, environment_id, case_name, at, round, status, started_at, revision)"
            " VALUES (1, 'r1', 1, 1, 'a', 0, 0, 'ok', '', ''), (2, 'r2', 1, 1, 'a', 0, 1, 'failed', '', '')",
        ):
            connection.exec_driver_sql(statement)
        for table in ("runs", "environments", "results") if connection.dialect.name == "postgresql" else ():
            connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 10)")
    engine.dispose()


@pytest.mark.parametrize("damage", ["{}", "[1]", "no JSON"])
def test_a_damaged_list_of_troubles_costs_no_page(store: SqlStore, damage: str) -> None:
    with store._writing() as connection:
        row = {"name": "troubles", "number": 0, "at": 0, "document": damage}
        connection.execute(tables.judging.insert(), row)
    assert store.judging().troubles == ()
