"""The Open Inference Protocol over HTTP: what is sent, what answers mean, what a hostile server can do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright.errors import LoadError, MeasureError, RequestError
from benchwright.records import Expected, Inputs, Load, Mode
from benchwright.worker.endpoints.dialect import RawAnswer
from benchwright.worker.endpoints.kserve.descriptions import read_description
from benchwright.worker.endpoints.kserve.http import HttpTensors, split_json
from benchwright.worker.endpoints.kserve.places import find_place, read_address
from benchwright.worker.endpoints.traffic import Outcome
from benchwright.worker.runtimes.kserve import Kserve
from endpoint_runs import make_case, run_endpoint
from scripted import faults
from scripted.client import ScriptedServer
from scripted.script import Piece, Script
from scripted.seen import Exchange
from served.servers import KserveServer

MODEL = "/v2/models/m"
TOLD = {
    "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
    "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}],
}


def _sent(request: bytes) -> tuple[str, dict[str, Any], bytes]:
    """The head of a request, its JSON, and what follows."""
    head, _, body = request.partition(b"\r\n\r\n")
    told, end = split_json(body)
    return head.decode(), told, body[end:]


def _last(server: ScriptedServer) -> Exchange:
    """The last request that was posted: others ask for the server's own figures."""
    return [one for one in server.log("") if one.method == "POST"][-1]


def test_inputs_are_drawn_for_what_the_server_tells(scripted_server: ScriptedServer) -> None:
    case = make_case("kserve", f"{scripted_server.url}{MODEL}", inputs=Inputs(batch_size=2, count=3), tensors="json")
    run = run_endpoint(case)
    assert run.details["inputs"] == {"x": "float32[2x4]", "n": "int64[2x2]", "s": "str[2]"}
    assert run.details["outputs"] == {"x": "float32[?x4]", "n": "int64[?x2]", "s": "str[?]"}
    assert (run.details["tensors"], run.details["server"]) == ("json", "scripted 1.0")
    assert run.loaded.items_per_call == 2 and run.errors == {} and run.warnings == []
    asked = [_sent(one.request) for one in scripted_server.log("") if one.method == "POST"]
    distinct = [json.dumps(told, sort_keys=True) for _, told, _ in asked]
    assert len(set(distinct)) == 3 and distinct[-1] == distinct[-4]  # three go round
    assert all(head.startswith(f"POST {MODEL}/infer ") and not tail for head, _, tail in asked)
    shapes = {one["name"]: (one["shape"], len(one["data"])) for one in asked[0][1]["inputs"]}
    assert shapes == {"x": ([2, 4], 8), "n": ([2, 2], 4), "s": ([2], 2)}


def test_tensors_travel_as_bytes_where_the_server_says_so(scripted_server: ScriptedServer) -> None:
    run = run_endpoint(make_case("kserve", f"{scripted_server.url}{MODEL}/versions/3/infer"))
    assert run.details["tensors"] == "binary" and run.errors == {}
    last = _last(scripted_server)
    head, told, tail = _sent(last.request)
    assert last.path == f"{MODEL}/versions/3/infer"
    sizes = [one["parameters"]["binary_data_size"] for one in told["inputs"]]
    assert sizes[:2] == [16, 16] and len(tail) == sum(sizes) and told["parameters"] == {"binary_data_output": True}
    assert f"Inference-Header-Content-Length: {len(json.dumps(told))}" in head and "octet-stream" in head


