"""OpenVINO. One call is `InferRequest.infer` on input tensors that are already in place, outputs not copied."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Scalar, Target, Value
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.failures import SEE_THE_LOG, WHOLE, explain_lack_of_memory, load_error, refuse_empty
from benchwright.worker.runtimes.options import boolean, refuse_unknown

if TYPE_CHECKING:
    from benchwright.worker.runtimes.inputs.feeds import Feed, TensorSignature
    from benchwright.worker.runtimes.inputs.state import Pairs

PRECISIONS = {"": "f32", "fp32": "f32", "fp16": "f16", "bf16": "bf16"}
OWN_OPTIONS = frozenset({"reshape"})
_HINT = "INFERENCE_PRECISION_HINT"
_DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "boolean": "bool",
    **{f"{kind}{bits}": f"{word}{bits}" for kind, word in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}
_counting: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def counting_request(compiled: Any) -> Any:
    """The request that calls a model compiled with `PERF_COUNT`, for who reads its counters; None without them."""
    return _counting.get(compiled)


class OpenVino:
    """Loads `.onnx` and `.xml` files. Every property of the device that can be set is an option, in any case.

    Without a precision the model runs in single precision. OpenVINO's own default is a lower one on processors that
    have it, which would compare different work with other runtimes.
    """

    name: ClassVar[str] = "openvino"
    extensions: ClassVar[tuple[str, ...]] = (".onnx", ".xml")
    requires: ClassVar[str] = "openvino"
    module: ClassVar[str] = "openvino"

    @staticmethod
    def check(target: Target) -> None:
        """Refuses unknown precisions."""
        if target.precision not in PRECISIONS:
            known = ", ".join(filter(None, PRECISIONS))
            raise LoadError(f"openvino has no precision {target.precision!r}", remedy=f"known: {known}")

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        refuse_empty(case.target.uri)
        with explain_lack_of_memory("openvino", case.target.uri):
            return self._load(case)

    def _load(self, case: Case) -> Loaded:
        from benchwright.worker.runtimes.inputs import state
        from benchwright.worker.runtimes.inputs.feeds import build

        openvino = _import()
        core = openvino.Core()
        device = _device(core, case.target.device)
        properties = _properties(core, device, case)
        try:
            model = core.read_model(case.target.uri)
        except RuntimeError as error:
            reason = _last_line(error)
            if reason.startswith("Unable to read the model"):  # which says the path again, and lists formats
                reason = "it is damaged, or no model of a kind it knows"
            remedy = "use --runtime onnxruntime, or see the log" if "Conversion is failed" in reason else WHOLE
            raise load_error("openvino", f"read {case.target.uri}", error, reason=reason, remedy=remedy) from None
        specs = _specs(model.inputs)
        feeds, warnings = build(specs, case.inputs)
        pairs = state.pairs_of(case, specs, _specs(model.outputs))
        first = state.snapshot(feeds[0], pairs)
        state.share(feeds, pairs)
        if boolean(case.target.options, "reshape", True):
            model.reshape({name: list(array.shape) for name, array in feeds[0].items()})
        try:
            compiled = core.compile_model(model, device, properties)
        except RuntimeError as error:
            failure = load_error(
                "openvino", f"compile {case.target.uri}", error, reason=_last_line(error), remedy=SEE_THE_LOG
            )
            raise failure from None
        _check_used(compiled, device, properties)
        tensors = [[openvino.Tensor(array, shared_memory=True) for array in feed.values()] for feed in feeds]
        call, arguments = _calls(compiled, tensors, case)
        if pairs:
            call = _make_stateful_call(call, feeds[0], pairs)
        kept = [feeds, tensors]  # requests look into this memory and do not own it
        return Loaded(
            call=call,
            infer=_make_infer(openvino, compiled),
            feed=first,
            model=compiled,
            arguments=arguments,
            device=case.target.device,
            drawn=case.inputs.source == "random",
            items_per_call=case.inputs.batch_size,
            versions={"openvino": str(openvino.__version__)},
            details=_details(compiled, feeds),
            warnings=warnings,
            close=kept.clear,
        )


def _import() -> Any:
    """The library without its telemetry: it does without when that package cannot be imported."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


def _device(core: Any, asked: str) -> str:
    name = asked.upper().replace(":", ".")
    available = core.available_devices
    if name not in available and f"{name}.0" not in available:
        raise DeviceError(f"openvino has no device {name} here, only {', '.join(available)}")
    return name


def _properties(core: Any, device: str, case: Case) -> dict[str, Scalar]:
    """Compile properties: the precision hint, then every option, each checked against what the device can set."""
    supported = core.get_property(device, "SUPPORTED_PROPERTIES")
    writable = {str(name) for name, access in supported.items() if access != "RO"}
    options = {name.upper(): value for name, value in case.target.options.items() if name not in OWN_OPTIONS}
    refuse_unknown(options, writable | {name.upper() for name in OWN_OPTIONS}, f"openvino on {device}")
    hint: Mapping[str, Scalar] = {_HINT: PRECISIONS[case.target.precision]} if _HINT in writable else {}
    return {**hint, **options}


