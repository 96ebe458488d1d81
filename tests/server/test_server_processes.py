"""A server of several processes: what they share, who answers when one has gone, and the end of all."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

import series_of_runs as runs
from benchwright import schema
from benchwright.config import Notify, Project
from benchwright.errors import OptionError
from benchwright.records import Run
from benchwright.server import process_group
from benchwright.server.lab_desk import LabDesk
from benchwright.server.process_group import serve_with
from benchwright.server.serving_process import ServingJob
from benchwright.server.settings import RequestLimits, ServerSettings, SignInSettings
from benchwright.server.shared_state import SharedBuckets, SharedState
from benchwright.server.traffic import Buckets
from benchwright.server.traffic_files import SharedTraffic
from benchwright.store.archive import SeriesFilter
from benchwright.store.live import Progress
from benchwright.store.sql import SqlStore
from benchwright.store.sql.retention import RetentionRules
from benchwright.vcs.forges import Projects

PATIENCE = 60.0


@pytest.fixture
def shared() -> Iterator[SharedState]:
    with closing(SharedState.create()) as made:
        yield made


def test_permits_are_taken_from_one_place_by_all_processes(shared: SharedState) -> None:
    now = [100.0]
    with closing(SharedState(os.dup(shared.handle))) as other:  # as another process has it
        here, there = (SharedBuckets(one, 0, rate=2.0, burst=2, clock=lambda: now[0]) for one in (shared, other))
        alone = Buckets(rate=2.0, burst=2, clock=lambda: now[0])
        asked = [(here, "a"), (there, "a"), (here, "a"), (there, "b"), (there, "a"), (here, "b"), (here, "b")]
        told = [(one.take(key), alone.take(key)) for one, key in asked]
        now[0] += 0.75
        told += [(one.take(key), alone.take(key)) for one, key in asked]
        assert [ours for ours, _ in told] == [wanted for _, wanted in told]
        assert shared.buckets("told", rate=1.0, burst=1).take("a") == 0.0  # a table of its own


def test_the_keys_asked_longest_ago_are_forgotten(shared: SharedState) -> None:
    now = [0.0]
    buckets = SharedBuckets(shared, 0, rate=0.001, burst=1, clock=lambda: now[0])
    for number in range(20_000):
        now[0] += 1e-6
        assert buckets.take(f"key {number}") == 0.0
    assert buckets.take("key 19999") > 0.0
    lately = sum(buckets.take(f"key {number}") > 0.0 for number in range(19_000, 20_000))
    assert lately > 900


def test_counts_of_requests_are_of_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for number in (1, 2, 3):
        monkeypatch.setattr(os, "getpid", lambda number=number: number)
        made.append(SharedTraffic(tmp_path))
    for one in made:
        one.start()
        one.note("GET", "/about", 200, 0.003)
    made[0].note("PUT", "/runs", 201, 20.0)
    for one in made[:2]:
        one.end()  # as a process does that has gone; what it counted stays
    assert made[2].counts() == {("GET", "/about", 200): 3, ("PUT", "/runs", 201): 1}
    assert {route: sum(one.buckets) for route, one in made[2].times().items()} == {"/about": 3, "/runs": 1}
    assert made[2].times()["/about"].seconds == pytest.approx(0.009)
    (tmp_path / "4.json").write_text("{")
    made[2].end()
    assert made[0].counts() == made[2].counts()


def test_what_one_process_removed_no_other_remembers(tmp_path: Path, shared: SharedState) -> None:
    url = f"sqlite:///{tmp_path / 'results.db'}"
    with closing(SqlStore(url)) as one, closing(SqlStore(url)) as other:
        runs.fill(one, [0.5, 0.5, 0.6])
        for store in (one, other):
            store.share_removals(shared.counter("removals"))
        before = other.totals()["points"]
        counted = other.series(SeriesFilter())[0].count
        one.prune(RetentionRules(runs=1.0))
        assert before > 0 and counted == 6
        assert other.totals()["points"] == one.totals()["points"] < before


def test_the_bell_of_the_lab_is_heard_in_every_process(tmp_path: Path, shared: SharedState) -> None:
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
        desks = [LabDesk(store, tmp_path / "lab", bell=shared.counter("lab")) for _ in range(2)]

        async def ring() -> float:
            began = time.monotonic()
            waiting = asyncio.create_task(desks[1].wait(20.0))
            await asyncio.sleep(0)
            desks[0].ring()
            await waiting
            return time.monotonic() - began

        assert asyncio.run(ring()) < 4.0  # without a bell it is 5 s


def test_a_process_is_told_all_settings(tmp_path: Path) -> None:
    settings = ServerSettings(
        store_url="postgresql://bench@db/bench",
        artifacts=tmp_path,
        host="0.0.0.0",
        names=("bench.example",),
        limits=RequestLimits(rate=7.5),
        retention=RetentionRules(samples=86400.0),
        notify=Notify(targets=("https://hook.example/",)),
        sign_in=SignInSettings(issuer="https://a.example", client_id="b", client_secret="c", groups={"d": "admin"}),
        projects=Projects(configured=(Project(url="https://code.example/a"),), default="https://code.example/b"),
    )
    job = ServingJob(settings=settings, number=1, processes=2, traffic="/tmp/counts")
    assert ServingJob.decode(job.encode()) == job


def test_a_number_of_processes_is_refused_where_it_makes_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ServerSettings(store_url=str(tmp_path / "results.db"), artifacts=tmp_path)
    with pytest.raises(OptionError, match="--server-processes 65"):
        serve_with(settings, 65, port=0, ready=print)
    monkeypatch.setattr(process_group, "sys", SimpleNamespace(platform="win32"))
    with pytest.raises(OptionError, match="on Windows"):
        serve_with(settings, 2, port=0, ready=print)
    assert [*tmp_path.iterdir()] == []


# ---- as processes ----


class Group:
    """`benchwright serve --server-processes 2`, and what it said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._said = (folder / "said.txt").open("w+")
        command = [sys.executable, "-m", "benchwright", "serve", "--port", "0", "--store", "results.db", "--json"]
        self.process = subprocess.Popen(
            [*command, "--server-processes", "2"], cwd=folder, stdout=subprocess.PIPE, stderr=self._said, text=True
        )
        assert self.process.stdout is not None
        self.host = urlsplit(json.loads(self.process.stdout.readline())["data"]["address"]).netloc

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, timeout=PATIENCE)

    def members(self) -> list[psutil.Process]:
        found = []
        for one in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):  # it has just been killed
                if "serving_process" in str(one.cmdline()):
                    found.append(one)
        return sorted(found, key=lambda one: one.pid)

    def said(self) -> str:
        self._said.flush()
        return (self.folder / "said.txt").read_text()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self._said.close()


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    made = Group(tmp_path_factory.mktemp("group"))
    try:
        yield made
    finally:
        made.end()


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    try:
        connection.request(method, f"/api/v1/{path}", body=body)
        answer = connection.getresponse()
    except ConnectionError:  # a server closes what was idle for seconds, which a busy machine makes of an instant
        connection.close()
        connection.request(method, f"/api/v1/{path}", body=body)
        answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def _has(things: Sized, count: int) -> bool:
    return len(things) >= count


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_connections_are_spread_and_each_process_sees_what_another_kept(group: Group) -> None:
    held = [group.connect() for _ in range(8)]
    try:
        for connection in held:
            assert _ask(connection, "GET", "about")[0] == 200
        shares = [sum(one.laddr.port == int(group.host.rpartition(":")[2]) for one in member.net_connections())
                  for member in group.members()]  # fmt: skip
        assert shares == [4, 4]
        run = runs.run_of(1, 0.5)
        assert _ask(held[0], "PUT", f"runs/{run.id}", schema.dumps(replace(run, results=())).encode())[0] == 201
        for number, connection in enumerate(held[1:]):
            result = replace(run.results[0], id=f"r{number}")
            sent = _ask(connection, "PUT", f"runs/{run.id}/results/{result.id}", schema.dumps(result).encode())
            assert sent == (201, {"id": result.id, "added": True})
            again = _ask(held[number], "PUT", f"runs/{run.id}/results/{result.id}", schema.dumps(result).encode())
            assert again == (200, {"id": result.id, "added": False})
        counts = {_ask(connection, "GET", "overview")[1]["counts"]["results"] for connection in held}
        assert counts == {7}
    finally:
        for connection in held:
            connection.close()


