"""ONNX Runtime. One call is `InferenceSession.run` with the arrays of one feed, as an application would call it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from benchwright.errors import DeviceError, LoadError, RequestError, did_you_mean
from benchwright.records import Case, ResultWarning, Scalar, Target, Value
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.failures import (
    SEE_THE_LOG,
    WHOLE,
    explain_lack_of_memory,
    first_line,
    load_error,
    refuse_empty,
)
from benchwright.worker.runtimes.options import boolean, refuse_unknown

if TYPE_CHECKING:
    from benchwright.worker.runtimes.inputs.feeds import Feed, TensorSignature
    from benchwright.worker.runtimes.inputs.state import Pairs

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "migraphx": "MIGraphXExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "directml": "DmlExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "qnn": "QNNExecutionProvider",
    "xnnpack": "XnnpackExecutionProvider",
}
OWN_OPTIONS = frozenset({"provider", "io_binding"})
_ENUMS = {"graph_optimization_level": "GraphOptimizationLevel", "execution_mode": "ExecutionMode"}
_DTYPES = {"float": "float32", "double": "float64"}
_ASSIGNMENT = "session.record_ep_graph_assignment_info"
_TELLS = "1.24.1"  # the first version that tells which nodes went where
_recording: weakref.WeakSet[Any] = weakref.WeakSet()


def recording_sessions() -> list[Any]:
    """The sessions of this process that were loaded with `enable_profiling`: who wants their file must end it."""
    return list(_recording)


class OnnxRuntime:
    """Loads `.onnx` files. Every attribute of `SessionOptions` is an option, and so is every entry with a dot."""

    name: ClassVar[str] = "onnxruntime"
    extensions: ClassVar[tuple[str, ...]] = (".onnx", ".ort")
    requires: ClassVar[str] = "onnxruntime"
    module: ClassVar[str] = "onnxruntime"

    @staticmethod
    def check(target: Target) -> None:
        """Refuses devices that no execution provider is known for."""
        kind = target.device.partition(":")[0]
        if "provider" not in target.options and kind not in PROVIDERS:
            raise DeviceError(f"onnxruntime has no device {kind!r}", remedy=did_you_mean(kind, PROVIDERS))

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        refuse_empty(case.target.uri)
        with explain_lack_of_memory("onnxruntime", case.target.uri):
            return self._load(case)

    def _load(self, case: Case) -> Loaded:
        from benchwright.worker.runtimes.inputs import state
        from benchwright.worker.runtimes.inputs.feeds import (  # numpy first: it says best why it cannot be imported
            TensorSignature,
            build,
        )

        import onnxruntime  # isort: skip

        if case.target.precision:
            raise LoadError(
                f"onnxruntime computes in the model's own precision, not in {case.target.precision!r}",
                remedy="export the model in that precision, or use openvino or torch",
            )
        provider, settings = _provider(onnxruntime, case)
        session = _session(onnxruntime, case, provider, settings)
        specs = [TensorSignature(name=i.name, shape=tuple(i.shape), dtype=_dtype(i.type)) for i in session.get_inputs()]
        nodes = _nodes(session, provider)
        feeds, warnings = build(specs, case.inputs)
        outputs = [
            TensorSignature(name=o.name, shape=tuple(o.shape), dtype=_dtype(o.type)) for o in session.get_outputs()
        ]
        pairs = state.pairs_of(case, specs, outputs)
        first = state.snapshot(feeds[0], pairs)
        call, arguments = _make_stateful_call(session, case, feeds, pairs) if pairs else _calls(session, case, feeds)
        kept = [feeds]  # bindings look into this memory and do not own it
        return Loaded(
            call=call,
            infer=_make_infer(session, specs),
            feed=first,
            model=session,
            arguments=arguments,
            device=case.target.device,
            drawn=case.inputs.source == "random",
            items_per_call=case.inputs.batch_size,
            versions={"onnxruntime": str(onnxruntime.__version__)},
            details=_details(session, feeds, case, nodes),
            warnings=[*warnings, *_threads_warning(case), *_elsewhere_warning(nodes, provider)],
            close=kept.clear,
        )


def _provider(onnxruntime: Any, case: Case) -> tuple[str, dict[str, str]]:
    """The execution provider that the device or the option asks for, with its own options."""
    options = case.target.options
    kind, _, index = case.target.device.partition(":")
    settings = {name.removeprefix("provider."): str(v) for name, v in options.items() if name.startswith("provider.")}
    if index:
        settings["device_id"] = index
    available = onnxruntime.get_available_providers()
    name = str(options["provider"]) if "provider" in options else PROVIDERS[kind]
    if name not in available:
        package = "onnxruntime-gpu" if kind in ("cuda", "tensorrt") else "the onnxruntime build that contains it"
        raise DeviceError(
            f"{name} is not in this onnxruntime, which has {', '.join(available)}", remedy=f"install {package}"
        )
    return name, settings


def _session(onnxruntime: Any, case: Case, provider: str, settings: Mapping[str, str]) -> Any:
    options = onnxruntime.SessionOptions()
    _apply(onnxruntime, options, case.target.options)
    options.add_session_config_entry(_ASSIGNMENT, "1")
    try:
        session = onnxruntime.InferenceSession(case.target.uri, options, providers=[(provider, dict(settings))])
    except Exception as error:  # the library raises many kinds, all of which mean that it did not load
        raise _session_error(case.target.uri, error) from None
    session.disable_fallback()
    if options.enable_profiling:
        _recording.add(session)
    return session


def _session_error(uri: str, error: Exception) -> LoadError:
    """Without the library's marks in front of the reason: `[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : `."""
    reason = first_line(error).rpartition(" : ")[2].removeprefix(f"Load model from {uri} failed:")
    damaged = "PROTOBUF" in str(error)
    return load_error(
        "onnxruntime", f"load {uri}", error, reason=reason.strip(), remedy=WHOLE if damaged else SEE_THE_LOG
    )


