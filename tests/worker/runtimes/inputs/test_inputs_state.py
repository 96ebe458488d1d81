"""State that goes from an output to an input, and numbers that were given for inputs, in every runtime that can."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright import plugins
from benchwright.errors import RequestError
from benchwright.records import Case, Inputs, Load
from benchwright.worker.runtimes import Loaded

MakeCase = Callable[..., Case]
WriteModel = Callable[[str, Path], Path]
CHUNK = Inputs(shapes={"input": (1, 8)}, values={"input": (1.0,), "sr": (16000.0,)}, feed_back={"state": "stateN"})
HALVES = [0.5, 0.75, 0.875]  # each time half of the state and the input's mean, 1


def _load(case: Case) -> Loaded:
    loaded: Loaded = plugins.load("runtimes", case.target.runtime)().load(case)
    return loaded


def _calls(loaded: Loaded, count: int) -> list[Any]:
    return [loaded.call(*loaded.arguments[i % len(loaded.arguments)]) for i in range(count)]


@pytest.fixture
def streaming(write_model: WriteModel, tmp_path: Path) -> Path:
    return write_model("streaming", tmp_path / "streaming.onnx")


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("count", [1, 2])
def test_each_call_takes_the_state_that_the_last_one_gave(
    runtime: str, count: int, streaming: Path, make_case: MakeCase
) -> None:
    inputs = Inputs(**{**_fields(CHUNK), "count": count, "shapes": {"input": (1, 8), "state": (2, 1, 4)}})
    loaded = _load(make_case(runtime, streaming, inputs=inputs))
    assert [float(np.array(loaded.call(*loaded.arguments[i % count])[0]).item()) for i in range(3)] == HALVES
    assert loaded.feed is not None and not np.any(loaded.feed["state"])  # what is checked later begins anew
    assert loaded.feed["sr"] == 16000
    loaded.close()


def test_the_output_is_found_where_only_one_fits(streaming: Path, make_case: MakeCase) -> None:
    inputs = Inputs(**{**_fields(CHUNK), "feed_back": {"state": ""}})
    assert [
        float(outputs[0][0]) for outputs in _calls(_load(make_case("onnxruntime", streaming, inputs=inputs)), 3)
    ] == HALVES


@pytest.mark.parametrize(
    ("feed_back", "load", "message"),
    [
        ({"state": "output"}, Load(), r"output 'output' is float32 \[\?\] and cannot become input 'state'"),
        ({"state": "stateM"}, Load(), "no output 'stateM'\n  did you mean 'stateN'"),
        ({"stat": "stateN"}, Load(), "no input 'stat'\n  did you mean 'state'"),
        ({"input": ""}, Load(), "no output has the shape and type of input 'input'"),
        ({"state": "stateN"}, Load(workers=2), "one stream of calls, and several workers share it"),
    ],
)
def test_what_cannot_be_handed_on_is_refused(
    feed_back: dict[str, str], load: Load, message: str, streaming: Path, make_case: MakeCase
) -> None:
    inputs = Inputs(**{**_fields(CHUNK), "feed_back": feed_back, "shapes": {"input": (1, 8)}})
    with pytest.raises(RequestError, match=message):
        _load(make_case("onnxruntime", streaming, inputs=inputs, load=load))


def test_several_outputs_of_one_shape_need_a_name(write_model: WriteModel, tmp_path: Path, make_case: MakeCase) -> None:
    path = write_model("two_states", tmp_path / "m.onnx")
    with pytest.raises(RequestError, match="3 outputs have the shape and type of input 'x', float32 \\[1, 4\\]"):
        _load(make_case("onnxruntime", path, inputs=Inputs(feed_back={"x": ""})))
    inputs = Inputs(values={"x": (1.0,)}, feed_back={"h": "", "c": "2"})  # by its name, and by its place
    outputs = _calls(_load(make_case("onnxruntime", path, inputs=inputs)), 3)[-1]
    assert (outputs[1][0][0], outputs[2][0][0]) == (3, -3)


def test_state_that_grows_cannot_go_back(make_case: MakeCase, tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Concat", ["past", "past"], ["present"], axis=1)],
        "graph",
        [helper.make_tensor_value_info("past", TensorProto.FLOAT, [1, "n"])],
        [helper.make_tensor_value_info("present", TensorProto.FLOAT, [1, "m"])],
    )
    path = tmp_path / "m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path.write_bytes(model.SerializeToString())
    inputs = Inputs(shapes={"past": (1, 4)}, feed_back={"past": "present"})
    loaded = _load(make_case("onnxruntime", path, inputs=inputs))
    with pytest.raises(RequestError, match=r"is \[1, 8\] and cannot become input 'past', \[1, 4\]"):
        loaded.call(*loaded.arguments[0])


def test_litert_hands_on_state(tmp_path: Path, make_case: MakeCase) -> None:
    path = _adding(tmp_path / "m.tflite")
    inputs = Inputs(values={"x": (1.0,)}, feed_back={"state": "next"})
    loaded = _load(make_case("litert", path, inputs=inputs))
    _calls(loaded, 3)
    assert loaded.model.get_tensor(2).tolist() == [[3.0] * 4]
    assert loaded.feed is not None and loaded.feed["state"].tolist() == [[0.0] * 4]


def test_torch_hands_on_state_and_takes_plain_numbers(tmp_path: Path, make_case: MakeCase) -> None:
    import torch

    module = type("Own", (torch.jit.ScriptModule,), {})()
    module.define(
        "def forward(self, x: Tensor, sr: int, state: Tensor) -> Tuple[Tensor, Tensor]:\n"
        "    if sr != 16000:\n"
        "        raise Exception('no such rate')\n"
        "    return x, state + x\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(module, str(tmp_path / "m.jit"))
    given = Inputs(
        shapes={"x": (1, 4), "state": (1, 4)}, values={"x": (1.0,), "sr": (16000.0,)}, feed_back={"state": "1"}
    )
    loaded = _load(make_case("torch", tmp_path / "m.jit", inputs=given))
    assert _calls(loaded, 3)[-1][1].tolist() == [[3.0] * 4]
    assert loaded.details["inputs"] == {"0": "float32[1x4]", "1": "int 16000", "2": "float32[1x4]"}
    assert loaded.infer is not None and loaded.feed is not None
    assert loaded.infer(**loaded.feed)[1].tolist() == [[1.0] * 4]
    loaded.close()
    with pytest.raises(
        RequestError, match="forward takes 'sr', a plain int, and it has no value\n  give it: --value sr"
    ):
        _load(make_case("torch", tmp_path / "m.jit", inputs=Inputs(shapes={"": (1, 4)})))


# ---- numbers ----


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0.5,), "takes int64, which cannot be 0.5"),
        ((1.0, 2.0, 3.0), r"is \[1, 4\] and takes 4 numbers; 3 were given"),
        ((1e30,), "takes int64, which cannot be 1e\\+30"),
    ],
)
def test_numbers_that_an_input_cannot_hold(
    values: tuple[float, ...], message: str, write_model: WriteModel, tmp_path: Path, make_case: MakeCase
) -> None:
    path = write_model("hidden_table", tmp_path / "m.onnx")
    with pytest.raises(RequestError, match=message):
        _load(make_case("onnxruntime", path, inputs=Inputs(values={"ids": values})))


def test_one_number_for_each_element(write_model: WriteModel, tmp_path: Path, make_case: MakeCase) -> None:
    path = write_model("hidden_table", tmp_path / "m.onnx")
    loaded = _load(make_case("onnxruntime", path, inputs=Inputs(values={"ids": (-1000.0, -999, -998, -993)})))
    assert loaded.feed is not None and loaded.feed["ids"].tolist() == [[-1000, -999, -998, -993]]
    assert loaded.call(*loaded.arguments[0])[0].shape == (1, 4, 2)


def test_numbers_and_state_stand_beside_a_data_set(streaming: Path, tmp_path: Path, make_case: MakeCase) -> None:
    np.savez(tmp_path / "data.npz", input=np.ones((1, 8), np.float32))
    inputs = Inputs(
        source=str(tmp_path / "data.npz"),
        values={"sr": (16000.0,)},
        feed_back={"state": "stateN"},
        shapes={"state": (2, 1, 4)},
    )
    loaded = _load(make_case("onnxruntime", streaming, inputs=inputs))
    assert [float(outputs[0][0]) for outputs in _calls(loaded, 3)] == HALVES


def _fields(inputs: Inputs) -> dict[str, Any]:
    return {name: getattr(inputs, name) for name in ("shapes", "values", "feed_back")}


def _adding(path: Path) -> Path:
    """A TensorFlow Lite file: next = state + x."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    def tensor(name: str) -> Any:
        made = schema.TensorT()
        made.name, made.shape, made.buffer, made.type = name, [1, 4], 0, schema.TensorType.FLOAT32
        return made

    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.ADD
    code.version = 1
    operator = schema.OperatorT()
    operator.inputs, operator.outputs = [0, 1], [2]
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.AddOptions, schema.AddOptionsT()
    graph = schema.SubGraphT()
    graph.tensors = [tensor("state"), tensor("x"), tensor("next")]
    graph.inputs, graph.outputs, graph.operators = [0, 1], [2], [operator]
    model = schema.ModelT()
    model.version, model.operatorCodes, model.subgraphs, model.buffers = 3, [code], [graph], [schema.BufferT()]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path
