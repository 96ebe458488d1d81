"""The files that hold an ONNX model's weights are those that the model names, below its own folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto, helper

from benchwright.execution.outposts import bundles
from benchwright.records import Case, Target
from benchwright.targets.signatures import onnx as signature
from benchwright.worker.channel import PROTOCOL, Job


def tensor(name: str, location: str) -> TensorProto:
    made = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        made.external_data.add(key=key, value=value)
    return made


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Weights of the graph, of a branch, of a constant and of a function, each in a file of another name."""
    folder = tmp_path / "model"
    (folder / "deep").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(bytes(16))
    for name in ("a.bin", "deep/b.bin", "c.bin", "d.bin", "unrelated.bin"):
        (folder / name).write_bytes(bytes(16))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    branch = helper.make_graph(
        [helper.make_node("Identity", ["b"], ["y"])], "branch", [], [y], [tensor("b", "deep/b.bin")]
    )
    constant = helper.make_node("Constant", [], ["c"], value=tensor("c", "c.bin"))
    choose = helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)
    weights = [
        tensor("a", "a.bin"),
        tensor("out", "../secret"),
        tensor("gone", "gone.bin"),
        tensor("root", "/etc/passwd"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.BOOL, [1])
    graph = helper.make_graph([constant, choose], "graph", [x], [y], weights)
    inner = helper.make_node("Constant", [], ["d"], value=tensor("d", "d.bin"))
    function = helper.make_function("own", "F", [], ["d"], [inner], [helper.make_opsetid("", 17)])
    path = folder / "model.onnx"
    path.write_bytes(helper.make_model(graph, functions=[function]).SerializeToString())
    return path


def test_every_place_that_holds_weights_is_looked_at(model: Path) -> None:
    found = [path.relative_to(model.parent).as_posix() for path in signature.external_files(model)]
    assert sorted(found) == ["a.bin", "c.bin", "d.bin", "deep/b.bin"]


def test_they_go_along_to_another_machine(model: Path, tmp_path: Path) -> None:
    case = Case(name="case", target=Target(runtime="onnxruntime", uri=str(model)))
    sent = bundles.bundle_for(Job(protocol=PROTOCOL, case=case), tmp_path).paths
    assert {path.name for path in sent} == {"model.onnx", "a.bin", "b.bin", "c.bin", "d.bin"}


@pytest.mark.parametrize("body", [b"", b"\xff" * 100, b"\x3a\xff\xff\xff\xff\x0f", bytes(50)])
def test_what_is_no_model_names_no_files(body: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(body)
    assert signature.external_files(tmp_path / "model.onnx") == []


def test_graphs_without_end_are_not_followed(tmp_path: Path) -> None:
    graph = field(5, tensor("w", "w.bin").SerializeToString())
    for _ in range(60):  # a node, its attribute, the graph in that; protobuf's own library does not go so deep
        graph = field(1, field(5, field(6, graph)))
    (tmp_path / "w.bin").write_bytes(bytes(16))
    path = tmp_path / "model.onnx"
    path.write_bytes(field(7, graph))
    assert signature.external_files(path) == []


def field(number: int, body: bytes) -> bytes:
    length, size = len(body), b""
    while length > 0x7F:
        size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + body
