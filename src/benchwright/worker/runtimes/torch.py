"""PyTorch: a module from Python code, a TorchScript file, or an archive of `torch.export`."""

from __future__ import annotations

import contextlib
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Target
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.failures import (
    SEE_THE_LOG,
    explain_lack_of_memory,
    first_line,
    lacks_memory,
    load_error,
    log_traceback,
    refuse_empty,
)
from benchwright.worker.runtimes.inputs.torch_feeds import (
    PRECISIONS,
    arguments_of,
    copy_argument,
    describe_argument,
    dtype_name,
    make_stateful_call,
    pairs_of,
    requested_dtype,
)
from benchwright.worker.runtimes.options import boolean, refuse_unknown, whole
from benchwright.worker.runtimes.user_objects import load_object

if TYPE_CHECKING:
    from benchwright.worker.runtimes.inputs.feeds import TensorSignature

_FORCE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
OPTIONS = frozenset(
    {
        *("compile", "compile_backend", "compile_mode", "channels_last", "inference_mode"),
        *("threads", "interop_threads", "seed", "weights"),
    }
)


class Torch:
    """`net.py::Net`, `package.module:factory`, TorchScript (`.pt`, `.ts`, `.jit`), `.pt2`; in evaluation mode."""

    name: ClassVar[str] = "torch"
    extensions: ClassVar[tuple[str, ...]] = (".pt2", ".pt", ".ts", ".jit", ".py")
    requires: ClassVar[str] = "torch"
    module: ClassVar[str] = "torch"

    @staticmethod
    def check(target: Target) -> None:
        """Refuses unknown options and precisions."""
        refuse_unknown(target.options, OPTIONS, "torch")
        if target.precision not in PRECISIONS:
            known = ", ".join(filter(None, PRECISIONS))
            raise LoadError(f"torch has no precision {target.precision!r}", remedy=f"known: {known}")

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        refuse_empty(case.target.uri)
        with explain_lack_of_memory("torch", case.target.uri):
            return self._load(case)

    def _load(self, case: Case) -> Loaded:
        options = case.target.options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the library about itself
            import torch

            _set_threads(torch, case)
            device = _device(torch, case.target.device)
            model, specs = _load(torch, case, device)
            arguments, names, found = arguments_of(torch, case, model, specs, device)
            if boolean(options, "compile", False):
                model = _compile(torch, model, case)
        call, close = _make_call(torch, model, device, boolean(options, "inference_mode", True))
        pairs = pairs_of(case, names)
        first = {name: copy_argument(each) for name, each in zip(names, arguments[0], strict=True)} if pairs else {}
        timed, arguments = make_stateful_call(call, arguments, names, pairs) if pairs else (call, arguments)
        return Loaded(
            call=timed,
            infer=_make_infer(torch, call, device, requested_dtype(torch, case)),
            feed=first or dict(zip(names, arguments[0], strict=True)),
            model=model,
            close=close,
            arguments=arguments,
            device=str(device),
            drawn=case.inputs.source == "random" and (specs is not None or bool(case.inputs.shapes)),
            items_per_call=case.inputs.batch_size,
            versions={"torch": str(torch.__version__)},
            details={
                "inputs": {str(i): describe_argument(each) for i, each in enumerate(arguments[0])},
                "distinct_inputs": len(arguments),
                "threads": torch.get_num_threads(),
                "interop_threads": torch.get_num_interop_threads(),
                "compiled": boolean(options, "compile", False),
                "inference_mode": boolean(options, "inference_mode", True),
            },
            warnings=found,
        )


def _set_threads(torch: Any, case: Case) -> None:
    options = case.target.options
    if threads := whole(options, "threads", 0):
        torch.set_num_threads(threads)
    if threads := whole(options, "interop_threads", 0):
        torch.set_num_interop_threads(threads)
    torch.manual_seed(whole(options, "seed", 0))


def _device(torch: Any, asked: str) -> Any:
    try:
        device = torch.device(asked)
    except RuntimeError:
        raise DeviceError(f"torch has no device {asked!r}", remedy="for example cpu, cuda, cuda:1, mps") from None
    if device.type == "cpu":
        return device
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise DeviceError(f"torch cannot use device {asked!r}: {reason}", remedy=_remedy_of(reason)) from None
    return device


def _remedy_of(reason: str) -> str:
    """What to do about a device: where torch knows it, the driver is missing, as in a container without the card."""
    if "driver" in reason:
        return "install its driver; a container is given the card when it starts: --device nvidia.com/gpu=all"
    return "a build of torch for it is needed"


# ---- the three kinds of model ----


def _load(torch: Any, case: Case, device: Any) -> tuple[Any, list[TensorSignature] | None]:
    uri = case.target.uri
    if uri.endswith(".pt2"):
        return _load_exported(torch, case, device)
    model = _script(torch, uri, device) if uri.endswith((".pt", ".ts", ".jit")) else _module(torch, case)
    try:
        with contextlib.suppress(NotImplementedError):  # what torch.export made knows no other mode
            model.eval()
        model = model.to(device)
    except RuntimeError as error:
        raise load_error("torch", f"move {uri} to {device}", error, remedy=SEE_THE_LOG) from None
    if case.target.precision:
        model = model.to(getattr(torch, PRECISIONS[case.target.precision]))
    if boolean(case.target.options, "channels_last", False):
        model = model.to(memory_format=torch.channels_last)
    return model, None


