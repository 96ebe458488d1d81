"""`compile`: a model prepared once for each example, and an index of what came of it.

Each framework's module says how one file is written; what it says when it cannot is kept in the index. Files are
written in a folder of their own first and get a name that tells their content: no file that is there is overwritten,
and a failure leaves nothing.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchwright.compat.neuronperf import model_index
from benchwright.compat.neuronperf.handover import refuse_nesting
from benchwright.compat.neuronperf.messages import INFO, USUAL, VOICE
from benchwright.compat.neuronperf.plan import read_whole_numbers, refuse_target
from benchwright.errors import OptionError, TargetError
from benchwright.system import whole_files
from benchwright.worker.runtimes import check_installed
from benchwright.worker.runtimes.pipeline.examples import batch_size
from benchwright.worker.runtimes.pipeline.feeds import spread

DEFAULT_LEVEL = 3
_DIGITS = 8  # of a content's digest, in a file's name


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileJob:
    """One file to be written."""

    model: Any
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    level: int
    path: Path
    arguments: Mapping[str, Any]  # the caller's compiler_args
    cast: str = model_index.DEFAULT_CAST
    example: Any = None  # what args and named come from


Write = Callable[[CompileJob], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """How one framework prepares a model."""

    runtime: str  # "" where the caller's own function writes
    ending: str
    write: Write
    levels: bool = False  # whether performance levels make different files
    casts: Mapping[str, Any] = field(default_factory=dict)  # cast modes that it can make, besides none


def compile_with(
    compiler: Compiler,
    model: Any,
    inputs: Any,
    batch_sizes: int | Sequence[int] | None = None,
    pipeline_sizes: int | Sequence[int] | None = None,
    performance_levels: int | Sequence[int] | None = None,
    models_dir: str | os.PathLike[str] = "models",
    filename: str | os.PathLike[str] | None = None,
    compiler_args: Mapping[str, Any] | None = None,
    verbosity: int = USUAL,
    *,
    model_name: str | None = None,
    cast_modes: str | Sequence[str] | None = None,
    compiler_target: str | None = None,
) -> str:
    """Prepares the model for each example of the batch sizes and returns the file name of the index.

    A file that could not be made is in it with the status `error` and the reason. The files' names tell their content,
    so that no other model's file is overwritten. `cast_modes` makes a file for each mode that the framework can make.
    """
    refuse_nesting()
    refuse_target(compiler_target)
    if compiler.runtime:
        check_installed(compiler.runtime)
    _check_index_name(filename)
    chosen = _choose_examples(inputs, batch_sizes)
    name = model_name or _name(model)
    levels = [DEFAULT_LEVEL] if performance_levels is None else _check_levels(performance_levels)
    casts = _check_casts(cast_modes)
    stages = [1] if pipeline_sizes is None else read_whole_numbers(pipeline_sizes, "pipeline_sizes")
    folder = Path(models_dir)
    folder.mkdir(parents=True, exist_ok=True)
    configs = []
    with VOICE.at(verbosity):
        for (number, example), cast in itertools.product(chosen, casts):
            args, named = spread(example)
            for level in levels if compiler.levels else levels[:1]:
                job = CompileJob(
                    model=model,
                    args=args,
                    named=named,
                    level=level,
                    path=folder / f"{_stem(name, example, level, cast, compiler)}{compiler.ending}",
                    arguments=dict(compiler_args or {}),
                    cast=cast,
                    example=example,
                )
                outcome = _compile_file(compiler, job)
                for each, size in itertools.product([level] if compiler.levels else levels, stages):
                    config = {"batch_size": batch_size(example), "pipeline_size": size, "performance_level": each}
                    config |= {"cast_mode": cast, "input_idx": number}
                    configs.append({**model_index.DEFAULTS, **outcome, **config})
    index = {"version": model_index.VERSION, "model_name": name, "model_configs": configs}
    return model_index.save(index, filename)


def compiler_of(function: Callable[..., Any]) -> Compiler:
    """Returns a compiler that calls the caller's own function.

    It is called with the model, an example, a path without an ending, and the compiler_args by name. It writes the
    model to that path, with any ending that the runtime of the model knows.
    """
    if not callable(function):
        raise OptionError(f"compile_fn: {type(function).__name__} cannot be called")

    def write(job: CompileJob) -> None:
        function(job.model, job.example, str(job.path), **job.arguments)

    return Compiler(runtime="", ending="", write=write)


# ---- one file, whole or not at all ----


def _compile_file(compiler: Compiler, job: CompileJob) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        _refuse_cast(compiler, job.cast)
        kept = _write_whole(compiler, job)
    except Exception as error:  # the border to the framework and the user's model: a reason, not an end
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        VOICE.tell(f"{job.path.name}: {reason}")
        base = job.path.name.removesuffix(compiler.ending)
        unmade = job.path.with_name(f"{base}_not-made{compiler.ending}")  # names no file of another index
        return {"filename": str(unmade), "status": "error", "error": reason}
    took = time.perf_counter() - began
    VOICE.tell(f"{kept.name}: {took:.1f} s", INFO)
    return {"filename": str(kept), "compile_s": took}


def _write_whole(compiler: Compiler, job: CompileJob) -> Path:
    """Writes the file beside its place, then gives it a name made from its content."""
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=job.path.parent) as folder:
        unfinished = replace(job, path=Path(folder) / job.path.name)
        compiler.write(unfinished)
        files = sorted(path for path in Path(folder).iterdir() if path.is_file())
        if not files:
            raise TargetError(f"no file was written to {unfinished.path.name}")
        files.sort(key=lambda file: file == unfinished.path)  # the model last: what it needs is there by then
        base, digest = job.path.name.removesuffix(compiler.ending), _digest(files)
        stems = itertools.chain([digest], (f"{digest}-{number}" for number in itertools.count(1)))
        return next(kept for stem in stems if (kept := _place_files(files, base, job.path.parent, f"{base}_{stem}")))


def _place_files(files: Sequence[Path], base: str, folder: Path, stem: str) -> Path | None:
    """Renames the files from `base` to `stem`; returns the last one's path, or None when the name is taken."""
    placed: list[Path] = []
    for file in files:
        target = folder / f"{stem}{file.name.removeprefix(base)}"
        try:
            whole_files.name_file(file, target)
        except FileExistsError:
            for path in placed:
                path.unlink()
            return None
        placed.append(target)
    return placed[-1]


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:_DIGITS]


