"""A spec of the older forms in ours. What has no place there is told, so that nothing is lost unseen."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from benchwright.compat.harness.specs import commands, loader, lookups, planner, settings
from benchwright.compat.harness.specs.check import suggest_framework, texts
from benchwright.compat.harness.specs.plans import LIBRARIES, FileEntry, PlannedTest, Role, SpecRequest
from benchwright.errors import TargetError
from benchwright.targets.specs import form, placeholders, places
from benchwright.targets.specs.places import SpecProblem, errors
from benchwright.targets.specs.reader import is_ours, refusal

_DTYPES = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64", "char": "int8"}
_RUNTIMES = {".onnx": "onnxruntime", ".tflite": "litert", ".pt": "torch", ".pt2": "torch", ".xml": "openvino"}
_LEFT = {  # what our form has no word for, and what to do instead
    "preprocess": "run it before, and give the spec its files",
    "postprocess": "run it after, on what the program left",
    "repeat": "use --rounds",
    "cooldown": "put a pause into the command",
    "converter": "let the program print rows of its own",
    "statistics": "every result keeps all its values",
    "platform_args": "use --host, taskset or a timeout of the test",
    "cpu-list": "use taskset in the command",
    "profiler": "use --profile",
    "degrade": "use taskset, ulimit or a container",
    "libraries": "name them among the files",
    "app": "start the app by a program of yours",
}
_PROGRAM = "program"  # where nobody knows better


def convert(path: Path) -> tuple[dict[str, Any], list[SpecProblem]]:
    """The spec in our form, and what could not be carried over. A `DecodeError` when it is not fine itself.

    Paths stay relative to the spec, so the new file belongs beside the old one.
    """
    if is_ours(places.read(path).value):
        raise TargetError(f"{path} is a spec of our form already", remedy=f"benchwright spec check {path}")
    problems: list[SpecProblem] = []
    specs = loader.load_specs(path, {}, problems)
    if len(specs) != 1 or specs[0].listed is not None:
        raise TargetError(f"{path} is a list of specs", remedy="convert each of the files that it names")
    asked = SpecRequest(framework=suggest_framework(specs[0].value))
    tests = planner.tests_of_spec(specs[0], asked, problems)
    if wrong := errors(problems):
        raise refusal(wrong)
    told = _Losses(problems)
    kept = _convertible_tests(tests, told)
    return _spec(specs[0], kept, told), told.problems


class _Losses:
    """What could not be carried over; each thing once."""

    def __init__(self, problems: list[SpecProblem]) -> None:
        self.problems = problems

    def add(self, where: str, message: str, remedy: str = "") -> None:
        problem = SpecProblem(where=where, message=message, remedy=remedy, severity="warning")
        if problem not in self.problems:
            self.problems.append(problem)


def _convertible_tests(tests: Sequence[PlannedTest], told: _Losses) -> list[PlannedTest]:
    """The tests that our form can say; the others are told."""
    found = []
    for test in tests:
        if test.metric == "power":
            told.add(test.place, f"the power test {test.identifier} is left out", "energy is measured by --monitor")
            continue
        if test.metric == "accuracy":
            told.add(
                test.place,
                f"{test.identifier} is kept without its accuracy, which its commands tell",
                "see docs/tasks.md",
            )
        found.append(test)
    if not found and tests:
        raise TargetError(f"{tests[0].file} has only tests of power, which our form does not have")
    return found


def _spec(spec: loader.OlderSpec, tests: Sequence[PlannedTest], told: _Losses) -> dict[str, Any]:
    document = spec.document
    for source, path in (
        (spec.value["model"], ("model",)),
        *((t, ("tests", i)) for i, t in enumerate(spec.value["tests"])),
    ):
        for key, instead in _LEFT.items():
            if key in source:
                told.add(document.at(*path, key), f"`{key}` is not carried over", instead)
    model = spec.value["model"]
    files = _files(spec, tests, told)
    given, outputs = _golden(spec, tests, told)
    inputs = {name: {**one, **given.get(name, {})} for name, one in _inputs(tests, told).items()}
    found: dict[str, Any] = {"benchwright": form.VERSION, "model": {"name": str(model["name"])}}
    if model.get("description"):
        found["model"]["description"] = str(model["description"])
    found["model"] |= {
        key: value for key, value in (("files", files), ("inputs", inputs), ("outputs", outputs)) if value
    }
    found["runtimes"] = _runtimes(tests, files, told)
    found["tests"] = _tests(tests, found["runtimes"].get("binary", {}).get("command") == "{command}")
    tags = [str(model[key]) for key in ("group", "category") if model.get(key)]
    return {**found, "tags": tags} if tags else found


def _files(spec: loader.OlderSpec, tests: Sequence[PlannedTest], told: _Losses) -> dict[str, Any]:
    """The model's files and the inputs that commands name, under names that tell them apart."""
    found: dict[str, Any] = {}
    for test in tests:
        for entry in test.files:
            if entry.role in (Role.MODEL, Role.INPUT, Role.TEST):
                value = _file(entry, spec, told)
                if value is not None:
                    found.setdefault(_key(entry), value)
    return found


