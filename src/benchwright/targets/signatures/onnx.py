"""ONNX: the inputs, the outputs, which inputs choose rows of a table, and the files that hold its weights."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchwright.errors import DecodeError
from benchwright.targets.signatures import MalformedError, Signature, Table, TensorSignature
from benchwright.targets.signatures.protobuf import ProtobufMessage, signed_number

_GRAPH = 7  # of ModelProto; below: of GraphProto
_NODE, _INITIALIZER, _INPUT, _OUTPUT, _SPARSE = 1, 5, 11, 12, 15
_MOST_BYTES = 64  # of a tensor whose numbers are read: it is a scalar
_FUNCTIONS = 25  # of ModelProto
_NODE_OF_FUNCTION = 7
_LOCATION, _EXTERNAL = 13, 14  # of TensorProto: pairs of key and value; whether its data lie in another file
_DEEPEST = 32  # graphs inside of graphs
MOST_FILES = 10_000  # that hold a model's weights

_DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
}

# operator -> the places of (table, rows chosen) among its inputs
_LOOKUPS = {
    "Gather": ((0, 1),),
    "GatherBlockQuantized": ((0, 1),),
    "EmbedLayerNormalization": ((2, 0), (4, 1)),
}
# operators whose first output holds the numbers of their first input, arranged anew
_SAME = frozenset(
    {"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Expand", "Slice", "Tile"}
    | {"QuantizeLinear", "DequantizeLinear"}
)


def read(path: Path) -> Signature:
    """The signature of the model in a file."""
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        memoryview(data) as view,
    ):
        return _signature(view)


def external_files(path: Path) -> list[Path]:
    """The files beside an ONNX model that hold its weights; none where the file cannot be read as one.

    One that would lie outside of the model's folder is left out, as onnxruntime does: a model is a stranger's file.
    """
    found: dict[str, None] = {}
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            memoryview(data) as view,
        ):
            for name in _external_names(ProtobufMessage.of_file(view)):
                found[name] = None
                if len(found) > MOST_FILES:
                    break
    except (DecodeError, OSError, ValueError):  # the runtime says what is wrong with it
        return []
    places = [Path(os.path.normpath(path.parent / name)) for name in found]
    return [place for place in places if path.parent in place.parents and place != path and _is_file(place)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or with a NUL: not a path at all
        return False


def _external_names(model: ProtobufMessage) -> Iterator[str]:
    """The name of every file that a tensor of the model says its data are in, once a tensor."""
    for number, _, part in model.fields():
        if not isinstance(part, ProtobufMessage):
            continue
        if number == _GRAPH:
            yield from _names_of_graph(part, 0)
        elif number == _FUNCTIONS:
            for node in part.parts(_NODE_OF_FUNCTION):
                yield from _names_of_node(node, 0)


def _names_of_graph(graph: ProtobufMessage, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    for number, _, part in graph.fields():
        if not isinstance(part, ProtobufMessage):
            continue
        if number == _NODE:
            yield from _names_of_node(part, depth)
        elif number == _INITIALIZER:
            yield from _name_of_tensor(part)
        elif number == _SPARSE:
            for tensor in (*part.parts(1), *part.parts(2)):
                yield from _name_of_tensor(tensor)


def _names_of_node(node: ProtobufMessage, depth: int) -> Iterator[str]:
    for attribute in node.parts(5):
        for number, _, part in attribute.fields():
            if not isinstance(part, ProtobufMessage):
                continue
            if number in (5, 10):  # a tensor, or several
                yield from _name_of_tensor(part)
            elif number in (6, 11):  # a graph, or several: the branches of an If, the body of a Loop
                yield from _names_of_graph(part, depth + 1)


def _name_of_tensor(tensor: ProtobufMessage) -> Iterator[str]:
    if tensor.number(_EXTERNAL) == 1:
        for pair in tensor.parts(_LOCATION):
            if pair.text(1) == "location" and (name := pair.text(2)):
                yield name


def _signature(view: memoryview) -> Signature:
    graph = next(ProtobufMessage.of_file(view).parts(_GRAPH), None)
    if graph is None:
        raise MalformedError("no graph")
    weights: dict[str, ProtobufMessage] = {}
    inputs, outputs, nodes = [], [], []
    for number, _, part in graph.fields():
        if not isinstance(part, ProtobufMessage):
            continue
        if number == _NODE:
            nodes.append(part)
        elif number == _INITIALIZER:
            weights[part.text(8)] = part
        elif number == _SPARSE:
            weights |= {values.text(8): values for values in part.parts(1)}
        elif number == _INPUT:
            inputs.append(part)
        elif number == _OUTPUT:
            outputs.append(_spec(part))
    # Old models list their weights among the inputs.
    given = tuple(_spec(value) for value in inputs if not weights or value.text(1) not in weights)
    if not _needs_nodes(given):
        return Signature(inputs=given, outputs=tuple(outputs))
    constants = {name: _constant(tensor) for name, tensor in weights.items()}
    wanted = {spec.name for spec in given if spec.dtype not in ("string", "bool")}
    return Signature(inputs=given, outputs=tuple(outputs), tables=_tables(nodes, constants, wanted))


def _needs_nodes(inputs: tuple[TensorSignature, ...]) -> bool:
    """Whether anything depends on what the nodes say: values of whole numbers, sizes that are not known."""
    return any("int" in spec.dtype or any(not isinstance(d, int) for d in (spec.shape or ())[1:]) for spec in inputs)


def _spec(value: ProtobufMessage) -> TensorSignature:
    for kind in value.parts(2):
        for tensor in kind.parts(1):
            return TensorSignature(name=value.text(1), shape=_shape(tensor), dtype=_DTYPES.get(tensor.number(1), ""))
    return TensorSignature(name=value.text(1), shape=None, dtype="")  # a sequence, a map, an optional tensor


def _shape(tensor: ProtobufMessage) -> tuple[int | str | None, ...] | None:
    shape = next(tensor.parts(2), None)
    return None if shape is None else tuple(_dimension(dimension) for dimension in shape.parts(1))


def _dimension(dimension: ProtobufMessage) -> int | str | None:
    """A size; exporters write -1, 0 or "?" as well where there is none."""
    name = dimension.text(2)
    if name:
        return None if name == "?" else name
    size = signed_number(dimension.number(1))
    return size if size > 0 else None


# ---- tables ----


@dataclass(frozen=True, slots=True)
class _Constant:
    shape: tuple[int, ...] = ()
    scalar: int | None = None


def _constant(tensor: ProtobufMessage) -> _Constant:
    shape = tuple(tensor.numbers(1))
    return _Constant(shape, _scalar(tensor) if shape in ((), (1,)) else None)


def _scalar(tensor: ProtobufMessage) -> int | None:
    """The whole number that a tensor holds."""
    if _DTYPES.get(tensor.number(2), "") not in ("int32", "int64"):
        return None
    for number in (7, 5):
        if found := tensor.numbers(number):
            return signed_number(found[0])
    raw = next((part for part in tensor.parts(9) if len(part) <= _MOST_BYTES), None)
    return int.from_bytes(bytes(raw), "little", signed=True) if raw is not None else None


@dataclass(slots=True)
class _Trace:
    """Where numbers come from: names of tensors, by the input or the constant whose numbers they hold."""

    constants: dict[str, _Constant]
    origins: dict[str, str] = field(default_factory=dict)


def _tables(nodes: list[ProtobufMessage], constants: dict[str, _Constant], wanted: set[str]) -> dict[str, Table]:
    trace = _Trace(constants, {name: name for name in wanted})
    found: dict[str, Table] = {}
    for node in nodes:
        kind = node.text(4)
        if kind == "Constant":
            _keep_constant(node, constants)
        elif kind in _SAME:
            names = _texts(node, 1)
            if names and (origin := trace.origins.get(names[0])):
                trace.origins |= dict.fromkeys(_texts(node, 2)[:1], origin)
            elif names and names[0] in constants:
                constants |= dict.fromkeys(_texts(node, 2)[:1], constants[names[0]])
        elif kind in _LOOKUPS or kind == "OneHot":
            for origin, rows in _lookups(node, kind, trace):
                if rows > 0 and (origin not in found or rows < found[origin].rows):
                    found[origin] = Table(rows=rows, operator=kind)
    return found


def _lookups(node: ProtobufMessage, kind: str, trace: _Trace) -> list[tuple[str, int]]:
    """Which inputs of the model choose rows here, and of how many."""
    names = _texts(node, 1)
    if kind == "OneHot":
        origin, depth = (trace.origins.get(names[0]), trace.constants.get(names[1])) if len(names) > 1 else (None, None)
        return [(origin, depth.scalar)] if origin and depth and depth.scalar else []
    axis, found = _attribute(node, "axis"), []
    for table, chosen in _LOOKUPS[kind]:
        if max(table, chosen) >= len(names):
            continue
        origin, constant = trace.origins.get(names[chosen]), trace.constants.get(names[table])
        if origin and constant and -len(constant.shape) <= axis < len(constant.shape):
            found.append((origin, constant.shape[axis]))
    return found


def _keep_constant(node: ProtobufMessage, constants: dict[str, _Constant]) -> None:
    for attribute in node.parts(5):
        if attribute.text(1) == "value":
            for tensor in attribute.parts(5):
                constants |= dict.fromkeys(_texts(node, 2)[:1], _constant(tensor))


def _attribute(node: ProtobufMessage, name: str) -> int:
    return next((signed_number(each.number(3)) for each in node.parts(5) if each.text(1) == name), 0)


def _texts(node: ProtobufMessage, number: int) -> list[str]:
    return [str(part) for part in node.parts(number)]
