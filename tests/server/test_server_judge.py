"""A server judges what arrives, in a process of its own that may be killed at any time."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.config import Notify
from benchwright.records import Run
from benchwright.server import judge
from benchwright.server.judge import Judge, JudgeJob
from benchwright.server.settings import ServerSettings
from benchwright.store.archive import NotifyTarget
from benchwright.store.sql import SqlStore
from benchwright.system.process import descendants
from http_peer import Peer, serving_peer
from page_server import serving

Call = Callable[..., "subprocess.CompletedProcess[str]"]
pytestmark = pytest.mark.timeout(300)
HISTORY = made.levels((0.010, 45), (0.0114, 15))  # 14 % slower, fifteen runs ago
QUIET = 0.2  # seconds
PATIENCE = 200.0  # seconds; processes that judge start slowly on a machine that is busy


def _wait_for(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


def _get(address: str, path: str) -> bytes:
    with urllib.request.urlopen(f"{address}{path}", timeout=30) as answer:
        return bytes(answer.read())


def _overview(address: str) -> Any:
    return json.loads(_get(address, "api/v1/overview"))


def _judges() -> list[int]:
    """The processes below this one that judge, without those that keep them."""
    found = []
    for pid in descendants(os.getpid()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"server.judge" in command and not descendants(pid):
            found.append(pid)
    return found


@contextmanager
def _server(folder: Path, **settings: Any) -> Iterator[str]:
    url = f"sqlite:///{folder / 'results.db'}"
    yield from serving(
        ServerSettings(store_url=url, artifacts=folder / "artifacts", judges=True, quiet=QUIET, **settings)
    )


def _recent(runs: list[Run]) -> list[Run]:
    """The runs, as if one had been made each hour until now."""
    return [_begun(run, timedelta(hours=len(runs) - i)) for i, run in enumerate(runs)]


def _begun(run: Run, ago: timedelta) -> Run:
    at = (datetime.now(UTC) - ago).isoformat(timespec="seconds")
    return replace(run, started_at=at, results=tuple(replace(result, started_at=at) for result in run.results))


@pytest.mark.soak
def test_an_imported_regression_is_on_the_overview_although_nobody_named_its_run(tmp_path: Path, inside: Call) -> None:
    lines = "".join(f"{schema.dumps(made.run_of(i, value))}\n" for i, value in enumerate(HISTORY))
    (tmp_path / "history.jsonl").write_text(lines)
    with _server(tmp_path) as address:
        empty = _overview(address)
        assert (empty["worse"], empty["judging"]["until"], empty["judging"]["waiting"]) == ([], "", 0)
        assert _judges() == []  # nothing waits, so nothing runs
        assert inside("import", "history.jsonl", "--store", str(tmp_path / "results.db")).returncode == 0
        (finding,) = _wait_for(lambda: _overview(address)["worse"], "the finding")
        assert (finding["case"], finding["metric"]) == ("bench.py::encode", "latency_p50")
        assert finding["effect"]["point"] == pytest.approx(1.14, abs=0.01)
        judging = _wait_for(lambda: (j := _overview(address)["judging"])["waiting"] == 0 and j, "everything is judged")
        assert (judging["until"], judging["failing"], judging["troubles"]) == ("run-0059", "", 0)
        assert json.loads(_get(address, "api/v1/judging")) == judging
        asked = inside("findings", "judge", "--all", "--store", address)
        assert asked.returncode == 2 and "by itself: until run run-0059, 0 results wait" in asked.stderr
        metrics = _get(address, "metrics").decode()
        assert "benchwright_unjudged_results 0.0\n" in metrics and "benchwright_judged_results_total 120.0\n" in metrics
    assert _judges() == []  # it ends with its server


def test_uploads_over_http_are_judged_and_each_finding_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.chdir(tmp_path)
    runs = _recent([made.run_of(i, value) for i, value in enumerate(HISTORY)])
    with Peer() as peer, serving_peer(peer):
        notify = Notify(targets=(f"webhook+http://{peer.host}/hook",))
        with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
            store.put_notify_target(NotifyTarget(address=f"webhook+http://{peer.host}/kept"))
        with _server(tmp_path, notify=notify) as address:
            body = "".join(f"{schema.dumps(run)}\n" for run in runs).encode()
            ask = urllib.request.Request(f"{address}api/v1/runs", body, {"Content-Type": "application/x-ndjson"})
            urllib.request.urlopen(ask, timeout=30).close()
            _wait_for(lambda: len(peer.posts()) == 2, "a message to each target")
        with _server(tmp_path, notify=notify) as address:  # after a restart
            _wait_for(_judges, "the process of the second server")
            last = _begun(made.run_of(60, 0.0114), timedelta())
            ask = urllib.request.Request(f"{address}api/v1/runs", schema.dumps(last).encode(), {"Content-Type": "x"})
            urllib.request.urlopen(ask, timeout=30).close()
            _wait_for(lambda: _overview(address)["judging"]["until"] == "run-0060", "the last run is judged")
        assert sorted(post.path for post in peer.posts()) == ["/hook", "/kept"]
        (told,) = json.loads(peer.posts()[0].body)["findings"]
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
        assert [finding.id for finding in store.findings()] == [told["finding"]["data"]["id"]]
        assert store.judging().judged == 122 and store.untold() == []


def test_a_process_that_is_killed_is_named_and_started_again(tmp_path: Path) -> None:
    log = io.StringIO()
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
        made.fill(store, HISTORY[:3])
        keeper = Judge(store, JudgeJob(store_url=str(tmp_path / "results.db"), quiet=0.0), period=0.1, log=log)
        keeper.start()
        try:
            (pid,) = _wait_for(_judges, "the process")
            _wait_for(lambda: store.judging().waiting == 0, "the first runs are judged")
            os.kill(pid, signal.SIGKILL)
            _wait_for(lambda: store.judging().failing, "it is named")
            assert "ended by SIGKILL" in store.judging().failing
            made.fill(store, HISTORY[3:6], start=3)
            _wait_for(lambda: store.judging().waiting == 0 and not store.judging().failing, "all is well again")
            assert store.judging().judged == 12
        finally:
            keeper.end()
    assert "ended by SIGKILL; it is started again in 1 s" in log.getvalue()
    assert _judges() == []


def test_no_password_is_in_the_arguments_or_the_environment_of_the_process(tmp_path: Path) -> None:
    secret = "sesame-" + "x" * 8
    (tmp_path / secret).mkdir()  # a password in a URL cannot be had without a database that asks for one
    url = f"sqlite:///{tmp_path / secret / 'results.db'}"
    with closing(SqlStore(url)) as store:
        made.fill(store, HISTORY[:1])
        keeper = Judge(store, JudgeJob(store_url=url, quiet=0.0), period=0.1)
        keeper.start()
        try:
            _wait_for(_judges, "the process")
            for pid in descendants(os.getpid()):
                for name in ("cmdline", "environ"):
                    assert secret.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
        finally:
            keeper.end()


@pytest.mark.soak
def test_while_another_process_judges_this_database_nothing_is_judged_twice(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'results.db'}"
    with closing(SqlStore(url)) as store:
        made.fill(store, HISTORY[:2])
        keeper = Judge(store, JudgeJob(store_url=url, quiet=0.0), period=0.1, log=io.StringIO())
        with store.hold_judging() as is_held:
            assert is_held is not None
            keeper.start()
            _wait_for(_judges, "the process")
            _wait_for(lambda: not _judges(), "it finds that it is not alone, and ends")
            assert (store.judging().waiting, store.judging().failing) == (4, "")
        try:
            _wait_for(lambda: store.judging().waiting == 0, "now it is its turn")
        finally:
            keeper.end()


def test_the_process_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
        made.fill(store, HISTORY[:1])
    command = [sys.executable, "-m", "benchwright", "serve", "--port", "0", "--store", "results.db"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        pid = _wait_for(_judges, "the process")[0]
    finally:
        server.kill()
        server.communicate()
    _wait_for(lambda: not Path(f"/proc/{pid}").exists(), "it ends as well")


@pytest.mark.soak
def test_a_server_can_leave_it(tmp_path: Path) -> None:
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
        made.fill(store, HISTORY[:1])
    command = [sys.executable, "-m", "benchwright", "serve", "--port", "0", "--store", "results.db", "--no-judge"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        time.sleep(2.0)
        assert _judges() == [] and _overview(address)["judging"]["waiting"] == 2
    finally:
        server.kill()
        server.communicate()


def test_after_it_ended_badly_several_times_it_is_told_to_be_careful(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(judge, "_CODE", "import json, sys; print(json.load(sys.stdin)['careful']); sys.exit(3)")
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
        made.fill(store, HISTORY[:1])
        log = io.StringIO()
        keeper = Judge(store, JudgeJob(store_url=str(tmp_path / "results.db")), period=0.01, log=log)
        keeper.start()
        try:
            _wait_for(lambda: log.getvalue().count("started again") >= 4, "four failures")
        finally:
            keeper.end()
        told = [line for line in log.getvalue().splitlines() if line in ("judge: False", "judge: True")]
        assert told[:4] == ["judge: False", "judge: False", "judge: True", "judge: True"]
        assert store.judging().failing == "True"


def test_a_database_that_is_away_makes_it_suspect_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "FIRST_PAUSE", 0.01)
    away = f"import json, sys; print(json.load(sys.stdin)['careful']); sys.exit({judge.NO_STORE})"
    monkeypatch.setattr(judge, "_CODE", away)
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as store:
        made.fill(store, HISTORY[:1])
        log = io.StringIO()
        keeper = Judge(store, JudgeJob(store_url=str(tmp_path / "results.db")), period=0.01, log=log)
        keeper.start()
        try:
            _wait_for(lambda: log.getvalue().count("started again") >= 4, "four failures")
        finally:
            keeper.end()
        assert "judge: True" not in log.getvalue()
