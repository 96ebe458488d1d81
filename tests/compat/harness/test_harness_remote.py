"""The remote reporter against a server: its envelope, its patience, and what it never tells."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness import remote_reporter
from benchwright.compat.harness.documents import HarnessDocument
from benchwright.compat.harness.merge import merge_entries
from benchwright.compat.harness.remote_post import parse_endpoint
from benchwright.compat.harness.remote_reporter import WAITS, SendOptions, send
from benchwright.compat.harness.summaries import SummaryRules
from benchwright.errors import OptionError, UploadError

TOKEN = "sesame"


class Server(http.server.ThreadingHTTPServer):
    """Keeps what is posted; `script` holds statuses, counts or raw answers to give instead, one for each request."""

    posts: list[dict[str, Any]]
    script: list[Any]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posts.append({"path": self.path, "type": self.headers["Content-Type"], **body})
        step = self.server.script.pop(0) if self.server.script else len(json.loads(body["logs"]))
        if isinstance(step, int) and step >= 300:
            self.answer(b"{}", step)
        else:
            self.answer(step if isinstance(step, bytes) else json.dumps({"count": step}).encode())

    def answer(self, text: bytes, status: int = 200) -> None:
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Server(("127.0.0.1", 0), Handler) as server:
        server.posts, server.script = [], []
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/benchmark/store-result|oss"


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def how(tmp_path: Path, waited: list[float]) -> SendOptions:
    return SendOptions(spool=tmp_path / "unsent", sleep=waited.append)


def document(*values: float, identifier: str = "0", **more: Any) -> HarnessDocument:
    meta = {
        "time": 1521072000.75,
        "commit_time": 1521072000,
        "command": ["a", "b"],
        "command_str": "a b",
        "metric": "delay",
        "identifier": identifier,
    }
    entry = {"type": "NET", "metric": "latency", "unit": "us", "values": [*values], **more}
    return HarnessDocument(
        meta=meta, data=merge_entries({"NET latency": entry}, {"NET latency": {**entry, "values": [1.5]}}).data
    )


def identifiers(server: Server) -> list[str]:
    logs = [log for post in server.posts for log in json.loads(post["logs"])]
    return [json.loads(log["message"])["normal"]["identifier"] for log in logs]


def test_the_envelope(server: Server, address: str, how: SendOptions) -> None:
    assert send(address, TOKEN, [document(110.5, 100.5, regressed=1)], how) == 1
    [post] = server.posts
    assert (post["path"], post["type"]) == ("/benchmark/store-result", "application/json")
    assert post.keys() == {"path", "type", "access_token", "logs"} and post["access_token"] == TOKEN
    [log] = json.loads(post["logs"])
    message = json.loads(log.pop("message"))
    assert log == {"category": "oss", "line_escape": False}
    assert message["normal"] == {
        "command": "a b",
        "metric": "latency",
        "identifier": "0",
        "type": "NET",
        "unit": "us",
    }
    assert message["normvector"] == {"values": [110.5, 100.5], "control_values": [1.5]}
    numbers = message["int"]
    assert all(isinstance(number, int) for number in numbers.values())
    expected = {
        "time": 1521072000,
        "commit_time": 1521072000,
        "p50": 105,
        "p90": 109,
        "control_p50": 1,
        "diff_p50": 104,
    }
    assert {name: numbers[name] for name in expected} == expected
    assert (numbers["num_runs"], numbers["regressed"]) == (2, 1)
    exact = {"p50": 105.5, "p90": 109.5, "control_p50": 1.5, "diff_p50": 104.0}
    assert {name: message["float"][name] for name in exact} == exact  # with what the whole numbers leave out


def test_the_seed_sent_thousandths() -> None:
    [log] = remote_reporter.logs(document(1.2345), "oss", rules=SummaryRules.SEED)
    message = json.loads(log["message"])
    assert (message["int"]["p50"], message["float"]["p50"]) == (1234, 1.2345)


def test_a_statistic_that_has_no_value_is_left_out() -> None:
    [log] = remote_reporter.logs(document(-1.0, 1.0), "oss")
    numbers = json.loads(log["message"])["int"]
    assert "cv" not in numbers and numbers["mean"] == 0


def test_trouble_that_passes_is_waited_for(server: Server, address: str, how: SendOptions, waited: list[float]) -> None:
    server.script = [503, 500, 429]
    assert send(address, TOKEN, [document(1.0)], how) == 1
    assert waited == [2.0, 4.0, 8.0] and len(server.posts) == 4 and not how.spool.exists()


def test_each_wait_is_told(server: Server, address: str, how: SendOptions) -> None:
    said: list[str] = []
    server.script = [503, 429]
    send(address, TOKEN, [document(1.0)], replace(how, say=said.append))
    assert [text.partition(": ")[2] for text in said] == [
        "the server answered 503 Service Unavailable; again in 2 s (1 of 8)",
        "the server answered 429 Too Many Requests; again in 4 s (2 of 8)",
    ]
    assert TOKEN not in "".join(said)


def test_the_waits_double_and_have_an_end(server: Server, address: str, how: SendOptions, waited: list[float]) -> None:
    assert WAITS[:6] == (2, 4, 8, 16, 32, 64) and 300 - 64 < sum(WAITS) <= 300
    server.script = [503] * 99
    with pytest.raises(UploadError, match=r"503 Service Unavailable \(9 attempts\)"):
        send(address, TOKEN, [document(1.0), document(2.0)], how)
    assert waited == [*WAITS] and len(server.posts) == 9  # once for all: the second document is not tried
    assert len([*how.spool.iterdir()]) == 2


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (403, "403 Forbidden"),
        (307, "307 Temporary Redirect"),
        (0, "counted 0 of 1"),
        (b"<html>", "not JSON"),
        (b"[]", "counted None"),
    ],
)
def test_a_refusal_is_not_repeated_and_what_was_to_be_sent_goes_first_next_time(
    server: Server, address: str, how: SendOptions, waited: list[float], step: Any, said: str
) -> None:
    server.script = [step]
    with pytest.raises(UploadError) as caught:
        send(address, TOKEN, [document(1.0, identifier="first"), document(1.0, identifier="second")], how)
    assert said in str(caught.value) and TOKEN not in str(caught.value) and waited == []
    kept = "".join(path.read_text() for path in how.spool.iterdir())
    assert "first" in kept and "second" in kept and TOKEN not in kept
    server.posts.clear()
    other = address.replace("oss", "other")
    assert send(other, TOKEN, [document(1.0)], how) == 1  # what waits for another place waits on
    server.posts.clear()
    assert send(address, TOKEN, [document(1.0, identifier="third")], how) == 3
    assert identifiers(server) == ["first", "second", "third"] and [*how.spool.iterdir()] == []


def test_what_a_server_will_never_take_is_set_aside_and_the_rest_goes_on(
    server: Server, address: str, how: SendOptions
) -> None:
    """One bad document would otherwise stop all that come after it, for ever."""
    server.script = [503]
    with pytest.raises(UploadError):
        send(address, TOKEN, [document(1.0, identifier="old")], replace(how, waits=()))
    (how.spool / f"{parse_endpoint(address).key}-0-broken.json").write_text("[]")
    server.posts.clear()
    server.script = [413, 1, 422]  # of: old, first, second, third; the broken one is not sent
    fresh = [document(1.0, identifier=name) for name in ("first", "second", "third")]
    with pytest.raises(UploadError) as caught:
        send(address, TOKEN, fresh, how)
    assert identifiers(server) == ["old", "first", "second", "third"]
    said = str(caught.value)
    assert "broken.json cannot be read" in said and "413 " in said and "422 " in said and ".refused" in said
    aside = sorted(path.name.rpartition(".")[2] for path in how.spool.iterdir())
    assert aside == ["refused"] * 3 and TOKEN not in "".join(path.read_text() for path in how.spool.iterdir())
    server.posts.clear()
    assert send(address, TOKEN, [document(1.0, identifier="next")], how) == 1  # it is told once
    assert identifiers(server) == ["next"]


def test_entries_that_a_server_counted_are_not_sent_again(server: Server, address: str, how: SendOptions) -> None:
    entry = {"metric": "latency", "unit": "us", "values": [1.0]}
    data = merge_entries({name: {**entry, "type": name} for name in ("A", "B", "C", "D")}).data
    server.script = [1, 2]
    with pytest.raises(UploadError, match="counted 1 of 4 entries"):
        send(address, TOKEN, [HarnessDocument(meta=document().meta, data=data)], how)
    with pytest.raises(UploadError, match="counted 2 of 3 entries"):
        send(address, TOKEN, [], how)
    assert send(address, TOKEN, [], how) == 1 and [*how.spool.iterdir()] == []
    types = [[json.loads(log["message"])["normal"]["type"] for log in json.loads(p["logs"])] for p in server.posts]
    assert types == [["A", "B", "C", "D"], ["B", "C", "D"], ["D"]]


def test_nobody_answers(server: Server, address: str, how: SendOptions) -> None:
    nobody = address.replace(f":{server.server_port}", ":1")
    with pytest.raises(UploadError, match="refused"):
        send(nobody, TOKEN, [document(1.0)], replace(how, waits=()))
    assert len([*how.spool.iterdir()]) == 1


def test_an_interrupt_while_waiting_keeps_what_was_to_be_sent(server: Server, address: str, how: SendOptions) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    server.script = [503]
    with pytest.raises(KeyboardInterrupt):
        send(address, TOKEN, [document(1.0)], replace(how, sleep=interrupt))
    assert len([*how.spool.iterdir()]) == 1


def test_a_spool_that_cannot_be_written(server: Server, address: str, how: SendOptions, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    server.script = [403]
    with pytest.raises(UploadError, match="not kept either"):
        send(address, TOKEN, [document(1.0)], replace(how, spool=tmp_path / "file" / "spool"))


def test_addresses() -> None:
    assert parse_endpoint(" host.example/path | oss ").url == "https://host.example/path"
    assert parse_endpoint("http://[::1]:8000/x|oss").url == "http://[::1]:8000/x"
    assert parse_endpoint("http://localhost/x|oss").category == "oss"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("host/path", "names no place"),
        ("|oss", "names no place"),
        ("host/path|a|b", "names no place"),
        ("http://host.example/x|oss", "in the clear"),
        ("file:///etc/passwd|oss", "not an address"),
        ("https://host:nan/x|oss", "not an address"),
    ],
)
def test_wrong_addresses(address: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        send(address, TOKEN, [])
