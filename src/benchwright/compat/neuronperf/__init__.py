"""NeuronPerf's door: `import benchwright.compat.neuronperf as npf`, and the rest of a script stays as it is.

A model is measured over batch sizes x copies x workers, on the same engine as `benchwright run`.
"""

from __future__ import annotations

from typing import Any

from benchwright.compat.neuronperf import (
    cpu,
    gpu,
    jax,
    litert,
    model_index,
    onnxruntime,
    openvino,
    tensorflow,
    torch,
)
from benchwright.compat.neuronperf.benchmarking import benchmark, evaluate
from benchwright.compat.neuronperf.compiling import Compiler, compile_with
from benchwright.compat.neuronperf.metrics import register_metric, register_metric_from_existing
from benchwright.compat.neuronperf.planning import MAX
from benchwright.compat.neuronperf.reports import get_report_by_tag, get_reports
from benchwright.compat.neuronperf.showing import CSV_COLS, PRINT_COLS, print_reports, write_csv, write_json
from benchwright.compat.neuronperf.telling import set_verbosity
from benchwright.errors import TargetError

__all__ = [
    "CSV_COLS",
    "MAX",
    "PRINT_COLS",
    "benchmark",
    "compile",
    "cpu",
    "evaluate",
    "get_report_by_tag",
    "get_reports",
    "gpu",
    "jax",
    "litert",
    "model_index",
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


def compile(model: Any, inputs: Any, *arguments: Any, **named: Any) -> str:  # noqa: A001 - the name its users know
    """Prepares the model for each batch size with the framework it is of, and returns the name of the index.

    A torch module, or what makes one, is exported; an `.onnx` file is optimised; an `.xml` file gets its shapes. The
    arguments are those of `npf.torch.compile`.
    """
    return compile_with(_compiler(model), model, inputs, *arguments, **named)


def _compiler(model: Any) -> Compiler:
    text = str(model) if hasattr(model, "__fspath__") or isinstance(model, str) else ""
    if text.endswith(".onnx"):
        return onnxruntime.COMPILER
    if text.endswith(".xml"):
        return openvino.COMPILER
    if text:
        raise TargetError(f"{text} is ready as it is", remedy="measure it with npf.benchmark")
    return torch.COMPILER
