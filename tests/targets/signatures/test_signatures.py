"""Model files are read without the library that loads them."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.targets import signatures
from benchwright.targets.signatures import Signature, Table, TensorSignature, format_shape, guesses
from benchwright.targets.signatures.guesses import InputKind

WriteModel = Callable[[str, Path], Path]


@pytest.fixture
def read(write_model: WriteModel, tmp_path: Path) -> Callable[[str], Signature]:
    def found(name: str) -> Signature:
        signature = signatures.read(write_model(name, tmp_path / f"{name}.onnx"))
        assert signature is not None
        return signature

    return found


# ---- reading ----


def test_onnx_tells_names_types_shapes_and_tables(read: Callable[[str], Signature]) -> None:
    signature = read("tokens")
    assert signature.inputs == (
        TensorSignature(name="ids", shape=("batch", "seq"), dtype="int64"),
        TensorSignature(name="kinds", shape=("batch", "seq"), dtype="int32"),
        TensorSignature(name="lengths", shape=("batch",), dtype="int64"),
    )
    assert signature.outputs == (TensorSignature(name="y", shape=("batch", "seq", 4), dtype="float32"),)
    assert signature.tables == {"ids": Table(rows=16, operator="Gather"), "kinds": Table(rows=3, operator="Gather")}


def test_exporters_write_open_sizes_in_many_ways(read: Callable[[str], Signature]) -> None:
    (spec,) = read("image").inputs
    assert spec.shape == (None, 3, None, None) and format_shape(spec.shape) == "[?, 3, ?, ?]"
    assert read("streaming").inputs[2] == TensorSignature(name="sr", shape=(), dtype="int64")


def test_weights_that_old_models_list_as_inputs_are_none(write_model: WriteModel, tmp_path: Path) -> None:
    import onnx

    path = write_model("line", tmp_path / "line.onnx")
    model = onnx.load(str(path))
    weight = model.graph.initializer[0]
    model.graph.input.append(onnx.helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))
    onnx.save(model, str(path))
    signature = signatures.read(path)
    assert signature is not None and [spec.name for spec in signature.inputs] == ["x"]


def test_one_hot_tells_how_many_there_are(tmp_path: Path) -> None:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    constants = [numpy_helper.from_array(np.array(12, np.int64), "depth")]
    constants.append(numpy_helper.from_array(np.array([0, 1], np.float32), "values"))
    graph = helper.make_graph(
        [helper.make_node("OneHot", ["bytes", "depth", "values"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("bytes", TensorProto.INT32, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8, 12])],
        constants,
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    signature = signatures.read(path)
    assert signature is not None and signature.tables == {"bytes": Table(rows=12, operator="OneHot")}


def test_the_reader_imports_no_library(write_model: WriteModel, tmp_path: Path) -> None:
    import subprocess

    path = write_model("tokens", tmp_path / "m.onnx")
    code = (
        "import sys; from benchwright.targets import signatures; from benchwright.targets.sources import model_inputs; "
        f"assert signatures.read({str(path)!r}); "
        "print([name for name in ('numpy', 'onnx', 'onnxruntime', 'torch', 'google.protobuf') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "[]"


def test_openvino_files_tell_their_inputs(write_model: WriteModel, tmp_path: Path) -> None:
    import openvino

    model = openvino.Core().read_model(str(write_model("streaming", tmp_path / "m.onnx")))
    openvino.save_model(model, str(tmp_path / "m.xml"), compress_to_fp16=False)
    signature = signatures.read(tmp_path / "m.xml")
    assert signature is not None
    assert {spec.name: (spec.shape, spec.dtype) for spec in signature.inputs} == {
        "input": ((None, None), "float32"),
        "state": ((2, None, 4), "float32"),
        "sr": ((), "int64"),
    }
    (tmp_path / "m.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><net><layers/></net>', encoding="utf-8")
    assert signatures.read(tmp_path / "m.xml") is None


def test_torch_files_tell_theirs(tmp_path: Path) -> None:
    import torch

    class Lookup(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(16, 4)

        def forward(self, ids: Any, scale: Any) -> Any:
            return self.table(ids) * scale

    shapes = {"ids": {1: torch.export.Dim("seq", min=2, max=64)}, "scale": None}
    given = (torch.ones(1, 8, dtype=torch.int64), torch.ones(4))
    torch.export.save(torch.export.export(Lookup(), given, dynamic_shapes=shapes), str(tmp_path / "m.pt2"))
    signature = signatures.read(tmp_path / "m.pt2")
    assert signature is not None and signature.tables == {"ids": Table(rows=16, operator="Embedding")}
    ids, scale = signature.inputs
    assert (ids.name, ids.dtype, ids.shape and ids.shape[0]) == ("ids", "int64", 1)
    assert ids.shape is not None and isinstance(ids.shape[1], str)
    assert scale == TensorSignature(name="scale", shape=(4,), dtype="float32")


def test_torchscript_tells_names_and_plain_numbers(tmp_path: Path) -> None:
    import torch

    source = "def forward(self, x: Tensor, sr: int, scale: float=2.0) -> Tensor:\n    return x * scale * sr\n"
    module = type("Own", (torch.jit.ScriptModule,), {})()
    module.define(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(module, str(tmp_path / "m.jit"))
    signature = signatures.read(tmp_path / "m.jit")
    assert signature is not None
    assert signature.inputs == (
        TensorSignature(name="x", shape=None, dtype=""),
        TensorSignature(name="sr", shape=None, dtype="int"),
    )


def test_whatever_is_in_a_file_nothing_is_raised(write_model: WriteModel, tmp_path: Path) -> None:
    generator = random.Random(0)
    whole = write_model("tokens", tmp_path / "m.onnx").read_bytes()
    for ending in (".onnx", ".tflite", ".xml", ".pt2", ".pt"):
        path = tmp_path / f"broken{ending}"
        for attempt in range(60):
            content = bytearray(whole if attempt % 2 else generator.randbytes(200))
            for _ in range(8):
                content[generator.randrange(len(content))] = generator.randrange(256)
            if ending == ".tflite":
                content[4:8] = b"TFL3"
            path.write_bytes(content[: generator.randrange(1, len(content))])
            signatures.read(path)
    (tmp_path / "empty.onnx").touch()
    assert signatures.read(tmp_path / "empty.onnx") is None
    assert signatures.read(tmp_path / "absent.onnx") is None


# ---- guessing ----


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("image", {"x": (InputKind.IMAGE, (1, 3, 224, 224))}),
        ("line", {"x": (InputKind.LINE, (1, 3, 48, 320))}),
        ("audio", {"audio": (InputKind.AUDIO, (1, 16000))}),
        (
            "tokens",
            {
                "ids": (InputKind.TOKENS, (1, 128)),
                "kinds": (InputKind.TOKENS, (1, 128)),
                "lengths": (InputKind.LENGTH, (1,)),
            },
        ),
        (
            "streaming",
            {"input": (InputKind.AUDIO, (1, 512)), "state": (InputKind.STATE, (2, 1, 4)), "sr": (InputKind.RATE, ())},
        ),
    ],
)
def test_sizes_suit_what_an_input_seems_to_be(
    name: str, expected: dict[str, tuple[InputKind, tuple[int, ...]]], read: Callable[[str], Signature]
) -> None:
    found = guesses.guess(read(name))
    assert {each: (guess.kind, guess.shape) for each, guess in found.items()} == expected


def test_one_symbol_has_one_size_and_sums_add_up() -> None:
    specs = (
        TensorSignature(name="attention_mask", shape=("batch", "past + seq"), dtype="int64"),
        TensorSignature(name="input_ids", shape=("batch", "seq"), dtype="int64"),
        TensorSignature(name="past_keys", shape=("batch", 4, "past", 64), dtype="float32"),
    )
    found = guesses.guess(Signature(inputs=specs))
    assert found["past_keys"].shape == (1, 4, 16, 64)
    assert found["attention_mask"].shape == (1, found["input_ids"].shape[1] + 16)


def test_state_finds_the_output_that_gives_it_back(read: Callable[[str], Signature]) -> None:
    assert guesses.states(read("streaming")) == {"state": "stateN"}
    assert guesses.states(read("two_states")) == {"h": "hn", "c": "cn"}
    alike = tuple(TensorSignature(name=name, shape=(1, 4), dtype="float32") for name in ("x", "y"))
    assert guesses.states(Signature(inputs=alike[:1], outputs=alike[1:])) == {}  # equal shapes alone are no state
