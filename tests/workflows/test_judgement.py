"""What has arrived is judged: each result once, each finding told once, whatever ends in between."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

import series_of_runs as made
from benchwright.analysis import detection
from benchwright.config import Notify
from benchwright.errors import StoreError
from benchwright.notify import DeliveryOutcome, Notifier
from benchwright.records import Case, Run, Target, Verdict
from benchwright.records.findings import Finding, State
from benchwright.stats import drift
from benchwright.store.sql import SqlStore, tables
from benchwright.workflows.judgement import TRIES, JudgedBatch, judge_arrivals, tell_findings
from http_peer import Peer, serving_peer

# 14 % slower, fifteen runs ago.
HISTORY = made.levels((0.010, 45), (0.0114, 15))
OTHER = Case(name="bench.py::decode", target=Target(runtime="python", uri="bench.py::decode"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as opened:
        yield opened


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Peer() as server, serving_peer(server):
        yield server


@pytest.fixture
def notifier(peer: Peer, tmp_path: Path) -> Notifier:
    settings = Notify(targets=(f"webhook+http://{peer.host}/hook",), verdicts=("worse", "better"))
    return Notifier(settings, journal=tmp_path / "notified.jsonl")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(run, series) of every look that is made."""
    seen: list[tuple[str, str]] = []
    judge = detection.judge

    def spy(store: Any, run: str, *, among: Any, **named: Any) -> list[Finding]:
        seen.extend((run, key) for key in sorted(among))
        return judge(store, run, among=among, **named)

    monkeypatch.setattr(detection, "judge", spy)
    return seen


def _all(store: SqlStore, **named: Any) -> list[JudgedBatch]:
    return list(judge_arrivals(store, **named))


def _import(store: SqlStore, values: Sequence[float], *, newest: timedelta, case: Case = made.CASE) -> list[Run]:
    """A history of daily runs, whose last one began so long ago."""
    end = datetime.now(UTC) - newest
    runs = []
    for i, value in enumerate(values):
        at = (end - timedelta(days=len(values) - 1 - i)).isoformat(timespec="seconds")
        run = made.run_of(i, value, case=case)
        results = tuple(replace(result, started_at=at) for result in run.results)
        runs.append(replace(run, started_at=at, results=results))
        store.add_run(runs[-1])
    return runs


def _told(peer: Peer) -> list[str]:
    """The findings that were told of, in the order of the messages."""
    return [one["finding"]["data"]["id"] for post in peer.posts() for one in json.loads(post.body)["findings"]]


# ---- judging ----


def test_a_topic_branch_that_arrives_with_the_main_line_neither_opens_a_finding_nor_hides_one(store: SqlStore) -> None:
    number = 0
    for value in HISTORY:
        for branch, seconds in (("main", value), ("topic", 0.013 if value < 0.0105 else 0.010)):
            run = made.run_of(number, seconds)
            assert run.revision is not None
            store.add_run(replace(run, revision=replace(run.revision, branch=branch)))
            number += 1
    (batch,) = _all(store)
    assert [(one.verdict, one.run, one.state) for one in batch.findings] == [(Verdict.WORSE, "run-0090", State.OPEN)]
    for i, value in enumerate(made.levels((0.0130, 15))):
        run = made.run_of(number + i, value)
        assert run.revision is not None
        store.add_run(replace(run, revision=replace(run.revision, branch=f"mine-{i % 2}")))
    assert [(batch.results, batch.findings) for batch in _all(store)] == [(30, ())]
    assert store.judging().waiting == 0 and len(store.findings()) == 1


def test_an_imported_regression_is_found_although_nobody_names_its_run(
    store: SqlStore, looks: list[tuple[str, str]]
) -> None:
    made.fill(store, HISTORY)
    (batch,) = _all(store)
    assert (batch.results, batch.runs, batch.troubles) == (120, 60, ())
    (finding,) = batch.findings
    assert (finding.run, finding.verdict, finding.state) == ("run-0045", Verdict.WORSE, State.OPEN)
    assert finding.effect.point == pytest.approx(1.14, abs=0.01)
    assert {run for run, _ in looks} == {"run-0059"}  # one look at each series, however many runs came
    first = [key for _, key in looks[:4]]
    assert len({*first}) == 4 and {key for _, key in looks[4:]} == {finding.series}  # and is it over by now?
    assert _all(store) == [] and store.findings() == [finding]
    assert (store.judging().judged, store.judging().until) == (120, "run-0059")


