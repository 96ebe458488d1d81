"""Which script a request to the scripted server gets, what is kept of it, and what paths answer by themselves."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from scripted import faults
from scripted.caller import ASK, Caller, documents_of, fetch
from scripted.client import ScriptedServer
from scripted.script import Piece, Script, decode, encode

MS = 1_000_000


@pytest.fixture
def caller(scripted_server: ScriptedServer) -> Iterator[Caller]:
    made = Caller(scripted_server)
    yield made
    made.line.close()


# ---- who gets which script ----


def test_scripts_follow_each_other_and_other_methods_are_served_as_usual(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(faults.broken(), Script(wait=1), name="mine", cycles=True)
    statuses = [fetch(stage.url, "/echo", b"x")[0].status for _ in range(3)]
    assert statuses == [500, 200, 500] and fetch(stage.url, "/health")[0].status == 200
    assert [one.method for one in stage.log()] == ["POST", "POST", "POST", "GET"]
    assert scripted_server.log("") == [] and len(scripted_server.log()) == 4


def test_a_header_carries_a_script_too(scripted_server: ScriptedServer) -> None:
    given = json.dumps({"pieces": ["häl", ["lo", 3.0]], "status": 503, "framing": "length"})
    answer, body = fetch(scripted_server.url, "/echo", b"x", **{"X-Script": given})
    assert (answer.status, body.decode()) == (503, "hällo")
    assert fetch(scripted_server.url, "/echo", b"x", **{"X-Script": '{"unknown": 1}'})[0].status == 400


def test_a_script_survives_the_way_to_the_server() -> None:
    script = Script(pieces=(Piece(b"\xff\0", 2.5, 3),), interim=(103,), headers={"A": "b"}, wait=float("inf"))
    assert decode(json.loads(json.dumps(encode(script)))) == script


def test_what_breaks_inside_is_told(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(Script(pieces=(), headers={"X": "no latin letter: Ω"}))
    with pytest.raises(ConnectionError):
        fetch(stage.url, "/echo", b"x")
    with pytest.raises(AssertionError, match="UnicodeEncodeError"):
        scripted_server.reset()


# ---- requests ----


def test_requests_are_kept_as_they_came(scripted_server: ScriptedServer, caller: Caller) -> None:
    caller.ask(scripted_server.play(Script()))
    caller.read(b"}")  # it is connected
    caller.got.clear()
    stage = scripted_server.play(Script())
    head = f"POST /@{stage.name}/echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    caller.line.sendall(head + b"3\r\nab")
    scripted_server.connections()  # it has looked at what is there
    between = time.perf_counter_ns()
    caller.line.sendall(b"c\r\n2;x=y\r\nde\r\n0\r\n\r\n" + ASK % f"/@{stage.name}".encode())  # and one right behind
    caller.read(b"}")
    first, second = stage.log()
    assert b"abcde" in caller.data and first.request == head + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    assert first.first_ns < between < first.complete_ns == second.complete_ns
    assert second.request.endswith(b"{}") and second.started_ns >= first.end_ns
    caller.line.sendall(b"HELLO\r\n\r\n")
    assert b"400 Bad Request" in caller.read_all()


def test_only_so_much_of_a_request_is_kept(scripted_server: ScriptedServer) -> None:
    _, body = fetch(scripted_server.url, "/echo", b"y" * 300_000)
    [seen] = scripted_server.log()
    assert len(body) == 300_000 and len(seen.request) == 2**16 and seen.size > 300_000


# ---- what paths answer by themselves ----


def test_the_protocols_are_served(scripted_server: ScriptedServer) -> None:
    url = scripted_server.url
    chat = {"messages": [{"role": "user", "content": "a b c"}], "max_tokens": 2}
    whole = json.loads(fetch(url, "/v1/chat/completions", chat)[1])
    assert whole["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert whole["choices"][0]["message"]["content"] == " word0 word1"
    streamed = documents_of(fetch(url, "/v1/chat/completions", {**chat, "stream": True})[1])
    assert [one["choices"][0]["delta"].get("content") for one in streamed[:-1]] == ["", " word0", " word1", None]
    text = {"prompt": "a b", "max_tokens": 1, "stream": True, "stream_options": {"include_usage": True}}
    parts = documents_of(fetch(url, "/v1/completions", text)[1])
    assert parts[0]["choices"][0]["text"] == " word0" and parts[-2]["usage"]["prompt_tokens"] == 2
    long = {"messages": [{"content": "word " * 5000}]}
    answer, body = fetch(url, "/v1/chat/completions", long)
    assert answer.status == 400 and json.loads(body)["error"]["code"] == "context_length_exceeded"
    vectors = json.loads(fetch(url, "/v1/embeddings", {"input": ["ab", "c"]})[1])
    assert vectors["data"][1]["embedding"] == [1.0, 2.0, 3.0, 4.0]
    assert json.loads(fetch(url, "/v1/models")[1])["data"][0]["id"] == "scripted"
    assert [fetch(url, path)[0].status for path in ("/nowhere", "/echo")] == [404, 405]
    assert b"vllm:generation_tokens_total" in fetch(url, "/metrics")[1]


def test_tensors_travel_as_json_and_as_bytes(scripted_server: ScriptedServer) -> None:
    url, path = scripted_server.url, "/v2/models/m/infer"
    numbers = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [[1.5, 2]]}
    texts = {"name": "s", "datatype": "BYTES", "shape": [1], "data": ["ab"]}
    plain = json.loads(fetch(url, path, {"inputs": [numbers, texts]})[1])
    assert [one["data"] for one in plain["outputs"]] == [[2.5, 3], ["ab"]]
    packed = struct.pack("<2f", 1.5, 2) + struct.pack("<I", 2) + b"ab"
    inputs = [
        {"name": "x", "datatype": "FP32", "shape": [1, 2], "parameters": {"binary_data_size": 8}},
        {"name": "s", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 6}},
    ]
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    answer, body = fetch(url, path, head + packed, **{"Inference-Header-Content-Length": str(len(head))})
    split = int(answer.headers["Inference-Header-Content-Length"])
    assert body[split:] == struct.pack("<2f", 2.5, 3) + struct.pack("<I", 2) + b"ab"
    assert [one["parameters"] for one in json.loads(body[:split])["outputs"]] == [
        inputs[0]["parameters"],
        inputs[1]["parameters"],
    ]
    assert fetch(url, path, {"inputs": [{**numbers, "shape": [3]}]})[0].status == 400
    assert json.loads(fetch(url, "/v2/models/m")[1])["inputs"][0]["name"] == "x"


def test_many_callers_are_told_apart(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(Script(pace=1))
    asked = {"messages": [], "stream": True, "max_tokens": 5}
    threads = [threading.Thread(target=fetch, args=(stage.url, "/v1/chat/completions", asked)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = stage.log()
    assert len({one.connection for one in seen}) == 12 and {one.ended for one in seen} == {"whole"}
    assert {len(one.writes) for one in seen} == {1 + 1 + 5 + 2 + 1}  # head, role, words, finish and [DONE], end
