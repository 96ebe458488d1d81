"""OpenVINO: `.onnx` and `.xml` files. `compile` gives the model the inputs' shapes and saves it."""

from __future__ import annotations

from functools import partial

from benchwright.compat.neuronperf import benchmark_calls
from benchwright.compat.neuronperf.compilation import CompileJob, Compiler, compile_with

benchmark = partial(benchmark_calls.benchmark, runtime="openvino")
evaluate = partial(benchmark_calls.evaluate, runtime="openvino")


def _write(job: CompileJob) -> None:
    import openvino

    model = openvino.Core().read_model(job.model)
    given = {**dict(zip((port.any_name for port in model.inputs), job.args, strict=False)), **job.named}
    model.reshape({name: list(array.shape) for name, array in given.items()})
    openvino.save_model(model, str(job.path), **{"compress_to_fp16": False, **job.arguments})


COMPILER = Compiler(runtime="openvino", ending=".xml", write=_write)
compile = partial(compile_with, COMPILER)  # noqa: A001 - the name its users know