def test_it_says_how_far_it_is(store: SqlStore) -> None:
    made.fill(store, HISTORY[:3])
    store.add_run(replace(made.run_of(60, 0.01, case=OTHER), id="run-0060"))
    heard: list[Any] = []
    _all(store, listener=heard.append)
    assert [(event.what, event.done, event.whole) for event in heard] == [
        ("cases looked at", 1, 2),
        ("cases looked at", 2, 2),
    ]


def test_runs_that_come_one_by_one_are_each_judged_when_they_come(store: SqlStore) -> None:
    found = []
    for i, value in enumerate(HISTORY):
        store.add_run(made.run_of(i, value))
        (batch,) = _all(store)
        assert (batch.results, batch.runs) == (2, 1)
        found += [(i, finding.run) for finding in batch.findings]
    assert len(found) == 1 and found[0][0] < 55  # when a few runs show it
    assert store.judging().judged == 120
    assert [finding.state for finding in store.findings()] == [State.OPEN]


def test_what_was_undone_since_is_not_reported_as_open(store: SqlStore) -> None:
    made.fill(store, made.levels((0.010, 20), (0.0115, 20), (0.010, 20)))
    (batch,) = _all(store)
    assert [(one.verdict, one.run) for one in batch.findings] == [(Verdict.BETTER, "run-0040")]
    assert {one.run: one.state for one in store.findings()}["run-0020"] is State.RESOLVED