def _specs(ports: Any) -> list[TensorSignature]:
    from benchwright.worker.runtimes.inputs.feeds import TensorSignature

    specs = []
    for place, port in enumerate(ports):
        known = port.partial_shape
        shape = None if known.rank.is_dynamic else tuple(d.get_length() if d.is_static else None for d in known)
        dtype = port.element_type.get_type_name()
        name = port.any_name if port.names else f"output{place}"
        specs.append(TensorSignature(name=name, shape=shape, dtype=_DTYPES.get(dtype, dtype)))
    return specs


def _make_stateful_call(call: Callable[..., Any], feed: Feed, pairs: Pairs) -> Callable[..., Any]:
    """A call whose state the next one takes: input tensors look into the arrays of the feed."""
    import numpy as np

    from benchwright.worker.runtimes.inputs import state

    hand_on = state.make_hand_on(pairs, feed, np.copyto)

    def with_state(*arguments: Any) -> Any:
        outputs = call(*arguments)
        hand_on(outputs)
        return outputs

    return with_state


def _check_used(compiled: Any, device: str, properties: Mapping[str, Scalar]) -> None:
    """Fails when another device or precision than the one asked for will execute."""
    used = list(compiled.get_property("EXECUTION_DEVICES"))
    kind = device.partition(".")[0]
    if not used or any(name.partition(".")[0] != kind for name in used):
        raise DeviceError(f"openvino was asked for {device} and uses {', '.join(used) or 'nothing'}")
    wanted = properties.get(_HINT)
    if wanted is not None and (real := compiled.get_property(_HINT).get_type_name()) != wanted:
        raise DeviceError(f"openvino was asked for precision {wanted} and uses {real}")


def _calls(compiled: Any, tensors: list[list[Any]], case: Case) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    if max(case.load.workers, case.load.streams) > 1:
        return _per_thread(compiled), [(feed,) for feed in tensors]
    request = compiled.create_infer_request()
    if boolean({name.upper(): value for name, value in case.target.options.items()}, "PERF_COUNT", False):
        _counting[compiled] = request
    if len(tensors) == 1:
        _place(request, tensors[0])
        return request.infer, [(None, True, True)]
    return _place_and_infer(request), [(feed,) for feed in tensors]


def _place_and_infer(request: Any) -> Callable[[list[Any]], Any]:
    infer = request.infer

    def call(feed: list[Any]) -> Any:
        _place(request, feed)
        return infer(None, True, True)

    return call


def _per_thread(compiled: Any) -> Callable[[list[Any]], Any]:
    """A request serves one thread at a time, so each thread has its own."""
    requests = threading.local()

    def call(feed: list[Any]) -> Any:
        request = getattr(requests, "request", None)
        if request is None:
            request = requests.request = compiled.create_infer_request()
        _place(request, feed)
        return request.infer(None, True, True)

    return call


def _make_infer(openvino: Any, compiled: Any) -> Callable[..., Any]:
    """A call with arrays of the moment; each becomes the type that the model takes. Gives the outputs in order."""
    import numpy as np

    call, count = _per_thread(compiled), len(compiled.outputs)
    dtypes = {port.any_name: port.element_type.to_dtype() for port in compiled.inputs}

    def infer(*arrays: Any, **named: Any) -> Any:
        given = {**dict(zip(dtypes, arrays, strict=False)), **named}
        kept = [np.ascontiguousarray(given[name], dtype=dtype) for name, dtype in dtypes.items()]
        outputs = call([openvino.Tensor(array, shared_memory=True) for array in kept])
        return [np.array(outputs[index]) for index in range(count)]

    return infer


def _place(request: Any, feed: list[Any]) -> None:
    for index, tensor in enumerate(feed):
        request.set_input_tensor(index, tensor)


def _details(compiled: Any, feeds: list[Feed]) -> dict[str, Value]:
    outputs = {
        port.any_name if port.names else f"output{i}": f"{port.element_type.get_type_name()}{port.partial_shape}"
        for i, port in enumerate(compiled.outputs)
    }
    known = [str(name) for name in compiled.get_property("SUPPORTED_PROPERTIES")]
    wanted = ("INFERENCE_NUM_THREADS", "NUM_STREAMS", "PERFORMANCE_HINT", _HINT, "EXECUTION_DEVICES")
    return {
        "inputs": {name: f"{array.dtype}[{'x'.join(map(str, array.shape))}]" for name, array in feeds[0].items()},
        "outputs": dict(outputs),
        "distinct_inputs": len(feeds),
        **{name.lower(): _plain(compiled.get_property(name)) for name in wanted if name in known},
    }


def _plain(value: Any) -> Value:
    if isinstance(value, str | int | float | bool):
        return value
    if hasattr(value, "get_type_name"):
        return str(value.get_type_name())
    return ", ".join(map(str, value)) if isinstance(value, list | set | tuple) else str(value)


def _last_line(error: RuntimeError) -> str:
    """The last line that says something; the ones before are places in OpenVINO's own source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"
