"""A plan for people: what would be run, with which files, and what is odd about it."""

from __future__ import annotations

from collections.abc import Iterator

from benchwright import plugins
from benchwright.compat.harness.specs import lookups
from benchwright.compat.harness.specs.plans import FileEntry, PlannedTest, SpecPlan


def describe_plan(planned: SpecPlan) -> str:
    """What `--dry-run` prints: every test with its shapes, files and commands, then the notices."""
    lines: list[str] = []
    for i, test in enumerate(planned.tests):
        lines += [*_describe_test(test, i + 1, len(planned.tests)), ""]
    if planned.notices:
        lines += ["notices:", *(f"  {line}" for notice in planned.notices for line in str(notice).splitlines()), ""]
    blocked = sum(bool(test.reason) for test in planned.tests)
    lines.append(f"{_count(len(planned.tests), 'test')}" + (f", {blocked} cannot be run here" if blocked else ""))
    return "\n".join(lines) + "\n"


def _describe_test(test: PlannedTest, number: int, count: int) -> Iterator[str]:
    dialect = "form of early 2018" if test.seed_dialect else "today's form"
    yield f"{number}/{count} {test.net}  identifier {test.identifier}  metric {test.metric}  ({test.place}, {dialect})"
    if test.reason:
        yield f"  cannot be run: {test.reason}"
    if test.group:
        yield f"  group: {test.group}"
    for name, shape in test.shapes.items():
        yield f"  input {name}: {test.dtypes[name]} {list(shape)}"
    for entry in test.files:
        yield f"  {entry.role} {entry.key}: {_describe_location(entry)}"
    yield from _describe_steps(test, "before", "preprocess")
    if test.framework in plugins.BUILTIN["runtimes"]:  # a library, which runs no command
        yield f"  called in {test.framework}"
    else:
        yield from (f"  command: {lookups.fill_command(command, test)[0]}" for command in test.commands)
    yield from _describe_steps(test, "after", "postprocess")
    yield f"  {_describe_settings(test)}"


def _describe_location(entry: FileEntry) -> str:
    text = entry.location or f"{entry.filename}, made by the program"
    if entry.location and not entry.location.endswith(entry.filename):
        text += f" as {entry.filename}"
    if entry.md5:
        text += f"  md5 {entry.md5}"
    return text + (f"  converter {entry.converter}" if entry.converter else "")


def _describe_steps(test: PlannedTest, word: str, key: str) -> Iterator[str]:
    sources = ((test.model, " the model"), (test.test, ""))
    for source, of in sources if word == "before" else reversed(sources):
        for command in lookups.step_commands(source.get(key)):
            yield f"  {word}{of}, on this machine: {lookups.fill_command(command, test)[0]}"


def _describe_settings(test: PlannedTest) -> str:
    said = [f"iterations {test.iterations}" if test.iterations >= 0 else "iterations chosen by the program"]
    said += [f"repeat {test.repeat}"] if test.repeat > 1 else []
    said.append(f"timeout {test.timeout:g} s" if test.timeout is not None else "no timeout")
    said += [f"cooldown {test.cooldown:g} s"] if test.cooldown is not None else []
    said += [f"cores {','.join(map(str, test.cpus))}"] if test.cpus else []
    said += [f"statistics {' '.join(test.statistics)}"] if test.statistics else []
    said += [f"{name}={value}" for name, value in sorted(test.env.items())]
    said += [f"{name} {value}" for name, value in test.power.items()]
    return ", ".join(said)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
