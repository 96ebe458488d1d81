"""What models are fed: random arrays, files, or a data set of the user's. Standard library and numpy only."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchwright.errors import RequestError, did_you_mean
from benchwright.records import Inputs, ResultWarning
from benchwright.system.texts import describe_error
from benchwright.targets.signatures import Signature, format_shape
from benchwright.targets.signatures import TensorSignature as TensorSignature
from benchwright.worker.runtimes.failures import log_traceback
from benchwright.worker.runtimes.inputs import array_files
from benchwright.worker.runtimes.inputs.shapes import resolve, resolve_alone, unknown_shapes
from benchwright.worker.runtimes.user_objects import load_object, split

Array = npt.NDArray[Any]
Feed = dict[str, Array]  # one call's arrays by input name, in the model's order

MOST_ITEMS = 4096  # of a data set whose count was not limited; more are taken for a generator without end
_LETTERS = 8  # of a random text
_ABOVE_IDS = 100  # random whole numbers stay below this, so that they are valid ids in almost any vocabulary


def build(specs: Sequence[TensorSignature], inputs: Inputs) -> tuple[list[Feed], list[ResultWarning]]:
    """The distinct feeds that calls go round, each complete and of the right shape, or a `LoadError`."""
    warnings: list[ResultWarning] = []
    resolved = resolve(specs, inputs, warnings)
    if inputs.source == "random":
        return _draw_feeds(resolved, inputs), warnings
    given = [spec for spec in specs if not is_constant(spec.name, inputs)]
    feeds = (
        [_convert_feed(feed, given, inputs) for feed in _read(inputs, [spec.name for spec in given])] if given else [{}]
    )
    feeds = [part for feed in feeds for part in _batches(feed, inputs.batch_size)]
    if not feeds:
        raise RequestError(f"{inputs.source} holds no complete batch of {inputs.batch_size}")
    if len(given) < len(specs):
        constants = _constants([spec for spec in specs if spec not in given], inputs)
        feeds = [
            {spec.name: feed[spec.name] if spec in given else constants[spec.name] for spec in specs} for feed in feeds
        ]
    return (feeds[: inputs.count] if inputs.count > 1 else feeds), warnings


def requested_inputs(
    owner: str, known: Mapping[str, bool], inputs: Inputs, *, dtype: str = "float32"
) -> list[TensorSignature]:
    """The inputs of code that does not tell its shapes: the request must, by the names of its parameters.

    `known` says of each parameter whether it must be given; `dtype` is the usual element type of random inputs.
    """
    shapes, dtypes, random = inputs.shapes, inputs.dtypes, inputs.source == "random"
    for name in [*shapes, *dtypes]:
        if name and name not in known:
            raise RequestError(f"{owner} has no parameter {name!r}", remedy=did_you_mean(name, known))
    wanted = [name for name, needed in known.items() if needed or name in shapes or name in inputs.values]
    wanted = wanted if random else _names_in_data(inputs, wanted, list(known))
    plain = [name for name in wanted if name in inputs.values and name not in shapes]  # one number, without dimensions
    unknown = [name for name in wanted if name not in shapes and "" not in shapes and name not in plain]
    if random and unknown:
        signature = Signature(
            inputs=tuple(TensorSignature(name=name, shape=None, dtype=dtypes.get(name, "")) for name in wanted)
        )
        error = unknown_shapes(signature, unknown, inputs)
        own = "or give the model a method example_inputs(batch_size)"
        raise RequestError(error.message, remedy=f"{error.remedy}; {own}", flags=error.flags)
    return [
        TensorSignature(
            name=name,
            shape=()
            if name in plain
            else None
            if name in unknown
            else _open_batch(shapes.get(name, shapes.get("", ()))),
            dtype=dtypes.get(name, dtypes.get("", dtype if random else "")),
        )
        for name in wanted
    ]


def _open_batch(shape: Sequence[int]) -> tuple[int | None, ...]:
    return (None, *shape[1:]) if shape else ()


def _names_in_data(inputs: Inputs, needed: list[str], known: list[str]) -> list[str]:
    """Which of the parameters, in order, a data set has arrays for; those of a file are the ones that are needed."""
    _, name = split(inputs.source)
    if not name:
        return needed
    first = next(iter(_data_set(replace(inputs, count=2))), ())  # two at most are read: a count of one means all
    if isinstance(first, Mapping):
        given = list(itertools.takewhile(lambda each: each in first, known))
        return given if set(needed) <= set(given) else needed
    count = len(first) if isinstance(first, tuple | list) else 1
    return [*known, *(f"x{i}" for i in range(len(known), count))][:count]


# ---- where the arrays come from ----


def _draw_feeds(specs: Sequence[TensorSignature], inputs: Inputs) -> list[Feed]:
    """Random feeds, with the arrays of files where there are some; these are the same in every feed."""
    fixed = {spec.name: _read_fixed_input(spec, inputs) for spec in specs if spec.name in inputs.files}
    return [
        {spec.name: fixed[spec.name] if spec.name in fixed else _draw_input(spec, inputs, i) for spec in specs}
        for i in range(max(1, inputs.count))
    ]


def is_constant(name: str, inputs: Inputs) -> bool:
    """Whether an input has the same numbers at every first call: what was given, or zeros where state begins."""
    return name in inputs.values or name in inputs.feed_back


def constant(spec: TensorSignature, inputs: Inputs) -> Array:
    """The numbers that were given for an input: one for all its elements, or one for each. State begins with zeros."""
    numbers = inputs.values.get(spec.name, (0.0,))
    shape, dtype = tuple(int(size or 0) for size in spec.shape or ()), np.dtype(spec.dtype or "float32")
    text = ", ".join(f"{number:g}" for number in numbers)
    if len(numbers) not in (1, math.prod(shape)):
        raise RequestError(
            f"input {spec.name!r} is {format_shape(shape)} and takes {math.prod(shape):,} numbers; "
            f"{len(numbers)} were given",
            remedy=f"write --value {spec.name}=NUMBER for all of them, or one for each",
        )
    if dtype.kind == "U":
        array = np.array([f"{number:g}" for number in numbers])
        return np.full(shape, array[0], dtype=array.dtype) if len(numbers) == 1 else array.reshape(shape)
    with np.errstate(all="ignore"):
        array = np.array(numbers, dtype=np.float64).astype(dtype)
    if dtype.kind in "iub" and not np.array_equal(array.astype(np.float64), np.array(numbers, dtype=np.float64)):
        raise RequestError(f"input {spec.name!r} takes {dtype}, which cannot be {text}")
    return np.full(shape, array[0], dtype=dtype) if len(numbers) == 1 else array.reshape(shape)


def _constants(specs: Sequence[TensorSignature], inputs: Inputs) -> dict[str, Array]:
    """The constants beside what a data set gives; their sizes are found as those of random inputs are."""
    names = {spec.name for spec in specs}
    alone = Inputs(
        batch_size=inputs.batch_size,
        shapes={name: shape for name, shape in inputs.shapes.items() if name in names},
        values=inputs.values,
        feed_back=inputs.feed_back,
    )
    return {spec.name: constant(spec, inputs) for spec in resolve_alone(specs, alone)}


def _draw_input(spec: TensorSignature, inputs: Inputs, index: int) -> Array:
    if is_constant(spec.name, inputs):
        return constant(spec, inputs)
    bounds = inputs.ranges.get(spec.name)
    return random_array(spec, inputs.seed, index, seeded_by=inputs.names.get(spec.name, ""), within=bounds)


def _read_fixed_input(spec: TensorSignature, inputs: Inputs) -> Array:
    """The array of an input's file; of one item it is repeated until the batch is full."""
    place, shape = inputs.files[spec.name], tuple(int(size or 0) for size in spec.shape or ())
    item = (1, *shape[1:])
    array = array_files.read(place, inputs.names.get(spec.name, spec.name))
    if array.ndim != len(shape) and array.size in (math.prod(shape), math.prod(item)):  # text has no shape
        array = array.reshape(shape if array.size == math.prod(shape) else item)
    if spec.dtype and array.dtype == np.float64 and np.array_equal(array, array.astype(spec.dtype)):
        array = array.astype(spec.dtype)  # text has no type either; nothing is lost
    _check_array(array, spec, place)
    if shape and array.shape == item:
        array = np.repeat(array, shape[0], axis=0)
    if array.shape != shape:
        raise RequestError(
            f"{place}: input {spec.name!r} is {format_shape(spec.shape)}, the array is {format_shape(array.shape)}"
        )
    return np.ascontiguousarray(array, dtype=spec.dtype or array.dtype).reshape(shape)


