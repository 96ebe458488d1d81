"""LiteRT on a model that the test builds itself: one fully connected layer with a dynamic batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Inputs, Load
from benchwright.worker.runtimes.inputs.feeds import TensorSignature, random_array
from benchwright.worker.runtimes.litert import LiteRt

MakeCase = Callable[..., Case]
WEIGHTS = np.arange(12, dtype=np.float32).reshape(3, 4) / 10


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x[batch, 4] -> y[batch, 3] = x W^T."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    def tensor(name: str, shape: list[int], signature: list[int], buffer: int) -> Any:
        made = schema.TensorT()
        made.name, made.shape, made.shapeSignature, made.buffer = name, shape, signature, buffer
        made.type = schema.TensorType.FLOAT32
        return made

    content = schema.BufferT()
    content.data = np.frombuffer(WEIGHTS.tobytes(), dtype=np.uint8)
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.FULLY_CONNECTED
    code.version = 1
    operator = schema.OperatorT()
    operator.inputs, operator.outputs = [0, 1, -1], [2]
    operator.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
    operator.builtinOptions = schema.FullyConnectedOptionsT()
    graph = schema.SubGraphT()
    graph.tensors = [
        tensor("serving_default_x:0", [1, 4], [-1, 4], 0),
        tensor("weights", [3, 4], [3, 4], 1),
        tensor("StatefulPartitionedCall:0", [1, 3], [-1, 3], 0),
    ]
    graph.inputs, graph.outputs, graph.operators = [0], [2], [operator]
    model = schema.ModelT()
    model.version, model.operatorCodes, model.subgraphs = 3, [code], [graph]
    model.buffers = [schema.BufferT(), content]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    path = tmp_path_factory.mktemp("litert") / "dense.tflite"
    path.write_bytes(bytes(builder.Output()))
    return path


def _expected(batch_size: int, index: int = 0) -> np.ndarray:
    given = random_array(TensorSignature(name="x", shape=(batch_size, 4), dtype="float32"), 0, index)
    return np.asarray(given @ WEIGHTS.T)


def _outputs(loaded: Any, index: int = 0) -> np.ndarray:
    """What lies in the output tensor after a call; the interpreter is the bound method's own object."""
    loaded.call(*loaded.arguments[index])
    interpreter = getattr(loaded.call, "__self__", None) or loaded.call.__closure__[0].cell_contents
    return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


@pytest.mark.parametrize("batch_size", [1, 8])
def test_the_answer_is_the_one_computed_by_hand(dense: Path, make_case: MakeCase, batch_size: int) -> None:
    loaded = LiteRt().load(make_case("litert", dense, inputs=Inputs(batch_size=batch_size)))
    assert len(loaded.arguments) == 1
    assert np.allclose(_outputs(loaded), _expected(batch_size), rtol=1e-5)
    assert loaded.items_per_call == batch_size
    assert loaded.details["inputs"] == {"x": f"float32[{batch_size}x4]"}
    assert loaded.versions["ai-edge-litert"]


def test_several_inputs_are_gone_through(dense: Path, make_case: MakeCase) -> None:
    loaded = LiteRt().load(make_case("litert", dense, inputs=Inputs(count=3)))
    for index in (0, 1, 2, 0):
        assert np.allclose(_outputs(loaded, index), _expected(1, index), rtol=1e-5)


def test_each_thread_has_an_interpreter_of_its_own(dense: Path, make_case: MakeCase) -> None:
    loaded = LiteRt().load(make_case("litert", dense, load=Load(workers=2), inputs=Inputs(count=2)))
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(500):
                loaded.call(*loaded.arguments[0])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_options_reach_the_interpreter(dense: Path, make_case: MakeCase) -> None:
    loaded = LiteRt().load(make_case("litert", dense, options={"num_threads": 2, "xnnpack": False}))
    assert (loaded.details["num_threads"], loaded.details["xnnpack"]) == (2, False)
    assert np.allclose(_outputs(loaded), _expected(1), rtol=1e-5)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"options": {"numthreads": 1}}, LoadError, "no option 'numthreads'"),
        ({"device": "cuda"}, DeviceError, "no device 'cuda'"),
        ({"precision": "fp16"}, LoadError, "own precision"),
        ({"options": {"delegate": "/nowhere/lib.so"}}, DeviceError, "/nowhere/lib.so"),
    ],
)
def test_what_cannot_be_done_is_refused(
    dense: Path, make_case: MakeCase, changed: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        LiteRt().load(make_case("litert", dense, **changed))


def test_a_damaged_file_is_named(tmp_path: Path, make_case: MakeCase) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"not a model")
    with pytest.raises(LoadError, match=r"bad\.tflite"):
        LiteRt().load(make_case("litert", tmp_path / "bad.tflite"))
