"""Each real server of models answers in its own way, as its protocol has it, and leaves nothing behind."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import grpc
import pytest

from scripted.caller import documents_of, fetch
from served import processes
from served.servers import PLUS, KserveServer, LitServer, LlamaServer, TransformersServer

CHAT = {"messages": [{"role": "user", "content": "What is a round?"}], "max_tokens": 4}
JSON = {"Content-Type": "application/json"}


def test_llama_streams_what_it_says_and_counts_it(llama_server: LlamaServer) -> None:
    asked = {**CHAT, "model": llama_server.model, "stream": True, "stream_options": {"include_usage": True}}
    body = _post(llama_server.url, "/v1/chat/completions", {**asked, "ignore_eos": True})
    *documents, counted, done = documents_of(body)
    assert done == "[DONE]" and counted["choices"] == [] and counted["usage"]["completion_tokens"] == 4
    assert documents[0]["choices"][0]["delta"]["role"] == "assistant"
    assert documents[-1]["choices"][0]["finish_reason"] == "length"


def test_llama_and_the_file_of_its_tokenizer_count_alike(llama_server: LlamaServer) -> None:
    text = "Größe: 7 µs — three rounds, and one more.\n"
    count = "import sys, tokenizers as t; print(t.Tokenizer.from_file(sys.argv[1]).encode(sys.argv[2]).ids)"
    command = [processes.python("servers"), "-c", count, str(llama_server.tokenizer), text]
    own = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    told = json.loads(_post(llama_server.url, "/tokenize", {"content": text}))["tokens"]
    assert own == told
    answer = json.loads(_post(llama_server.url, "/v1/completions", {"prompt": text, "max_tokens": 1}))
    assert answer["usage"]["prompt_tokens"] == len(own)


def test_llama_embeds_refuses_what_is_too_long_and_shows_its_metrics(llama_server: LlamaServer) -> None:
    vectors = json.loads(_post(llama_server.url, "/v1/embeddings", {"input": ["one", "two words"]}))
    assert [len(one["embedding"]) for one in vectors["data"]] == [128, 128]
    answer, body = fetch(llama_server.url, "/v1/completions", {"prompt": "word " * 3000}, **JSON)
    assert answer.status == 400 and json.loads(body)["error"]["type"] == "exceed_context_size_error"
    assert b"llamacpp:requests_processing" in fetch(llama_server.url, "/metrics")[1]
    slots = json.loads(fetch(llama_server.url, "/slots")[1])
    assert len(slots) == 4


def test_mlserver_adds_one_over_http(kserve_server: KserveServer) -> None:
    path = f"/v2/models/{kserve_server.model}"
    described = json.loads(fetch(kserve_server.url, path)[1])
    assert {one["name"]: (one["datatype"], one["shape"]) for one in described["inputs"]} == PLUS
    inputs = [
        {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4.5]},
        {"name": "n", "datatype": "INT64", "shape": [1, 2], "data": [1, 2**40]},
        {"name": "s", "datatype": "BYTES", "shape": [1], "data": ["größer"]},
    ]
    answer = json.loads(_post(kserve_server.url, f"{path}/infer", {"inputs": inputs}))
    assert {one["name"]: one["data"] for one in answer["outputs"]} == {
        "x": [2, 3, 4, 5.5],
        "n": [2, 2**40 + 1],
        "s": ["größer"],
    }


def test_mlserver_adds_one_over_grpc(kserve_server: KserveServer) -> None:
    numbers = _field(1, b"x") + _field(2, b"FP32") + _field(3, bytes([1, 4]))
    request = _field(1, kserve_server.model.encode()) + _field(5, numbers) + _field(7, struct.pack("<4f", 1, 2, 3, 4.5))
    with grpc.insecure_channel(kserve_server.grpc) as channel:
        call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        answer = call(request, timeout=20)
    assert struct.pack("<4f", 2, 3, 4, 5.5) in answer


def _field(number: int, data: bytes) -> bytes:
    """A field of a message that has a length, which here is always short."""
    return bytes([number << 3 | 2, len(data)]) + data


def test_litserve_answers_a_plain_post_and_a_chat_in_its_own_way(lit_server: LitServer) -> None:
    assert json.loads(_post(lit_server.url, "/predict", {"x": [1, 2.5]})) == {"y": [2, 3.5]}
    body = _post(lit_server.url, "/v1/chat/completions", {**CHAT, "model": lit_server.model, "stream": True})
    *documents, last, done = documents_of(body)
    assert done == "[DONE]" and len({one["id"] for one in documents}) == len(documents) == 4
    assert [one["choices"][0]["delta"]["role"] for one in documents] == ["assistant"] * 4  # with every chunk
    assert last["usage"]["completion_tokens"] == 0  # it does not count


@pytest.mark.soak
def test_transformers_streams_in_its_own_way(transformers_server: TransformersServer) -> None:
    asked = {**CHAT, "model": transformers_server.model, "stream": True}
    documents = documents_of(_post(transformers_server.url, "/v1/chat/completions", asked))
    assert documents[0]["choices"][0]["delta"] == {"role": "assistant"}  # no content yet
    *_, finish = documents  # and no [DONE]
    assert finish["choices"][0]["finish_reason"] and finish["usage"]["completion_tokens"] > 0


def _post(url: str, path: str, document: Any) -> bytes:
    answer, body = fetch(url, path, document, **JSON)
    assert answer.status == 200, body
    return body


# ---- starting and ending ----

PROGRAM = """
import http.server, os, sys, time
sys.path.insert(0, sys.argv[2])
from lifeline import end_with_standard_input
end_with_standard_input()
if os.fork():
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
time.sleep(3600)
"""
STARTER = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from served import processes
with processes.running(sys.argv[4:], sys.argv[2], Path(sys.argv[3])) as pid:
    print(pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def command() -> tuple[str, list[str]]:
    """An address, and a server for it that has a child."""
    [port] = processes.free_ports(1)
    return f"http://127.0.0.1:{port}/", [sys.executable, "-c", PROGRAM, str(port), str(processes.HERE)]


def test_a_server_ends_with_its_children(tmp_path: Path, command: tuple[str, list[str]]) -> None:
    with processes.running(command[1], command[0], tmp_path) as pid:
        assert len(_alive(pid)) == 2
    _await_end(pid)


def test_a_server_ends_when_its_starter_is_killed(tmp_path: Path, command: tuple[str, list[str]]) -> None:
    words = [sys.executable, "-c", STARTER, str(processes.HERE.parent), command[0], str(tmp_path), *command[1]]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout
        pid = int(starter.stdout.readline())
        assert len(_alive(pid)) == 2
        starter.send_signal(signal.SIGKILL)
    _await_end(pid)


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    broken = [sys.executable, "-c", "raise SystemExit('no model here')"]
    with (
        pytest.raises(AssertionError, match="no model here"),
        processes.running(broken, "http://127.0.0.1:9/", tmp_path),
    ):
        pass


def test_an_environment_that_is_missing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_SERVERS_PYTHON", "/nowhere/python")
    with pytest.raises(AssertionError, match=r"make \.venv-servers/\.ready"):
        processes.python("servers")


def _alive(group: int) -> list[int]:
    """Processes of the group that are no zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[2]) == group and words[0] != "Z":
            found.append(int(path.parent.name))
    return found


def _await_end(group: int) -> None:
    deadline = time.monotonic() + 20
    while _alive(group):
        assert time.monotonic() < deadline, _alive(group)
        time.sleep(0.01)
