"""PyTorch: a module's class, what makes one, TorchScript and exported programs. `compile` exports and saves."""

from __future__ import annotations

from functools import partial

from benchwright.compat.neuronperf import benchmarking
from benchwright.compat.neuronperf.compiling import Compiler, Job, compile_with, made

benchmark = partial(benchmarking.benchmark, runtime="torch")
evaluate = partial(benchmarking.evaluate, runtime="torch")


def _write(job: Job) -> None:
    import torch

    model = made(job.model)
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"{type(model).__name__} is not a torch.nn.Module")
    given = tuple(torch.as_tensor(array) for array in job.args)
    named = {name: torch.as_tensor(array) for name, array in job.named.items()}
    with torch.no_grad():
        program = torch.export.export(model.eval(), given, named or None, **job.arguments)
    torch.export.save(program, job.path)


COMPILER = Compiler(runtime="torch", ending=".pt2", write=_write)
compile = partial(compile_with, COMPILER)  # noqa: A001 - the name its users know
