"""NeuronPerf's door: `import benchwright.compat.neuronperf as npf`, and the rest of a script stays as it is.

A model is measured over batch sizes x copies x workers, on the same engine as `benchwright run`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from benchwright.compat.neuronperf import (
    benchmark_calls,
    cpu,
    gpu,
    jax,
    litert,
    model_index,
    mxnet,
    onnxruntime,
    openvino,
    tensorflow,
    torch,
)
from benchwright.compat.neuronperf.benchmark_calls import evaluate
from benchwright.compat.neuronperf.compilation import Compiler, compile_with, compiler_of
from benchwright.compat.neuronperf.display import (
    CSV_COLS,
    PRINT_COLS,
    REPORT_COLS,
    SUMMARY_COLS,
    print_reports,
    write_csv,
    write_json,
)
from benchwright.compat.neuronperf.messages import set_verbosity
from benchwright.compat.neuronperf.metrics import (
    BaseEvalMetric,
    list_metrics,
    register_metric,
    register_metric_from_existing,
)
from benchwright.compat.neuronperf.plan import MAX
from benchwright.compat.neuronperf.reports import get_report_by_tag, get_reports
from benchwright.errors import OptionError, TargetError

__all__ = [
    "CSV_COLS",
    "MAX",
    "PRINT_COLS",
    "REPORT_COLS",
    "SUMMARY_COLS",
    "BaseEvalMetric",
    "benchmark",
    "compile",
    "cpu",
    "evaluate",
    "get_report_by_tag",
    "get_reports",
    "gpu",
    "jax",
    "list_metrics",
    "litert",
    "model_index",
    "mxnet",
    "onnxruntime",
    "openvino",
    "print_reports",
    "register_metric",
    "register_metric_from_existing",
    "set_verbosity",
    "tensorflow",
    "torch",
    "write_csv",
    "write_json",
]

_NOT_GIVEN: Any = inspect.Parameter.empty


def benchmark(
    load_fn: Callable[[str, int], Any], model_filename: Any, inputs: Any = _NOT_GIVEN, *arguments: Any, **named: Any
) -> list[Any]:
    """Measures the model that `load_fn(model_filename, device number)` gives, and returns the reports.

    The arguments are those of `npf.torch.benchmark`, whose load_fn is torch's own. With two arguments,
    `npf.benchmark(model, inputs)`, what loads the model follows from what it is.
    """
    if inputs is _NOT_GIVEN:
        return benchmark_calls.benchmark(load_fn, model_filename, *arguments, **named)
    if not callable(load_fn):
        raise OptionError(
            f"load_fn: {load_fn!r} cannot be called",
            remedy="npf.benchmark(load_fn, model_filename, inputs, ...) takes a function first; "
            "npf.cpu.benchmark(model_filename, inputs, ...) does not",
        )
    return benchmark_calls.benchmark(model_filename, inputs, *arguments, load_fn=load_fn, **named)


def compile(  # noqa: A001 - the name its users know
    compile_fn: Callable[..., Any], model: Any, inputs: Any = _NOT_GIVEN, *arguments: Any, **named: Any
) -> str:
    """Prepares the model for each batch size with the caller's own function, and returns the name of the index.

    `compile_fn(model, example, path, **compiler_args)` writes the model to `path` and an ending. The other arguments
    are those of `npf.torch.compile`. With two arguments, `npf.compile(model, inputs)`, the framework of the model
    prepares it: a torch module, or what makes one, is exported; an `.onnx` file is optimised; an `.xml` file gets its
    shapes.
    """
    if inputs is _NOT_GIVEN:
        return compile_with(_choose_compiler(compile_fn), compile_fn, model, *arguments, **named)
    return compile_with(compiler_of(compile_fn), model, inputs, *arguments, **named)


def _prepend_parameter(function: Callable[..., Any], rest: Callable[..., Any], behind: int) -> inspect.Signature:
    """The signature of a function that takes its first argument before those of another, from its `behind`th on."""
    first = next(iter(inspect.signature(function).parameters.values()))
    whole = inspect.signature(rest)
    others = [each for each in list(whole.parameters.values())[behind:] if each.name != first.name]
    return whole.replace(parameters=[first, *others])


benchmark.__signature__ = _prepend_parameter(benchmark, benchmark_calls.benchmark, 0)  # type: ignore[attr-defined]
compile.__signature__ = _prepend_parameter(compile, compile_with, 1)  # type: ignore[attr-defined]


def _choose_compiler(model: Any) -> Compiler:
    text = str(model) if hasattr(model, "__fspath__") or isinstance(model, str) else ""
    if text.endswith(".onnx"):
        return onnxruntime.COMPILER
    if text.endswith(".xml"):
        return openvino.COMPILER
    if text:
        raise TargetError(f"{text} needs no compilation", remedy="measure it with npf.benchmark")
    return torch.COMPILER
