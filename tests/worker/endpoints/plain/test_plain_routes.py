"""Any route: what is sent to it, whether its answers hold what they must, and when streamed pieces came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright.errors import MeasureError, OptionError, RequestError
from benchwright.records import Inputs, Load
from benchwright.worker.endpoints.dialect import ChunkKind
from benchwright.worker.runtimes.http_post import HttpPost
from benchwright.workflows.endpoint_settings import endpoint_values
from endpoint_runs import EndpointRun, make_case, run_endpoint, write_lines
from scripted import events, faults
from scripted.client import ScriptedServer, Stage
from scripted.script import Piece, Script, pieces_of
from served.servers import LitServer

MS = 1_000_000
TYPE = "header.Content-Type"


def _bodies(server: ScriptedServer, name: str = "") -> list[bytes]:
    return [one.request.partition(b"\r\n\r\n")[2] for one in server.log(name) if one.method == "POST"]


def _sent(server: ScriptedServer, **options: Any) -> list[Any]:
    run = run_endpoint(make_case("http", f"{server.url}/echo", **options))
    assert run.errors == {}, run.reasons
    return [json.loads(body) for body in _bodies(server)]


# ---- what is sent ----


def test_without_a_template_an_empty_object_is_sent(scripted_server: ScriptedServer) -> None:
    assert all(body == {} for body in _sent(scripted_server))


def test_arrays_of_several_names_are_nested_lists_and_go_round(scripted_server: ScriptedServer) -> None:
    inputs = Inputs(shapes={"x": (1, 2, 2)}, dtypes={"x": "uint8"}, values={"n": (3.0,)}, batch_size=3, count=2)
    sent = _sent(scripted_server, inputs=inputs, body='{"x": {input:x}, "n": {input:n}}')
    assert np.array(sent[0]["x"]).shape == (3, 2, 2) and sent[0]["n"] == 3.0
    assert len({json.dumps(body) for body in sent}) == 2 and sent[-1] == sent[-3]


def test_arrays_come_from_files(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1, 2], [3, 4]], np.float32))
    sent = _sent(scripted_server, inputs=Inputs(source=str(tmp_path / "x.npy")), body='{"instances": {input}}')
    assert {json.dumps(body) for body in sent} == {'{"instances": [[1.0, 2.0]]}', '{"instances": [[3.0, 4.0]]}'}


def test_every_request_is_another_where_the_template_says_so(scripted_server: ScriptedServer) -> None:
    sent = _sent(scripted_server, body='{"id": {uuid}, "n": {index}}', load=Load(samples=6, warmup=0.0))[-6:]
    assert len({body["id"] for body in sent}) == 6 and [body["n"] for body in sent] == list(range(6))


def test_prompts_are_made_as_for_any_server(scripted_server: ScriptedServer) -> None:
    body = '{"inputs": {prompt}, "parameters": {"max_new_tokens": {output_tokens}}}'
    sent = _sent(scripted_server, body=body, input_tokens=12, output_tokens=5)[-4:]
    assert len({one["inputs"] for one in sent}) == 4
    assert all(one["parameters"] == {"max_new_tokens": 5} for one in sent)
    assert all(10 <= len(one["inputs"].split()) <= 14 for one in sent)


def test_prompts_come_from_a_file(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "prompts.txt", "one", "two", "three", "four")
    sent = _sent(scripted_server, body='{"text": "Say: {prompt}"}', data=file)
    assert [body["text"] for body in sent[-4:]] == ["Say: one", "Say: two", "Say: three", "Say: four"]


def test_rows_of_a_file_are_whole_bodies(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    rows = ['{"prompt": "kept"}', "[1]", '{"body": 3}', "4"]
    sent = _sent(scripted_server, data=write_lines(tmp_path / "bodies.jsonl", *rows))
    assert sent[-4:] == [json.loads(row) for row in rows]


def test_more_requests_than_rows_are_told(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "bodies.jsonl", '{"a": 1}', '{"a": 2}')
    run = run_endpoint(make_case("http", f"{scripted_server.url}/echo", data=file))
    assert "requests-repeated" in run.warnings


def test_a_file_is_a_template_or_is_sent_as_it_is(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"n": {index}}')
    assert _sent(scripted_server, body=f"@{tmp_path / 'body.json'}")[-1] == {"n": 3}
    (tmp_path / "image.jpg").write_bytes(b"\xff\xd8{index}\xff")
    stage = scripted_server.play()
    options: dict[str, Any] = {"body": f"@{tmp_path / 'image.jpg'}", TYPE: "image/jpeg"}
    assert run_endpoint(make_case("http", f"{stage.url}/echo", **options)).errors == {}
    assert {*_bodies(scripted_server, stage.name)} == {b"\xff\xd8{index}\xff"}
    assert b"Content-Type: image/jpeg\r\n" in stage.log()[-1].request


def test_pictures_are_sent_in_base_64(scripted_server: ScriptedServer) -> None:
    sent = _sent(scripted_server, body='{"b64": {image:4x4}}', inputs=Inputs(count=2))
    assert sent[-1]["b64"].startswith("iVBORw0KGgo") and len({body["b64"] for body in sent}) == 2


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_other_methods(scripted_server: ScriptedServer, method: str) -> None:
    stage = scripted_server.play(events_of('{"ok": 1}'), methods=(method,))
    run = run_endpoint(make_case("http", f"{stage.url}/any", method=method, answer="ok"))
    assert run.errors == {}
    last = stage.log()[-1]
    assert last.method == method and last.request.endswith(b"\r\n\r\n" if method == "GET" else b"{}")


def events_of(*pieces: str, gaps: tuple[float, ...] = (), **others: Any) -> Script:
    return Script(pieces=pieces_of([piece.encode() for piece in pieces], gaps), **others)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"body": '{"a": {x}}'}, "to fill in"),
        ({"body": "@/nowhere/body.json"}, "No such file"),
        ({"answer": "a b"}, "is not a path"),
        ({"method": "DELETE"}, "unknown value"),
        ({"method": "GET", "body": "{}"}, "a GET has no body"),
        ({"model": "m"}, "no option 'model'"),
        ({"body": "{}", "data": "x.jsonl"}, "no place for what the file holds"),
        ({"body": "{}", "input_tokens": 5}, "the body has no prompt"),
        ({"stream": "perhaps"}, "neither true nor false"),
        ({"body": '{"a": {image:0x5}}'}, "0 x 5 pixels"),
        ({"body": '{"a": {image:large}}'}, "no size of an image"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(options: dict[str, Any], why: str) -> None:
    with pytest.raises((RequestError, OptionError), match=why):
        HttpPost.check(make_case("http", "http://h/x", **options).target)


def test_an_address_of_grpc_is_not_one_of_http() -> None:
    with pytest.raises(RequestError, match="not an address"):
        HttpPost.check(make_case("http", "grpc://h:1/x").target)


def test_a_file_of_bytes_needs_a_type(tmp_path: Path) -> None:
    (tmp_path / "image.jpg").write_bytes(b"\xff\xd8")
    with pytest.raises(RequestError, match="is not text") as caught:
        HttpPost.check(make_case("http", "http://h/x", body=f"@{tmp_path / 'image.jpg'}").target)
    assert "Content-Type" in caught.value.remedy


@pytest.mark.parametrize(
    ("inputs", "body", "why"),
    [
        (Inputs(), '{"a": {input:x}}', "how large {input:x} is"),
        (Inputs(shapes={"": (1, 2)}), "{}", "no place for them"),
        (Inputs(shapes={"x": (1, 2), "y": (1,)}), '{"a": {input:x}}', "no parameter 'y'"),
    ],
)
def test_arrays_that_do_not_fit_the_body(inputs: Inputs, body: str, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        HttpPost().load(make_case("http", "http://h/x", inputs=inputs, body=body))


def test_files_of_bodies_are_kept_by_their_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.json").write_text("{}")
    _, options = endpoint_values(dimensions={}, plain={"body": "@b.json"})
    assert options["body"] == f"@{tmp_path / 'b.json'}"
    with pytest.raises(OptionError, match="there is no file"):
        endpoint_values(dimensions={}, plain={"body": "@c.json"})


# ---- answers ----


def _play(server: ScriptedServer, *scripts: Script, **options: Any) -> tuple[EndpointRun, Stage]:
    """The first script answers the warm-up and the first requests; a run of what follows."""
    stage = server.play(*scripts)
    return run_endpoint(make_case("http", f"{stage.url}/any", **options)), stage


GOOD = events_of('{"y": [1]}')


@pytest.mark.parametrize(
    ("script", "kind", "why"),
    [
        (events_of('{"y": []}'), "malformed", "the answer has no y[0]"),
        (events_of('{"y": null}'), "malformed", "no y[0]"),
        (events_of("<html>"), "malformed", "not JSON"),
        (events_of("[" * 100_000), "malformed", "nested too deep"),
        (events_of('{"error": {"message": "out of memory"}}'), "stream_error", "out of memory"),
        (faults.broken(), "status", "HTTP 500"),
        (faults.too_many(), "throttled", "retry after"),
        (faults.huge(65 * 2**20), "oversized", "more than 64 MiB"),
        (faults.nonsense(), "malformed", "not HTTP"),
    ],
)
def test_answers_without_the_answer_have_failed(
    scripted_server: ScriptedServer, script: Script, kind: str, why: str
) -> None:
    run, _ = _play(scripted_server, GOOD, GOOD, GOOD, script, GOOD, answer="y[0]", load=Load(samples=4, warmup=0.0))
    assert run.errors == {kind: 1} and why in run.reasons


def test_without_a_path_any_answer_is_one(scripted_server: ScriptedServer) -> None:
    run, _ = _play(scripted_server, events_of('{"error": "0.3 m"}'))
    assert run.errors == {} and run.samples.chunks == {}


def test_a_first_answer_that_is_wrong_ends_it(scripted_server: ScriptedServer) -> None:
    with pytest.raises(MeasureError, match=r"no scores"):
        _play(scripted_server, GOOD, answer="scores")


# ---- streams ----


def _kinds(run: EndpointRun) -> list[int]:
    chunks = run.samples.chunks
    return [kind for call, kind in zip(chunks["call"], chunks["kind"], strict=True) if call == 0]


def test_pieces_of_a_stream_have_their_instants(scripted_server: ScriptedServer) -> None:
    run, stage = _play(scripted_server, events_of("one", "two", "three", gaps=(0, 30)), stream=True)
    assert _kinds(run) == [ChunkKind.CONTENT] * 3 and run.errors == {}
    columns = run.samples.columns
    pairs = zip(columns["first_text"], columns["last_text"], strict=True)
    assert all(last > first > 0 for first, last in pairs), "each piece has an instant of its own"
    assert run.samples.chunks["size"][:3].tolist() == [3, 3, 5]
    assert len(stage.log()) >= 4


def test_events_are_told_apart_from_their_end(scripted_server: ScriptedServer) -> None:
    script = events.of_events([*(events.event({"text": word}) for word in ("a", "bc")), events.DONE])
    run, _ = _play(scripted_server, script, stream=True)
    assert _kinds(run) == [ChunkKind.CONTENT, ChunkKind.CONTENT, ChunkKind.DONE]


def test_only_events_with_the_answer_are_content(scripted_server: ScriptedServer) -> None:
    told = [{"role": "x"}, {"token": {"text": ""}}, {"token": {"text": "µ"}}, {"token": {"text": "b"}}]
    for script in (
        Script(pieces=tuple(Piece(events.event(one)) for one in told)),
        events_of(*(json.dumps(one) + "\n" for one in told)),
        events_of("\n".join(json.dumps(one) for one in told)),
    ):
        run, _ = _play(scripted_server, script, stream=True, answer="token.text")
        assert _kinds(run) == [0, 0, ChunkKind.CONTENT, ChunkKind.CONTENT]
        assert run.samples.chunks["size"][2:4].tolist() == [2, 1]


def test_a_stream_may_fail_in_its_midst(scripted_server: ScriptedServer) -> None:
    good = Script(pieces=(Piece(events.event({"t": "a"})),))
    bad = faults.error_inside(good, 1, named=True)
    empty = Script(pieces=(Piece(events.event({"u": 1})),))
    run, _ = _play(scripted_server, good, good, good, bad, empty, good, stream=True, answer="t")
    assert run.errors == {"stream_error": 1, "malformed": 1} and "brought no t" in run.reasons


# ---- a real server ----


def test_litserve_is_measured(lit_server: LitServer) -> None:
    case = make_case(
        "http",
        f"{lit_server.url}/predict",
        inputs=Inputs(shapes={"": (3,)}, batch_size=3, count=2),
        load=Load(samples=10, workers=2, warmup=0.0),
        body='{"x": {input}}',
        answer="y[2]",
    )
    run = run_endpoint(case)
    assert run.errors == {} and run.samples.calls == 10 and run.loaded.items_per_call == 3
    assert run.details["inputs"] == {"input": "float32[3]"}
