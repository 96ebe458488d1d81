"""The Open Inference Protocol's infer over HTTP, as JSON and with tensors as bytes behind it.

The model adds one to every number; texts come back as they are.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

CODES = {
    "BOOL": "?",
    "UINT8": "B",
    "INT8": "b",
    "UINT16": "H",
    "INT16": "h",
    "UINT32": "I",
    "INT32": "i",
    "UINT64": "Q",
    "INT64": "q",
    "FP16": "e",
    "FP32": "f",
    "FP64": "d",
}


class WrongError(Exception):
    """The request does not hold what the protocol asks for."""


def describe(name: str) -> dict[str, Any]:
    """The model's metadata."""
    tensors = [("x", "FP32", [-1, 4]), ("n", "INT64", [-1, 2]), ("s", "BYTES", [-1])]
    inputs = [{"name": one, "datatype": kind, "shape": shape} for one, kind, shape in tensors]
    return {"name": name, "versions": ["1"], "platform": "tests", "inputs": inputs, "outputs": inputs}


def infer(headers: Mapping[str, str], body: bytes) -> tuple[bytes, int | None]:
    """The answer's body, and how much of it is JSON where tensors follow."""
    split = int(headers.get("inference-header-content-length", len(body)))
    try:
        request = json.loads(body[:split])
        inputs = request["inputs"]
    except (ValueError, KeyError) as error:
        raise WrongError(f"no request: {error!r}") from error
    tail, outputs, packed = body[split:], [], []
    wanted = {one["name"]: one.get("parameters", {}).get("binary_data") for one in request.get("outputs", [])}
    usual = request.get("parameters", {}).get("binary_data_output", False)
    for tensor in inputs:
        values, tail = _values(tensor, tail)
        values = [_added(value) for value in values]
        if wanted and tensor["name"] not in wanted:
            continue
        output = {"name": tensor["name"], "datatype": tensor["datatype"], "shape": tensor["shape"]}
        if wanted.get(tensor["name"], usual):
            packed.append(_pack(tensor["datatype"], values))
            outputs.append({**output, "parameters": {"binary_data_size": len(packed[-1])}})
        else:
            outputs.append({**output, "data": [one.decode() if isinstance(one, bytes) else one for one in values]})
    answer = {"model_name": "m", "model_version": "1", "id": request.get("id", ""), "outputs": outputs}
    head = json.dumps(answer).encode()
    return head + b"".join(packed), len(head) if packed else None


def _values(tensor: dict[str, Any], tail: bytes) -> tuple[list[Any], bytes]:
    size = tensor.get("parameters", {}).get("binary_data_size")
    kind = tensor["datatype"]
    if size is None:
        values = _flat(tensor["data"])
        values = [value.encode() if isinstance(value, str) else value for value in values]
    else:
        if len(tail) < size:
            raise WrongError(f"{tensor['name']}: {size} bytes are said, {len(tail)} are there")
        values, tail = _unpack(kind, tail[:size]), tail[size:]
    count = 1
    for length in tensor["shape"]:
        count *= length
    if count != len(values):
        raise WrongError(f"{tensor['name']}: {count} values are said, {len(values)} are there")
    return values, tail


def _flat(data: Any) -> list[Any]:
    return [one for part in data for one in _flat(part)] if isinstance(data, list) else [data]


def _added(value: Any) -> Any:
    return value if isinstance(value, (bytes, bool)) else value + 1


def _unpack(kind: str, data: bytes) -> list[Any]:
    if kind != "BYTES":
        count = len(data) // struct.calcsize(CODES[kind])
        return list(struct.unpack(f"<{count}{CODES[kind]}", data))
    values = []
    while data:
        size = int.from_bytes(data[:4], "little")
        values.append(data[4 : 4 + size])
        data = data[4 + size :]
    return values


def _pack(kind: str, values: list[Any]) -> bytes:
    if kind != "BYTES":
        return struct.pack(f"<{len(values)}{CODES[kind]}", *values)
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)
