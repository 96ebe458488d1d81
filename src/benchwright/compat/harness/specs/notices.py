"""What the author of a spec should know: what does not count, what nobody says, and what cannot be run here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchwright.compat.harness.specs import commands, lookups
from benchwright.compat.harness.specs.loader import OlderSpec, OverriddenValue
from benchwright.compat.harness.specs.locations import RUN_TOKENS
from benchwright.compat.harness.specs.plans import FileEntry, PlannedTest, Role, SpecRequest
from benchwright.errors import DecodeError
from benchwright.targets.specs.places import PlacedDocument, SpecProblem


def hidden_value(one: OverriddenValue, where: str, source: str) -> SpecProblem:
    """A value that does not count, because a nearer place has another one."""
    name = ".".join(one.path)
    return _warning(
        where,
        f"{name} {one.kept!r} counts, and {one.hidden!r} of {source} is not applied",
        f"take {name} out here to let {source} decide",
    )


def list_timeout(spec: OlderSpec, asked: SpecRequest) -> list[SpecProblem]:
    """The command line's timeout stands before that of a list, unlike everything else in its `meta`."""
    said = spec.meta.get("timeout")
    if spec.listed is None or said is None or said == asked.timeout or asked.timeout is None:
        return []
    where = spec.listed.at("meta", "timeout")
    return [
        _warning(
            where, f"the timeout of a list does not count: {asked.timeout:g} s of --timeout does", "say it in the model"
        )
    ]


def test_notices(test: Mapping[str, Any], at: int, document: PlacedDocument) -> list[SpecProblem]:
    """Warns of what a test says without effect, or twice."""
    found: list[SpecProblem] = []
    words = commands.written_commands(test)
    if words and isinstance(test.get("commands"), Mapping):
        said = "arguments" if "arguments" in test else "command"
        found.append(
            _warning(document.at("tests", at, "commands"), f"{said} counts, not this map of flags", "keep one")
        )
    if any("{program} {program}" in " ".join(command.split()) for command in words):
        key = next(name for name in ("commands", "command", "arguments") if name in test)
        found.append(_warning(document.at("tests", at, key), "{program} is written twice; it is run once", "keep one"))
    for key, instead in (("profiler", "benchwright run --profile"), ("degrade", "taskset, ulimit or a container")):
        said_of = test.get(key)
        if isinstance(said_of, Mapping) and said_of and str(said_of.get("enabled", "true")).lower() != "false":
            found.append(_warning(document.at("tests", at, key), f"`{key}` is not carried out", f"use {instead}"))
    return found


def equal_names(files: Sequence[FileEntry], where: str) -> list[SpecProblem]:
    """Files of a test whose names are equal: the older system took the one for the other."""
    names = Counter(entry.key.rpartition(".")[2] for entry in files if entry.role is not Role.MODEL)
    stored = Counter(entry.filename for entry in files if entry.is_wanted and entry.md5)
    found = [
        _warning(
            where,
            f"several files of the test are called {name}",
            "{input_files.x} and {output_files.x} tell them apart",
        )
        for name, count in names.items()
        if count > 1
    ]
    for name, count in stored.items():
        entries = {(entry.location, entry.md5) for entry in files if entry.filename == name and entry.md5}
        if count > 1 and len(entries) > 1:
            found.append(_warning(where, f"several files have the filename {name}", "give each one of its own"))
    return found


def unresolved_placeholders(tests: Sequence[PlannedTest], asked: SpecRequest) -> list[SpecProblem]:
    """Warns once of each placeholder that nothing defines. Placeholders that never end are errors."""
    known = lookups.names_of_info(asked.info)
    found: dict[str, SpecProblem] = {}
    for test in tests:
        try:
            names = [name for name in lookups.unknown_names(test) if name not in RUN_TOKENS and name not in known]
        except DecodeError as error:
            found[error.message] = SpecProblem(where=test.place, message=error.message, remedy=error.remedy)
            continue
        for name in names:
            message = f"{{{name}}} is not defined; it stays as it is written"
            remedy = "define it in the test, the model, the programs of --info, or --string_map"
            found.setdefault(name, _warning(test.place, message, remedy))
    return list(found.values())


def obstacles(
    test: Mapping[str, Any], model: Mapping[str, Any], framework: str, files: Sequence[FileEntry]
) -> Iterator[str]:
    """Yields the reasons why the test cannot be run here, whatever the device."""
    if test.get("metric") == "power":
        method = str(test.get("method") or "monsoon")
        yield (
            "power by software needs a phone whose USB power a hub can cut, which is not driven here"
            if method == "software"
            else "power needs a Monsoon monitor, which is not driven here"
        )
    if model.get("app"):
        yield "an Android app is not started here, only programs are"
    if framework == "oculus":
        yield "the programs of oculus were never published"
    if framework == "glow" and not model.get("converter"):
        yield "what glow prints is not read here; a `converter` in the model says how to"
    if test.get("metric") == "error" and not any(entry.role is Role.GOLDEN for entry in files):
        yield "metric error compares with golden files, and `output_files` names none that is here"


def _warning(where: str, message: str, remedy: str) -> SpecProblem:
    return SpecProblem(where=where, message=message, remedy=remedy, severity="warning")
