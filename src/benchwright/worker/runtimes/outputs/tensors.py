"""What a model gave, as named arrays: every library has its own containers, and its own tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchwright.errors import LoadError

Array = npt.NDArray[Any]


def name_arrays(answer: Any, names: Sequence[str]) -> dict[str, Array]:
    """The arrays in an answer by name, in order. What nobody named goes by its place, what is nested by a path.

    `names` are those that the runtime tells, used where there is one for each and the answer has none of its own.
    """
    inside = _container_parts(answer)
    if inside is None:
        return {names[0] if len(names) == 1 else "output": _array(answer)}
    own, parts = inside
    if not own and len(names) == len(parts):
        parts = dict(zip(names, parts.values(), strict=True))
    return {name: _array(leaf) for key, part in parts.items() for name, leaf in _leaves(part, key)}


def storable(array: Array) -> Array:
    """The array in a type that every numpy can read back, with nothing lost."""
    return array if array.dtype.kind in "buifc" else array.astype(np.float32)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    inside = _container_parts(value)
    if inside is None:
        yield name, value
        return
    for key, part in inside[1].items():
        yield from _leaves(part, f"{name}.{key}")


def _container_parts(value: Any) -> tuple[bool, dict[str, Any]] | None:
    """Whether a container names its parts, and they; None for what is no container. Parts that are None are absent."""
    if isinstance(value, Mapping):
        parts = {str(key): part for key, part in value.items()}
    elif hasattr(value, "_asdict"):
        parts = dict(value._asdict())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, list | tuple) and not all(isinstance(each, int | float) for each in value):
        return False, {str(i): part for i, part in enumerate(value) if part is not None}
    else:
        return None
    return True, {name: part for name, part in parts.items() if part is not None}


def _array(value: Any) -> Array:
    """The numbers of any library's tensor, copied to where numpy can read them."""
    if hasattr(value, "detach"):  # torch's: on its device, with a history, or in a type that numpy lacks
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise LoadError(f"an output is {type(value).__name__}, which is not an array: {error}") from None
    if array.dtype.kind in "OSUMm":
        raise LoadError(f"an output holds {array.dtype}, not numbers", remedy="only numbers can be compared")
    return array
