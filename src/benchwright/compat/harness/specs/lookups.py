"""What placeholders of a test mean as far as its spec says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchwright.compat.harness.specs.plans import PlannedTest
from benchwright.targets.specs import placeholders


def fill_command(command: str, test: PlannedTest) -> tuple[str, tuple[str, ...]]:
    """The command with all that the test and its model say, and the names that are left."""
    return placeholders.resolve(command, lambda name: look_up_text(test.test, name) or look_up_text(test.model, name))


def look_up_text(root: Mapping[str, Any], name: str) -> str | None:
    """The text at a dotted path; None where there is none, or where it ends at a file or a group."""
    value: Any = root.get(name)
    if name not in root:
        value = root
        for part in name.split("."):
            if not isinstance(value, Mapping) or part not in value:
                return None
            value = value[part]
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) and not _is_file(name) else None


def unknown_names(test: PlannedTest) -> Iterator[str]:
    """Names in the commands of a test, before and after it too, that neither it nor its model or files explain."""
    files = {entry.key.removeprefix("test.").removeprefix("model.") for entry in test.files}
    for command in (*test.commands, *steps(test.model), *steps(test.test)):
        for name in fill_command(command, test)[1]:
            if name not in files and name not in test.tokens:
                yield name


def steps(source: Mapping[str, Any]) -> list[str]:
    """The commands before and after a test or a model."""
    return [command for name in ("preprocess", "postprocess") for command in step_commands(source.get(name))]


def step_commands(step: Any) -> list[str]:
    """The commands of one preprocess or postprocess."""
    if not isinstance(step, Mapping):
        return []
    said = step.get("commands", step.get("command"))
    return [str(command) for command in (said if isinstance(said, list) else [said]) if command]


def names_of_info(info: Mapping[str, Any]) -> set[str]:
    """What the document of `--info` explains: `program`, other programs of the treatment, and its tokens."""
    treatment = info.get("treatment")
    found = {"program"}
    for key in ("programs", "string_map"):
        said = treatment.get(key) if isinstance(treatment, Mapping) else None
        found.update(said if isinstance(said, Mapping) else ())
    return found


def _is_file(name: str) -> bool:
    return name.rpartition(".")[0].rpartition(".")[2] in ("files", "input_files", "output_files", "libraries")