# ---- what was asked for ----


def _choose_examples(inputs: Any, batch_sizes: int | Sequence[int] | None) -> list[tuple[int, Any]]:
    """The examples that the model is prepared with, each with its number among the inputs."""
    examples = list(enumerate(inputs if isinstance(inputs, list) else [inputs]))
    if batch_sizes is None:
        return examples
    sizes = {number: batch_size(example) for number, example in examples}
    asked = read_whole_numbers(batch_sizes, "batch_sizes")
    for size in asked:
        if size not in sizes.values():
            have = ", ".join(map(str, dict.fromkeys(sizes.values())))
            raise OptionError(
                f"batch size {size} was asked for; the inputs have a leading dimension of {have}",
                remedy="give a list of inputs with one for each batch size",
            )
    return [(number, example) for size in asked for number, example in examples if sizes[number] == size]


def _check_levels(asked: int | Sequence[int]) -> list[int]:
    levels = [asked] if isinstance(asked, int) else list(asked)
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= 3:
            raise OptionError(f"performance_levels: {level!r} is not one of 0, 1, 2, 3")
    return levels


def _check_casts(asked: str | Sequence[str] | None) -> list[str]:
    modes = [asked] if isinstance(asked, str) else list(asked or [model_index.DEFAULT_CAST])
    for mode in modes:
        if not isinstance(mode, str):
            raise OptionError(f"cast_modes: {mode!r} is not the name of a mode")
    return list(dict.fromkeys(modes))


def _refuse_cast(compiler: Compiler, mode: str) -> None:
    if mode != model_index.DEFAULT_CAST and mode not in compiler.casts:
        what = f"{compiler.runtime} cannot make" if compiler.runtime else "compile_fn is not asked for"
        known = ", ".join([model_index.DEFAULT_CAST, *compiler.casts])
        raise OptionError(
            f"{what} the cast mode {mode!r} (it makes: {known})", remedy="cast the model itself before it is compiled"
        )


def _check_index_name(filename: str | os.PathLike[str] | None) -> None:
    if filename is not None and not os.fspath(filename).endswith(model_index.ENDING):
        raise OptionError(
            f"filename: {os.fspath(filename)!r} does not end with {model_index.ENDING}, by which an index is known",
            remedy="filename names the index; model_name=... names the model",
        )


def _stem(name: str, example: Any, level: int, cast: str, compiler: Compiler) -> str:
    marks = [f"b{batch_size(example)}"]
    marks += [f"level{level}"] if compiler.levels else []
    marks += [cast] if cast != model_index.DEFAULT_CAST else []
    return re.sub(r"[^\w.+-]", "_", "_".join([name, *marks]))


def _name(model: Any) -> str:
    if isinstance(model, str | os.PathLike):
        return Path(model).stem
    return str(getattr(model, "__name__", "") or type(model).__name__)


def existing_file(model: Any, ending: str) -> str:
    """The path of a model file, or an error that says what is taken."""
    if not isinstance(model, str | os.PathLike) or not os.fspath(model).endswith(ending):
        raise TargetError(f"{model!r} is not the path of a file that ends with {ending}")
    return os.fspath(model)


def make_model(model: Any) -> Any:
    """Returns the model; a class or a function without arguments is called for it."""
    return model() if inspect.isclass(model) or inspect.isfunction(model) else model
