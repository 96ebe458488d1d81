"""What a run does now reaches its store: the newest word of each run, without disturbing or failing it."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from benchwright.errors import StoreError
from benchwright.events import Began, Ended, Event, Noted, Planned, Reached
from benchwright.records import Case, Environment, Result, Run, Status, Target
from benchwright.store.archive import Progress
from benchwright.store.sqlite_file import VERSION, VERSION_TABLE, SqliteProgress
from benchwright.workflows import live
from benchwright.workflows.live import LiveProgress, Publisher

CASE = Case(name="f", params={"n": 2}, target=Target(runtime="fake", uri="fake:"))


class Heard:
    """A store that can be told; `gate` holds it up."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.words: list[Progress] = []
        self.gate = threading.Event()
        self.gate.set()
        self.enough = threading.Semaphore(0)
        self.closed = False
        self._failure = failure

    def tell_progress(self, progress: Progress) -> None:
        self.enough.release()
        assert self.gate.wait(10)
        if self._failure:
            raise self._failure
        self.words.append(progress)

    def begin(self, run: Run) -> None: ...

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None: ...

    def close(self) -> None:
        self.closed = True

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self.enough.acquire(timeout=10)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PAUSE", 0.0)


def _run(name: str, planned: int = 0) -> Run:
    return Run(id=name, started_at="2026-01-01T00:00:00+00:00", harness="1", planned=planned)


def _word(run: str = "r", phase: str = "measuring", **fields: int) -> Progress:
    return Progress(**{"run": run, "started_at": "", "planned": 1, "done": 0, "phase": phase, **fields})  # type: ignore[arg-type]


def _result(status: Status = Status.OK) -> Result:
    nowhere = Environment(machine={}, system={})
    return Result(id="r-0", case=CASE, round=0, status=status, environment=nowhere, started_at="", duration=0.0)


def test_events_become_words_and_closing_the_store_is_the_last() -> None:
    heard, events = Heard(), list[Event]()
    teller = LiveProgress("postgresql://somewhere/db", events.append)
    store = teller.follow_store(lambda: heard)()
    store.begin(_run("r", planned=6))
    given: list[Event] = [
        Planned(total=4),
        Began(index=2, case=CASE, round=1, run=_run("r", planned=6), done=2),
        Reached(index=2, phase="measuring"),
        Ended(index=2, result=_result(Status.FAILED)),
    ]
    for event in given:
        teller(event)
        if not isinstance(event, Planned):
            heard.wait(1)
    store.close()
    assert events == given
    assert [(w.phase, w.done, w.failed, w.planned) for w in heard.words] == [
        ("starting", 2, 0, 6),
        ("measuring", 2, 0, 6),
        ("kept", 3, 1, 6),
        ("ended", 3, 1, 6),
    ]
    assert (heard.words[0].case, heard.words[0].params, heard.words[0].round) == ("f", {"n": "2"}, 1)
    assert heard.closed


def test_runs_that_take_turns_share_what_is_announced_and_end_one_by_one() -> None:
    first, second = Heard(), Heard()
    stores = iter((first, second))
    teller = LiveProgress("postgresql://somewhere/db")
    kept = []
    for name in ("a", "b"):
        kept.append(teller.follow_store(lambda: next(stores))())
        kept[-1].begin(_run(name))
        teller(Began(index=0, case=CASE, round=0, run=_run(name)))
    teller(Planned(total=9))
    for index, name in enumerate(("a", "b")):
        teller(Began(index=index, case=CASE, round=0, run=_run(name)))
    while 5 not in {word.planned for word in second.words}:
        second.wait(1)
    for store in reversed(kept):
        store.close()
    # Each through a store that was still open.
    assert [(w.run, w.phase) for w in (first.words[-1], second.words[-1])] == [("a", "ended"), ("b", "ended")]
    assert not any(thread.name == "benchwright-live" for thread in threading.enumerate())


def test_the_newest_word_wins_and_nobody_waits_for_it() -> None:
    heard = Heard()
    heard.gate.clear()
    voice = Publisher(heard)
    voice.publish(_word(done=0))
    heard.wait(1)  # it is being told, and stuck
    for done in range(1, 100):
        voice.publish(_word(done=done))
    heard.gate.set()
    heard.wait(1)
    voice.publish_last(_word(phase="ended"))
    assert [word.done for word in heard.words] == [0, 99, 0]


def test_silence_is_broken_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "REPEAT_AFTER", 0.01)
    heard = Heard()
    voice = Publisher(heard)
    voice.publish(_word())
    heard.wait(3)
    voice.publish_last(_word(phase="ended"))
    assert [word.phase for word in heard.words[-2:]] == ["measuring", "ended"]


def test_a_store_that_cannot_be_told_is_noted_once_and_left_alone() -> None:
    heard, events = Heard(StoreError("gone")), list[Event]()
    with LiveProgress("https://bench.example", events.append) as teller:
        teller.follow_store(lambda: heard)()
        teller(Began(index=0, case=CASE, round=0, run=_run("r")))
        heard.wait(1)
        while not teller._publisher.note:
            threading.Event().wait(0.001)
        for phase in ("warming", "measuring"):
            teller(Reached(index=0, phase=phase))
    assert [e.text for e in events if isinstance(e, Noted)] == ["the progress of this run is not shown live: gone"]
    assert heard.enough.acquire(timeout=10) and not heard.enough.acquire(blocking=False)  # the farewell alone


# ---- an SQLite file ----


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "results.db"


def _made(file: Path, version: str = VERSION) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("CREATE TABLE progress (run TEXT PRIMARY KEY, at BIGINT NOT NULL, document TEXT NOT NULL)")
    connection.execute(f"CREATE TABLE {VERSION_TABLE} (version_num TEXT)")
    connection.execute(f"INSERT INTO {VERSION_TABLE} VALUES (?)", (version,))
    return connection


def test_a_word_replaces_the_one_before_and_the_last_removes_it(file: Path) -> None:
    with closing(SqliteProgress(file)) as word:
        word.tell_progress(_word(done=1))
        assert not file.exists()
        with closing(_made(file)) as connection:
            for done in (2, 3):
                word.tell_progress(_word(done=done))
            word.tell_progress(_word("other", done=7))
            rows = dict(connection.execute("SELECT run, document FROM progress"))
            assert {run: json.loads(text)["done"] for run, text in rows.items()} == {"r": 3, "other": 7}
            word.tell_progress(_word(phase="ended"))
            assert [*connection.execute("SELECT run FROM progress")] == [("other",)]


def _of_another_version(file: Path) -> sqlite3.Connection:
    return _made(file, "0002")


def _busy(file: Path) -> sqlite3.Connection:
    connection = _made(file)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    return connection


@pytest.mark.parametrize("made", [_of_another_version, _busy])
def test_a_file_that_is_not_ready_is_told_nothing(made: Callable[[Path], sqlite3.Connection], file: Path) -> None:
    with closing(made(file)) as connection, closing(SqliteProgress(file)) as word:
        word.tell_progress(_word())
        assert not [*connection.execute("SELECT * FROM progress")]


def test_a_file_that_cannot_be_told_is_an_error(file: Path) -> None:
    with closing(_made(file)) as connection, closing(SqliteProgress(file)) as word:
        connection.execute("DROP TABLE progress")
        with pytest.raises(sqlite3.Error):
            word.tell_progress(_word())
