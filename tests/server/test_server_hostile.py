"""Input that means harm is refused, or kept as the plain data that it is."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

import series_of_runs as runs
from benchwright import schema
from benchwright.records import Run, Samples

JSON = {"Content-Type": "application/json"}
SCRIPT = "<script>alert(1)</script>\u2028\"'`${7*7}"


@pytest.fixture(scope="module")
def small(serving: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server with little patience: bounds that a test reaches without megabytes."""
    bounds = {"small": 1000, "document": 20_000, "run": 20_000, "stream": 50_000, "samples": 1 << 20, "ratio": 20}
    with serving(tmp_path_factory.mktemp("small"), limits={**bounds, "patience": 0.05}) as made:
        yield made


def test_a_script_in_a_name_comes_back_as_text_in_json_and_nothing_else(server: Any) -> None:
    run: Run = runs.run_of(1, 0.5)
    case = replace(run.results[0].case, name=SCRIPT, params={SCRIPT: SCRIPT})
    run = replace(run, tags=(SCRIPT,), results=(replace(run.results[0], case=case),))
    assert server.post("runs", content=schema.dumps(run), headers=JSON).status_code == 200
    for path in (f"runs/{run.id}/document", "store/case_names"):
        told = server.post(path, content="{}") if path.startswith("store") else server.get(path)
        assert told.headers["content-type"] == "application/json"
        assert told.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in told.headers["content-security-policy"]
        assert SCRIPT in json.dumps(told.json(), ensure_ascii=False).replace('\\"', '"')


@pytest.mark.parametrize(
    "name", ["..", "%2e%2e", "a%00b", "x" * 300, "a%0Ab", "%ED%A0%80", "..%2f..%2fetc", "a%5c..%5cb", "%F0%9F%92%A9%00"]
)
def test_ids_that_play_tricks_with_paths_name_nothing(server: Any, name: str) -> None:
    run = replace(runs.run_of(2, 0.5), id="..", results=())
    for told in (
        server.put(f"runs/{name}", content=schema.dumps(run)),
        server.get(f"runs/{name}/document"),
        server.get(f"results/{name}/samples"),
        server.get(f"results/{name}/artifacts/{name}"),
    ):
        assert 400 <= told.status_code < 500 and set(told.json()) == {"error", "remedy"}


@pytest.mark.parametrize("bad", ["..", "", "a/b", "a\x00b", "x" * 201, "a\nb", "\ud800"])
def test_ids_within_documents_are_checked_too(server: Any, bad: str) -> None:
    run: Run = runs.run_of(3, 0.5)
    inner = replace(run, results=(replace(run.results[0], id=bad),))
    for document in (replace(run, id=bad), inner):
        told = server.post("runs", content=schema.dumps(document), headers=JSON)
        assert told.status_code == 400 and "cannot be an id" in told.json()["error"]
    assert run.id not in {*server.store.run_ids()}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"[" * 100_000, "deep"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "deep"),
        (b'{"format": 1, "kind": "run", "data": {"id": 1, "started_at": "", "harness": ""}}', "run.id"),
        (b'{"format": 1, "kind": "run", "data": {"idd": "a"}}', "unknown key 'idd'"),
        (b'{"format": 99, "kind": "run", "data": {}}', "format 99"),
        (b'{"format": 1, "kind": "case", "data": {}}', "not a 'run'"),
        (b'{"format": ' + b"9" * 5000 + b"}", "64 bits"),
        (b'{"format": 1e999}', "finite"),
        (b'{"format": NaN}', "finite"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"", "not JSON"),
        (b"null", "not a Benchwright document"),
    ],
)
def test_a_body_that_cannot_be_read_is_an_error_that_names_the_place(server: Any, body: bytes, place: str) -> None:
    for told in (server.put("runs/a", content=body), server.post("runs", content=body, headers=JSON)):
        assert told.status_code == 400 and place in told.json()["error"]


def test_numbers_and_names_that_no_database_holds_are_refused(server: Any) -> None:
    run: Run = runs.run_of(4, 0.5)
    first = run.results[0]
    for result in (
        replace(first, round=2**63),
        replace(first, case=replace(first.case, name="n" * 501)),
        replace(first, started_at="yesterday"),
    ):
        told = server.post("runs", content=schema.dumps(replace(run, results=(result,))), headers=JSON)
        assert told.status_code == 400, told.json()
    assert run.id not in {*server.store.run_ids()}


def test_what_is_too_large_is_refused_and_nothing_is_kept(small: Any) -> None:
    run: Run = runs.run_of(5, 0.5)
    large = replace(run, results=(), reason="r" * 30_000)
    for told in (
        small.put(f"runs/{run.id}", content=schema.dumps(large)),
        small.put(f"runs/{run.id}", content=iter([schema.dumps(large).encode()])),  # no Content-Length tells it
        small.post("runs", content=schema.dumps(large), headers=JSON),
        small.post("runs", content=schema.dumps(large)),
        small.post("runs", content=iter([b"\n" * 60_000])),
        small.patch("findings/x", content=b" " * 2000),
        small.post("store/mutes", content=b" " * 2000),  # a question is short
    ):
        assert told.status_code == 413 and "larger than" in told.json()["error"]
    assert [*small.store.run_ids()] == []


