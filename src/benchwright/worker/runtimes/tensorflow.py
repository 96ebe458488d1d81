"""TensorFlow: Keras files, SavedModels, and models from Python code, called as one graph function."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from benchwright.errors import DeviceError, LoadError, did_you_mean
from benchwright.records import Case, Target, Value
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.failures import (
    SEE_THE_LOG,
    explain_lack_of_memory,
    first_line,
    load_error,
    log_traceback,
    refuse_empty,
)
from benchwright.worker.runtimes.inputs.state import refuse as refuse_state
from benchwright.worker.runtimes.options import boolean, refuse_unknown, whole
from benchwright.worker.runtimes.user_objects import load_object

if TYPE_CHECKING:
    from benchwright.worker.runtimes.inputs.feeds import Feed, TensorSignature

OPTIONS = frozenset({"intra_op_threads", "inter_op_threads", "jit_compile", "signature"})
SAVED_MODEL = "saved_model.pb"
_DEFAULT = "serving_default"
_CASTS = {"fp16": "mixed_float16", "bf16": "mixed_bfloat16"}


class TensorFlow:
    """`.keras`, `.h5`, `folder/saved_model.pb`, or `net.py::make_model` for what makes a Keras model or `tf.Module`."""

    name: ClassVar[str] = "tensorflow"
    extensions: ClassVar[tuple[str, ...]] = (".keras", ".h5", ".pb", ".py")
    requires: ClassVar[str] = "tensorflow-cpu"
    module: ClassVar[str] = "tensorflow"

    @staticmethod
    def check(target: Target) -> None:
        """Refuses unknown options and precisions."""
        refuse_unknown(target.options, OPTIONS, "tensorflow")
        if target.precision and target.precision != "fp32" and not (target.precision in _CASTS and ".py" in target.uri):
            raise LoadError(
                f"tensorflow cannot change {Path(target.uri).name} to precision {target.precision!r}",
                remedy="export it in that precision, or name the Python code that makes it",
            )

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        refuse_state(case, "tensorflow")
        refuse_empty(case.target.uri)
        with explain_lack_of_memory("tensorflow", case.target.uri):
            return self._load(case)

    def _load(self, case: Case) -> Loaded:
        from benchwright.worker.runtimes.inputs.feeds import build

        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # what it says of itself at each start is no news
        import tensorflow

        _set_threads(tensorflow, case)
        device = _device(tensorflow, case.target.device)
        with tensorflow.device(device):
            model = _model(tensorflow, case)
            function, specs = _function(tensorflow, model, case)
            arrays, warnings = build(specs, case.inputs)
            feeds = [{n: tensorflow.constant(a) for n, a in feed.items()} for feed in arrays]
        call = _make_call(tensorflow, function, device)
        return Loaded(
            call=call,
            infer=_make_infer(tensorflow, call, [spec.name for spec in specs]),
            feed=arrays[0],
            model=model,
            arguments=[tuple(feed.values()) for feed in feeds],
            device=case.target.device,
            drawn=case.inputs.source == "random",
            items_per_call=case.inputs.batch_size,
            versions={"tensorflow": str(tensorflow.__version__)},
            details={**_details(tensorflow, arrays, case), **_outputs(model)},
            warnings=warnings,
            report=lambda: _check_device(call(*feeds[0].values()), device),
            close=[model].clear,  # its functions do not keep its variables alive
        )


def _set_threads(tensorflow: Any, case: Case) -> None:
    if threads := whole(case.target.options, "intra_op_threads", 0):
        tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
    if threads := whole(case.target.options, "inter_op_threads", 0):
        tensorflow.config.threading.set_inter_op_parallelism_threads(threads)


def _device(tensorflow: Any, asked: str) -> str:
    kind, _, index = asked.partition(":")
    kind = {"cuda": "GPU"}.get(kind, kind.upper())
    found = tensorflow.config.list_logical_devices(kind)
    if len(found) <= int(index or 0):
        have = ", ".join(device.name for device in tensorflow.config.list_logical_devices())
        raise DeviceError(f"tensorflow has no device {asked!r}, only {have}")
    return str(found[int(index or 0)].name)


# ---- the kinds of model ----


def _model(tensorflow: Any, case: Case) -> Any:
    uri = case.target.uri
    try:
        if uri.endswith((".keras", ".h5")):
            return tensorflow.keras.models.load_model(uri, compile=False, safe_mode=True)
        if uri.endswith(".pb"):
            return tensorflow.saved_model.load(_folder(uri))
    except LoadError:
        raise
    except Exception as error:  # the library raises many kinds, all of which mean that it did not load
        raise load_error("tensorflow", f"load {uri}", error) from None
    return _make_model(tensorflow, case)


def _folder(uri: str) -> str:
    path = Path(uri)
    if path.name != SAVED_MODEL:
        raise LoadError(f"{uri} is a frozen graph, or no model", remedy=f"name the {SAVED_MODEL} of a SavedModel")
    return str(path.parent)


def _make_model(tensorflow: Any, case: Case) -> Any:
    made = load_object(case.target.uri)
    if case.target.precision in _CASTS:
        tensorflow.keras.mixed_precision.set_global_policy(_CASTS[case.target.precision])
    if not isinstance(made, tensorflow.Module) and callable(made):
        try:
            made = made()
        except Exception as error:  # the border to the user's code
            log_traceback(error)
            raise LoadError(
                f"tensorflow could not load {case.target.uri}: {first_line(error)}", remedy=SEE_THE_LOG
            ) from None
    if not callable(made):
        raise LoadError(f"{case.target.uri} made {type(made).__name__}, which cannot be called")
    return made


def _function(tensorflow: Any, model: Any, case: Case) -> tuple[Callable[..., Any], list[TensorSignature]]:
    """The model as a graph function of its inputs in order, and what they are."""
    compile_it = boolean(case.target.options, "jit_compile", False) or None
    signatures = getattr(model, "signatures", None)
    if signatures:
        name = str(case.target.options.get("signature", _DEFAULT))
        if name not in signatures:
            raise LoadError(f"{case.target.uri} has no signature {name!r}", remedy=did_you_mean(name, signatures))
        concrete = signatures[name]
        signature = concrete.structured_input_signature[1]
        names = sorted(signature)

        def by_name(*given: Any) -> Any:
            return concrete(**dict(zip(names, given, strict=True)))

        return by_name, [_spec(name, signature[name].shape, signature[name].dtype) for name in names]
    inputs = getattr(model, "inputs", None)
    if inputs:
        several = len(inputs) > 1
        whole_call = tensorflow.function(
            lambda *given: model(list(given) if several else given[0], training=False), jit_compile=compile_it
        )
        return whole_call, [_spec(i.name.partition(":")[0], i.shape, i.dtype) for i in inputs]
    return tensorflow.function(lambda *given: model(*given), jit_compile=compile_it), _requested_inputs(case)


def _spec(name: str, shape: Any, dtype: Any) -> TensorSignature:
    from benchwright.worker.runtimes.inputs.feeds import TensorSignature

    return TensorSignature(name=name, shape=tuple(shape), dtype=getattr(dtype, "name", str(dtype)))


def _requested_inputs(case: Case) -> list[TensorSignature]:
    """A `tf.Module` does not tell what it takes; the request must, in the order of its arguments."""
    from benchwright.worker.runtimes.inputs.feeds import TensorSignature

    shapes, dtypes = case.inputs.shapes, case.inputs.dtypes
    if not shapes:
        raise LoadError(
            f"{case.target.uri} does not tell what it takes", remedy="give the shapes: --shape x:1x3x224x224"
        )
    usual = "float32" if case.inputs.source == "random" else ""
    return [
        TensorSignature(name=name, shape=(None, *shape[1:]), dtype=dtypes.get(name, dtypes.get("", usual)))
        for name, shape in shapes.items()
    ]


# ---- calling ----


def _make_call(tensorflow: Any, function: Callable[..., Any], device: str) -> Callable[..., Any]:
    """On the CPU a graph function returns when it is done; another device is waited for."""
    if "CPU" in device:
        return function
    wait = tensorflow.test.experimental.sync_devices

    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        wait()
        return result

    return call


def _make_infer(tensorflow: Any, call: Callable[..., Any], names: list[str]) -> Callable[..., Any]:
    def infer(*arrays: Any, **named: Any) -> Any:
        by_name = {**dict(zip(names, arrays, strict=False)), **named}
        return call(*(tensorflow.constant(by_name[name]) for name in names))

    return infer


def _check_device(result: Any, device: str) -> Report:
    """Fails when the result of one more call lies elsewhere than on the device that was asked for."""
    first = next(iter(result.values())) if isinstance(result, dict) else result
    first = first[0] if isinstance(first, list | tuple) else first
    where = str(getattr(first, "device", ""))
    kind = device.rpartition("device:")[2].partition(":")[0]
    if where and f"device:{kind}" not in where:
        raise DeviceError(f"tensorflow was asked for {device} and computed on {where}")
    return Report()


def _outputs(model: Any) -> dict[str, Value]:
    """What a Keras model calls its outputs; a signature names them in every answer."""
    names, tensors = getattr(model, "output_names", None), getattr(model, "outputs", None)
    if not names or not tensors:
        return {}
    specs = ((name, _spec(name, t.shape, t.dtype)) for name, t in zip(names, tensors, strict=True))
    return {"outputs": {name: f"{spec.dtype}[{'x'.join(map(str, spec.shape or ()))}]" for name, spec in specs}}


def _details(tensorflow: Any, feeds: list[Feed], case: Case) -> dict[str, Value]:
    return {
        "inputs": {name: f"{array.dtype}[{'x'.join(map(str, array.shape))}]" for name, array in feeds[0].items()},
        "distinct_inputs": len(feeds),
        "intra_op_threads": tensorflow.config.threading.get_intra_op_parallelism_threads(),
        "inter_op_threads": tensorflow.config.threading.get_inter_op_parallelism_threads(),
        "jit_compile": boolean(case.target.options, "jit_compile", False),
    }
