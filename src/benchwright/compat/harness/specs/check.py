"""Everything that is wrong or odd about a spec, before anything runs."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchwright.compat.harness.specs import loader, planner
from benchwright.compat.harness.specs.plans import LIBRARIES, FileEntry, PlannedTest, SpecRequest
from benchwright.errors import FetchError
from benchwright.fetch.digests import mismatch, parse_digests
from benchwright.targets.specs import placeholders
from benchwright.targets.specs.places import PlacedDocument, SpecProblem

SIMILAR = 0.8  # of 1: how near an unknown key must be to a known one to look like a slip
# The keys that the older forms give a meaning. Any other is legal too, as a placeholder.
# fmt: off
TOP_KEYS = frozenset({"model", "tests", "default_args", "meta", "benchmarks"})
MODEL_KEYS = frozenset({
    "name", "format", "files", "framework", "group", "category", "description", "kind", "cooldown", "timeout", "repeat",
    "command_args", "converter", "preprocess", "postprocess", "platform_args", "libraries", "platform", "app",
    "log_output", "inputs", "outputs", "commands", "path",
})
TEST_KEYS = frozenset({
    "identifier", "metric", "iter", "warmup", "commands", "command", "arguments", "inputs", "input_files",
    "output_files", "files", "preprocess", "postprocess", "platform_args", "timeout", "env", "log_output", "statistics",
    "cpu-list", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "method", "collection_time", "voltage", "monsoon", "profiler",
    "degrade",
})
FILE_KEYS = frozenset({"filename", "location", "md5", "converter", "upload", "target"})
# fmt: on


def check(path: Path, framework: str = "", *, offline: bool = True) -> list[SpecProblem]:
    """Every problem of a spec or a list of specs, in the order of the file. A file that cannot be parsed raises.

    Without a framework, the one that the model names or that its format suggests decides what is asked of it. Files
    behind addresses are looked at unless `offline`.
    """
    problems: list[SpecProblem] = []
    tests: list[PlannedTest] = []
    for spec in loader.load_specs(path, {}, problems):
        problems += _find_slips(spec.value, spec.document)
        asked = SpecRequest(framework=framework or suggest_framework(spec.value))
        tests += planner.tests_of_spec(spec, asked, problems, complete=False)
    problems += [problem for test in tests for problem in _find_obstacle(test)]
    problems += _check_files(tests, offline)
    return sorted(dict.fromkeys(problems), key=lambda problem: _order(problem.where))


def suggest_framework(value: Mapping[str, Any]) -> str:
    """Returns the framework that a spec is for, as far as it says; else `generic`."""
    model = value.get("model")
    if not isinstance(model, Mapping):
        return "generic"
    known = ("caffe2", "pytorch", "tflite", "oculus", "glow", *LIBRARIES)
    return next((str(model[key]) for key in ("framework", "format") if model.get(key) in known), "generic")


def _find_slips(value: Mapping[str, Any], document: PlacedDocument) -> Iterator[SpecProblem]:
    """Keys that look like another one misspelt. Any key may be a placeholder; one that is used is no slip."""
    used = {part for text in texts(value) for name in placeholders.names(text) for part in name.split(".")}
    for path, mapping, known in _levels(value):
        for key in mapping:
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=SIMILAR)
            if key not in known and key not in used and near:
                message = f"{key} is not a known key, and no placeholder uses it"
                where = document.at(*path, key)
                yield SpecProblem(where=where, message=message, remedy=f"did you mean {near[0]!r}?", severity="warning")


def _levels(value: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any], frozenset[str]]]:
    yield (), value, TOP_KEYS
    model = value.get("model")
    if isinstance(model, Mapping):
        yield ("model",), model, MODEL_KEYS
        yield from _file_levels(("model", "files"), model.get("files"))
    tests = value.get("tests")
    for i, test in enumerate(tests if isinstance(tests, list) else ()):
        if isinstance(test, Mapping):
            yield ("tests", i), test, TEST_KEYS
            for group in ("input_files", "output_files", "files"):
                yield from _file_levels(("tests", i, group), test.get(group))


def _file_levels(
    path: tuple[str | int, ...], files: Any
) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any], frozenset[str]]]:
    for name, one in files.items() if isinstance(files, Mapping) else ():
        if isinstance(one, Mapping):
            yield (*path, name), one, FILE_KEYS


def _find_obstacle(test: PlannedTest) -> Iterator[SpecProblem]:
    if test.reason:
        yield SpecProblem(where=test.place, message=f"cannot be run here: {test.reason}", severity="warning")


def _check_files(tests: list[PlannedTest], offline: bool) -> Iterator[SpecProblem]:
    """Files that are not there, or are not those that the spec means; each is looked at once."""
    wanted = {(entry.location, entry.md5): entry for test in tests for entry in test.files if entry.is_wanted}
    for entry in wanted.values():
        message = _find_unreachable(entry.location, offline) if _is_url(entry.location) else _find_mismatch(entry)
        if message:
            yield SpecProblem(where=entry.place, message=message, remedy="is the location right?")


def _is_url(location: str) -> bool:
    return "://" in location or location.startswith("//")  # the second kind is told as a reason


def _find_unreachable(location: str, offline: bool) -> str:
    if offline or location.startswith("//"):
        return ""
    from benchwright.fetch.downloads import why_unreachable

    try:
        return why_unreachable(location)
    except FetchError as error:
        return error.message


def _find_mismatch(entry: FileEntry) -> str:
    path = Path(entry.location)
    if not path.exists():
        return f"{path} is not there"
    if entry.md5 in ("", "directory") or not path.is_file():
        return ""
    differing = mismatch(path, parse_digests(md5=entry.md5))
    return f"{path} has {differing[1]}, and the spec says {differing[0]}" if differing else ""


def texts(value: Any) -> Iterator[str]:
    """Yields every text in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from texts(item)


def _order(where: str) -> tuple[str, int, int]:
    """Returns the key that sorts problems by file, then line, then column."""
    file, line, column = ([*where.rsplit(":", 2), "", ""])[:3]
    return (file, int(line), int(column)) if line.isdigit() and column.isdigit() else (where, 0, 0)