def test_flags_of_inputs_mean_what_they_mean_for_a_file(scripted_server: ScriptedServer, tmp_path: Path) -> None:
    uri = f"{scripted_server.url}{MODEL}"
    run_endpoint(make_case("kserve", uri, inputs=Inputs(values={"x": (2.0,)}), tensors="json"))
    given = {one["name"]: one["data"] for one in _sent(_last(scripted_server).request)[1]["inputs"]}
    assert given["x"] == [2.0] * 4
    texts = np.array(["a", "b", "c", "µ"])
    np.savez(tmp_path / "data.npz", x=np.eye(4, dtype=np.float32), n=np.ones((4, 2), np.int64), s=texts)
    run = run_endpoint(make_case("kserve", uri, inputs=Inputs(source=str(tmp_path / "data.npz")), tensors="json"))
    assert run.details["distinct_inputs"] == 4 and run.errors == {}
    given = {one["name"]: one["data"] for one in _sent(_last(scripted_server).request)[1]["inputs"]}
    assert given == {"x": [0, 0, 0, 1], "n": [1, 1], "s": ["µ"]}


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        (Inputs(shapes={"y": (1, 4)}), "no input 'y'"),
        (Inputs(shapes={"x": (1, 5)}), r"the shape asked for is \[1, 5\]"),
        (Inputs(dtypes={"x": "int64"}), "takes float32"),
        (Inputs(feed_back={"x": ""}), "state"),
        (Inputs(batch_size=2**27), "texts, more than"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(scripted_server: ScriptedServer, inputs: Inputs, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        run_endpoint(make_case("kserve", f"{scripted_server.url}{MODEL}", inputs=inputs))


def _describing(told: Any, **others: Any) -> Script:
    data = told if isinstance(told, bytes) else json.dumps(told).encode()
    return Script(pieces=(Piece(data),), framing="length", **others)


def test_a_model_that_does_not_tell_its_inputs_takes_those_of_the_flags(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(_describing({"name": "m"}), faults.broken(), methods=("GET",))
    asked = Inputs(shapes={"x": (1, 4)}, dtypes={"x": "int32"})
    run = run_endpoint(make_case("kserve", f"{stage.url}{MODEL}", inputs=asked))
    assert run.details["inputs"] == {"x": "int32[1x4]"}
    assert run.details["tensors"] == "json"  # a server that says nothing of itself
    stage = scripted_server.play(_describing({"name": "m"}), methods=("GET",))
    with pytest.raises(RequestError, match="does not tell what inputs"):
        run_endpoint(make_case("kserve", f"{stage.url}{MODEL}"))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (faults.refusal(404, "no such model"), "does not describe the model m: HTTP 404: no such model"),
        (_describing(b"<html>"), "not JSON"),
        (_describing(b"[" * 100_000), "nested too deep"),
        (_describing([1]), "no JSON object"),
        (_describing({"inputs": [{"name": "x", "datatype": "FP8", "shape": [1]}]}), "takes FP8"),
        (_describing({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2**39, 2]}]}), "leading dimension"),
        (_describing({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2**39]}]}), "elements"),
        (faults.silence(), "timeout|no whole answer"),
        (faults.nothing(), "ended before the answer did"),
        (faults.huge(65 * 2**20), "more than 64 MiB"),
    ],
)
def test_a_description_that_is_none_ends_before_anything_is_measured(
    scripted_server: ScriptedServer, script: Script, why: str
) -> None:
    stage = scripted_server.play(script, methods=("GET",))
    with pytest.raises(MeasureError, match=why):
        run_endpoint(make_case("kserve", f"{stage.url}{MODEL}", request_timeout="2s"))


def test_no_server_is_told_as_such() -> None:
    from scripted.client import closed_port

    with closed_port() as port, pytest.raises(LoadError, match="no connection"):
        run_endpoint(make_case("kserve", f"http://127.0.0.1:{port}{MODEL}"))


# ---- answers ----


def _read(body: bytes, told: Any = TOLD, status: int = 200, **options: Any) -> tuple[Outcome, str]:
    dialect = HttpTensors(find_place(f"http://h{MODEL}"), form="json", **options)
    dialect.model = read_description(told)
    read = dialect.read(RawAnswer(status=status, end=1, pieces=[(1, body)]))
    assert len(read.reason) <= 300
    return read.outcome, read.reason


def _answer(**tensor: Any) -> bytes:
    return json.dumps(
        {"outputs": [{"name": "y", "datatype": "FP32", "shape": [1, 2], "data": [1, 2], **tensor}]}
    ).encode()


BINARY = {"parameters": {"binary_data_size": 8}, "data": None}


@pytest.mark.parametrize(
    "body",
    [_answer(), _answer(data=[[1.5, 2]]), _answer(**BINARY) + b"12345678", b" " + _answer(**BINARY) + b" 12345678"],
)
def test_sound_answers(body: bytes) -> None:
    assert _read(body) == (Outcome.OK, "")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 200_000, "nested too deep"),
        (b'"' + b"x" * 200_000, "not JSON"),
        (b"[]", "no outputs"),
        (b'{"outputs": []}', "no outputs"),
        (b'{"outputs": {}}', "no outputs"),
        (b'{"outputs": [1]}', "an output has no"),
        (_answer(name="z"), "no output 'y', only z"),
        (_answer(shape=[1, 3]), r"holds 2 elements, not those of \[1, 3\]"),
        (_answer(shape=[2, 2], data=[1] * 4) + b"x", "0 bytes of tensors are said, 1 came"),
        (_answer(shape=[1, 2, 1]), r"FP32\[1x2x1\], not FP32\[\?x2\]"),
        (_answer(datatype="INT64"), r"INT64\[1x2\], not FP32"),
        (_answer(data="12"), "no list"),
        (_answer(data=["a", "b"]), "str in place of FP32"),
        (_answer(shape=[-1, 2]), "whole numbers"),
        (_answer(shape=[2**39] * 40, data=[]), "elements"),
        (_answer(**BINARY) + b"1234567", "8 bytes of tensors are said, 7 came"),
        (_answer(parameters={"binary_data_size": 7}) + b"1234567", "no whole number of FP32"),
        (_answer(parameters={"binary_data_size": -1}), "not a whole number"),
        (_answer(parameters={"binary_data_size": 10**30}), "bytes of tensors are said"),
    ],
)
def test_answers_that_are_not_sound(body: bytes, why: str) -> None:
    outcome, reason = _read(body)
    assert outcome is Outcome.MALFORMED

    assert re.search(why, reason), reason