def _key(entry: FileEntry) -> str:
    group, _, name = entry.key.rpartition(".")
    return name if group == "files" else f"{group.removesuffix('_files').removesuffix('.files')}_{name}"


def _file(entry: FileEntry, spec: loader.OlderSpec, told: _Losses) -> dict[str, Any] | None:
    if not entry.is_wanted or entry.location.startswith("//"):
        told.add(
            entry.place, f"{entry.key} is not carried over: {entry.location or 'it has no location'}", "give a path"
        )
        return None
    value: dict[str, Any] = (
        {"url": entry.location} if "://" in entry.location else {"path": _relative_path(entry.location, spec)}
    )
    if entry.md5 and entry.md5 != "directory":
        value["md5"] = entry.md5
    if entry.filename and not entry.location.endswith(f"/{entry.filename}"):
        value["name"] = entry.filename.rpartition("/")[2]
    return value


def _relative_path(location: str, spec: loader.OlderSpec) -> str:
    """The path from the spec's folder, unless the spec itself has the whole one."""
    return location if location in texts(spec.value) else os.path.relpath(location, spec.file.absolute().parent)


def _inputs(tests: Sequence[PlannedTest], told: _Losses) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for test in tests:
        for name, shape in test.shapes.items():
            kind = test.dtypes[name].removesuffix("_t")
            kind = _DTYPES.get(kind, kind)
            if kind not in form.DTYPES:
                told.add(
                    test.place, f"the type {kind} of {name} is not carried over", f"known: {', '.join(form.DTYPES)}"
                )
            one = {"shape": list(shape)} | ({"type": kind} if kind in form.DTYPES else {})
            found.setdefault(name, one)
    return found


