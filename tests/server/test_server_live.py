"""Live: what runs do, told by real processes through a file and over HTTP, seen by whoever listens."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as runs
from benchwright.errors import StoreError
from benchwright.pages.live import LiveView
from benchwright.server.app import create_app
from benchwright.server.process import listen, server_for
from benchwright.server.routes import live as route
from benchwright.server.routes.live import Broadcast
from benchwright.server.settings import ServerSettings
from benchwright.store.archive import Progress
from benchwright.store.live import STALE_AFTER
from benchwright.store.sql import SqlStore

WORD = Progress(run="r", started_at="2026-11-16T10:00:00+00:00", planned=4, done=1, case="f", phase="measuring")


# ---- one look ----


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as opened:
        yield opened


def test_a_look_shows_who_spoke_lately(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    looking = LiveView(store)
    assert looking.look().runs == []
    store.tell_progress(WORD)
    (seen,) = looking.look().runs
    assert (seen.run, seen.done, seen.planned, seen.phase) == ("r", 1, 4, "measuring")
    assert seen.started_at == 1794823200000 and abs(seen.spoke_at - time.time() * 1000) < 60_000
    assert seen.results == []  # the run itself is not there yet
    later = time.time_ns() + round((STALE_AFTER + 60) * 1e9)
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert looking.look().runs == []  # it was killed


def test_a_look_shows_results_as_they_come(store: SqlStore) -> None:
    run = replace(runs.run_of(0, 0.1), id="r")
    first, *rest = run.results
    looking = LiveView(store)
    before = looking.look().newest
    store.begin(replace(run, results=()))
    store.add("r", first)
    store.tell_progress(WORD)
    look = looking.look()
    assert [line.results for line in look.runs[0].results] == [[first.id]]
    assert look.newest > before
    for result in rest:
        store.add("r", result)
    store.tell_progress(replace(WORD, done=1 + len(rest)))
    looking._read["r"]._due = 0.0  # as if time had passed
    lines = looking.look().runs[0].results
    assert sorted(name for line in lines for name in line.results) == sorted(result.id for result in run.results)


# ---- one poller for all ----


def test_listeners_hear_what_changes_through_one_poller_and_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "PERIOD", 0.001)
    monkeypatch.setattr(route, "HEARTBEAT", 0.05)
    told: Iterator[Any] = iter([b"1", b"1", StoreError("away for a moment"), b"2"])
    looks = []

    def look() -> bytes:
        looks.append(threading.get_ident())
        said = next(told, b"2")
        if isinstance(said, StoreError):
            raise said
        return bytes(said)

    async def listen_twice() -> list[list[bytes]]:
        stopping = asyncio.Event()
        broadcast = Broadcast(look, stopping)
        both = await asyncio.gather(*(_heard(broadcast.events(), [_event(b"2"), ALIVE]) for _ in range(2)))
        while broadcast._looking is not None:
            await asyncio.sleep(0.001)
        count = len(looks)
        await asyncio.sleep(0.02)
        assert len(looks) == count  # nobody listens, nobody looks
        last = asyncio.create_task(_heard(broadcast.events(), [b"never"]))
        while len(looks) < count + 2:
            await asyncio.sleep(0.001)
        stopping.set()
        return [*both, await asyncio.wait_for(last, 10)]

    first, second, last = asyncio.run(asyncio.wait_for(listen_twice(), 30))
    for heard in (first, second):  # on a busy machine a sign of life may come in between, and a word be overtaken
        assert [one for one in heard if one != ALIVE] in (
            [HEAD, _event(b"1"), _event(b"2")],
            [HEAD, _event(b"2")],
        )
    assert [one for one in last if one != ALIVE] == [HEAD, _event(b"2")]


HEAD, ALIVE = b"retry: 2000\n\n", b": alive\n\n"


async def _heard(events: AsyncIterator[bytes], until: Sequence[bytes]) -> list[bytes]:
    """What is told until these were, in this order."""
    found: list[bytes] = []
    missing = [*until]
    async with aclosing(events) as opened:  # type: ignore[type-var]
        async for event in opened:
            found.append(event)
            if event == missing[0]:
                missing.pop(0)
            if not missing:
                break
    return found


def _event(data: bytes) -> bytes:
    return b"event: live\ndata: " + data + b"\n\n"


def test_programs_may_look_once_and_need_a_token_where_one_is_needed(server: Any, guarded: Any) -> None:
    server.store.tell_progress(WORD)
    answer = server.get("live")
    assert [one["run"] for one in answer.json()["runs"]] == ["r"]
    assert guarded.get("live", headers={"Accept": "text/event-stream"}).status_code == 401


def test_listeners_leave_connections_to_others(serving: Any, tmp_path: Path) -> None:
    with serving(tmp_path, limits={"listeners": 0}) as server:
        told = server.get("live", headers={"Accept": "text/event-stream"})
        assert told.status_code == 503 and told.headers["retry-after"]
        assert server.get("live").status_code == 200


# ---- from end to end ----


def test_runs_of_a_file_and_over_http_are_seen_from_their_beginning_to_their_end(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text("import time\ndef f():\n    time.sleep(0.02)\n", encoding="utf-8")
    file = tmp_path / "results.db"
    with _serving(file) as port, _stream(port) as events:
        assert next(events)["runs"] == []
        started = [_run(tmp_path, str(file)), _run(tmp_path, f"http://127.0.0.1:{port}/")]
        seen: dict[str, list[dict[str, Any]]] = {}
        for event in events:
            for one in event["runs"]:
                seen.setdefault(one["run"], []).append(one)
            if len(seen) == len(started) and not event["runs"]:
                break
        for process in started:
            output, _ = process.communicate(timeout=60)
            assert process.returncode == 0, output
        with closing(SqlStore(f"sqlite:///{file}")) as store:
            assert {summary.id: summary.results for summary in store.runs()} == dict.fromkeys(seen, 2)
    for words in seen.values():
        assert all(word["planned"] == 2 and word["case"] == "bench.py::f" for word in words)
        assert [word["done"] for word in words] == sorted(word["done"] for word in words)
        assert any(line["case"] == "bench.py::f" for line in words[-1]["results"])  # as they came


def _run(folder: Path, store: str) -> subprocess.Popen[str]:
    command = ["run", "bench.py::f", "--rounds", "2", "--duration", "0.6s", "--store", store]
    return subprocess.Popen(
        [sys.executable, "-m", "benchwright", *command],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@contextmanager
def _serving(file: Path) -> Iterator[int]:
    """A real server in a thread; ends with a stream open."""
    app = create_app(ServerSettings(store_url=str(file), artifacts=file.parent / "artifacts"))
    opened = listen("127.0.0.1", 0)
    server = server_for(app)
    thread = threading.Thread(target=lambda: server.run(sockets=[opened]))
    thread.start()
    try:
        yield opened.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        opened.close()
        assert not thread.is_alive()


@contextmanager
def _stream(port: int) -> Iterator[Iterator[dict[str, Any]]]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/api/v1/live", headers={"Accept": "text/event-stream"})
        response = connection.getresponse()
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = iter(response.readline, b"")
        yield (json.loads(line[6:]) for line in lines if line.startswith(b"data: "))
