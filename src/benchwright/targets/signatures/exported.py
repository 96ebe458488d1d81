"""Archives of `torch.export`: a zip file with the program as JSON, which is read without torch."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchwright.schema import parsing
from benchwright.targets.signatures import MalformedError, Signature, Table, TensorSignature

_MOST_BYTES = 256 << 20
_DEEPEST = 500  # of a graph that was written by torch
_ENDINGS = ("models/model.json", "serialized_exported_program.json")
_DTYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
}
_LOOKUP = "torch.ops.aten.embedding.default"


def read(path: Path) -> Signature:
    """The signature of the program in a file."""
    module = _document(path)["graph_module"]
    values, signature = module["graph"]["tensor_values"], module["signature"]
    return Signature(
        inputs=tuple(_specs(signature["input_specs"], "user_input", values)),
        outputs=tuple(_specs(signature["output_specs"], "user_output", values)),
        tables=_tables(module["graph"], values),
    )


def _document(path: Path) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            member = next((each for each in archive.infolist() if each.filename.endswith(_ENDINGS)), None)
            if member is None or member.file_size > _MOST_BYTES:
                raise MalformedError("no program that can be read")
            with archive.open(member) as stream:
                return parsing.json_value(stream.read(_MOST_BYTES), deepest=_DEEPEST)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise MalformedError(str(error)) from None


def _specs(listed: list[Mapping[str, Any]], kind: str, values: Mapping[str, Any]) -> Iterator[TensorSignature]:
    for each in listed:
        argument = each.get(kind, {}).get("arg", {}).get("as_tensor")
        if argument is not None:
            value = values[argument["name"]]
            shape = tuple(_size(size) for size in value["sizes"])
            yield TensorSignature(name=argument["name"], shape=shape, dtype=_DTYPES.get(value["dtype"], ""))


def _size(size: Mapping[str, Any]) -> int | str:
    return int(size["as_int"]) if "as_int" in size else str(size["as_expr"]["expr_str"])


def _tables(graph: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for node in graph["nodes"]:
        if node.get("target") != _LOOKUP:
            continue
        given = {each["name"]: each["arg"].get("as_tensor", {}).get("name", "") for each in node["inputs"]}
        rows = _size(values[given["weight"]]["sizes"][0])
        name = given["indices"]
        if isinstance(rows, int) and (name not in found or rows < found[name].rows):
            found[name] = Table(rows=rows, operator="Embedding")
    return found