def _golden(
    spec: loader.OlderSpec, tests: Sequence[PlannedTest], told: _Losses
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Golden outputs, and the input files that they belong to: one without the other says nothing."""
    inputs: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    shapes = {str(dict(test.shapes)) for test in tests}
    for test in tests:
        if not any(entry.role is Role.GOLDEN for entry in test.files):
            continue
        given = {_name(entry): entry for entry in test.files if entry.role is Role.INPUT}
        if len(shapes) > 1 or outputs or not test.shapes or given.keys() != test.shapes.keys():
            message = f"the golden outputs of {test.identifier} are not carried over: other tests have other inputs"
            told.add(
                test.place, message, "write a spec of its own, with input and golden files; or use benchwright harness"
            )
            continue
        golden = {_name(entry): entry for entry in test.files if entry.role is Role.GOLDEN}
        files = {entry.key: _file(entry, spec, told) for entry in (*given.values(), *golden.values())}
        if None in files.values():
            continue  # told already
        inputs = {name: {"file": files[entry.key]} for name, entry in given.items()}
        outputs = {name: {"golden": files[entry.key]} for name, entry in golden.items()}
        told.add(test.place, "golden outputs are compared in runtimes that load the model, not in a program's output")
    return inputs, outputs


def _name(entry: FileEntry) -> str:
    return entry.key.partition(".")[2]


def _runtimes(tests: Sequence[PlannedTest], files: Mapping[str, Any], told: _Losses) -> dict[str, Any]:
    """The program, if the spec is for one, and the runtimes that load one of the files by themselves."""
    loading_it = _libraries(tests) or _runtimes_by_ending(files)
    if loading_it and not any(map(_needs_program, tests)):
        if any(_flags(test) for test in tests):
            message = "flags of a framework are not carried over"
            told.add(tests[0].place, message, "run_individual is --operators; others are options of benchwright run")
        return {name: {} for name in loading_it}
    return {"binary": _program(tests, told), **{name: {} for name in loading_it}}


def _needs_program(test: PlannedTest) -> bool:
    """Whether something says what a program is to do; elsewhere its command would be its bare name."""
    if commands.written_commands(test.test) or test.framework not in ("generic", *LIBRARIES):
        return True
    return test.framework == "generic" and bool(test.flags)


def _libraries(tests: Sequence[PlannedTest]) -> list[str]:
    """The runtimes that the spec itself names."""
    named = {name for test in tests for name in _flags(test)} | {str(test.model.get("framework")) for test in tests}
    return sorted(named.intersection(LIBRARIES))


def _flags(test: PlannedTest) -> Mapping[str, Any]:
    said = test.test.get("commands")
    return said if isinstance(said, Mapping) else {}


def _runtimes_by_ending(files: Mapping[str, Any]) -> list[str]:
    names = (str(one.get("name") or one.get("path") or one.get("url")) for one in files.values())
    endings = {PurePosixPath(name).suffix for name in names}
    return [_RUNTIMES[ending] for ending in sorted(endings) if ending in _RUNTIMES]


def _program(tests: Sequence[PlannedTest], told: _Losses) -> dict[str, Any]:
    said = {tuple(_commands(test)) for test in tests}
    command: Any = list(said.pop()) if len(said) == 1 else "{command}"
    if isinstance(command, list) and len(command) == 1:
        command = command[0]
    for test in tests:
        if command == "{command}" and len(test.commands) > 1:
            told.add(test.place, "only the last of several commands is carried over", "put them into a script")
    if tests[0].framework == "tflite" or any(test.seed_dialect for test in tests):
        message = "of what the program prints only rows of JSON are read, not the text of this one"
        told.add(tests[0].place, message, "benchwright harness reads it")
    told.add(tests[0].place, f"the old spec does not say which program: {_PROGRAM!r} stands for it", "write its path")
    binary: dict[str, Any] = {"program": _PROGRAM, "command": command}
    env = dict(tests[0].env)
    if any(dict(test.env) != env for test in tests):
        told.add(tests[0].place, "tests differ in `env`; that of the first is kept", "write a spec for each")
    if env:
        binary["env"] = env
    return binary


def _commands(test: PlannedTest) -> list[str]:
    """The commands in the words of our form: `{iter}` stays one, `{input_files.x}` is a file like others."""
    said = {key: value for key, value in test.test.items() if key != "iter"}
    filled = [_fill_command(command, said, test.model) for command in test.commands]
    if test.iterations > 0:  # what was written as a number in generated commands
        filled = [re.sub(r"--(iter |num_runs=)\d+\b", r"--\1{iter}", command) for command in filled]
    for entry in test.files:
        name = f"{{files.{_key(entry)}}}"
        filled = [command.replace(f"{{{entry.key.removeprefix('test.')}}}", name) for command in filled]
    return filled


def _fill_command(command: str, test: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    return placeholders.resolve(
        command, lambda name: lookups.look_up_text(test, name) or lookups.look_up_text(model, name)
    )[0]


def _tests(tests: Sequence[PlannedTest], own_commands: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    names: set[str] = set()
    for test in tests:
        name, count = test.identifier, 1
        while name in names:
            count += 1
            name = f"{test.identifier}-{count}"
        names.add(name)
        one: dict[str, Any] = {"name": name}
        one |= {"shapes": {key: [list(shape)] for key, shape in test.shapes.items()}} if test.shapes else {}
        one |= {"iterations": test.iterations} if test.iterations > 0 else {}
        one |= {"timeout": test.timeout} if _has_own_timeout(test) else {}
        one |= {"placeholders": {"command": _commands(test)[-1]}} if own_commands else {}
        found.append(one)
    return found


def _has_own_timeout(test: PlannedTest) -> bool:
    return any(settings.is_number(source.get("timeout")) for source in (test.test, test.model))