def _apply(onnxruntime: Any, session_options: Any, options: Mapping[str, Scalar]) -> None:
    attributes = [
        name for name in dir(session_options) if name[0] != "_" and not callable(getattr(session_options, name))
    ]
    refuse_unknown([n for n in options if "." not in n], [*attributes, *OWN_OPTIONS], "onnxruntime")
    for name, value in options.items():
        if name in OWN_OPTIONS or name.startswith("provider."):
            continue
        try:
            if "." in name:
                session_options.add_session_config_entry(name, str(value))
            elif name in _ENUMS:
                setattr(session_options, name, _member(getattr(onnxruntime, _ENUMS[name]), name, str(value)))
            else:
                kind = type(getattr(session_options, name))
                setattr(session_options, name, boolean(options, name, False) if kind is bool else kind(value))
        except (TypeError, ValueError, RuntimeError) as error:
            raise RequestError(f"onnxruntime option {name}={value}: {error}") from None


def _member(enumeration: Any, option: str, text: str) -> Any:
    """A member by its full name, or by its last word in lower case: `all`, `basic`, `parallel`."""
    members = enumeration.__members__
    short = {name.removeprefix("ORT_").removeprefix("ENABLE_").lower(): member for name, member in members.items()}
    chosen = members.get(text) or short.get(text.lower())
    if chosen is None:
        raise RequestError(f"onnxruntime option {option}: unknown value {text!r}", remedy=did_you_mean(text, short))
    return chosen


def _nodes(session: Any, provider: str) -> dict[str, int]:
    """How many nodes of the graph each provider was given; fails when the one that was asked for got none.

    Empty where an old library does not tell and it does not matter, because everything runs on the CPU.
    """
    used = session.get_providers()
    if provider not in used:
        raise DeviceError(f"{provider} was asked for; the session uses {', '.join(used)}")
    if not hasattr(session, "get_provider_graph_assignment_info"):
        if provider == PROVIDERS["cpu"]:
            return {}
        raise DeviceError(
            f"this onnxruntime does not tell whether {provider} is used",
            remedy=f"install onnxruntime {_TELLS} or newer",
        )
    counts: dict[str, int] = {}
    for part in session.get_provider_graph_assignment_info():
        counts[part.ep_name] = counts.get(part.ep_name, 0) + len(part.get_nodes())
    if not counts.get(provider) and provider != PROVIDERS["cpu"]:  # the CPU may be left with a graph without nodes
        raise DeviceError(
            f"{provider} was asked for and got no node of the graph", remedy=f"nodes went to: {_list_counts(counts)}"
        )
    return counts


