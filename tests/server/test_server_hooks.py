"""What the older systems send by themselves becomes runs, once each however often it is sent."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest

import perfzero_project
from benchwright.compat.harness import remote_reporter
from benchwright.compat.harness.documents import HarnessDocument
from benchwright.compat.harness.door import main
from benchwright.compat.harness.merge import merge_entries
from benchwright.compat.harness.remote_reporter import SendOptions, send
from benchwright.compat.perfzero import export
from benchwright.errors import UploadError
from benchwright.events import nobody
from benchwright.exchange import perfzero_hook
from benchwright.records import Status
from benchwright.server.process import listen, server_for

WHEN = 1770109200  # 2026-02-03T09:00:00Z
ROW = 'Caffe2Observer {"type":"NET","metric":"latency","unit":"us","value":"%s"}'


@pytest.fixture(scope="module")
def reached(serving: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server that asks for tokens, at a real address."""
    server = serving(tmp_path_factory.mktemp("reached"), require_token=True)
    opened = listen("127.0.0.1", 0)
    running = server_for(server.made)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        port = opened.getsockname()[1]
        token = server.token("reporter", "write")["Authorization"].removeprefix("Bearer ")
        yield SimpleNamespace(address=f"http://127.0.0.1:{port}/", store=server.store, token=token)
    finally:
        running.should_exit = True
        thread.join()


def document(*values: float, control: bool = False, **more: Any) -> HarnessDocument:
    meta: dict[str, Any] = {
        "time": WHEN + 0.75,
        "commit": "abc",
        "commit_time": WHEN,
        "command_str": "a b",
        "metric": "delay",
        "net_name": "tiny",
        "identifier": "0",
        "framework": "caffe2",
        "platform": "pixel",
        "platform_hash": "h1",
    }
    if control:
        meta |= {"control_commit": "base", "control_commit_time": WHEN - 60}
    entry = {"type": "NET", "metric": "latency", "unit": "us", "values": [*values], **more}
    other = {"NET latency": {**entry, "values": [100.0, 100.0, 100.0]}} if control else None
    return HarnessDocument(meta=meta, data=merge_entries({"NET latency": entry}, other).data)


def envelope(*documents: HarnessDocument, token: str = "") -> dict[str, str]:
    logs = [log for one in documents for log in remote_reporter.logs(one, "oss")]
    return {"access_token": token, "logs": json.dumps(logs)}


def test_the_remote_reporter_sends_to_it(reached: Any, tmp_path: Path) -> None:
    address, how = f"{reached.address}api/v1/hooks/fai-pep|oss", SendOptions(spool=tmp_path / "spool", waits=())
    for _ in range(2):  # as after an answer that was lost
        assert send(address, reached.token, [document(110.0, 90.0, 120.0, control=True)], how) == 1
    [run_id] = reached.store.run_ids()
    run = reached.store.run(run_id)
    assert run.started_at == "2026-02-03T09:00:00.000+00:00" and run.planned == 2
    treatment, control = run.results
    assert (treatment.case.name, dict(treatment.case.params)) == (
        "tiny",
        {"test": "0", "framework": "caffe2", "side": "treatment"},
    )
    latency = treatment.metric("NET latency")
    assert latency is not None and (latency.unit, latency.values) == ("s", pytest.approx((110e-6, 90e-6, 120e-6)))
    assert latency.estimate.point == pytest.approx(110e-6)
    assert treatment.revision is not None and treatment.revision.id == "abc"
    assert control.case.params["side"] == "control" and control.revision is not None and control.revision.id == "base"
    assert treatment.environment.machine == {"cpu": "pixel", "device": "h1"}
    with pytest.raises(UploadError, match="401"):
        send(address, "wrong", [document(1.0)], how)
    assert [run_id] == [*reached.store.run_ids()]