def test_who_listens_hears_what_came_through_another_process(group: Group) -> None:
    listening, telling = group.connect(), [group.connect(), group.connect()]
    try:
        listening.request("GET", "/api/v1/live", headers={"Accept": "text/event-stream"})
        stream = listening.getresponse()
        for number, connection in enumerate(telling):
            run = Run(id=f"under-way-{number}", started_at=runs.run_of(1, 0.5).started_at, harness="1")
            progress = Progress(run=run.id, started_at=run.started_at, planned=3, done=1, phase="measuring")
            assert (
                _ask(connection, "PUT", f"runs/{run.id}/progress", json.dumps(schema.encode(progress)).encode())[0]
                < 300
            )
            line = b""
            while run.id.encode() not in line:
                line = stream.readline()
                assert line
    finally:
        for connection in (listening, *telling):
            connection.close()


def test_a_process_that_was_killed_is_started_again_and_the_others_answer_meanwhile(group: Group) -> None:
    first, second = group.members()
    first.kill()
    for _ in range(20):  # whoever comes now is handed to one that lives
        with closing(group.connect()) as connection:
            assert _ask(connection, "GET", "about")[0] == 200
    _wait_until(lambda: len(group.members()) == 2 and group.members() != [first, second])
    assert second in group.members()
    assert "was ended by SIGKILL; it is started again" in group.said()


