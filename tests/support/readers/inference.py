"""The readers of the Open Inference Protocol and of plain routes: answers, descriptions, templates, paths."""

from __future__ import annotations

import json
import random
from pathlib import Path

from benchwright.errors import LoadError
from benchwright.worker.endpoints.dialect import RawAnswer
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.kserve import messages
from benchwright.worker.endpoints.kserve.descriptions import read_description
from benchwright.worker.endpoints.kserve.dialect import TensorDialect
from benchwright.worker.endpoints.kserve.grpc import GrpcTensors
from benchwright.worker.endpoints.kserve.http import HttpTensors
from benchwright.worker.endpoints.kserve.places import find_place
from benchwright.worker.endpoints.kserve.tensors import TensorError
from benchwright.worker.endpoints.plain.answer_paths import parse_path
from benchwright.worker.endpoints.plain.bodies import Body, BodyWriter
from benchwright.worker.endpoints.plain.dialect import PlainDialect
from benchwright.worker.endpoints.plain.templates import parse_template
from benchwright.worker.endpoints.traffic import Outcome
from endpoint_runs import make_case
from inference_messages import message
from readers.kinds import BYTES, TEXT, Reader

_MODEL = {"outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}]}


def _outputs() -> list[bytes]:
    tensor = {"name": "y", "datatype": "FP32", "shape": [1, 2]}
    packed = {"outputs": [{**tensor, "parameters": {"binary_data_size": 8}}]}
    return [
        json.dumps({"model_name": "m", "outputs": [{**tensor, "data": [[0.5, 2]]}]}).encode(),
        json.dumps(packed).encode() + b"\0\0\x80?\0\0\0@",
        b'{"error": "no such model"}',
    ]


def _messages() -> list[bytes]:
    raw = message("InferResponse")(model_name="m", raw_output_contents=[b"\0\0\x80?\0\0\0@"])
    raw.outputs.add(name="y", datatype="FP32", shape=[1, 2])
    typed = message("InferResponse")(model_name="m")
    typed.outputs.add(name="y", datatype="FP32", shape=[1, 2], contents={"fp32_contents": [1, 2]})
    told = message("MetadataResponse")(name="m", versions=["1"], platform="p")
    told.inputs.add(name="x", datatype="BYTES", shape=[-1, 300])
    return [one.SerializeToString() for one in (raw, typed, told)]


def read_outputs(path: Path, draw: random.Random) -> None:
    """Reads outputs; those of an answer that is sound can be had."""
    _read_sound(HttpTensors(find_place("http://h/v2/models/m"), form="json"), path.read_bytes())


def read_messages(path: Path, draw: random.Random) -> None:
    """Reads a message as either of the two that servers send."""
    data = path.read_bytes()
    _read_sound(GrpcTensors(find_place("grpc://h:1/m")), data)
    try:
        read_description(messages.read_metadata(data))
    except TensorError as error:
        raise LoadError(str(error)) from None


def _read_sound(dialect: TensorDialect, data: bytes) -> None:
    dialect.model = read_description(_MODEL)
    answer = RawAnswer(status=200, end=1, pieces=[(1, data)])
    if dialect.read(answer).outcome is Outcome.OK:
        try:
            assert all(tensor.load().shape == tensor.shape for tensor in dialect.unpack(answer))
        except TensorError as error:
            raise LoadError(str(error)) from None


def read_description_text(path: Path, draw: random.Random) -> None:
    """Reads what a server says of a model."""
    try:
        told = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return
    read_description(told)


def read_plain_answer(path: Path, draw: random.Random) -> None:
    """Reads an answer of a plain route, whole and streamed, with and without a path."""
    data = path.read_bytes()
    cut = draw.randrange(len(data) + 1)
    answer = RawAnswer(status=200, end=3, pieces=[(1, data[:cut]), (2, data[cut:])])
    writer = BodyWriter(Body({}), make_case("http", "http://h/x"))
    for steps in ((), ("a", 0, "b")):
        for streams in (True, False):
            PlainDialect(writer, steps, streams=streams).read(answer)


def read_template(path: Path, draw: random.Random) -> None:
    """Reads a text as a template and as a path to an answer."""
    text = path.read_bytes().decode(errors="replace")
    if not text.startswith("{"):
        parse_path(text)
        return
    writer = BodyWriter(Body({"body": text}), make_case("http", "http://h/x"))
    assert json.loads(writer.write(Exchange(messages=(("user", "µ"),)))) is not None
    parse_template(text, is_json=False)


INFERENCE: dict[str, Reader] = {
    "outputs of a served model": Reader(
        file="outputs",
        bodies=_outputs,
        call=read_outputs,
        modules=("worker.endpoints.kserve.http", "worker.endpoints.kserve.tensors"),
        ways=TEXT,
    ),
    "messages of a served model": Reader(
        file="message", bodies=_messages, call=read_messages, modules=("worker.endpoints.kserve.messages",), ways=BYTES
    ),
    "description of a served model": Reader(
        file="model.json",
        bodies=lambda: [json.dumps({"name": "m", "versions": ["1"], "inputs": _MODEL["outputs"], **_MODEL}).encode()],
        call=read_description_text,
        modules=("worker.endpoints.kserve.descriptions",),
    ),
    "answer of a plain route": Reader(
        file="answer",
        bodies=lambda: [b'{"a": [{"b": "text"}]}', b'data: {"a": [{"b": "x"}]}\n\nevent: error\ndata: {}\n\n'],
        call=read_plain_answer,
        modules=("worker.endpoints.plain.dialect", "worker.endpoints.plain.bodies"),
        ways=TEXT,
    ),
    "template of a body": Reader(
        file="body",
        bodies=lambda: [b'{"a": "{{x}} {prompt}", "b": {index}, "c": [{uuid}, {image:2x2}]}', b'a[0].b["c"]'],
        call=read_template,
        modules=("worker.endpoints.plain.templates", "worker.endpoints.plain.answer_paths"),
        ways=TEXT,
    ),
}
