"""LiteRT, which was TensorFlow Lite. One call is `Interpreter.invoke` on inputs in place, outputs not copied."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Target, Value
from benchwright.targets.signatures.tflite import author_name
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.failures import SEE_THE_LOG, explain_lack_of_memory, load_error, refuse_empty
from benchwright.worker.runtimes.options import boolean, refuse_unknown, whole

if TYPE_CHECKING:
    from benchwright.worker.runtimes.inputs.feeds import Feed, TensorSignature
    from benchwright.worker.runtimes.inputs.state import Pairs

OPTIONS = frozenset({"num_threads", "xnnpack", "delegate"})


class LiteRt:
    """Loads `.tflite` files on the CPU; `delegate` names a shared library that computes in its stead."""

    name: ClassVar[str] = "litert"
    extensions: ClassVar[tuple[str, ...]] = (".tflite",)
    requires: ClassVar[str] = "ai-edge-litert"
    module: ClassVar[str] = "ai_edge_litert"

    @staticmethod
    def check(target: Target) -> None:
        """Refuses unknown options, and devices and precisions that a flat file cannot change."""
        refuse_unknown(target.options, OPTIONS, "litert")
        if target.device != "cpu":
            raise DeviceError(
                f"litert has no device {target.device!r} from Python",
                remedy="give the library of a delegate: --option delegate=libdelegate.so",
            )
        if target.precision:
            raise LoadError(
                f"litert computes in the model's own precision, not in {target.precision!r}",
                remedy="convert the model in that precision",
            )

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        refuse_empty(case.target.uri)
        with explain_lack_of_memory("litert", case.target.uri):
            return self._load(case)

    def _load(self, case: Case) -> Loaded:
        from benchwright.worker.runtimes.inputs import state
        from benchwright.worker.runtimes.inputs.feeds import build

        import ai_edge_litert.interpreter as litert  # isort: skip

        first = _interpreter(litert, case)
        specs = _specs(first.get_input_details())
        feeds, warnings = build(specs, case.inputs)
        pairs = state.pairs_of(case, specs, _specs(first.get_output_details()))
        begin = state.snapshot(feeds[0], pairs)
        _allocate(first, feeds[0], case.target.uri)

        def another() -> Any:
            made = _interpreter(litert, case)
            _allocate(made, feeds[0], case.target.uri)
            return made

        call, arguments = _make_stateful_call(first, feeds, pairs) if pairs else _calls(first, another, feeds, case)
        return Loaded(
            call=call,
            infer=_make_infer(another),
            feed=begin,
            model=first,
            arguments=arguments,
            drawn=case.inputs.source == "random",
            items_per_call=case.inputs.batch_size,
            versions={"ai-edge-litert": _version()},
            details=_details(first, feeds, case),
            warnings=warnings,
        )


def _version() -> str:
    from importlib.metadata import version

    return version("ai-edge-litert")


def _interpreter(litert: Any, case: Case) -> Any:
    options = case.target.options
    threads = whole(options, "num_threads", 0) or None
    builtin = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    resolver = litert.OpResolverType.AUTO if boolean(options, "xnnpack", True) else builtin
    delegates = [_delegate(litert, str(options["delegate"]))] if "delegate" in options else None
    try:
        return litert.Interpreter(
            case.target.uri,
            num_threads=threads,
            experimental_op_resolver_type=resolver,
            experimental_delegates=delegates,
        )
    except (ValueError, RuntimeError) as error:
        raise load_error("litert", f"load {case.target.uri}", error) from None


def _delegate(litert: Any, library: str) -> Any:
    import ctypes

    try:
        ctypes.CDLL(library)  # first, because the interpreter's own loader stumbles over a library that is not there
        return litert.load_delegate(library)
    except (OSError, ValueError) as error:
        raise DeviceError(f"delegate {library}: {error}", remedy="name the shared library of a delegate") from None


def _specs(details: Any) -> list[TensorSignature]:
    import numpy as np

    from benchwright.worker.runtimes.inputs.feeds import TensorSignature

    return [
        TensorSignature(
            name=author_name(told["name"]),
            shape=tuple(None if size < 0 else int(size) for size in _signature(told)),
            dtype=np.dtype(told["dtype"]).name,
        )
        for told in details
    ]


def _signature(told: dict[str, Any]) -> Any:
    """The shape with -1 where it may vary; a file without one has the shape it has."""
    return told["shape_signature"] if len(told["shape_signature"]) else told["shape"]


def _allocate(interpreter: Any, feed: Feed, uri: str) -> None:
    """Gives every input the shape of its array, and the memory for it."""
    try:
        for told, array in zip(interpreter.get_input_details(), feed.values(), strict=True):
            if tuple(told["shape"]) != array.shape:
                interpreter.resize_tensor_input(told["index"], array.shape, strict=True)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        raise load_error("litert", f"prepare {uri}", error, remedy=SEE_THE_LOG) from None
    _place(interpreter, _indices(interpreter), feed)


def _indices(interpreter: Any) -> list[int]:
    return [int(told["index"]) for told in interpreter.get_input_details()]


def _place(interpreter: Any, indices: list[int], feed: Feed) -> None:
    for index, array in zip(indices, feed.values(), strict=True):
        interpreter.set_tensor(index, array)


def _calls(
    first: Any, another: Callable[[], Any], feeds: list[Feed], case: Case
) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    """An interpreter serves one thread at a time, so each thread has its own."""
    indices = _indices(first)
    if max(case.load.workers, case.load.streams) > 1:
        mine = threading.local()

        def in_thread(feed: Feed) -> None:
            if getattr(mine, "interpreter", None) is None:
                mine.interpreter = another()
            _place(mine.interpreter, indices, feed)
            mine.interpreter.invoke()

        return in_thread, [(feed,) for feed in feeds]
    if len(feeds) == 1:
        return first.invoke, [()]

    def call(feed: Feed) -> None:
        _place(first, indices, feed)
        first.invoke()

    return call, [(feed,) for feed in feeds]


def _make_stateful_call(
    interpreter: Any, feeds: list[Feed], pairs: Pairs
) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    """A call whose state the next one takes."""
    import numpy as np

    from benchwright.worker.runtimes.inputs import state

    state.share(feeds, pairs)
    indices, hand_on = _indices(interpreter), state.make_hand_on(pairs, feeds[0], np.copyto)
    given = [int(told["index"]) for told in interpreter.get_output_details()]

    def call(feed: Feed) -> None:
        _place(interpreter, indices, feed)
        interpreter.invoke()
        hand_on(_Outputs(interpreter, given))

    return call, [(feed,) for feed in feeds]


class _Outputs:
    """The outputs of the last call, each copied only when it is asked for."""

    __slots__ = ("_indices", "_interpreter")

    def __init__(self, interpreter: Any, indices: list[int]) -> None:
        self._interpreter, self._indices = interpreter, indices

    def __getitem__(self, place: int) -> Any:
        return self._interpreter.get_tensor(self._indices[place])


def _make_infer(another: Callable[[], Any]) -> Callable[..., Any]:
    """A call with arrays of the moment, in an interpreter of the thread's own. Gives the outputs in order."""
    mine = threading.local()

    def infer(*arrays: Any, **named: Any) -> Any:
        if getattr(mine, "interpreter", None) is None:
            mine.interpreter = another()
            mine.inputs = {
                author_name(t["name"]): (t["index"], t["dtype"]) for t in mine.interpreter.get_input_details()
            }
            mine.outputs = [told["index"] for told in mine.interpreter.get_output_details()]
        for name, array in {**dict(zip(mine.inputs, arrays, strict=False)), **named}.items():
            index, dtype = mine.inputs[name]
            mine.interpreter.set_tensor(index, _as(dtype, array))
        mine.interpreter.invoke()
        return [mine.interpreter.get_tensor(index) for index in mine.outputs]

    return infer


def _as(dtype: Any, array: Any) -> Any:
    import numpy as np

    return np.asarray(array, dtype=dtype)


def _details(interpreter: Any, feeds: list[Feed], case: Case) -> dict[str, Value]:
    import numpy as np

    found = interpreter.get_output_details()
    short = [author_name(told["name"]) for told in found]
    names = short if len({*short}) == len(short) else [str(told["name"]) for told in found]
    outputs = {
        name: f"{np.dtype(told['dtype']).name}[{'x'.join(map(str, told['shape']))}]"
        for name, told in zip(names, found, strict=True)
    }
    return {
        "inputs": {name: f"{array.dtype}[{'x'.join(map(str, array.shape))}]" for name, array in feeds[0].items()},
        "outputs": dict(outputs),
        "distinct_inputs": len(feeds),
        "num_threads": whole(case.target.options, "num_threads", 0),
        "xnnpack": boolean(case.target.options, "xnnpack", True),
        "delegate": str(case.target.options.get("delegate", "")),
    }
