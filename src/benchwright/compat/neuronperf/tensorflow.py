"""TensorFlow and Keras: `.keras`, `.h5`, SavedModels, and what makes a model. `compile` saves a Keras model."""

from __future__ import annotations

from functools import partial

from benchwright.compat.neuronperf import benchmark_calls
from benchwright.compat.neuronperf.compilation import CompileJob, Compiler, compile_with, make_model

benchmark = partial(benchmark_calls.benchmark, runtime="tensorflow")
evaluate = partial(benchmark_calls.evaluate, runtime="tensorflow")


def _write(job: CompileJob) -> None:
    model = job.model if hasattr(job.model, "save") else make_model(job.model)
    if not callable(getattr(model, "save", None)):
        raise TypeError(f"{type(model).__name__} is not a Keras model; a SavedModel's folder is measured as it is")
    model(*job.args, **job.named)  # builds what has no weights yet, and refuses inputs that do not fit
    model.save(str(job.path), **job.arguments)


COMPILER = Compiler(runtime="tensorflow", ending=".keras", write=_write)
compile = partial(compile_with, COMPILER)  # noqa: A001 - the name its users know