def test_all_processes_end_with_the_server(group: Group) -> None:
    members = group.members()
    group.process.send_signal(signal.SIGTERM)
    assert group.process.wait(PATIENCE) == 0
    assert psutil.wait_procs(members, timeout=PATIENCE)[1] == []
    assert "Traceback" not in group.said()


@pytest.mark.soak
def test_all_processes_end_when_the_server_is_killed(tmp_path: Path) -> None:
    made = Group(tmp_path)
    try:
        members = made.members()
        made.process.kill()
        assert psutil.wait_procs(members, timeout=PATIENCE)[1] == []
    finally:
        made.end()


@pytest.mark.soak
def test_nothing_is_lost_or_doubled_though_processes_are_killed(tmp_path: Path) -> None:
    made, run = Group(tmp_path), runs.run_of(1, 0.5)
    bodies = {f"r{number}": schema.dumps(replace(run.results[0], id=f"r{number}")).encode() for number in range(400)}
    tries: Counter[str] = Counter()

    def send(names: Sequence[str]) -> None:
        connection = made.connect()
        for name in names:
            for _ in range(50):
                tries[name] += 1
                try:
                    status, _ = _ask(connection, "PUT", f"runs/{run.id}/results/{name}", bodies[name])
                except (OSError, http.client.HTTPException):  # it was killed: whoever sent it sends it again
                    connection.close()
                    continue
                assert status in (200, 201)
                break
        connection.close()

    try:
        with closing(made.connect()) as connection:
            _ask(connection, "PUT", f"runs/{run.id}", schema.dumps(replace(run, results=())).encode())
        senders = [threading.Thread(target=send, args=([*bodies][place::4],)) for place in range(4)]
        for sender in senders:
            sender.start()
        for _ in range(3):
            _wait_until(partial(_has, tries, min(len(tries) + 41, len(bodies))))
            made.members()[0].kill()
            _wait_until(lambda: len(made.members()) == 2)
        for sender in senders:
            sender.join(PATIENCE)
        with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
            kept = Counter(result.id for result in store.run(run.id).results)
        assert kept == Counter(dict.fromkeys(bodies, 1))
        assert max(tries.values()) > 1  # a kill met somebody
    finally:
        made.end()