def test_the_harness_sends_to_it(reached: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bench"
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{ROW % value}'\n" for value in (18, 10, 14)))
    program.chmod(0o755)
    (tmp_path / "net.pb").write_bytes(b"net")
    files = {"predict": {"filename": "net.pb", "location": "net.pb"}}
    test = {"identifier": "t", "metric": "delay", "iter": 3, "warmup": 1, "commands": ["{program}"]}
    spec = {"model": {"name": "sent", "format": "caffe2", "files": files}, "tests": [test]}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    side = {"commit": "c0ffee", "commit_time": WHEN, "programs": {"program": {"location": str(program)}}}
    words = ["-b", "spec.json", "--framework", "caffe2", "--platform", "host", "--model_cache", "cache"]
    words += ["--info", json.dumps({"treatment": side}), "--cooldown", "0", "--remote_access_token", reached.token]
    words += ["--remote_reporter", f"{reached.address}api/v1/hooks/fai-pep|oss"]
    assert main(words, lambda: contextlib.nullcontext(nobody)) == 0
    run = reached.store.run(reached.store.find("c0ffee"))
    [result] = run.results
    latency = result.metric("NET latency")
    assert (result.case.name, result.status) == ("sent", Status.OK)
    assert reached.store.mark_judged(run.id) == 1  # it waited to be judged, as whatever arrives does
    assert latency is not None and latency.values == pytest.approx((18e-6, 10e-6, 14e-6))


def test_a_form_a_header_and_whole_numbers_are_taken(guarded: Any) -> None:
    right = guarded.token("ci", "write")
    token = right["Authorization"].removeprefix("Bearer ")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    told = guarded.post("hooks/fai-pep", content=urlencode(envelope(document(5.0), token=token)), headers=form)
    assert (told.status_code, told.json()) == (200, {"count": 1})
    # As the older harness sends it: no values, summaries as whole numbers alone.
    message = {
        "int": {"time": WHEN, "p50": 104, "num_runs": 9},
        "normal": {"type": "NET", "metric": "latency", "unit": "us"},
    }
    logs = json.dumps([{"category": "oss", "message": json.dumps(message), "line_escape": False}])
    assert guarded.post("hooks/fai-pep", json={"logs": logs}, headers=right).json() == {"count": 1}
    [result] = guarded.store.run(guarded.store.find("last")).results
    latency = result.metric("NET latency")
    assert latency is not None and latency.estimate.point == pytest.approx(104e-6)
    assert latency.estimate.low is None and latency.count == 9


def test_entries_of_one_name_are_all_kept(guarded: Any) -> None:
    sent = envelope(document(7.0), document(8.0))
    assert guarded.post("hooks/fai-pep", json=sent, headers=guarded.token("twice", "write")).json() == {"count": 2}
    kept = [guarded.store.run(run_id) for run_id in guarded.store.run_ids()]
    names = [metric.name for run in kept for metric in run.results[0].metrics if metric.values in ((7e-6,), (8e-6,))]
    assert names == ["NET latency", "NET latency_2"]


def test_what_is_refused(guarded: Any) -> None:
    reader = guarded.token("reader", "read")
    sent = envelope(document(6.0))
    before = [*guarded.store.run_ids()]
    assert guarded.post("hooks/fai-pep", json=sent).status_code == 401
    assert guarded.post("hooks/fai-pep", json={**sent, "access_token": "bw_wrong"}).status_code == 401
    assert guarded.post("hooks/fai-pep", json=sent, headers=reader).status_code == 403
    assert guarded.post("hooks/perfzero", json={}).status_code == 401
    right = guarded.token("writer", "write")
    for body, said in (
        ({"logs": "{"}, "logs: not JSON"),
        ({"logs": "[]"}, "no entries"),
        ({"logs": '[{"message": "{\\"normvector\\": {\\"values\\": [1, \\"x\\"]}}"}]'}, "'x' is not a number"),
        ({"logs": '[{"message": "{\\"int\\": {\\"p50\\": NaN}}"}]'}, "not a finite number"),
        ({"logs": '[{"message": "' + "[" * 5000 + '"}]'}, "logs[0].message"),
        ({"logs": '["' + chr(0xD800) + '"]'}, "logs[0]"),
        ([], "not a mapping"),
    ):
        told = guarded.post("hooks/fai-pep", content=json.dumps(body), headers=right)
        assert told.status_code == 400 and said in told.json()["error"], told.text
    told = guarded.post("hooks/perfzero", json={"benchmark_result": {}}, headers=right)
    assert told.status_code == 400 and "body.benchmark_result.name" in told.json()["error"]
    assert [*guarded.store.run_ids()] == before


def test_perfzero_sends_its_summaries(reached: Any, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "project").mkdir()
    (site / "tensorflow.py").write_text(perfzero_project.TENSORFLOW)
    project = perfzero_project.Project(folder=tmp_path / "project", data=tmp_path / "data", site=site)
    project.add("demo", "demo_bench.py", perfzero_project.DEMO)
    methods = "demo_bench.Demo.benchmark_ok,demo_bench.Demo.benchmark_raise"
    ended = project.run(
        f"--benchmark_methods={methods}",
        "--result_upload_methods=benchwright.exchange.perfzero_hook.perfzero",
        env={
            "BENCHWRIGHT_STORE": reached.address,
            "BENCHWRIGHT_TOKEN": reached.token,
        },
    )
    summaries = ended.summaries()
    assert len(summaries) == 2, ended.err
    kept = [reached.store.run(run_id) for run_id in reached.store.run_ids()]
    # The door itself keeps what it measured there as well, as a run of its own.
    good, bad = [run for run in kept if run.reason == "imported from perfzero"]
    assert [export.summary_of(run, run.results[0]) for run in (good, bad)] == summaries
    [result] = good.results
    accuracy = result.metric("acc")
    assert accuracy is not None and (accuracy.estimate.point, accuracy.least, accuracy.most) == (0.75, 0.5, 1.0)
    assert result.metric("reported_wall_time") is not None and result.environment.runtimes == {"tensorflow": "2.99.0"}
    assert bad.results[0].status is Status.FAILED and {m.name for m in bad.results[0].metrics} <= {"rss_peak"}


def test_a_summary_that_cannot_be_sent_says_why(reached: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def posted(address: str, token: str = "") -> None:
        monkeypatch.setenv("BENCHWRIGHT_STORE", address)
        monkeypatch.setenv("BENCHWRIGHT_TOKEN", token)
        perfzero_hook.perfzero({"execution_timestamp": WHEN, "benchmark_result": {"name": "a.b", "wall_time": 2.5}})

    before = len([*reached.store.run_ids()])
    for address, token, said in (
        (".benchwright/results.db", "", "no server is named"),
        (reached.address, "wrong", "answered 401: this token is not known here"),
        ("http://127.0.0.1:9/", "", "cannot be reached"),
    ):
        with pytest.raises(UploadError, match=said) as raised:
            posted(address, token)
        assert reached.token not in str(raised.value)
    for _ in range(2):
        posted(reached.address.replace("//", f"//{reached.token}@"))
    assert len([*reached.store.run_ids()]) == before + 1
