"""One call of benchmark.py: prepares, runs every method in every trial through the runner, and says how it went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchwright.compat.perfzero import console, preparation, systems, tpus, uploads
from benchwright.compat.perfzero import flags as perfzero_flags
from benchwright.compat.perfzero.console import log
from benchwright.compat.perfzero.flags import PerfZeroFlags
from benchwright.compat.perfzero.summary import RunFacts
from benchwright.compat.perfzero.tpus import Tpu
from benchwright.compat.perfzero.trials import Trials
from benchwright.compat.perfzero.workspace import Workspace
from benchwright.errors import BenchwrightError
from benchwright.targets.sources import classes

Spent = dict[str, object]


def main(arguments: Sequence[str], project: Path) -> int:
    """Exit code 1 when a method or the preparation failed; a bound that does not hold counts only if asked."""
    console.start_logging(perfzero_flags.USUAL_LEVEL)
    try:
        flags = perfzero_flags.parse(arguments)
        console.start_logging(perfzero_flags.level(flags))
        workspace = Workspace(project=project, name=flags.texts["workspace"])
        if flags.dry:
            return _list_methods(flags, workspace)
        return _run(flags, workspace, arguments)
    except BenchwrightError as error:
        log.error("%s", error)
    except OSError as error:
        log.error("%s: %s", error.filename or project, error.strerror or error)
    return 1


def import_paths(flags: PerfZeroFlags, workspace: Workspace) -> tuple[str, ...]:
    """Where classes are imported from after Python's own places: `--python_path`, then the present folder."""
    return (*workspace.python_path(flags.split("python_path")), str(Path.cwd()))


def _list_methods(flags: PerfZeroFlags, workspace: Workspace) -> int:
    for method in _expand_methods(flags, import_paths(flags, workspace)):
        console.say(method)
    return 0


def _run(flags: PerfZeroFlags, workspace: Workspace, arguments: Sequence[str]) -> int:
    spent: Spent = {}
    uploads.check(flags)
    tpu = tpus.parse(flags.texts["tpu_parameters"])
    for path in flags.split("python_path"):
        log.info("Adding path %s to sys.path", path)
    with _time_operation(spent, "activate_gcloud_service"):
        preparation.activate_key(flags, workspace)
    _make_folder(workspace.output)
    with _time_operation(spent, "download_data"):
        preparation.download_data(flags)
    with _time_operation(spent, "checkout_repository"):
        packages = preparation.checkout_repositories(flags, workspace)
    with _hold_tpu(tpu, spent, packages) as deleted:
        code = _measure(flags, workspace, arguments, packages, spent)
    return code if all(deleted) else 1


def _measure(
    flags: PerfZeroFlags,
    workspace: Workspace,
    arguments: Sequence[str],
    packages: dict[str, dict[str, str]],
    spent: Spent,
) -> int:
    paths = import_paths(flags, workspace)
    methods = _expand_methods(flags, paths)
    if not methods:
        log.warning("there is no method to run: give --benchmark_methods")
    log.info("The following benchmark methods will be executed: %s", methods)
    facts = RunFacts(
        flags=flags,
        harness=systems.harness_info(),
        env_vars=systems.env_vars(),
        packages=packages,
        paths=paths,
        system=systems.system_info(
            platform_name=flags.texts["platform_name"],
            system_name=flags.texts["system_name"],
            has_tpu=bool(flags.texts["tpu_parameters"]),
        ),
    )
    console.say(f"Setup complete. Running {flags.trials} trials")
    trials = Trials(facts, workspace, paths)
    code = trials.run(methods, arguments)
    console.block("Benchmark execution time in seconds by operation:", {**spent, **trials.seconds})
    console.block("Benchmark success results:", trials.succeeded)
    console.block("Benchmark local output directories:", trials.folders)
    return code


def _make_folder(folder: Path) -> None:
    if not folder.exists():
        folder.mkdir(parents=True)
        log.info("Created directory %s", folder)


def _expand_methods(flags: PerfZeroFlags, paths: Sequence[str]) -> list[str]:
    """Returns every method that `--benchmark_methods` names; `Class.filter:REGEX` stands for several."""
    return [
        name
        for method in flags.methods
        for name in classes.expand(method, style=flags.style, last_paths=paths, timeout=flags.limit)
    ]


@contextmanager
def _hold_tpu(tpu: Tpu | None, spent: Spent, packages: dict[str, dict[str, str]]) -> Iterator[list[bool]]:
    """Holds a TPU for the block, if one was asked for; the list says afterwards whether it was deleted."""
    deleted: list[bool] = []
    if tpu is None:
        yield deleted
        return
    try:
        with _time_operation(spent, "start_tpu"):
            packages["tpu_version"] = tpus.start(tpu)
        yield deleted
    finally:
        deleted.append(tpus.delete(tpu))


@contextmanager
def _time_operation(spent: Spent, operation: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    spent[operation] = round(time.perf_counter() - begin, 6)