def _elsewhere_warning(nodes: Mapping[str, int], provider: str) -> list[ResultWarning]:
    """Nodes that the provider cannot compute run elsewhere, and tensors are copied to and fro."""
    elsewhere = {name: count for name, count in nodes.items() if name != provider}
    if not elsewhere:
        return []
    others = _list_counts(elsewhere)
    return [
        ResultWarning(
            code="fallback",
            seen=f"{provider} computes {nodes[provider]} of {sum(nodes.values())} nodes; others: {others}",
            remedy="session.disable_cpu_ep_fallback=1 as an --option makes this a failure",
        )
    ]


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _calls(session: Any, case: Case, feeds: list[Feed]) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    names = [output.name for output in session.get_outputs()]
    if not boolean(case.target.options, "io_binding", False):
        return session.run, [(names, feed) for feed in feeds]
    if _concurrent(case):
        return _bound_per_thread(session, names), [(feed,) for feed in feeds]
    return session.run_with_iobinding, [(_binding(session, names, feed),) for feed in feeds]


def _make_stateful_call(
    session: Any, case: Case, feeds: list[Feed], pairs: Pairs
) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    """A run whose state the next one takes."""
    import numpy as np

    from benchwright.worker.runtimes.inputs import state

    if boolean(case.target.options, "io_binding", False):
        raise RequestError("--feed-back needs the outputs, which io_binding leaves where they are")
    state.share(feeds, pairs)
    names, run = [output.name for output in session.get_outputs()], session.run
    hand_on = state.make_hand_on(pairs, feeds[0], np.copyto)

    def call(feed: Feed) -> Any:
        outputs = run(names, feed)
        hand_on(outputs)
        return outputs

    return call, [(feed,) for feed in feeds]


def _make_infer(session: Any, specs: list[TensorSignature]) -> Callable[..., Any]:
    """A run with arrays of the moment; each becomes the type that the model takes."""
    import numpy as np

    outputs, run = [output.name for output in session.get_outputs()], session.run
    dtypes = {spec.name: spec.dtype for spec in specs}

    def infer(*arrays: Any, **named: Any) -> Any:
        given = {**dict(zip(dtypes, arrays, strict=False)), **named}
        return run(outputs, {name: np.asarray(array, dtype=dtypes[name]) for name, array in given.items()})

    return infer


def _bound_per_thread(session: Any, names: list[str]) -> Callable[[Feed], None]:
    """Bindings hold their outputs, so threads must not share them."""
    local = threading.local()
    run = session.run_with_iobinding

    def call(feed: Feed) -> None:
        bindings: dict[int, Any] | None = getattr(local, "bindings", None)
        if bindings is None:
            bindings = local.bindings = {}
        key = id(feed)
        if key not in bindings:
            bindings[key] = _binding(session, names, feed)
        run(bindings[key])

    return call


def _binding(session: Any, names: list[str], feed: Feed) -> Any:
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    for name in names:
        binding.bind_output(name)
    return binding


def _concurrent(case: Case) -> bool:
    return max(case.load.workers, case.load.streams) > 1


def _dtype(text: str) -> str:
    inner = text.removeprefix("tensor(").removesuffix(")")
    return _DTYPES.get(inner, inner)


def _details(session: Any, feeds: list[Feed], case: Case, nodes: Mapping[str, int]) -> dict[str, Value]:
    options = session.get_session_options()
    return {
        "inputs": {name: f"{array.dtype}[{'x'.join(map(str, array.shape))}]" for name, array in feeds[0].items()},
        "outputs": {o.name: f"{_dtype(o.type)}[{'x'.join(map(str, o.shape))}]" for o in session.get_outputs()},
        "distinct_inputs": len(feeds),
        "providers": list(session.get_providers()),
        "nodes": dict(nodes),
        "intra_op_num_threads": options.intra_op_num_threads,
        "inter_op_num_threads": options.inter_op_num_threads,
        "graph_optimization_level": str(options.graph_optimization_level.name),
        "execution_mode": str(options.execution_mode.name),
        "io_binding": boolean(case.target.options, "io_binding", False),
    }


def _threads_warning(case: Case) -> list[ResultWarning]:
    """Workers that each wake a pool of threads fight for the cores."""
    if not _concurrent(case) or "intra_op_num_threads" in case.target.options:
        return []
    return [
        ResultWarning(
            code="threads",
            seen="several workers share a session whose own thread pool spans every core",
            remedy="try --option intra_op_num_threads=1",
        )
    ]
