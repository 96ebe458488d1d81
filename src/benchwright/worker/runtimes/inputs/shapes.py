"""The shape of every input: what the model leaves open is filled from the batch size and the request.

The parent asks before anything starts, a worker asks again with what the library tells. Standard library only.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from benchwright.errors import RequestError, did_you_mean
from benchwright.records import Inputs, ResultWarning
from benchwright.targets.signatures import SCALARS, Signature, TensorSignature, format_shape, guesses


def resolve(
    specs: Sequence[TensorSignature],
    inputs: Inputs,
    warnings: list[ResultWarning],
    *,
    told: Signature | None = None,
    name: str = "",
) -> list[TensorSignature]:
    """The same inputs with every dimension a number: the leading one from the batch size, others from the shapes.

    Raises a `RequestError` that names every input whose size is still open, with flags that would do. What the file
    told of the model called `name` makes for better guesses.
    """
    check_names(specs, inputs)
    _check_batch(specs, inputs)
    symbols = {spec.shape[0]: inputs.batch_size for spec in specs if spec.shape and isinstance(spec.shape[0], str)}
    if inputs.source == "random":
        if missing := [spec.name for spec in specs if _is_open(spec, inputs, symbols)]:
            raise unknown_shapes(told or Signature(inputs=tuple(specs)), missing, inputs, name=name)
        return [
            TensorSignature(name=spec.name, shape=_shape(spec, inputs, symbols, warnings), dtype=_dtype(spec, inputs))
            for spec in specs
        ]
    return [TensorSignature(name=spec.name, shape=spec.shape, dtype=_dtype(spec, inputs)) for spec in specs]


def resolve_alone(specs: Sequence[TensorSignature], inputs: Inputs) -> list[TensorSignature]:
    """The shapes of a few of the inputs, whose neighbours come from a data set."""
    symbols = {spec.shape[0]: inputs.batch_size for spec in specs if spec.shape and isinstance(spec.shape[0], str)}
    if missing := [spec.name for spec in specs if _is_open(spec, inputs, symbols)]:
        raise unknown_shapes(Signature(inputs=tuple(specs)), missing, inputs)
    return [
        TensorSignature(name=spec.name, shape=_shape(spec, inputs, symbols, []), dtype=spec.dtype) for spec in specs
    ]


def check_names(specs: Sequence[TensorSignature], inputs: Inputs) -> None:
    """Raises a `RequestError` when the request names an input that the model does not have."""
    names = [spec.name for spec in specs]
    sections = (
        inputs.shapes,
        inputs.dtypes,
        inputs.ranges,
        inputs.files,
        inputs.names,
        inputs.values,
        inputs.feed_back,
    )
    for name in (name for mapping in sections for name in mapping):
        if name and name not in names:
            raise RequestError(f"the model has no input {name!r}", remedy=did_you_mean(name, names))


def unknown_shapes(signature: Signature, missing: Sequence[str], inputs: Inputs, *, name: str = "") -> RequestError:
    """The error for inputs whose sizes or values nobody gave, with flags that suit what the inputs seem to be."""
    guessed = guesses.guess(signature, name=name, batch_size=inputs.batch_size)
    specs = {spec.name: spec for spec in signature.inputs}
    flags = [flag for each in missing for flag in _flags(specs[each], guessed[each].shape)]
    for each, found in guessed.items():  # a rate that nobody gave, and state that nobody hands on
        if found.kind is guesses.InputKind.RATE and each not in missing and each not in inputs.values:
            flags += ["--value", f"{each}={guesses.SAMPLE_RATE}"]
    for each, output in guesses.states(signature).items():
        if each not in inputs.feed_back:
            flags += ["--feed-back", f"{each}={output}"]
    open_ones = [f"input {each!r} is {_describe_input(specs[each], inputs)}" for each in missing]
    kinds: dict[str, list[str]] = {}
    for each in missing:
        kinds.setdefault(guessed[each].kind.value, []).append(repr(each))
    looks = "; ".join(f"{', '.join(names)} look{'s' * (len(names) == 1)} like {kind}" for kind, names in kinds.items())
    return RequestError(
        f"the model leaves sizes open: {', '.join(open_ones)}",
        remedy=f"{looks}: add {shlex.join(flags)}",
        flags=flags,
    )


def _flags(spec: TensorSignature, shape: tuple[int, ...]) -> list[str]:
    if spec.dtype in SCALARS:
        rate = guesses.kind_of(spec, Signature(inputs=(spec,))) is guesses.InputKind.RATE
        return ["--value", f"{spec.name}={guesses.SAMPLE_RATE if rate else 1}"]
    given = ["--shape", f"{spec.name}:{'x'.join(map(str, shape))}"]
    kind = guesses.kind_of(spec, Signature(inputs=(spec,)))
    if not spec.dtype and kind in (guesses.InputKind.TOKENS, guesses.InputKind.MASK, guesses.InputKind.LENGTH):
        given += ["--dtype", f"{spec.name}:int64"]  # what the model does not tell is taken to be floating point
    return given


def _describe_input(spec: TensorSignature, inputs: Inputs) -> str:
    if spec.dtype in SCALARS:
        return f"a plain {spec.dtype}"
    shape = spec.shape
    if shape and not isinstance(shape[0], int):
        shape = (inputs.batch_size, *shape[1:])
    return f"{spec.dtype} {format_shape(shape)}".strip()


def _is_open(spec: TensorSignature, inputs: Inputs, symbols: Mapping[Any, int]) -> bool:
    if _explicit(spec.name, inputs) is not None:
        return False
    if spec.shape is None:
        return spec.name not in inputs.values
    return any(not isinstance(size, int) and size not in symbols for size in spec.shape[1:])


def _check_batch(specs: Sequence[TensorSignature], inputs: Inputs) -> None:
    """A batch size counts only if some input's leading dimension is free or equal to it."""
    leading = {spec.name: spec.shape[0] for spec in specs if spec.shape}
    fixed = {name: size for name, size in leading.items() if isinstance(size, int)}
    if len(fixed) < len(leading) or not fixed or inputs.batch_size in fixed.values():
        return
    if inputs.batch_size == 1 and _explicit(next(iter(fixed)), inputs) is not None:
        return
    name, size = next(iter(fixed.items()))
    raise RequestError(
        f"input {name!r} has a fixed leading dimension of {size}; the batch size asked for is {inputs.batch_size}",
        remedy=f"use --batch-size {size}, or export the model with a dynamic leading dimension",
    )


