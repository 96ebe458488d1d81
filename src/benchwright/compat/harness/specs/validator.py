"""What each framework asks of a spec. Every problem is told, with its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from benchwright.compat.harness.specs import commands, settings
from benchwright.compat.harness.specs.locations import md5_is_fine
from benchwright.targets.specs import placeholders
from benchwright.targets.specs.places import PlacedDocument, SpecProblem

Path = tuple[str | int, ...]


def validate(
    value: Mapping[str, Any], document: PlacedDocument, framework: str, *, complete: bool = True
) -> list[SpecProblem]:
    """What keeps the spec from being run with the framework. Unless `complete`, tokens may still become numbers."""
    found = _Problems(document, complete)
    model, tests = value.get("model"), value.get("tests")
    if isinstance(model, Mapping):
        _check_model(model, framework, found)
    else:
        found.add((), "`model` is missing", '"model": {"name": ..., "format": ..., "files": {...}}')
    if not isinstance(tests, list) or not tests:
        found.add(("tests",), "`tests` is missing or empty", "a spec has at least one test")
        return found.problems
    for i, test in enumerate(tests):
        if isinstance(test, Mapping):
            _check_test(test, i, framework, found)
        else:
            found.add(("tests", i), "a test is a mapping")
    return found.problems


class _Problems:
    def __init__(self, document: PlacedDocument, complete: bool) -> None:
        self.document, self.complete = document, complete
        self.problems: list[SpecProblem] = []

    def add(self, path: Path, message: str, remedy: str = "") -> None:
        self.problems.append(SpecProblem(where=self.document.at(*path), message=message, remedy=remedy))


def _check_model(model: Mapping[str, Any], framework: str, found: _Problems) -> None:
    for key in ("name", "format"):
        if not isinstance(model.get(key), str) or not model[key]:
            found.add(("model", key), f"the model has no `{key}`", "name and format say where its files are kept")
    said = model.get("framework")
    if said and framework and said != framework:
        found.add(("model", "framework"), f"the model is for {said}, not {framework}", f"--framework {said}")
    files = model.get("files")
    if files is None and framework in ("", "generic", "glow"):
        files = {}
    if not isinstance(files, Mapping):
        found.add(
            ("model", "files"), "the model has no `files`", '"files": {"predict": {"filename": ..., "location": ...}}'
        )
        files = {}
    needed = {"tflite": "graph"}.get(framework)
    if needed and needed not in files:
        found.add(("model", "files"), f"{framework} needs `model.files.{needed}`")
    for name, one in files.items():
        _check_file(one, ("model", "files", name), found, location=True)
    for key in ("repeat", "cooldown", "timeout"):
        _check_number(model, ("model",), key, found)
    if settings.whole(model.get("repeat"), 1) < 1:
        found.add(("model", "repeat"), "`repeat` is at least 1")


def _check_test(test: Mapping[str, Any], at: int, framework: str, found: _Problems) -> None:
    place: Path = ("tests", at)
    metric = test.get("metric")
    if not isinstance(metric, str) or not metric:
        found.add(
            (*place, "metric"), "the test has no `metric`", "delay, error, accuracy, power, generic or a word of yours"
        )
    if metric != "generic" and not test.get("identifier"):
        found.add((*place, "identifier"), "the test has no `identifier`", '"identifier": "{ID}" counts the tests')
    _check_exclusive(test, place, found)
    for key in ("iter", "warmup", "timeout"):
        _check_number(test, place, key, found)
    if metric != "generic":
        _check_counts(test, place, framework, found)
    for group in ("input_files", "output_files", "files"):
        _check_files((*place, group), test.get(group), found)
        if framework == "oculus" and group != "files" and isinstance(test.get(group), Mapping):
            found.add((*place, group), f"oculus needs a list of `{group}`")
    _check_statistics(test, place, found)


def _check_exclusive(test: Mapping[str, Any], place: Path, found: _Problems) -> None:
    said = [key for key in ("commands", "command", "arguments") if key in test]
    if isinstance(test.get("commands"), Mapping):  # flags, which a command in words makes needless
        said.remove("commands")
    if len(said) > 1:
        found.add((*place, said[-1]), f"{' and '.join(said)} exclude each other", "keep one")
    written = test.get("commands")
    if written is not None and not isinstance(written, list | Mapping):
        found.add((*place, "commands"), "`commands` is a list of commands, or a mapping of flags by framework")


def _check_counts(test: Mapping[str, Any], place: Path, framework: str, found: _Problems) -> None:
    made = not commands.written_commands(test) and isinstance(test.get("commands", {}), Mapping)
    if framework == "tflite" or (made and framework in ("caffe2", "pytorch")):
        for key in ("iter", "warmup"):
            if key not in test:
                found.add((*place, key), f"the test has no `{key}`", f'"{key}": 1')
    if made and framework in ("caffe2", "pytorch") and not (test.get("inputs") or test.get("input_files")):
        found.add((*place, "inputs"), "the test has neither `commands` nor `inputs`", "say what is to be run")


def _check_files(place: Path, files: Any, found: _Problems) -> None:
    if files is None:
        return
    if not isinstance(files, Mapping | list):
        found.add(place, f"`{place[-1]}` is a mapping of names to files")
        return
    items: list[tuple[str | int, Any]] = list(files.items() if isinstance(files, Mapping) else enumerate(files))
    for name, value in items:
        for i, one in enumerate(value) if isinstance(value, list) else ((None, value),):
            _check_file(one, (*place, name) if i is None else (*place, name, i), found, location=False)


def _check_file(one: Any, place: Path, found: _Problems, *, location: bool) -> None:
    name = ".".join(str(part) for part in place[-2:])
    if isinstance(one, str):
        if location:
            found.add(place, f"{name} is a mapping with filename and location")
        return
    if not isinstance(one, Mapping):
        found.add(place, f"{name} is a path, or a mapping with filename and location")
        return
    if not one.get("filename") and (location or not one.get("location")):
        found.add(place, f"{name} has no `filename`", "what is the file to be called?")
    if ".." in PurePosixPath(str(one.get("filename"))).parts or str(one.get("filename")).startswith("/"):
        found.add((*place, "filename"), f"the filename of {name} leads out of its folder", "give a plain name")
    if location and not one.get("location"):
        found.add(place, f"{name} has no `location`", "an url, or a path from the spec's folder")
    if not md5_is_fine(str(one.get("md5") or "").strip().lower()):
        found.add((*place, "md5"), f"{one['md5']!r} is not an md5", "32 hexadecimal digits, or `directory`")


def _check_number(source: Mapping[str, Any], place: Path, key: str, found: _Problems) -> None:
    if key not in source or settings.is_number(source[key]):
        return
    named = placeholders.names(str(source[key]))
    if not named:
        found.add((*place, key), f"`{key}` is a number, not {source[key]!r}")
    elif found.complete:
        found.add((*place, key), f"{{{named[0]}}} in `{key}` is not defined", "define it with --string_map")


def _check_statistics(test: Mapping[str, Any], place: Path, found: _Problems) -> None:
    said = test.get("statistics", [])
    if not isinstance(said, list):
        found.add((*place, "statistics"), "`statistics` is a list", '["mean", "p90"]')
        return
    for i, name in enumerate(said):
        if not settings.is_statistic(str(name)):
            known = ", ".join(name for name in settings.USUAL_STATISTICS if settings.percent_of(name) is None)
            found.add((*place, "statistics", i), f"{name!r} is not a statistic", f"{known}, or p0 to p100")
