"""PyTorch: a module's class, what makes one, TorchScript and exported programs. `compile` exports and saves."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

from benchwright.compat.neuronperf import benchmark_calls
from benchwright.compat.neuronperf.compilation import CompileJob, Compiler, compile_with, make_model

benchmark = partial(benchmark_calls.benchmark, runtime="torch")
evaluate = partial(benchmark_calls.evaluate, runtime="torch")


def _write(job: CompileJob) -> None:
    import torch

    model = make_model(job.model)
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"{type(model).__name__} is not a torch.nn.Module")
    given = tuple(torch.as_tensor(array) for array in job.args)
    named = {name: torch.as_tensor(array) for name, array in job.named.items()}
    with torch.no_grad():
        program = torch.export.export(_cast(model.eval(), job.cast), given, named or None, **job.arguments)
    torch.export.save(program, job.path)


def _cast(model: Any, mode: str) -> Any:
    """The module in the numbers of a cast mode: matrix products alone, or all of it. What it gives is float32 again."""
    if mode not in _CASTS:
        return model
    import torch

    kind, name = _CASTS[mode]
    dtype = getattr(torch, name)
    inner = copy.deepcopy(model).to(dtype) if kind == "all" else model

    def convert(value: Any, wanted: Any) -> Any:
        is_real = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(wanted) if is_real else value

    class Cast(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *args: Any, **named: Any) -> Any:
            if kind == "all":
                args, named = torch.utils._pytree.tree_map(lambda value: convert(value, dtype), (args, named))
                output = self.inner(*args, **named)
            else:
                with torch.autocast("cpu", dtype=dtype):
                    output = self.inner(*args, **named)
            return torch.utils._pytree.tree_map(lambda value: convert(value, torch.float32), output)

    return Cast().eval()


_CASTS = {
    "fp32": ("all", "float32"),
    "matmult": ("matmult", "bfloat16"),
    "matmult-bf16": ("matmult", "bfloat16"),
    "matmult-fp16": ("matmult", "float16"),
    "all": ("all", "bfloat16"),
    "all-bf16": ("all", "bfloat16"),
    "all-fp16": ("all", "float16"),
    "bf16": ("all", "bfloat16"),
    "fp16": ("all", "float16"),
}
COMPILER = Compiler(runtime="torch", ending=".pt2", write=_write, casts=_CASTS)
compile = partial(compile_with, COMPILER)  # noqa: A001 - the name its users know
