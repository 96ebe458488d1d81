"""OpenVINO's own format: an XML file in which `Parameter` layers are the inputs and `Result` layers the outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.parsers import expat

from benchwright.targets.signatures import MalformedError, Signature, TensorSignature
from benchwright.units import whole_number

_MOST_BYTES = 64 << 20
_BODIES = ("body", "then_body", "else_body")  # the graph of a loop or a branch has inputs of its own
_DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "boolean": "bool",
    "string": "string",
    **{f"{kind}{bits}": f"{word}{bits}" for kind, word in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}


def read(path: Path) -> Signature:
    """The signature of the model in a file; its outputs have names only. The weights are in another file."""
    if path.stat().st_size > _MOST_BYTES:
        raise MalformedError("larger than a description of a model is")
    layers = _Layers()
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = _refuse
    parser.StartElementHandler, parser.EndElementHandler = layers.begin, layers.end
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise MalformedError(str(error)) from None
    return Signature(inputs=tuple(layers.inputs), outputs=tuple(layers.outputs))


def _refuse(*declaration: Any) -> None:
    raise MalformedError("a model declares no entities")


class _Layers:
    """Hears of elements as they come and keeps the layers that are inputs or outputs of the whole model."""

    def __init__(self) -> None:
        self.inputs: list[TensorSignature] = []
        self.outputs: list[TensorSignature] = []
        self._inner = 0
        self._layer: dict[str, str] = {}
        self._data: dict[str, str] = {}
        self._names = ""

    def begin(self, tag: str, told: dict[str, str]) -> None:
        if tag in _BODIES:
            self._inner += 1
        elif tag == "layer" and not self._inner:
            self._layer, self._data, self._names = told, {}, ""
        elif tag == "data" and not self._inner:
            self._data = told
        elif tag == "port" and not self._inner:
            self._names = told.get("names", self._names)

    def end(self, tag: str) -> None:
        if tag in _BODIES:
            self._inner -= 1
        elif tag == "layer" and not self._inner:
            name = self._names.partition(",")[0] or self._layer.get("name", "")
            if self._layer.get("type") == "Parameter":
                dtype = _DTYPES.get(self._data.get("element_type", ""), "")
                self.inputs.append(TensorSignature(name=name, shape=_shape(self._data.get("shape", "")), dtype=dtype))
            elif self._layer.get("type") == "Result":
                self.outputs.append(TensorSignature(name=name, shape=None, dtype=""))


def _shape(text: str) -> tuple[int | None, ...] | None:
    sizes = [size.strip() for size in text.split(",") if size.strip()]
    return None if sizes == ["..."] else tuple(map(whole_number, sizes))
