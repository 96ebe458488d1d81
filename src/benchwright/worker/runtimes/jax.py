"""JAX: a function or model from Python code, compiled with `jax.jit`, or a program that `jax.export` wrote."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, ResultWarning, Target, Value
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.failures import (
    SEE_THE_LOG,
    explain_lack_of_memory,
    first_line,
    load_error,
    log_traceback,
    refuse_empty,
)
from benchwright.worker.runtimes.inputs.state import refuse as refuse_state
from benchwright.worker.runtimes.options import boolean, refuse_unknown
from benchwright.worker.runtimes.user_objects import load_object

if TYPE_CHECKING:
    from benchwright.worker.runtimes.inputs.feeds import TensorSignature

OPTIONS = frozenset({"jit", "x64"})
PRECISIONS = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_PLATFORMS = {"cuda": "gpu"}


class Jax:
    """`net.py::apply`, `package.module:factory`, or `.jax`: what `jax.export.export(...).serialize()` gave.

    A class, or a function that takes no arrays, is called once and gives the function to measure. A call ends when
    its result is there.
    """

    name: ClassVar[str] = "jax"
    extensions: ClassVar[tuple[str, ...]] = (".jax", ".py")
    requires: ClassVar[str] = "jax"
    module: ClassVar[str] = "jax"

    @staticmethod
    def check(target: Target) -> None:
        """Refuses unknown options and precisions."""
        refuse_unknown(target.options, OPTIONS, "jax")
        if target.precision and target.precision not in PRECISIONS:
            raise LoadError(f"jax has no precision {target.precision!r}", remedy=f"known: {', '.join(PRECISIONS)}")

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        refuse_state(case, "jax")
        refuse_empty(case.target.uri)
        with explain_lack_of_memory("jax", case.target.uri):
            return self._load(case)

    def _load(self, case: Case) -> Loaded:
        from benchwright.worker.runtimes.inputs.feeds import build

        import jax  # isort: skip

        device = _device(jax, case.target.device)
        function, specs, examples = _program(jax, case)
        if examples is not None:
            feeds, warnings = [examples], list[ResultWarning]()
        else:
            arrays, warnings = build(specs, case.inputs)
            feeds = [tuple(feed.values()) for feed in arrays]
        placed = [tuple(_move_to_device(jax, array, device, case.target.precision) for array in feed) for feed in feeds]
        return Loaded(
            call=_make_call(jax, function),
            infer=_make_infer(jax, function, device, case.target.precision),
            feed=dict(zip([spec.name for spec in specs] or map(str, range(len(placed[0]))), placed[0], strict=True)),
            model=function,
            arguments=placed,
            device=case.target.device,
            drawn=case.inputs.source == "random" and examples is None,
            items_per_call=case.inputs.batch_size,
            versions={"jax": str(jax.__version__)},
            details=_details(placed, device, case),
            warnings=warnings,
        )


def _device(jax: Any, asked: str) -> Any:
    kind, _, index = asked.partition(":")
    try:
        return jax.devices(_PLATFORMS.get(kind, kind))[int(index or 0)]
    except (RuntimeError, IndexError, ValueError) as error:
        have = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise DeviceError(f"jax has no device {asked!r}, only {have}: {first_line(error)}") from None


# ---- what is called ----


def _program(jax: Any, case: Case) -> tuple[Callable[..., Any], list[TensorSignature], tuple[Any, ...] | None]:
    """The function, what it takes, and the example inputs of its author if there are any."""
    from benchwright.worker.runtimes.inputs.feeds import requested_inputs

    jax.config.update("jax_enable_x64", boolean(case.target.options, "x64", False))
    if case.target.uri.endswith(".jax"):
        return *_load_exported(jax, case), None
    function = _function(case)
    examples = getattr(function, "example_inputs", None)
    compiled = jax.jit(function) if boolean(case.target.options, "jit", True) else function
    if callable(examples) and not case.inputs.shapes and case.inputs.source == "random":
        given = examples(case.inputs.batch_size)
        return compiled, [], tuple(given) if isinstance(given, tuple | list) else (given,)
    return compiled, requested_inputs(case.target.uri, _parameters(function), case.inputs), None


def _load_exported(jax: Any, case: Case) -> tuple[Callable[..., Any], list[TensorSignature]]:
    from benchwright.worker.runtimes.inputs.feeds import TensorSignature

    if case.target.precision:
        raise LoadError("an exported program keeps what it was exported with; precision cannot be changed")
    try:
        program = jax.export.deserialize(bytearray(Path(case.target.uri).read_bytes()))
    except Exception as error:  # the library raises many kinds, all of which mean that it did not load
        raise load_error("jax", f"load {case.target.uri}", error) from None
    specs = [
        TensorSignature(
            name=f"x{i}", shape=tuple(d if isinstance(d, int) else str(d) for d in a.shape), dtype=str(a.dtype)
        )
        for i, a in enumerate(program.in_avals)
    ]
    return jax.jit(program.call), specs


def _function(case: Case) -> Callable[..., Any]:
    """What the target names; a class or a factory is called for it."""
    found = load_object(case.target.uri)
    if inspect.isclass(found) or (inspect.isfunction(found) and not _parameters(found)):
        try:
            found = found()
        except Exception as error:  # the border to the user's code
            log_traceback(error)
            raise LoadError(f"jax could not load {case.target.uri}: {first_line(error)}", remedy=SEE_THE_LOG) from None
    if not callable(found):
        raise LoadError(f"{case.target.uri} is {type(found).__name__}, which cannot be called")
    function: Callable[..., Any] = found
    return function


def _parameters(function: Callable[..., Any]) -> dict[str, bool]:
    """The positional parameters, and whether each must be given."""
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return {p.name: p.default is p.empty for p in positional}


# ---- calling ----


def _move_to_device(jax: Any, array: Any, device: Any, precision: str) -> Any:
    placed = jax.device_put(array, device)
    if precision and jax.numpy.issubdtype(placed.dtype, jax.numpy.floating):
        placed = placed.astype(PRECISIONS[precision])
    return placed


def _make_call(jax: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    ready = jax.block_until_ready

    def call(*arguments: Any, **named: Any) -> Any:
        return ready(function(*arguments, **named))

    return call


def _make_infer(jax: Any, function: Callable[..., Any], device: Any, precision: str) -> Callable[..., Any]:
    call = _make_call(jax, function)

    def infer(*arrays: Any, **named: Any) -> Any:
        placed = {name: _move_to_device(jax, array, device, precision) for name, array in named.items()}
        return call(*(_move_to_device(jax, array, device, precision) for array in arrays), **placed)

    return infer


def _details(placed: list[tuple[Any, ...]], device: Any, case: Case) -> dict[str, Value]:
    return {
        "inputs": {str(i): f"{a.dtype}[{'x'.join(map(str, a.shape))}]" for i, a in enumerate(placed[0])},
        "distinct_inputs": len(placed),
        "device_kind": str(device.device_kind),
        "platform": str(device.platform),
        "jit": case.target.uri.endswith(".jax") or boolean(case.target.options, "jit", True),
    }
