"""What a PyTorch model is called with: tensors, plain numbers of a compiled `forward`, and state that is handed on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchwright.errors import RequestError, did_you_mean
from benchwright.records import Case, Inputs, ResultWarning
from benchwright.worker.runtimes.options import boolean

if TYPE_CHECKING:
    from benchwright.worker.runtimes.inputs.feeds import Feed, TensorSignature
    from benchwright.worker.runtimes.inputs.state import Pairs

PRECISIONS = {"": "float32", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_PLAIN: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool}  # types of numbers in TorchScript


def arguments_of(
    torch: Any, case: Case, model: Any, specs: list[TensorSignature] | None, device: Any
) -> tuple[list[tuple[Any, ...]], list[str], list[ResultWarning]]:
    """Every call's tensors, the names of the inputs, and what there is to say about them."""
    from benchwright.worker.runtimes.inputs.feeds import build

    examples = getattr(model, "example_inputs", None)
    if specs is None and not case.inputs.shapes and case.inputs.source == "random" and callable(examples):
        given = examples(case.inputs.batch_size)
        feeds = [tuple(given) if isinstance(given, tuple | list) else (given,)]
        names = [str(i) for i in range(len(feeds[0]))]
        found: list[ResultWarning] = []
    else:
        plain = {} if specs is not None else _plain_values(model, case.inputs)
        inputs = replace(case.inputs, values={k: v for k, v in case.inputs.values.items() if k not in plain})
        arrays, found = build(specs if specs is not None else _specs(model, inputs, plain), inputs)
        names = _order(model, arrays[0], plain)
        feeds = [tuple(plain[n] if n in plain else torch.from_numpy(feed[n]) for n in names) for feed in arrays]
    dtype = requested_dtype(torch, case)
    return [tuple(_move_to_device(torch, each, device, dtype, case) for each in feed) for feed in feeds], names, found


def _plain_values(model: Any, inputs: Inputs) -> dict[str, Any]:
    """The parameters of a compiled `forward` that are plain numbers, with the values that were asked for."""
    schema = getattr(model.forward, "schema", None)
    found: dict[str, Any] = {}
    for argument in schema.arguments[1:] if schema is not None else ():
        make = _PLAIN.get(str(argument.type))
        if make is None or (argument.name not in inputs.values and argument.has_default_value()):
            continue
        if argument.name not in inputs.values:
            raise RequestError(
                f"forward takes {argument.name!r}, a plain {argument.type}, and it has no value",
                remedy=f"give it: --value {argument.name}=1",
                flags=("--value", f"{argument.name}=1"),
            )
        found[argument.name] = make(inputs.values[argument.name][0])
    return found


def _order(model: Any, feed: Feed, plain: Mapping[str, Any]) -> list[str]:
    """The names of all that is given, in the order of the call."""
    if not plain:
        return list(feed)
    return [name for name in _forward_names(model) if name in feed or name in plain]


def requested_dtype(torch: Any, case: Case) -> Any:
    """The type that floating-point inputs must have, or None where none was asked for."""
    return getattr(torch, PRECISIONS[case.target.precision]) if case.target.precision else None


def _specs(model: Any, inputs: Inputs, plain: Mapping[str, Any]) -> list[TensorSignature]:
    from benchwright.worker.runtimes.inputs.feeds import requested_inputs

    usual = next((dtype_name(p.dtype) for p in model.parameters() if p.is_floating_point()), "float32")
    known = {name: needed for name, needed in _forward_names(model).items() if name not in plain}
    return requested_inputs("forward", known, inputs, dtype="float32" if usual == "bfloat16" else usual)


def _forward_names(model: Any) -> dict[str, bool]:
    """The positional parameters of `forward`, and whether each must be given."""
    schema = getattr(model.forward, "schema", None)
    if schema is not None:
        return {argument.name: not argument.has_default_value() for argument in schema.arguments[1:]}
    parameters = inspect.signature(model.forward).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return {p.name: p.default is p.empty for p in positional}


def _move_to_device(torch: Any, tensor: Any, device: Any, dtype: Any, case: Case) -> Any:
    if isinstance(tensor, int | float):  # a plain number of a compiled model
        return tensor
    if dtype is not None and tensor.is_floating_point():
        tensor = tensor.to(dtype)
    if boolean(case.target.options, "channels_last", False) and tensor.dim() == 4:
        tensor = tensor.to(memory_format=torch.channels_last)
    return tensor.to(device)


# ---- state ----


def pairs_of(case: Case, names: list[str]) -> Pairs:
    """Which outputs the next call takes. Code does not tell its outputs, so they go by their places."""
    from benchwright.worker.runtimes.inputs import state

    state.check_load(case.inputs, case.load)
    pairs = []
    for name, output in case.inputs.feed_back.items():
        if name not in names:
            raise RequestError(f"forward has no parameter {name!r}", remedy=did_you_mean(name, names))
        if not output.isdecimal():
            raise RequestError(
                f"torch does not name its outputs, and {output!r} is not the number of one",
                remedy=f"write --feed-back {name}=1",
            )
        pairs.append((name, int(output)))
    return pairs


def make_stateful_call(
    call: Callable[..., Any], arguments: list[tuple[Any, ...]], names: list[str], pairs: Pairs
) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    """A call whose state the next one takes."""
    from benchwright.worker.runtimes.inputs import state

    feeds = [dict(zip(names, given, strict=True)) for given in arguments]
    state.share(feeds, pairs)
    hand_on = state.make_hand_on(pairs, feeds[0], lambda target, source: target.copy_(source))

    def with_state(*given: Any) -> Any:
        outputs = call(*given)
        hand_on(outputs)
        return outputs

    return with_state, [tuple(feed.values()) for feed in feeds]


def copy_argument(each: Any) -> Any:
    """A tensor of its own; a plain number is itself."""
    return each if isinstance(each, int | float) else each.clone()


# ---- words ----


def describe_argument(given: Any) -> str:
    """What one argument of a call is: its type and shape, or the number."""
    if isinstance(given, int | float):
        return f"{type(given).__name__} {given}"
    return f"{dtype_name(given.dtype)}[{'x'.join(map(str, given.shape))}]"


def dtype_name(dtype: Any) -> str:
    """The name of a type of torch as numpy has it."""
    return str(dtype).removeprefix("torch.")