def test_an_error_inside_200_is_one() -> None:
    assert _read(b'{"error": "the model crashed"}') == (Outcome.STREAM_ERROR, "the model crashed")


def test_shapes_are_not_checked_where_that_is_asked_for() -> None:
    assert _read(_answer(shape=[2], data=[1, 2]), check_shapes=False) == (Outcome.OK, "")
    assert _read(_answer(shape=[3]), check_shapes=False)[0] is Outcome.MALFORMED


def test_the_end_of_json_is_found_however_long_it_is() -> None:
    for size in (10, 2**16 - 40, 2**16 - 12, 2**16, 2**17):
        document = {"µ": "x" * size}
        text = json.dumps(document, ensure_ascii=False).encode()
        assert split_json(text + b"\x00{\xff") == (document, len(text))


def test_failures_while_measuring_are_counted_by_kind(scripted_server: ScriptedServer) -> None:
    short = _describing({"outputs": []})
    scripts = (Script(), Script(), Script(), faults.broken(), faults.too_many(), short, faults.nothing(), Script())
    stage = scripted_server.play(*scripts)
    run = run_endpoint(make_case("kserve", f"{stage.url}{MODEL}", load=Load(samples=7, warmup=0.0)))
    failed = {kind: count for kind, count in run.errors.items() if kind != "cut"}
    assert failed == {"status": 1, "throttled": 1, "malformed": 1}
    assert "requests-failed" in run.warnings and "requests-repeated" not in run.warnings


# ---- loads ----


def test_an_open_loop_works_as_with_any_server(scripted_server: ScriptedServer) -> None:
    load = Load(mode=Mode.OPEN, rate=200.0, samples=20, warmup=0.0)
    run = run_endpoint(make_case("kserve", f"{scripted_server.url}{MODEL}", load=load))
    assert run.samples.calls == 20 and run.errors == {}


# ---- options and addresses ----


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("http://h:8080/v2/models/M", "/v2/models/M/infer"),
        ("http://h/v2/models/M/", "/v2/models/M/infer"),
        ("http://h/v2/models/M/infer", "/v2/models/M/infer"),
        ("https://h/gate/v2/models/M/versions/2", "/gate/v2/models/M/versions/2/infer"),
        ("http://h/v2/models/M/infer?zone=a", "/v2/models/M/infer?zone=a"),
    ],
)
def test_addresses_of_models(given: str, path: str) -> None:
    assert read_address(given).path == path


@pytest.mark.parametrize(
    ("uri", "options", "why"),
    [
        ("http://h/v1/models/M:predict", {}, "not the address of a model"),
        ("ftp://h/v2/models/M", {}, "not an address"),
        ("http://h/v2/models/M", {"tensors": "base64"}, "unknown value"),
        ("http://h/v2/models/M", {"tensor": "json"}, "no option 'tensor'"),
        ("http://h/v2/models/M", {"check_shapes": "perhaps"}, "neither true nor false"),
        ("grpc://h:1", {}, "does not name a model"),
        ("grpc://h:1/a/b/c", {}, "does not name a model"),
        ("grpc://h:1/M", {"tensors": "json"}, "gRPC has no JSON"),
        ("grpcs://h:1/M", {"insecure": True}, "--insecure cannot be had"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(uri: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(RequestError, match=why):
        Kserve.check(make_case("kserve", uri, **options).target)


# ---- answers against what is expected, and a real server ----


def _expect(folder: Path, **arrays: Any) -> Expected:
    np.savez(folder / "outputs.npz", **arrays)
    return Expected(outputs={name: f"{folder / 'outputs.npz'}::{name}" for name in arrays})


def test_mlserver_is_measured_and_its_answers_are_compared(kserve_server: KserveServer, tmp_path: Path) -> None:
    uri = f"{kserve_server.url}/v2/models/{kserve_server.model}"
    expected = _expect(tmp_path, x=np.full((1, 4), 3.0, np.float32), n=np.full((1, 2), 3))
    case = make_case("kserve", uri, inputs=Inputs(values={"x": (2.0,), "n": (2.0,)}))
    run = run_endpoint(case, expected=expected)
    assert run.errors == {} and run.warnings == [] and run.report.failure is None
    assert run.details["server"].startswith("mlserver ") and run.details["tensors"] == "json"
    assert set(run.details["answers"]) == {"x", "n"}
    wrong = _expect(tmp_path, x=np.full((1, 4), 4.0, np.float32), n=np.full((1, 2), 3))
    assert "objective-missed" in run_endpoint(case, expected=wrong).warnings
