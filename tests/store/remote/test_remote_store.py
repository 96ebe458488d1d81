"""The verbs of a store over HTTP, against the real server: what it answers is what its database answers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.errors import StoreError
from benchwright.records import Artifact, Estimate, Failure, Result, Run, Samples, Status, Verdict
from benchwright.records.findings import Finding, Mute, Remark, State, Threshold, Triage
from benchwright.server import answer_parts
from benchwright.store import remote
from benchwright.store.archive import Progress
from benchwright.store.remote import RemoteStore
from benchwright.store.remote.spool import Spool
from benchwright.store.sql import SqlStore


@pytest.fixture(scope="module")
def running(serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serve(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def store(running: Any) -> Iterator[RemoteStore]:
    """The store over HTTP."""
    opened = RemoteStore(running.address)
    yield opened
    opened.close()


@pytest.fixture
def database(running: Any) -> Iterator[SqlStore]:
    """The same store, as its server has it."""
    opened = SqlStore(running.settings.store_url)
    yield opened
    opened.close()


def test_a_run_is_kept_result_by_result(store: RemoteStore, database: SqlStore) -> None:
    run = _run(1)
    store.begin(run)
    assert database.run(run.id) == replace(run, results=())
    for result in run.results:
        store.add(run.id, result)
    assert store.run(run.id) == database.run(run.id) == run
    assert store.run(run.id, samples=False) == database.run(run.id, samples=False) != run
    assert store.samples(run.results[0].id) == run.results[0].samples


def test_long_lists_come_whole_by_several_requests(
    serve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FINDINGS", "RUNS", "RUN_IDS"):
        monkeypatch.setattr(answer_parts, name, 2)
    monkeypatch.setattr(answer_parts, "POINTS", 10)
    with serve(tmp_path) as running, closing(SqlStore(running.settings.store_url)) as database:
        made.fill(database, [0.5, 0.6, 0.7, 0.8, 0.9])
        with closing(RemoteStore(running.address)) as store:
            assert [*store.run_ids()] == [*database.run_ids()] and len([*store.run_ids()]) == 5
            assert [*store.run_ids(after=next(database.run_ids()), limit=3)] == [*database.run_ids()][1:4]
            assert store.runs(limit=100) == database.runs(limit=100)
            assert store.runs(limit=3) == database.runs(limit=3)
            assert (
                store.history("*", limit=4) == database.history("*", limit=4) and len(store.history("*", limit=4)) > 2
            )


def test_a_server_of_before_gives_whole_lists_and_one_that_never_ends_is_left(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(RemoteStore(desk.address)) as store:
        desk.answers += [(200, {}, {"answer": ["a", "b"]})]
        assert [*store.run_ids()] == ["a", "b"]
        monkeypatch.setattr(remote, "_MOST_PARTS", 3)
        desk.answers += [(200, {}, {"answer": ["a"], "next": {"after": "a"}})] * 3
        with pytest.raises(StoreError, match="does not end"):
            store.run_ids()


def test_sending_again_changes_nothing_and_something_else_under_the_same_id_is_refused(store: RemoteStore) -> None:
    run = _run(2)
    for _ in range(2):
        store.begin(run)
        for result in run.results:
            store.add(run.id, result)
    assert store.run(run.id) == run
    with pytest.raises(StoreError):
        store.begin(replace(run, reason="another"))
    with pytest.raises(StoreError):
        store.add(run.id, replace(run.results[0], duration=9.0))
    with pytest.raises(StoreError, match="no-such-run"):
        store.add("no-such-run", replace(run.results[0], id="r"))
    assert store.run(run.id) == run


def test_a_result_goes_in_the_place_of_another_once_however_often_it_is_sent(store: RemoteStore) -> None:
    run = _run(3)
    better = replace(run.results[1], id="run-0003-again")
    store.begin(run)
    for result in run.results:
        store.add(run.id, result)
    for _ in range(2):
        store.add(run.id, better, instead_of=run.results[1].id)
    assert [result.id for result in store.run(run.id).results] == [run.results[0].id, better.id]


def test_a_whole_run_is_kept_once(store: RemoteStore, database: SqlStore) -> None:
    run = _run(4)
    assert [store.add_run(run), store.add_run(run), store.add_run(replace(run, reason="another"))] == [
        True,
        False,
        False,
    ]
    assert database.run(run.id) == run


def test_whoever_sends_a_run_may_judge_it(store: RemoteStore, database: SqlStore) -> None:
    before = database.judging().waiting
    store.add_run(made.run_of(7, 0.5))
    assert database.judging().waiting == before + 2
    store.mark_judged("run-0007")
    assert database.judging().waiting == before
    assert store._outbox.spool.is_empty  # the server has heard it
    assert store.judged_until() == (database.judging().until, before)


def test_a_server_that_judges_nothing_by_itself_need_not_be_told(desk: Any) -> None:
    with closing(RemoteStore(desk.address)) as store:
        desk.fail(1, 404)
        store.mark_judged("run-0007")
        assert desk.writes == ["PUT runs/run-0007/judged"] and store._outbox.spool.is_empty


def test_every_question_is_answered_as_the_database_answers_it(store: RemoteStore, database: SqlStore) -> None:
    for i in range(5, 8):
        store.add_run(replace(_run(i), tags=("nightly",)))
    topic = made.run_of(60, 0.01)
    assert topic.revision is not None
    store.add_run(replace(topic, revision=replace(topic.revision, branch="topic")))
    failed = replace(
        made.run_of(8, 1.0).results[0], status=Status.FAILED, metrics=(), error=Failure(kind="exit", message="died")
    )
    store.add_run(replace(made.run_of(8, 1.0), results=(failed,)))
    refused = replace(made.run_of(9, 1.0).results[0], status=Status.REFUSED, metrics=(), error=failed.error)
    store.add_run(replace(made.run_of(9, 1.0), results=(refused,)))
    for asked in (
        lambda s: s.find("last~1"),
        lambda s: s.find("nightly"),
        lambda s: s.find(made.commit(6)[:9]),
        lambda s: s.find("last"),
        lambda s: s.runs(limit=3),
        lambda s: s.runs(limit=3, tries=True),
        lambda s: s.runs(tag="nightly"),
        lambda s: list(s.run_ids()),
        lambda s: s.history("bench*"),
        lambda s: s.history("bench*", metrics=["latency"], limit=2),
        lambda s: s.misses("*"),
        lambda s: s.case_names(),
        lambda s: (s.findings(), s.mutes(), s.thresholds()),
    ):
        assert asked(store) == asked(database)
    assert store.find("last") == made.run_of(8, 1.0).id  # the one after it was a try
    assert len(store.runs(limit=99, tries=True)) == len(store.runs(limit=99)) + 1
    assert store.history("bench*") and store.misses("*") and store.case_names()
    assert {point.branch for point in store.history("bench*")[0].points} == {"", "topic"}


@pytest.mark.parametrize("asked", [lambda s: s.find("nonsense"), lambda s: s.run("nonsense"), lambda s: s.finding("x")])
def test_what_is_not_there_is_the_same_error(asked: Any, store: RemoteStore, database: SqlStore) -> None:
    said = []
    for each in (store, database):
        with pytest.raises(StoreError) as caught:
            asked(each)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_findings_and_rules_are_changed_as_in_the_database(store: RemoteStore, database: SqlStore) -> None:
    found = Finding(
        id="f1",
        series="s" * 32,
        before=Estimate(point=1.0, low=0.9, high=1.1),
        after=Estimate(point=2.0, low=None, high=None),
        effect=Estimate(point=2.0, low=1.8, high=2.2),
        method="pairs",
        verdict=Verdict.WORSE,
        runs=("run-0005",),
        found_at="2026-03-01T10:00:00+00:00",
        why={"packages": {"numpy": ["2.0", "2.1"]}},
        cause="cause-1",
    )
    assert store.keep_finding(found) == found == store.keep_finding(replace(found, id="f2"))
    remark = Remark(at="2026-03-01T11:00:00+00:00", who="ada", what="acknowledged", text="<b>known</b>")
    changed = store.update_finding("f1", remark, state=State.ACKNOWLEDGED, assignee="ada", why={"seen": True})
    assert changed == store.finding("f") == database.finding("f1")
    [kept] = changed.remarks  # the server dates it
    assert (changed.state, replace(kept, at=remark.at)) == (State.ACKNOWLEDGED, remark)
    assert store.findings(states=[State.ACKNOWLEDGED], series=[found.series]) == [changed]
    assert store.findings(states=[State.OPEN]) == []

    other = store.keep_finding(replace(found, id="f3", series="t" * 32, remarks=()))
    assert store.causes() == database.causes() and [cause.findings for cause in store.causes()] == [2]
    told = store.triage_findings(["cause-1"], Triage(state=State.RESOLVED), who="ada", at="1970-01-01T00:00:00+00:00")
    assert told == database.findings(cause="cause-1")[::-1] and [one.state for one in told] == [State.RESOLVED] * 2
    assert {one.remarks[-1].who for one in told} == {"ada"} and told[0].remarks[-1].at > "2026"  # the server dates it
    assert [one.id for one in store.split_findings(["f3"])] == ["f3"] and len(store.causes()) == 2
    assert [one.cause for one in store.join_findings(["f1", other.id])] == ["cause-1"] and len(store.causes()) == 1

    store.mute(Mute(what="bench*", who="ada"))
    store.set_threshold(Threshold(case="*", smallest=0.05))
    assert (store.mutes(), store.thresholds()) == (database.mutes(), database.thresholds())
    assert [len(store.mutes()), store.unmute("bench*"), store.unmute("bench*")] == [1, True, False]
    assert [len(store.thresholds()), store.drop_threshold("*"), store.drop_threshold("*")] == [1, True, False]


def test_files_of_a_result_arrive_byte_for_byte(store: RemoteStore, running: Any, tmp_path: Path) -> None:
    import hashlib

    import httpx2

    content = bytes(range(256)) * 5000
    (tmp_path / "a b.bin").write_bytes(content)
    named = Artifact(
        name="deep/a b.bin",
        kind="file",
        path=str(tmp_path / "a b.bin"),
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    run = made.run_of(9, 1.0)
    store.begin(run)
    store.add(run.id, replace(run.results[0], id="r9-0", artifacts=(named,)))
    got = httpx2.get(f"{running.address}api/v1/results/r9-0/artifacts/deep/a b.bin", trust_env=False)
    assert got.content == content


def test_what_a_run_does_now_is_told(store: RemoteStore, database: SqlStore) -> None:
    run = made.run_of(10, 1.0)
    store.begin(run)
    word = Progress(run=run.id, started_at=run.started_at, planned=4, done=1, phase="warming", params={"a": "1"})
    store.tell_progress(word)
    assert [replace(each, spoke_at=0) for each in database.progress() if each.run == run.id] == [word]
    store.tell_progress(replace(word, phase="ended"))
    assert [each for each in database.progress() if each.run == run.id] == []


def test_the_command_line_takes_a_server_as_its_store(
    running: Any, inside: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    at = ("--store", running.address)
    asked = ("run", "bench.py::fast", "--rounds", "1", "--duration", "0.02", "--warmup", "0", *at)
    (tmp_path / "bench.py").write_text("from pathlib import Path\n\n\ndef fast():\n    Path('ok').stat()\n")
    assert inside(*asked, "--tag", "over-http").returncode == 1  # there is no such file
    (tmp_path / "ok").touch()
    resumed = inside(*asked, "--resume", "over-http")
    assert resumed.returncode == 0, resumed.stderr
    shown = inside("show", "over-http", "--json", *at)
    run = schema.loads(shown.stdout, Run)
    assert [result.status for result in run.results] == [Status.OK] and run.tags == ("over-http",)
    for verb in (["list"], ["history", "bench.py::fast"], ["findings"], ["compare", "last", "last"]):
        told = inside(*verb, *at)
        assert told.returncode == 0, told.stderr
    assert Spool(running.address).is_empty and not caplog.messages


def test_tokens_decide(serve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(tmp_path, require_token=True) as running:
        database = SqlStore(running.settings.store_url)
        tokens = {scope: database.token_add(scope, scope) for scope in ("read", "write")}
        with pytest.raises(StoreError, match="asks for a token") as caught:
            RemoteStore(running.address)
        assert "BENCHWRIGHT_TOKEN" in caught.value.remedy
        monkeypatch.setenv("BENCHWRIGHT_TOKEN", "bw_wrong")
        with pytest.raises(StoreError, match="not known here") as caught:
            RemoteStore(running.address)
        assert "bw_wrong" not in str(caught.value)
        monkeypatch.setenv("BENCHWRIGHT_TOKEN", tokens["read"])
        store = RemoteStore(running.address)
        assert store.case_names() == []
        with pytest.raises(StoreError, match="may only read"):
            store.begin(made.run_of(0, 1.0))
        store.close()
        store = RemoteStore(running.address.replace("//", f"//{tokens['write']}@"))
        assert store.add_run(made.run_of(0, 1.0))
        database.token_drop("write")  # while it is being used: what is measured waits for another token
        store.begin(made.run_of(1, 1.0))
        assert len(Spool(running.address)) == 1
        store.close()
        database.close()


def _run(i: int) -> Run:
    """A run whose first result has raw samples."""
    run: Run = made.run_of(i, 0.01)
    raw = Samples(copy=0, calls=3, loops=1, elapsed=60, columns={"latency": array("q", [10, 20, 30])})
    first: Result = replace(run.results[0], samples=(raw,), revision=run.revision)
    return replace(run, results=(first, replace(run.results[1], revision=run.revision)))
