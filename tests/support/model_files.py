"""Small models with the traits of published ones: open sizes, tables, a sample rate, state. Made with `onnx`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

_OPSET, _IR = 17, 8


def write(name: str, path: Path) -> Path:
    """Writes the model called `name` to a file."""
    path.write_bytes(MODELS[name]().SerializeToString())
    return path


def _model(nodes: list[Any], inputs: list[Any], outputs: list[Any], **weights: Any) -> Any:
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
    model.ir_version = _IR
    onnx.checker.check_model(model)
    return model


def _value(name: str, dtype: int, shape: list[Any]) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def image() -> Any:
    """A picture of any size, as detectors of text take it; its exporter wrote -1 and "?" for open sizes."""
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    model = _model(
        [node],
        [_value("x", T.FLOAT, ["n", 3, "?", "?"])],
        [_value("y", T.FLOAT, ["n", 2, "a", "b"])],
        w=np.ones((2, 3, 3, 3), np.float32),
    )
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    return model


def line() -> Any:
    """A line of text of any width: only low pictures fit, and there is a class for each letter."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Squeeze", ["c", "two"], ["s"]),
        helper.make_node("Transpose", ["s"], ["y"], perm=[0, 2, 1]),
    ]
    return _model(
        nodes,
        [_value("x", T.FLOAT, ["n", 3, "h", "w"])],
        [_value("y", T.FLOAT, ["n", "t", 1200])],
        w=np.ones((1200, 3, 48, 8), np.float32),
        two=np.array([2], np.int64),
    )


def audio() -> Any:
    """Sound of any length."""
    nodes = [helper.make_node("ReduceMean", ["audio"], ["y"], axes=[1])]
    return _model(nodes, [_value("audio", T.FLOAT, ["batch", "samples"])], [_value("y", T.FLOAT, ["batch", 1])])


def tokens() -> Any:
    """Two kinds of ids, one behind a cast, with tables of 16 and 3 rows, and the length of the sequence."""
    nodes = [
        helper.make_node("Gather", ["letters", "ids"], ["a"]),
        helper.make_node("Cast", ["kinds"], ["k"], to=T.INT64),
        helper.make_node("Gather", ["groups", "k"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Cast", ["lengths"], ["l"], to=T.FLOAT),
        helper.make_node("ReduceMax", ["l"], ["most"], keepdims=0),
        helper.make_node("Mul", ["sum", "most"], ["y"]),
    ]
    inputs = [
        _value("ids", T.INT64, ["batch", "seq"]),
        _value("kinds", T.INT32, ["batch", "seq"]),
        _value("lengths", T.INT64, ["batch"]),
    ]
    weights = {"letters": np.ones((16, 4), np.float32), "groups": np.ones((3, 4), np.float32)}
    return _model(nodes, inputs, [_value("y", T.FLOAT, ["batch", "seq", 4])], **weights)


def hidden_table() -> Any:
    """Ids whose table nobody can tell: they are moved first, so that most random ones lie outside."""
    nodes = [helper.make_node("Add", ["ids", "far"], ["i"]), helper.make_node("Gather", ["table", "i"], ["y"])]
    return _model(
        nodes,
        [_value("ids", T.INT64, ["batch", 4])],
        [_value("y", T.FLOAT, ["batch", 4, 2])],
        table=np.ones((8, 2), np.float32),
        far=np.array(1000, np.int64),
    )


def streaming() -> Any:
    """Speech in chunks: audio, state in and out, a sample rate. Twice the state is the state and the sum of the audio.

    Of another rate than 16,000 it looks into a table that has one row.
    """
    nodes = [
        helper.make_node("Equal", ["sr", "usual"], ["right"]),
        helper.make_node("Not", ["right"], ["wrong"]),
        helper.make_node("Cast", ["wrong"], ["row"], to=T.INT64),
        helper.make_node("Gather", ["one_row", "row"], ["one"]),
        helper.make_node("ReduceMean", ["input"], ["mean"], keepdims=0),
        helper.make_node("Add", ["state", "mean"], ["sum"]),
        helper.make_node("Mul", ["sum", "one"], ["kept"]),
        helper.make_node("Mul", ["kept", "half"], ["stateN"]),
        helper.make_node("ReduceMax", ["stateN"], ["output"], axes=[0, 2], keepdims=0),
    ]
    inputs = [
        _value("input", T.FLOAT, ["batch", "sequence"]),
        _value("state", T.FLOAT, [2, "batch", 4]),
        _value("sr", T.INT64, []),
    ]
    outputs = [_value("output", T.FLOAT, ["batch"]), _value("stateN", T.FLOAT, ["a", "batch", "b"])]
    return _model(
        nodes,
        inputs,
        outputs,
        usual=np.array(16000, np.int64),
        one_row=np.ones(1, np.float32),
        half=np.array(0.5, np.float32),
    )


def two_states() -> Any:
    """State in two parts of one shape, told apart by their names; all sizes are fixed."""
    nodes = [
        helper.make_node("Add", ["h", "x"], ["hn"]),
        helper.make_node("Sub", ["c", "x"], ["cn"]),
        helper.make_node("Add", ["hn", "cn"], ["y"]),
    ]
    names = ("x", "h", "c"), ("y", "hn", "cn")
    inputs, outputs = ([_value(name, T.FLOAT, [1, 4]) for name in part] for part in names)
    return _model(nodes, inputs, outputs)


MODELS: dict[str, Callable[[], Any]] = {
    function.__name__: function for function in (image, line, audio, tokens, hidden_table, streaming, two_states)
}