def test_what_ends_before_a_batch_is_settled_is_judged_again_and_finds_the_same(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.fill(store, HISTORY)
    with monkeypatch.context() as patch:
        patch.setattr(SqlStore, "settle_arrivals", _end)
        with pytest.raises(KeyboardInterrupt):
            _all(store)
    before = store.findings()
    assert len(before) == 1 and store.judging().waiting == 120
    (batch,) = _all(store)
    assert batch.results == 120 and store.findings() == before  # not even a remark more
    assert (store.judging().judged, store.judging().waiting) == (120, 0)


def test_being_stopped_settles_nothing_that_was_not_looked_at(store: SqlStore) -> None:
    made.fill(store, HISTORY)
    store.add_run(made.run_of(70, 0.01, case=OTHER))
    answers = iter([False, True, True])
    assert _all(store, is_stopped=lambda: next(answers)) == [] and store.judging().waiting == 122
    assert [batch.results for batch in _all(store)] == [122]


def test_one_series_that_cannot_be_judged_is_recorded_and_holds_up_nobody(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine = drift.examine

    def sick(values: Sequence[float], **named: Any) -> Any:
        if values[0] > 1e6:  # memory
            raise ZeroDivisionError("a number that nobody foresaw")
        return examine(values, **named)

    monkeypatch.setattr(drift, "examine", sick)
    made.fill(store, HISTORY)
    (batch,) = _all(store)
    assert [finding.run for finding in batch.findings] == ["run-0045"]
    (trouble,) = batch.troubles
    assert (trouble.run, trouble.why) == ("run-0059", "ZeroDivisionError: a number that nobody foresaw")
    assert [one.series for one in store.judging().troubles] == [trouble.series]
    assert store.judging().waiting == 0
    monkeypatch.undo()
    store.add_run(made.run_of(60, 0.0114))
    _all(store)
    assert store.judging().troubles == ()


def test_a_damaged_result_costs_no_other(store: SqlStore) -> None:
    made.fill(store, HISTORY)
    store.add_run(replace(made.run_of(60, 0.01, case=OTHER), id="run-0060"))
    with store._writing() as connection:
        newest = connection.exec_driver_sql("SELECT max(id) FROM results WHERE case_name = 'bench.py::encode'").scalar()
        table = tables.documents
        connection.execute(update(table).where(table.c.result_id == newest).values(document=b"\0"))
    (batch,) = _all(store)
    assert batch.troubles == () and [finding.run for finding in batch.findings] == ["run-0045"]


def test_a_database_that_is_away_is_no_trouble_of_a_series(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made.fill(store, HISTORY)

    def away(*_: object, **__: object) -> None:
        raise StoreError("the server does not answer") from OSError("connection refused")

    with monkeypatch.context() as patch:
        patch.setattr(SqlStore, "history", away)
        with pytest.raises(StoreError, match="does not answer"):
            _all(store)
    assert store.judging().waiting == 120 and store.judging().troubles == ()


def test_a_run_that_ends_the_process_again_and_again_is_left_out(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.fill(store, HISTORY)
    store.add_run(replace(made.run_of(60, 0.01, case=OTHER), id="run-0060"))
    examine = drift.examine

    def deadly(values: Sequence[float], **named: Any) -> Any:
        if len(values) == 1:  # of the other case
            raise KeyboardInterrupt
        return examine(values, **named)

    monkeypatch.setattr(drift, "examine", deadly)
    for _ in range(TRIES):
        with pytest.raises(KeyboardInterrupt):
            _all(store, careful=True)
        assert store.judging().waiting == 122
    (batch,) = _all(store, careful=True)
    assert [finding.run for finding in store.findings()] == ["run-0045"]
    assert {trouble.run for trouble in batch.troubles} == {"run-0060"} and len(batch.troubles) == 4
    assert batch.troubles[0].why == "the process that judges ended 2 times while it looked at this run"
    assert (store.judging().waiting, store.begin_look("run-0060"), store.begin_look("run-0059")) == (0, 1, 1)


# ---- telling ----


def test_each_finding_is_told_once_whatever_ends_in_between(
    store: SqlStore, notifier: Notifier, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _import(store, made.levels((0.010, 30), (0.0114, 10)), newest=timedelta(hours=1))
    for name in ("keep_finding", "settle_arrivals", "drop_untold"):
        with monkeypatch.context() as patch:
            patch.setattr(SqlStore, name, _end)
            with pytest.raises(KeyboardInterrupt):
                _all(store, announce=True)
                tell_findings(store, notifier)
        if name != "drop_untold":
            assert peer.posts() == []
    (finding,) = store.findings()
    assert _told(peer) == [finding.id] and len(store.untold()) == 1
    assert tell_findings(store, notifier).deliveries == () and store.untold() == []
    _all(store, announce=True)
    assert tell_findings(store, notifier).deliveries == ()
    assert _told(peer) == [finding.id]


def test_of_an_imported_history_only_what_is_recent_is_told(store: SqlStore, notifier: Notifier, peer: Peer) -> None:
    steps = made.levels((0.010, 25), (0.0115, 25), (0.0132, 25), (0.0152, 10))
    _import(store, steps, newest=timedelta(hours=1))
    (batch,) = _all(store, announce=True)
    old, middle, recent = sorted(batch.findings, key=lambda finding: finding.run)
    announced = tell_findings(store, notifier)
    assert {*announced.too_old} == {old.id, middle.id}
    assert _told(peer) == [recent.id]
    assert tell_findings(store, notifier).too_old == ()  # said once


def test_a_change_that_took_weeks_to_be_confirmed_is_told(store: SqlStore, notifier: Notifier, peer: Peer) -> None:
    values = made.levels((0.010, 30), (0.0114, 6))
    for i, value in enumerate(values):
        at = (datetime.now(UTC) - timedelta(weeks=len(values) - 1 - i)).isoformat(timespec="seconds")
        run = made.run_of(i, value)
        store.add_run(replace(run, started_at=at, results=tuple(replace(r, started_at=at) for r in run.results)))
        _all(store, announce=True)
        tell_findings(store, notifier)
    (finding,) = store.findings()
    assert finding.run == "run-0030" and "confirmed" in [remark.what for remark in finding.remarks]
    assert _told(peer) == [finding.id]  # the first run that shows it is five weeks old, the one that decided is not


def test_without_anybody_to_tell_nothing_is_noted(store: SqlStore) -> None:
    _import(store, made.levels((0.010, 30), (0.0114, 10)), newest=timedelta(hours=1))
    assert _all(store) and store.findings() and store.untold() == []


def test_a_journal_that_cannot_be_written_loses_nothing(store: SqlStore, peer: Peer, tmp_path: Path) -> None:
    _import(store, made.levels((0.010, 30), (0.0114, 10)), newest=timedelta(hours=1))
    _all(store, announce=True)
    (tmp_path / "blocked").write_text("a file where a folder is wanted")
    settings = Notify(targets=(f"webhook+http://{peer.host}/hook",))
    blocked = Notifier(settings, journal=tmp_path / "blocked" / "notified.jsonl")
    (told,) = tell_findings(store, blocked).deliveries
    assert told.outcome is DeliveryOutcome.FAILED and len(store.untold()) == 1
    tell_findings(store, Notifier(settings, journal=tmp_path / "notified.jsonl"))
    assert len(_told(peer)) == 1 and store.untold() == []


def _end(*_: object, **__: object) -> None:
    """As if the process were killed here."""
    raise KeyboardInterrupt
