"""Writes cli.md, and the table that shells complete by, from the commands themselves: `make schema`.

A test fails when one of them is stale.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from benchwright.cli import HEADINGS, VERBS
from benchwright.cli.completion import WORDS_FILE
from benchwright.schema.printed import PRINTED

HEAD = """\
# Command line

`benchwright COMMAND --help` says the same as this page, which is made from it.

| command | what it does |
| --- | --- |
{verbs}

The last ones are other names, kept for scripts: they take the same flags as ever and end with the same codes.

Every command ends with one of these codes:

| code | meaning |
| --- | --- |
| 0 | all is well |
| 1 | something measured is bad: a case failed, an objective was missed, a comparison says worse |
| 2 | the request was wrong; nothing was measured |
| 130 | interrupted from the keyboard; what had been measured is kept |

Progress goes to stderr, and only to a terminal. `--json` makes every command that prints print [JSON](#json).

Where results are kept: `--store`, else the variable `BENCHWRIGHT_STORE`, else `store` in the nearest
`benchwright.toml`, else `.benchwright/results.db` in this folder. What else that file holds, what is measured without
a target among it, is told in [settings](settings.md). [Shells complete](completion.md) these commands.

Quantities take units: `20ms`, `1.5GiB`, `200/s`, `1%`. A bare number is in seconds, bytes or calls per second.
Percentages are written with their sign, `1%`, in every command. A bare number above 1 is in per cent, `5` is `5%`; one
from 1 down is refused, since `0.01` may mean `0.01%` or `1%`.
"""


JSON = """\
## JSON

Whatever the command, `--json` prints one document: `{{"format": 1, "kind": "comparison", "data": ...}}`. `format` is
the version of [what is recorded](schema.md), `kind` says what the data is. `watch` prints one such document on a line
for each commit.

| kind | printed by | `data` holds |
| --- | --- | --- |
{kinds}
"""


def page() -> str:
    """The whole page."""
    verbs = "\n".join(_rows())
    kinds = "\n".join(f"| `{kind}` | {_code(by)} | {holds} |" for kind, (by, holds) in PRINTED.items())
    parts = [HEAD.format(verbs=verbs), JSON.format(kinds=kinds)]
    for verb, (module, _) in VERBS.items():
        command = importlib.import_module(module).command
        parts += _sections(command, click.Context(command, info_name=f"benchwright {verb}"), level=2)
    return "\n".join(parts)


def _code(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _rows() -> Iterator[str]:
    for heading, verbs in HEADINGS.items():
        yield f"| **{heading}** | |"
        for verb, (_, line) in verbs.items():
            told = f"`{line}`" if heading == "Other names" else line
            yield f"| [`{verb}`](#benchwright-{verb}) | {told} |"


def _sections(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"{'#' * level} {context.command_path}\n"
    yield f"```text\n{usage}\n```\n"
    if command.help:
        yield _paragraphs(command.help)
    rows = [record for p in command.params if (record := p.get_help_record(context)) and record[1]]
    if rows:
        table = "\n".join(f"| `{_cell(_plain(flags))}` | {_cell(text)} |" for flags, text in rows)
        yield f"| option | what it does |\n| --- | --- |\n{table}\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _sections(inner, click.Context(inner, info_name=name, parent=context), level + 1)


def _paragraphs(text: str) -> str:
    """Click's help as Markdown: a block kept as it is by click becomes a block of text."""
    parts = []
    for part in inspect.cleandoc(text).split("\n\n"):
        kept = part.removeprefix("\b\n")
        parts.append(kept if kept == part else f"```text\n{kept}\n```")
    return "\n\n".join(parts) + "\n"


def _plain(flags: str) -> str:
    """Click's names of types in the words of everybody."""
    for name, word in (
        ("INTEGER RANGE", "N"),
        ("INTEGER", "N"),
        ("FLOAT RANGE", "X"),
        ("FLOAT", "X"),
        ("TEXT", "WORD"),
    ):
        flags = flags.replace(name, word)
    return flags


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# ---- the table of `benchwright completion` ----

_RUNS = ("RUN", "A", "B", "C", "WHAT")
_FILES = ("FILE", "TARGET", "FILE[::TASK", "FROM", "TO", "own|here|FILE", "RUNTIME|PATH", "SOURCE")
_FOLDERS = ("FOLDER", "DIR")


def completion_words() -> str:
    """A line for each command, flag and argument: the command's path, the word, what it takes, what it does."""
    lines = [
        ("", flag, "", about) for flag, about in (("--version", "Show the version."), ("--help", "Show the help."))
    ]
    lines += [("", verb, "", line) for verb, (_, line) in VERBS.items()]
    for verb, (module, _) in VERBS.items():
        lines += _words(importlib.import_module(module).command, verb)
    return "".join("\t".join(line) + "\n" for line in lines)


def _words(command: click.Command, path: str) -> Iterator[tuple[str, str, str, str]]:
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            yield path, "", _taken(parameter, path) + ("*" if parameter.nargs == -1 else ""), ""
        elif isinstance(parameter, click.Option) and not parameter.hidden:
            about = _plain_line(parameter.help or "")
            for flag in (*parameter.opts, *parameter.secondary_opts):
                yield path, flag, "" if parameter.is_flag else _taken(parameter, path), about
    yield path, "--help", "", "Show the help."
    if isinstance(command, click.Group):
        inner = {name: each for name, each in command.commands.items() if not each.hidden}
        yield from ((path, name, "", _plain_line(each.get_short_help_str(100))) for name, each in inner.items())
        for name, each in inner.items():
            yield from _words(each, f"{path} {name}")


def _taken(parameter: click.Parameter, path: str) -> str:
    """What a flag or an argument takes, in the words of `benchwright.cli.completion`."""
    if isinstance(parameter.type, click.Choice):
        return f"one of {'|'.join(map(str, parameter.type.choices))}"
    metavar = (parameter.metavar or parameter.name or "").upper().removesuffix("...").strip("[]").partition("]")[0]
    stated = (parameter.metavar or "").removesuffix("...").strip("[]")
    if path == "history" and metavar == "TARGET":
        return "case"
    if "--tag" in parameter.opts:
        return "tag"
    if "--store" in parameter.opts:
        return "file"
    for names, kind in ((_RUNS, "run"), (_FOLDERS, "folder"), (_FILES, "file")):
        if metavar in names or stated in names:
            return kind
    return "file" if isinstance(parameter.type, click.Path) else "text"


def _plain_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    (Path(__file__).parent / "cli.md").write_text(page(), encoding="utf-8")
    table = Path(importlib.import_module("benchwright.cli").__file__ or "").parent / WORDS_FILE
    table.write_text(completion_words(), encoding="utf-8")