def random_array(
    spec: TensorSignature, seed: int, index: int = 0, *, seeded_by: str = "", within: tuple[float, float] | None = None
) -> Array:
    """Floats in [0, 1), booleans, bytes of the whole range, other whole numbers below 100, texts; or `within` bounds.

    Seeded by a name, the input's own unless another is given, so that a model gets the same numbers in every runtime.
    """
    generator = np.random.default_rng([seed, index, zlib.crc32((seeded_by or spec.name).encode())])
    shape = tuple(int(size or 0) for size in spec.shape or ())
    try:
        dtype = np.dtype(spec.dtype)
    except TypeError:
        raise RequestError(
            f"input {spec.name!r} takes {spec.dtype}, which cannot be drawn at random", remedy="give --input a file"
        ) from None
    if dtype.kind == "b":
        return generator.integers(0, 2, size=shape).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(*_whole_bounds(spec, dtype, within), size=shape).astype(dtype)
    if dtype.kind == "U":
        letters = generator.integers(ord("a"), ord("z") + 1, size=(*shape, _LETTERS), dtype=np.uint32)
        return letters.view(f"U{_LETTERS}")[..., 0]
    if dtype.kind in "fc":
        low, high = within or (0.0, 1.0)
        return np.asarray(low + (high - low) * generator.random(size=shape)).astype(dtype)
    raise RequestError(f"input {spec.name!r} takes {spec.dtype}, which cannot be drawn at random")