def _shape(
    spec: TensorSignature, inputs: Inputs, symbols: Mapping[Any, int], warnings: list[ResultWarning]
) -> tuple[int | str | None, ...]:
    explicit, known = _explicit(spec.name, inputs), spec.shape or ()
    if spec.shape is None:
        return explicit or ()
    if explicit is None or (
        not known and spec.name not in inputs.shapes
    ):  # a shape for every input is none for scalars
        return tuple(_dimension(spec, i, inputs, symbols) for i in range(len(known)))
    pairs = zip(known, explicit, strict=False)
    if len(explicit) != len(known) or any(isinstance(size, int) and size != given for size, given in pairs):
        raise RequestError(
            f"input {spec.name!r} is {format_shape(spec.shape)}; the shape asked for is {format_shape(explicit)}"
        )
    if not explicit or isinstance(known[0], int) or explicit[0] == inputs.batch_size:
        return explicit
    if explicit[0] == 1:
        return (inputs.batch_size, *explicit[1:])
    if inputs.batch_size != 1:
        raise RequestError(
            f"input {spec.name!r}: the shape says {explicit[0]}, the batch size asked for is {inputs.batch_size}",
            remedy=f"write the shape with a leading 1, or use --batch-size {explicit[0]}",
        )
    warnings.append(
        ResultWarning(
            code="batch-shape",
            seen=f"input {spec.name!r} has a leading dimension of {explicit[0]}, each call counts as one item",
            remedy=f"if that is a batch, use --batch-size {explicit[0]}",
        )
    )
    return explicit


def _dimension(spec: TensorSignature, index: int, inputs: Inputs, symbols: Mapping[Any, int]) -> int | str | None:
    size = (spec.shape or ())[index]
    if isinstance(size, int):
        return size
    return inputs.batch_size if index == 0 else symbols.get(size, size)


def _explicit(name: str, inputs: Inputs) -> tuple[int, ...] | None:
    shape = inputs.shapes.get(name, inputs.shapes.get(""))
    return None if shape is None else tuple(shape)


def _dtype(spec: TensorSignature, inputs: Inputs) -> str:
    dtype = inputs.dtypes.get(spec.name, inputs.dtypes.get("", spec.dtype))
    if spec.dtype and dtype != spec.dtype:
        raise RequestError(f"input {spec.name!r} takes {spec.dtype}; the dtype asked for is {dtype}")
    return dtype
