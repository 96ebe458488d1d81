"""`compile`: a model prepared once for each batch size, and an index of what came of it.

Each framework's module says how one file is written; what it says when it cannot is kept in the index.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.compat.neuronperf import model_index
from benchwright.compat.neuronperf.guarding import refuse_nesting
from benchwright.compat.neuronperf.planning import listed
from benchwright.compat.neuronperf.telling import VOICE
from benchwright.errors import OptionError, TargetError
from benchwright.runtimes import check_installed
from benchwright.runtimes.examples import batch_size
from benchwright.runtimes.feeding import spread

DEFAULT_LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One file to be written."""

    model: Any
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    level: int
    path: Path
    arguments: Mapping[str, Any]  # the caller's compiler_args


Write = Callable[[Job], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """How one framework prepares a model."""

    runtime: str
    ending: str
    write: Write
    levels: bool = False  # whether performance levels make different files


def compile_with(
    compiler: Compiler,
    model: Any,
    inputs: Any,
    batch_sizes: int | Sequence[int] | None = None,
    pipeline_sizes: int | Sequence[int] | None = None,
    performance_levels: int | Sequence[int] | None = None,
    models_dir: str | os.PathLike[str] = "models",
    model_name: str | None = None,
    filename: str | os.PathLike[str] | None = None,
    compiler_args: Mapping[str, Any] | None = None,
    verbosity: int = 1,
) -> str:
    """Prepares the model for each batch size and returns the file name of the index.

    A file that could not be made is in it with the status `error` and the reason.
    """
    refuse_nesting()
    check_installed(compiler.runtime)
    chosen = _by_size(inputs, batch_sizes)
    name = model_name or _name(model)
    levels = [DEFAULT_LEVEL] if performance_levels is None else _levels(performance_levels)
    folder = Path(models_dir)
    folder.mkdir(parents=True, exist_ok=True)
    configs = []
    for size, (number, example) in chosen.items():
        for level in levels if compiler.levels else levels[:1]:
            marked = f"_level{level}" if compiler.levels and len(levels) > 1 else ""
            args, named = spread(example)
            job = Job(
                model=model,
                args=args,
                named=named,
                level=level,
                path=folder / f"{name}_b{size}{marked}{compiler.ending}",
                arguments=dict(compiler_args or {}),
            )
            told = _written(compiler, job, verbosity)
            for each in [level] if compiler.levels else levels:
                for stages in [1] if pipeline_sizes is None else listed(pipeline_sizes, "pipeline_sizes"):
                    config = {"batch_size": size, "pipeline_size": stages, "performance_level": each}
                    configs.append({**model_index.DEFAULTS, **told, **config, "input_idx": number})
    index = {"version": model_index.VERSION, "model_name": name, "model_configs": configs}
    return model_index.save(index, filename)


def _written(compiler: Compiler, job: Job, verbosity: int) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        compiler.write(job)
    except Exception as error:  # the border to the framework and the user's model: a reason, not an end
        job.path.unlink(missing_ok=True)
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        if verbosity:
            VOICE.tell(f"{job.path.name}: {reason}")
        return {"filename": str(job.path), "status": "error", "error": reason}
    took = time.perf_counter() - began
    if verbosity:
        VOICE.tell(f"{job.path.name}: {took:.1f} s")
    return {"filename": str(job.path), "compile_s": took}


def _by_size(inputs: Any, batch_sizes: int | Sequence[int] | None) -> dict[int, tuple[int, Any]]:
    """For each batch size the example it is prepared with, and its number."""
    examples = inputs if isinstance(inputs, list) else [inputs]
    found: dict[int, tuple[int, Any]] = {}
    for number, example in enumerate(examples):
        found.setdefault(batch_size(example), (number, example))
    if batch_sizes is None:
        return found
    asked = listed(batch_sizes, "batch_sizes")
    for size in asked:
        if size not in found:
            have = ", ".join(map(str, found))
            raise OptionError(
                f"batch size {size} was asked for; the inputs have a leading dimension of {have}",
                remedy="give a list of inputs with one for each batch size",
            )
    return {size: found[size] for size in asked}


def _levels(asked: int | Sequence[int]) -> list[int]:
    levels = [asked] if isinstance(asked, int) else list(asked)
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= 3:
            raise OptionError(f"performance_levels: {level!r} is not one of 0, 1, 2, 3")
    return levels


def _name(model: Any) -> str:
    if isinstance(model, str | os.PathLike):
        return Path(model).stem
    return str(getattr(model, "__name__", "") or type(model).__name__)


def existing_file(model: Any, ending: str) -> str:
    """The path of a model file, or an error that says what is taken."""
    if not isinstance(model, str | os.PathLike) or not os.fspath(model).endswith(ending):
        raise TargetError(f"{model!r} is not the path of a file that ends with {ending}")
    return os.fspath(model)


def made(model: Any) -> Any:
    """The model; a class or a function without arguments is called for it."""
    return model() if inspect.isclass(model) or inspect.isfunction(model) else model