def _whole_bounds(spec: TensorSignature, dtype: np.dtype[Any], within: tuple[float, float] | None) -> tuple[int, int]:
    if within is None:
        return 0, 256 if dtype == np.uint8 else _ABOVE_IDS
    low, high, limits = math.ceil(within[0]), math.ceil(within[1]), np.iinfo(dtype)
    if low >= high or low < limits.min or high - 1 > limits.max:
        raise RequestError(
            f"input {spec.name!r} takes {spec.dtype}, and no such number lies from {within[0]:g} up to {within[1]:g}"
        )
    return low, high


def _read(inputs: Inputs, names: Sequence[str]) -> Iterable[Feed]:
    where, name = split(inputs.source)
    if name:
        return [_name_arrays(item, names, inputs.source, inputs.names) for item in _data_set(inputs)]
    path = Path(where)
    files = sorted(f for f in path.iterdir() if f.suffix in (".npy", ".npz")) if path.is_dir() else [path]
    if not files:
        raise RequestError(f"{path} holds no .npy or .npz file")
    return [_name_arrays(_from_file(file), names, str(file), inputs.names) for file in files]


def _from_file(path: Path) -> Any:
    if path.suffix not in (".npy", ".npz"):
        raise RequestError(f"inputs {path}: unknown ending", remedy="known: .npy, .npz, file.py::name, module:name")
    try:
        with path.open("rb") as stream:
            content = np.load(stream, allow_pickle=False)
            return dict(content) if isinstance(content, Mapping) else content
    except OSError as error:
        raise RequestError(
            f"inputs {path}: {error.strerror or error}", remedy="give --input a file that can be read"
        ) from None
    except array_files.DAMAGE as error:
        raise RequestError(
            f"inputs {path}: no arrays can be read from it: {error}",
            remedy="the file may be incomplete: write it with numpy.save or numpy.savez, and no objects in it",
        ) from None


def _data_set(inputs: Inputs) -> list[Any]:
    source = load_object(inputs.source)
    most = inputs.count if inputs.count > 1 else MOST_ITEMS + 1
    try:
        made = source() if callable(source) else source
        items = [made] if isinstance(made, Mapping) else list(itertools.islice(iter(made), most))  # one is one input
    except Exception as error:  # the border to the user's code
        log_traceback(error)
        raise RequestError(f"{inputs.source} failed: {describe_error(error)}", remedy="see the log") from error
    if len(items) > MOST_ITEMS >= inputs.count:
        raise RequestError(
            f"{inputs.source} did not end after {MOST_ITEMS} items", remedy="say how many with --input-count"
        )
    return items


def _name_arrays(item: Any, names: Sequence[str], where: str, others: Mapping[str, str]) -> Feed:
    """One feed from an array, a sequence of arrays in the model's order, or a mapping by input name.

    `others` are names that a spec gives to inputs; a mapping may know those instead.
    """
    if isinstance(item, Mapping):
        item = {**{name: item[other] for name, other in others.items() if other in item}, **item}
        for name in names:
            if name not in item:
                raise RequestError(
                    f"{where}: no array for input {name!r}", remedy=f"it holds: {', '.join(map(str, item))}"
                )
        return {name: np.asarray(item[name]) for name in names}
    arrays = list(item) if isinstance(item, tuple | list) else [item]
    if len(arrays) != len(names):
        raise RequestError(f"{where}: {len(arrays)} arrays for {len(names)} inputs ({', '.join(names)})")
    return {name: np.asarray(array) for name, array in zip(names, arrays, strict=True)}


def _convert_feed(feed: Feed, specs: Sequence[TensorSignature], inputs: Inputs) -> Feed:
    """The feed with arrays the model accepts: dtypes converted where nothing is lost, shapes compared."""
    for spec in specs:
        array = feed[spec.name]
        _check_array(array, spec, inputs.source)
        dtype = spec.dtype or array.dtype
        feed[spec.name] = np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
    return feed


def _check_array(array: Array, spec: TensorSignature, source: str) -> None:
    if spec.dtype and array.dtype.kind != np.dtype(spec.dtype).kind and not np.can_cast(array.dtype, spec.dtype):
        raise RequestError(f"{source}: input {spec.name!r} takes {spec.dtype}, not {array.dtype}")
    if spec.shape is None:
        return
    rest = zip(spec.shape[1:], array.shape[1:], strict=False)
    if array.ndim != len(spec.shape) or any(isinstance(size, int) and size != given for size, given in rest):
        raise RequestError(
            f"{source}: input {spec.name!r} is {format_shape(spec.shape)}, the array is {format_shape(array.shape)}"
        )


def _batches(feed: Feed, batch_size: int) -> list[Feed]:
    """Cuts arrays that hold several batches along their leading dimension; an incomplete last batch is left out."""
    leading = {array.shape[0] for array in feed.values() if array.ndim}
    if len(leading) != 1 or leading == {batch_size}:
        return [feed]
    (rows,) = leading
    starts = range(0, rows - batch_size + 1, batch_size)
    return [{name: a[i : i + batch_size] if a.ndim else a for name, a in feed.items()} for i in starts]
