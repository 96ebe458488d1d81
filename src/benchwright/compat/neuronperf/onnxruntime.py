"""ONNX Runtime: `.onnx` files. `compile` optimises the graph for each batch size and saves it.

Performance levels 0 to 3 are its levels of graph optimisation: none, basic, extended, all.
"""

from __future__ import annotations

from functools import partial

from benchwright.compat.neuronperf import benchmark_calls
from benchwright.compat.neuronperf.compilation import CompileJob, Compiler, compile_with, existing_file

benchmark = partial(benchmark_calls.benchmark, runtime="onnxruntime")
evaluate = partial(benchmark_calls.evaluate, runtime="onnxruntime")

_LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")


def _write(job: CompileJob) -> None:
    import onnxruntime

    file = existing_file(job.model, ".onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, _LEVELS[job.level])
    options.optimized_model_filepath = str(job.path)
    options.log_severity_level = 3  # it warns that what is optimised fits this machine, which is what was asked for
    plain = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    given = {**dict(zip((i.name for i in plain.get_inputs()), job.args, strict=False)), **job.named}
    for told in plain.get_inputs():
        for size, real in zip(told.shape, given[told.name].shape, strict=True):
            if isinstance(size, str):
                options.add_free_dimension_override_by_name(size, int(real))
    for name, value in job.arguments.items():
        setattr(options, name, value)
    onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


COMPILER = Compiler(runtime="onnxruntime", ending=".onnx", write=_write, levels=True)
compile = partial(compile_with, COMPILER)  # noqa: A001 - the name its users know
