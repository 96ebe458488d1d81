"""Items of a data set become batches: single items are put together, batches are taken as they are.

A batch of another size than the one asked for is an error that names both, or, at the end of a data set, left out:
every call has as many items as are counted for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from benchwright.errors import LoadError
from benchwright.worker.runtimes.pipeline.examples import batch_size, is_array

Prepare = Callable[[Any], Any]  # an item of the data set -> what the model gets


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchGrouping:
    """The settings by which the items of a data set become calls."""

    together: int = 0  # how many are put together for one call; 0: each is one
    size: int = 0  # the leading dimension that an item must have to be used; 0: any


AS_THEY_ARE = BatchGrouping()


def natural_size(data: Any, item: Any, column: int | None) -> int:
    """The batch size of a data set where none was asked for: 1 of single items, else its items' leading dimension."""
    if (size := _loaders_size(data)) is not None:
        return size
    parts = _parts(item)
    if _has_single_target(parts, column):
        return 1
    inputs = [part for number, part in enumerate(parts) if column is None or number != column % len(parts)]
    return batch_size(inputs)


def grouping(data: Any, item: Any, size: int, column: int | None, prepare: Prepare | None = None) -> BatchGrouping:
    """How the data set, whose first item this is, gives batches of that size. Raises a `LoadError` when it cannot.

    `prepare` may make a batch of a single item by itself; a look at what it gives tells.
    """
    loader_size = _loaders_size(data)
    parts = _parts(item)
    shapes = [_shape(part) for part in parts]
    dimensions = [shape[0] for shape in shapes if shape]
    leading = loader_size if loader_size is not None else dimensions[0] if dimensions else None
    is_single = loader_size is None and _has_single_target(parts, column)
    if prepare is not None and not (is_single and size > 1) and _gives_size(prepare, item, size):
        return AS_THEY_ARE
    if leading == size and (size == 1 or not is_single):
        return BatchGrouping(size=size)
    if loader_size is not None or (not is_single and _looks_like_a_batch(shapes)):
        raise size_error("the items of the data set", int(leading or 1), size)
    if size == 1 and leading is None:
        return AS_THEY_ARE
    return BatchGrouping(together=size)


def size_error(what: str, found: int, size: int) -> LoadError:
    """The error to raise when a batch has another size than the one that would be counted for it."""
    return LoadError(
        f"{what} have a leading dimension of {found}; the batch size asked for is {size}",
        remedy=f"give batch_sizes={found}, or items of that size",
    )


def chunks(items: Iterable[Any], count: int) -> Iterator[list[Any]]:
    """The items, that many at a time; the last may be fewer."""
    source = iter(items)
    while chunk := list(islice(source, count)):
        yield chunk


def put_together(items: Sequence[Any]) -> Any:
    """One item with a leading dimension more, of several of one form: arrays are stacked, numbers become an array."""
    first = items[0]
    if isinstance(first, Mapping):
        return {key: put_together([item[key] for item in items]) for key in first}
    if isinstance(first, list | tuple):
        if len({len(item) for item in items}) > 1:
            raise LoadError("items of the data set have different numbers of parts", remedy=_REMEDY)
        return tuple(put_together(column) for column in zip(*items, strict=True))
    if is_array(first):
        return _stack(items)
    return np.array(items) if isinstance(first, bool | int | float) else list(items)


def first_rows(value: Any, count: int, size: int) -> Any:
    """The first `count` rows of what has `size` of them, in whatever a model or a data set gives."""
    if isinstance(value, Mapping):
        return {key: first_rows(part, count, size) for key, part in value.items()}
    if is_array(value):
        return value[:count] if len(value.shape) and value.shape[0] == size else value
    if isinstance(value, list | tuple):
        if len(value) == size and not any(is_array(part) and len(part.shape) for part in value):
            return value[:count]
        return type(value)(first_rows(part, count, size) for part in value)
    return value


_REMEDY = "give items of one form, or a dataset_loader_fn that makes the batches"


def _stack(items: Sequence[Any]) -> Any:
    shapes = {tuple(item.shape) for item in items}
    if len(shapes) > 1:
        several = ", ".join(map(str, sorted(shapes)[:3]))
        raise LoadError(f"items of the data set differ in shape, and cannot be one batch: {several}", remedy=_REMEDY)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(items[0], torch.Tensor):
        return torch.stack(list(items))
    return np.stack([np.asarray(item) for item in items])


def _gives_size(prepare: Prepare, item: Any, size: int) -> bool:
    try:
        return batch_size(prepare(item)) == size
    except Exception:  # the border to the user's code: it may need a batch, which it will get
        return False


def _loaders_size(data: Any) -> int | None:
    """What a loader of batches, such as torch's, says of itself."""
    size = getattr(data, "batch_size", None)
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None


def _has_single_target(parts: Sequence[Any], column: int | None) -> bool:
    """Whether an item holds one target, and so is one: a number, or a whole number where nobody named a column."""
    if column is not None:
        return _shape(parts[column]) == () if -len(parts) <= column < len(parts) else False
    if len(parts) < 2 or _shape(parts[-1]) != ():
        return False
    kind = getattr(parts[-1], "dtype", None)
    return isinstance(parts[-1], int) if kind is None else "int" in str(kind)


def _looks_like_a_batch(shapes: Sequence[tuple[int, ...] | None]) -> bool:
    """Whether rows of inputs stand beside as many targets."""
    known = [shape for shape in shapes if shape]
    ranks = {len(shape) for shape in known}
    return len({shape[0] for shape in known}) == 1 and 1 in ranks and max(ranks) > 1


def _parts(item: Any) -> list[Any]:
    if isinstance(item, Mapping):
        return list(item.values())
    return list(item) if isinstance(item, list | tuple) else [item]


def _shape(part: Any) -> tuple[int, ...] | None:
    """An array's shape, () of a number, None of anything else."""
    if is_array(part):
        return tuple(int(size) for size in part.shape)
    return () if isinstance(part, bool | int | float) else None