def test_a_bomb_does_not_go_off(small: Any, server: Any) -> None:
    packed = gzip.compress(b" " * 100_000)
    gzipped = {**JSON, "Content-Encoding": "gzip"}
    assert small.put("runs/a", content=packed, headers=gzipped).status_code == 413
    assert server.put("runs/a", content=gzip.compress(b" " * 10_000_000), headers=gzipped).status_code == 413
    for damaged in (b"not gzip", packed[:-9], packed + b"more"):
        assert server.patch("findings/x", content=damaged[:500], headers=gzipped).status_code == 400
    assert server.put("runs/a", content=b"", headers={"Content-Encoding": "br"}).status_code == 415
    document = json.loads(schema.dumps(runs.run_of(6, 0.5)))
    bomb = base64.b64encode(zlib.compress(bytes(4 << 20))).decode()
    document["data"]["results"][0]["samples"] = [
        {"copy": 0, "calls": 1, "loops": 1, "elapsed": 1, "columns": {"latency": bomb}}
    ]
    told = small.post("runs", content=json.dumps(document), headers=JSON)
    assert told.status_code == 413 and "samples" in told.json()["error"]


@pytest.mark.parametrize("length", ["-1", "1e3", "٣", "9" * 30, "abc"])
def test_a_length_that_is_no_length_is_refused(server: Any, length: str) -> None:
    told = server.put("runs/a", content=iter([b"{}"]), headers={"Content-Length": length.encode()})
    assert told.status_code == 400


def test_a_refused_body_is_not_sent_back_at_length(server: Any) -> None:
    told = server.post("store/history", content=json.dumps({"x" * 100_000: 1, SCRIPT: 2}))
    assert told.status_code == 400 and len(told.content) < 3000


def test_nothing_of_the_insides_is_told(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.store, "case_names", lambda: 1 / 0)
    from starlette.testclient import TestClient

    asking = TestClient(server.made, base_url="http://127.0.0.1", raise_server_exceptions=False)
    told = asking.post("/api/v1/store/case_names", content="{}")
    assert told.status_code == 500 and "Zero" not in told.text and set(told.json()) == {"error", "remedy"}
    assert told.headers["content-security-policy"]


def test_where_the_store_lies_is_not_told(
    server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = runs.run_of(7, 0.5)
    assert server.put(f"runs/{run.id}", content=schema.dumps(replace(run, results=()))).status_code == 201
    other = replace(run, results=(), reason="another")
    for told in (
        server.put(f"runs/{run.id}", content=schema.dumps(other)),
        server.post("runs", content=schema.dumps(other)),
        server.put(f"runs/none/results/{run.results[0].id}", content=schema.dumps(run.results[0])),
    ):
        assert told.status_code in (404, 409) and "results.db" not in told.text
    monkeypatch.setattr(server.store, "_place", "postgresql://db.internal/bench")
    monkeypatch.setattr(server.store, "_file", None)
    monkeypatch.setattr(server.store._engine, "connect", _fails)
    told = server.get("runs")
    assert told.status_code == 503 and "internal" not in told.text and told.json()["remedy"]
    assert "db.internal/bench" in capsys.readouterr().err


def _fails() -> None:
    raise OperationalError("SELECT 1", {}, Exception("db.internal does not answer"))


def test_files_stay_where_they_belong(server: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for path in ("/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", f"/{secret}", "/app.js/../secret", "/index.html"):
        assert server.get(f"http://127.0.0.1:8765{path}").status_code == 404


@pytest.mark.parametrize("digits", ["9" * 20, "9" * 18, "9" * 180, "٣"])
def test_a_run_too_far_back_is_not_found_however_far(server: Any, digits: str) -> None:
    if not [*server.store.run_ids()]:
        server.store.add_run(runs.run_of(71, 0.5))
    for path in ("runs/last~{}", "runs/last~{}/document"):
        told = server.get(path.format(digits))
        assert told.status_code == 404 and told.json()["error"]


def test_arguments_that_do_not_fit_are_refused_in_plain_words(server: Any) -> None:
    said = {
        "series?limit=x": "limit: must be a whole number, not 'x'",
        "series?limit=0": "limit: must be at least 1, not '0'",
        "runs?limit=-1": "limit: must be at least 1, not '-1'",
        "audit?limit=1e99": "limit: must be a whole number, not '1e99'",
        "compare": "is missing",
    }
    for path, sentence in said.items():
        told = server.get(path)
        assert told.status_code == 422 and sentence in told.json()["error"], told.json()


def test_a_full_disk_is_told_as_such(private_mounts: tuple[str, ...], tmp_path: Path) -> None:
    run: Run = runs.run_of(72, 0.5)
    columns = {"latency": array("q", [hash(str(i)) for i in range(100_000)])}  # nothing that could be packed
    samples = (Samples(copy=0, calls=100_000, loops=1, elapsed=1000, columns=columns),)
    (tmp_path / "run.json").write_text(schema.dumps(replace(run, results=(replace(run.results[0], samples=samples),))))
    script = f"""
import sys
sys.path[:0] = {[path for path in sys.path if path]!r}
from pathlib import Path
from starlette.testclient import TestClient
from benchwright.server.app import create_app
from benchwright.server.settings import ServerSettings
place = Path({str(tmp_path / "small")!r})
app = create_app(ServerSettings(store_url=str(place / "results.db"), artifacts=place / "artifacts"))
with TestClient(app, base_url="http://127.0.0.1/api/v1/") as client:
    body = Path({str(tmp_path / "run.json")!r}).read_bytes()
    told = client.post("runs", content=body, headers={{"Content-Type": "application/json"}})
    print(told.status_code, told.json()["error"], client.get("runs").status_code)
"""
    (tmp_path / "asks.py").write_text(script)
    (tmp_path / "small").mkdir()
    mounted = f"mount -t tmpfs -o size=600k tmpfs '{tmp_path}/small' && '{sys.executable}' '{tmp_path}/asks.py'"
    done = subprocess.run([*private_mounts, "sh", "-c", mounted], capture_output=True, text=True, timeout=100)
    assert done.stdout == "507 the server's disk is full; what it had before is safe 200\n", done.stderr
    assert str(tmp_path) not in done.stdout
