"""From a planned test to the pass that the runtime `binary` carries out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright.compat.harness.specs import lookups, settings
from benchwright.compat.harness.specs.plans import FileEntry, PlannedTest, Role
from benchwright.errors import FetchError
from benchwright.targets.specs.passes import HostCommands, Pass, PassFile

# Frameworks whose programs are run again until they told of `iter` executions, of which the latest are kept. A program
# of any other framework runs once, and every row that it prints is kept.
COLLECTED = frozenset({"caffe2", "pytorch"})


def to_pass(
    test: PlannedTest,
    *,
    program: str | Path,
    programs: Mapping[str, str | Path],
    libraries: Iterable[str | Path],
    placed: Mapping[str, Path],
) -> Pass:
    """The test as a pass. `placed` says where each wanted file lies here, by the key of its entry."""
    files = _separate_names(
        [(entry.role, _file(entry, placed)) for entry in test.files if entry.role is not Role.LIBRARY]
    )
    own = [_path(entry, placed) for entry in test.files if entry.role is Role.LIBRARY]
    converter = _mapping(test.model.get("converter"))
    return Pass(
        framework=test.framework,
        metric=test.metric,
        commands=test.commands,
        program=str(program),
        programs={name: str(path) for name, path in programs.items()},
        libraries=(*(str(path) for path in libraries), *own),
        files=_files_of(files, Role.MODEL),
        input_files=_files_of(files, Role.INPUT, Role.TEST),
        output_files=_files_of(files, Role.OUTPUT, Role.GOLDEN),
        model=test.model,
        test=test.test,
        tokens=test.tokens,
        iterations=test.iterations if test.framework in COLLECTED else -1,
        repeat=test.repeat,
        converter=str(converter.get("name") or ""),
        converter_args=_mapping(converter.get("args")),
        seed_dialect=test.seed_dialect,
        env=test.env,
        timeout=test.timeout,
        cpus=test.cpus,
        sleep_before_run=test.sleep_before_run,
        before=_step(test, test.model, "preprocess", "model.", files),
        before_each=_step(test, test.test, "preprocess", "", files),
        after_each=_step(test, test.test, "postprocess", "", files),
        after=_step(test, test.model, "postprocess", "model.", files),
        log_output=test.log_output,
    )


def _step(
    test: PlannedTest, source: Mapping[str, Any], name: str, before: str, files: list[tuple[Role, PassFile]]
) -> HostCommands | None:
    step = source.get(name)
    commands = lookups.step_commands(step)
    if not commands or not isinstance(step, Mapping):
        return None
    args = _mapping(step.get("platform_args"))
    key = f"{before}{name}.files."
    return HostCommands(
        commands=tuple(commands),
        files=tuple(
            replace(file, key=file.key.removeprefix("model."))
            for role, file in files
            if role is Role.STEP and file.key.startswith(key)
        ),
        env={str(key): str(value) for key, value in _mapping(args.get("env")).items()},
        timeout=settings.number(args["timeout"], 0.0) if settings.is_number(args.get("timeout")) else test.timeout,
    )


def _file(entry: FileEntry, placed: Mapping[str, Path]) -> PassFile:
    made = entry.role is Role.OUTPUT
    return PassFile(
        key=entry.key.removeprefix("test."),
        name=entry.filename,
        path="" if made else _path(entry, placed),
        converter=entry.converter,
        args=entry.args,
    )


def _path(entry: FileEntry, placed: Mapping[str, Path]) -> str:
    """Returns where a file lies, or will lie: the run fills in a location with a placeholder."""
    if not entry.is_wanted:
        return entry.location
    if entry.key in placed:
        return str(placed[entry.key])
    if "://" in entry.location:
        raise FetchError(f"{entry.place}: {entry.key} was not fetched from {entry.location}")
    return entry.location


def _separate_names(files: list[tuple[Role, PassFile]]) -> list[tuple[Role, PassFile]]:
    """Files that would be pushed over each other get folders of their own; what the program makes keeps its name."""
    taken = {file.name for role, file in files if role in (Role.OUTPUT, Role.GOLDEN)}
    found: list[tuple[Role, PassFile]] = []
    for role, file in files:
        if role in (Role.MODEL, Role.INPUT, Role.TEST):
            if file.name in taken:
                file = replace(file, name=f"{file.key}/{file.name}")
            taken.add(file.name)
        found.append((role, file))
    return found


def _files_of(files: list[tuple[Role, PassFile]], *roles: Role) -> tuple[PassFile, ...]:
    return tuple(file for role, file in files if role in roles)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
