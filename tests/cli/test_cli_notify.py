"""`benchwright notify`, as a process."""

from __future__ import annotations

import base64
import http.server
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchwright.cli import main
from benchwright.config import Notify
from benchwright.records import Better, Case, Environment, Estimate, Metric, Result, Run, Status, Target, Verdict
from benchwright.records.findings import Finding
from benchwright.server.settings import ServerSettings
from benchwright.store import Store, open_store
from benchwright.store.archive import NotifyTarget
from benchwright.store.sql import SqlStore
from page_server import serving

Benchwright = Callable[..., subprocess.CompletedProcess[str]]
VALUES = (0.010, 0.010, 0.012, 0.012)


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv("BENCHWRIGHT_WEBHOOK_SECRET", raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.bodies = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def folder(tmp_path: Path, server: Any) -> Path:
    """A folder with a configuration, and a store with a finding in it."""
    target = f"webhook+http://127.0.0.1:{server.server_port}/hook"
    (tmp_path / "benchwright.toml").write_text(f'store = "results.db"\n[notify]\ntargets = ["{target}"]\n')
    store = open_store(tmp_path / "results.db")
    for i, value in enumerate(VALUES):
        store.add_run(_run(i, value))
    _find(store)
    store.close()
    return tmp_path


def _run(i: int, value: float) -> Run:
    estimate = Estimate(point=value, low=value * 0.999, high=value * 1.001)
    result = Result(
        id=f"result-{i}",
        case=Case(name="bench.py::encode", target=Target(runtime="fake", uri="x")),
        status=Status.OK,
        round=0,
        environment=Environment(machine={"cpu": "x"}, system={"os": "x"}),
        metrics=(Metric(name="latency_p50", unit="s", better=Better.LOWER, estimate=estimate),),
        started_at=f"2026-11-1{i}T00:00:00+00:00",
        duration=1.0,
    )
    return Run(id=f"run-{i}", started_at=result.started_at, harness="1", results=(result,))


def _find(store: Store) -> None:
    (series,) = store.history("bench.py::encode", metrics=("latency_p50",))
    sides: dict[str, Any] = {
        side: Estimate(point=value, low=None, high=None) for side, value in (("before", 0.01), ("after", 0.012))
    }
    finding = Finding(
        id="finding-1", series=series.key, case=series.case, params=series.params, metric=series.metric, unit="s",
        effect=Estimate(point=1.2, low=1.19, high=1.21), method="changepoint", verdict=Verdict.WORSE, run="run-2",
        runs=("run-2",), found_at="2026-11-13T00:00:00+00:00", **sides,
    )  # fmt: skip
    store.keep_finding(finding)


def test_a_finding_is_told_once_with_its_picture(
    folder: Path,
    server: Any,
    benchwright: Benchwright,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = benchwright("notify", "finding-1", cwd=folder)
    assert told.returncode == 0 and "sent finding-1" in told.stdout, told.stderr
    (body,) = server.bodies
    assert body["findings"][0]["sketch"] == "▁▁│██"
    assert base64.b64decode(body["findings"][0]["picture"]).startswith(b"\x89PNG")
    monkeypatch.chdir(folder)
    assert main(["notify", "send", "finding-1"]) == 0 and "nothing left" in capsys.readouterr().out
    assert main(["notify", "finding", "--again", "--json"]) == 0  # the beginning of its id
    assert json.loads(capsys.readouterr().out)["data"][0]["outcome"] == "sent" and len(server.bodies) == 2


def test_what_cannot_be_told_is_exit_1_and_what_is_wrong_exit_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(["notify", "test", "webhook+http://127.0.0.1:1/5ecre7"]) == 1
    printed = capsys.readouterr()
    assert "refused" in printed.err and "5ecre7" not in printed.out + printed.err
    assert main(["notify", "test", "webhook+http://${NOT_SET}@127.0.0.1:1/"]) == 2
    assert "NOT_SET" in capsys.readouterr().err
    assert main(["notify", "no-such-finding"]) == 2
    (folder / "benchwright.toml").write_text('store = "results.db"\n')
    assert main(["notify"]) == 2 and main(["notify", "finding-1"]) == 2
    assert "there is nobody to notify" in capsys.readouterr().err


def test_targets_are_listed_without_their_secrets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = SqlStore(f"sqlite:///{folder / 'results.db'}")
    store.put_notify_target(NotifyTarget(address="${BENCHWRIGHT_NOTIFY_SLACK}", cases="other*", smallest=0.05))
    store.close()
    monkeypatch.chdir(folder)
    assert main(["notify", "list"]) == 0
    first, _, second, preview = capsys.readouterr().out.splitlines()
    assert first.startswith("webhook+http://127.0.0.1:") and first.endswith("/***  worse in *  (benchwright.toml)")
    assert second == "${BENCHWRIGHT_NOTIFY_SLACK}  worse from 5 % in other*"
    assert preview == "  This would have told you never in the last 90 days."
    assert main(["notify", "list", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert [(one["kept"], one["smallest"]) for one in data] == [(False, 0), (True, 0.05)]


def test_targets_kept_at_a_server_are_seen_and_told_from_elsewhere(
    folder: Path, server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{folder / 'results.db'}"
    kept = f"webhook+http://127.0.0.1:{server.server_port}/kept"
    store = SqlStore(url)
    store.put_notify_target(NotifyTarget(address=kept, cases="other*"))
    reader, admin = (store.token_add(scope, scope) for scope in ("read", "admin"))
    store.close()
    of_file = Notify(targets=("github://owner/name",))
    settings = ServerSettings(store_url=url, artifacts=folder / "files", require_token=True, notify=of_file)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "benchwright.toml").write_text("")
    monkeypatch.chdir(elsewhere)
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    running = serving(settings)
    address = next(running)
    try:
        monkeypatch.setenv("BENCHWRIGHT_TOKEN", admin)
        assert main(["notify", "list", "--store", address]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "github://owner/name  worse in *  (the server's benchwright.toml)"
        assert lines[2].endswith("/***  worse in other*") and "told you never" in lines[3]
        assert main(["notify", "list", "--store", address, "--json"]) == 0
        data = json.loads(capsys.readouterr().out)["data"]
        assert [(one["kept"], one["server"]) for one in data] == [(False, True), (True, True)]
        assert main(["notify", "finding-1", "--store", address, "--json"]) == 1  # GitHub's token is not set
        outcomes = {one["target"][:6]: one["outcome"] for one in json.loads(capsys.readouterr().out)["data"]}
        assert outcomes == {"github": "failed", "webhoo": "sent"}
        assert len(server.bodies) == 1 and "finding-1" in json.dumps(server.bodies[0])
        (elsewhere / "benchwright.toml").write_text(f'[notify]\ntargets = ["{kept}"]\n')
        main(["notify", "finding-1", "--again", "--store", address])
        assert len(server.bodies) == 2  # the server told it, and the file here names the same place
        (elsewhere / "benchwright.toml").write_text("")
        capsys.readouterr()
        assert main(["notify", "nobody", "--store", address]) == 2
        monkeypatch.setenv("BENCHWRIGHT_TOKEN", reader)
        assert main(["notify", "list", "--store", address]) == 0
        assert "the server does not show whom it tells" in capsys.readouterr().err
        assert main(["notify", "finding-1", "--again", "--store", address]) == 2 and len(server.bodies) == 2
        assert "admin" in capsys.readouterr().err
    finally:
        assert list(running) == []
