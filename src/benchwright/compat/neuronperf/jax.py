"""JAX: functions, what makes them, exported programs. `compile` exports for the inputs' shapes and saves."""

from __future__ import annotations

from functools import partial

from benchwright.compat.neuronperf import benchmark_calls
from benchwright.compat.neuronperf.compilation import CompileJob, Compiler, compile_with

benchmark = partial(benchmark_calls.benchmark, runtime="jax")
evaluate = partial(benchmark_calls.evaluate, runtime="jax")


def _write(job: CompileJob) -> None:
    import jax

    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in job.args]
    program = jax.export.export(jax.jit(job.model), **job.arguments)(*shapes)
    job.path.write_bytes(bytes(program.serialize()))


COMPILER = Compiler(runtime="jax", ending=".jax", write=_write)
compile = partial(compile_with, COMPILER)  # noqa: A001 - the name its users know
