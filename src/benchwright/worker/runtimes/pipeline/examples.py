"""What one call is given, from one process to another: arrays, tensors and plain values, nested, in `.npz` files.

One file an example. Beside the arrays it holds their arrangement as JSON, so that a tuple stays a tuple and a tensor of
torch is one again. Nothing is pickled.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchwright.errors import LoadError

MOST_ITEMS = 4096  # of a data set that is written out
MOST_BYTES = 1 << 30
_ARRANGEMENT = "arrangement"
_BY_VIEW = {"bfloat16": "int16"}  # types that numpy lacks travel as one of equal size


def write(folder: Path, items: Iterable[Any]) -> tuple[int, bool]:
    """Writes examples until they end or the limits are reached. How many there are, and whether that is all."""
    folder.mkdir(parents=True, exist_ok=True)
    size = count = 0
    for count, item in enumerate(itertools.islice(items, MOST_ITEMS + 1), start=1):
        if count > MOST_ITEMS or size > MOST_BYTES:
            return count - 1, False
        size += _write(folder / f"{count - 1:06d}.npz", item)
    return count, True


def read(folder: Path) -> list[Any]:
    """The examples of a folder, in order."""
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise LoadError(f"{folder} holds no example")
    return [_read(file) for file in files]


def batch_size(example: Any) -> int:
    """The leading dimension of its first array; 1 when nothing in it has one."""
    for leaf in _leaves(example):
        shape = getattr(leaf, "shape", None)
        if shape is not None and len(shape):
            return int(shape[0])
    return 1


def is_array(value: Any) -> bool:
    """Whether it is an array or tensor of any library."""
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type)


def _leaves(example: Any) -> Iterable[Any]:
    if isinstance(example, Mapping):
        example = list(example.values())
    if isinstance(example, list | tuple):
        for part in example:
            yield from _leaves(part)
    else:
        yield example


# ---- one file ----


def _write(path: Path, example: Any) -> int:
    arrays: dict[str, Any] = {}
    arrangement = json.dumps(_arrange(example, arrays, "the example"))
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **{_ARRANGEMENT: np.array(arrangement), **arrays})
    return path.stat().st_size


def _arrange(value: Any, arrays: dict[str, Any], place: str) -> Any:
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_arrange(part, arrays, f"{place}[{i}]") for i, part in enumerate(value)]}
    if isinstance(value, Mapping):
        return {"dict": [[str(k), _arrange(part, arrays, f"{place}[{k!r}]")] for k, part in value.items()]}
    if value is None or isinstance(value, str | bool | int | float):
        return {"value": value}
    if isinstance(value, bytes):
        return {"bytes": _add_array(np.frombuffer(value, dtype=np.uint8), arrays)}
    if not is_array(value):
        raise LoadError(
            f"{place} is {type(value).__name__}, which cannot be handed to another process",
            remedy="give arrays, tensors, numbers, text, or tuples, lists and dicts of them, or what makes it",
        )
    return (
        _tensor(value, arrays) if type(value).__module__.partition(".")[0] == "torch" else _array(value, arrays, place)
    )


def _array(value: Any, arrays: dict[str, Any], place: str) -> Any:
    plain = np.asarray(value)
    if plain.dtype.hasobject:
        raise LoadError(f"{place} is an array of objects, which cannot be handed to another process")
    return {"array": _add_array(plain, arrays)}


def _tensor(value: Any, arrays: dict[str, Any]) -> Any:
    import torch

    dtype = str(value.dtype).removeprefix("torch.")
    plain = value.detach().cpu()
    if dtype in _BY_VIEW:
        plain = plain.view(getattr(torch, _BY_VIEW[dtype]))
    return {"tensor": _add_array(plain.numpy(), arrays), "dtype": dtype}


def _add_array(array: Any, arrays: dict[str, Any]) -> str:
    name = f"a{len(arrays)}"
    arrays[name] = array
    return name


def _read(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    return _put_together(json.loads(str(arrays.pop(_ARRANGEMENT))), arrays)


def _put_together(told: Any, arrays: Mapping[str, Any]) -> Any:
    match told:
        case {"value": value}:
            return value
        case {"tuple": parts}:
            return tuple(_put_together(part, arrays) for part in parts)
        case {"list": parts}:
            return [_put_together(part, arrays) for part in parts]
        case {"dict": pairs}:
            return {key: _put_together(part, arrays) for key, part in pairs}
        case {"bytes": name}:
            return arrays[name].tobytes()
        case {"tensor": name, "dtype": dtype}:
            import torch

            tensor = torch.from_numpy(arrays[name])
            return tensor.view(getattr(torch, dtype)) if dtype in _BY_VIEW else tensor
        case {"array": name}:
            return arrays[name]
    raise LoadError(f"unknown arrangement of an example: {told!r}")