def _load_exported(torch: Any, case: Case, device: Any) -> tuple[Any, list[TensorSignature]]:
    from benchwright.worker.runtimes.inputs.feeds import TensorSignature

    for name in ("precision", "channels_last"):
        if case.target.precision if name == "precision" else case.target.options.get(name):
            raise LoadError(f"an exported program keeps what it was exported with; {name} cannot be changed")
    try:
        with _only_weights():
            program = torch.export.load(case.target.uri)
    except Exception as error:  # the library raises many kinds, all of which mean that it did not load
        raise load_error("torch", f"load {case.target.uri}", error) from None
    if device.type != "cpu":
        from torch.export.passes import move_to_device_pass

        program = move_to_device_pass(program, device)
    given = set(program.graph_signature.user_inputs)
    values = [(n.name, n.meta["val"]) for n in program.graph.nodes if n.op == "placeholder" and n.name in given]
    specs = [
        TensorSignature(
            name=name, shape=tuple(d if isinstance(d, int) else str(d) for d in v.shape), dtype=dtype_name(v.dtype)
        )
        for name, v in values
    ]
    return program.module(), specs


@contextlib.contextmanager
def _only_weights() -> Iterator[None]:
    """Keeps torch from executing what is pickled in an archive, which its own reader would fall back to."""
    before = os.environ.get(_FORCE)
    os.environ[_FORCE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_FORCE]
        else:
            os.environ[_FORCE] = before


def _script(torch: Any, uri: str, device: Any) -> Any:
    try:
        return torch.jit.load(uri, map_location=device)
    except RuntimeError as error:
        if "constants.pkl" in str(error) or _is_pickle(uri):
            raise LoadError(
                f"{uri} is not TorchScript; a file of weights alone says nothing about the model",
                remedy=f"name the module and its weights: net.py::Net --runtime torch --option weights={uri}",
            ) from None
        raise load_error("torch", f"load {uri}", error, reason=first_line(error).partition(". ")[0]) from None


def _is_pickle(uri: str) -> bool:
    """Whether a file begins like the weights that old versions of torch wrote."""
    with Path(uri).open("rb") as file:
        return file.read(1) == pickle.PROTO


def _module(torch: Any, case: Case) -> Any:
    made = load_object(case.target.uri)
    if not isinstance(made, torch.nn.Module):
        if not callable(made):
            raise LoadError(f"{case.target.uri} is neither a module nor a class or function that makes one")
        made = _call_factory(case, made)
    if not isinstance(made, torch.nn.Module):
        raise LoadError(f"{case.target.uri} made {type(made).__name__}, not an nn.Module")
    if weights := str(case.target.options.get("weights", "")):
        _give_weights(torch, made, weights)
    return made


def _call_factory(case: Case, factory: Callable[[], Any]) -> Any:
    try:
        return factory()
    except Exception as error:  # the border to the user's code
        if lacks_memory(error):
            raise
        log_traceback(error)
        raise LoadError(f"torch could not load {case.target.uri}: {first_line(error)}", remedy=SEE_THE_LOG) from None


def _give_weights(torch: Any, model: Any, path: str) -> None:
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise LoadError(f"weights {path}: {error.strerror or error}", remedy="give --option weights=FILE") from None
    except (RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        raise load_error("torch", f"load the weights {path}", error) from None
    try:
        model.load_state_dict(weights)
    except (RuntimeError, TypeError) as error:
        remedy = "are they the weights of this module? the log says what does not fit"
        raise load_error("torch", f"use the weights {path}", error, remedy=remedy) from None


def _compile(torch: Any, model: Any, case: Case) -> Any:
    options = case.target.options
    chosen = {key: str(options[f"compile_{key}"]) for key in ("backend", "mode") if f"compile_{key}" in options}
    return torch.compile(model, **chosen)


# ---- calling ----


def _make_call(
    torch: Any, model: Any, device: Any, inference_mode: bool
) -> tuple[Callable[..., Any], Callable[[], None]]:
    """The model, in inference mode in whichever thread calls it, waiting for the device before it returns.

    Entering the mode costs 2 to 4 µs; so each thread enters it at its first call and stays in it until the end, or,
    for the thread that loaded the model, until it is closed.
    """
    synchronize = _synchronize(torch, device)
    if not inference_mode and synchronize is None:
        return model, lambda: None
    entered, guards = torch.is_inference_mode_enabled, {}

    def call(*arguments: Any, **named: Any) -> Any:
        if inference_mode and not entered():
            guards[get_ident()] = guard = torch.inference_mode()
            guard.__enter__()
        result = model(*arguments, **named)
        if synchronize is not None:
            synchronize()
        return result

    def close() -> None:
        if guard := guards.pop(get_ident(), None):
            guard.__exit__(None, None, None)

    return call, close


def _make_infer(torch: Any, call: Callable[..., Any], device: Any, dtype: Any) -> Callable[..., Any]:
    """The call with whatever makes tensors, put on the device first, in the precision that was asked for."""

    def place(array: Any) -> Any:
        if isinstance(array, int | float):
            return array
        tensor = torch.as_tensor(array, device=device)
        return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor

    def infer(*arrays: Any, **named: Any) -> Any:
        return call(*map(place, arrays), **{name: place(array) for name, array in named.items()})

    return infer


def _synchronize(torch: Any, device: Any) -> Callable[[], None] | None:
    if device.type == "cuda":
        return lambda: torch.cuda.synchronize(device)
    module = getattr(torch, device.type, None)
    return getattr(module, "synchronize", None) if device.type != "cpu" else None
