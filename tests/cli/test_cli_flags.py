"""A flag means the same in every verb that has it."""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from benchwright.cli import HEADINGS, main
from benchwright.cli.options import RenamedOption

PERCENTAGES = [
    ["ab", "--control", "true", "--treatment", "true", "--smallest"],
    ["ab", "--control", "true", "--treatment", "true", "--false-alarms"],
    ["bisect", "model.onnx", "--good", "a", "--bad", "b", "--confidence"],
    ["check", "--against", "last~1", "--smallest"],
    ["compare", "last~1", "last", "--smallest"],
    ["findings", "judge", "--smallest"],
    ["findings", "threshold", "model.onnx"],
    ["operators", "--smallest"],
    ["show", "--operators", "--smallest"],
    ["run", "model.onnx", "--precision"],
    ["tune", "model.onnx", "--within"],
    ["tune", "model.onnx", "--confidence"],
    ["watch", "model.onnx", "--once", "--smallest"],
]

# Flags that may have another meaning: the older command lines have the flags of the programs that they stand for.
TRANSLATED = {*HEADINGS["Older command lines"]}
# old name -> verbs that were given it for something that another verb means by it
RENAMED = {
    "--offline": {"spec check": "--no-network"},
    "--samples": {"show": "--raw-samples"},
    "--log": {"show": "--worker-log", "serve": "--log-requests"},
    "--tag": {"image build": "--image-name"},
    "--host": {"serve": "--address"},
    "--workers": {"serve": "--server-processes"},
    "--processes": {"serve": "--server-processes"},
    "--keep": {"cache prune": "--leave"},
}


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Every verb of our own, and every command of a verb that has some, with its name."""
    for heading, verbs in HEADINGS.items():
        for verb, (module, _) in verbs.items():
            command: click.Command = importlib.import_module(module).command
            if verb not in TRANSLATED:
                yield verb, command
                if isinstance(command, click.Group):
                    yield from ((f"{verb} {name}", one) for name, one in command.commands.items())
            else:
                assert heading == "Older command lines"


def _meaning(option: click.Option) -> tuple[str, bool, bool, str | None]:
    """What a flag says of itself up to the first colon, stop or semicolon, and what may follow it."""
    said = re.split(r"[.:;]", option.help or "", maxsplit=1)[0]
    return said, option.is_flag, option.multiple, option.metavar


def test_a_flag_has_one_meaning_and_one_kind_on_every_verb() -> None:
    meanings: dict[str, dict[tuple[str, bool, bool, str | None], list[str]]] = defaultdict(lambda: defaultdict(list))
    for verb, command in _commands():
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                for flag in option.opts:
                    meanings[flag][_meaning(option)].append(verb)
    assert {flag: dict(found) for flag, found in meanings.items() if len(found) > 1} == {}


def test_a_flag_that_was_renamed_is_still_understood_and_not_shown() -> None:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for verb, command in _commands():
        with click.Context(command) as context:
            shown = command.get_help(context)
            for option in command.params:
                for old in option.before if isinstance(option, RenamedOption) else ():
                    found[old][verb] = option.opts[0]
                    assert re.search(rf"{old}(?![\w-])", shown) is None
                    assert old in command.make_parser(context)._long_opt
    assert found == RENAMED


@pytest.mark.parametrize(
    "asked",
    [
        ["ab", "model.onnx", "--metric", "a", "--metric", "b"],
        ["bisect", "model.onnx", "--good", "a", "--bad", "b", "--metric", "a", "--metric", "b"],
        ["store", "send", "https://a.example", "--to", "https://b.example", "--to", "https://c.example"],
    ],
    ids=" ".join,
)
def test_a_flag_that_a_verb_takes_once_is_refused_twice(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(asked) == 2
    assert f"{asked[-2]} was given 2 times" in capsys.readouterr().err


@pytest.mark.parametrize("asked", PERCENTAGES, ids=" ".join)
@pytest.mark.parametrize(("number", "readings"), [("0.01", "0.01% or 1%"), ("1", "1% or 100%")])
def test_a_bare_number_up_to_one_is_refused_by_every_flag_that_takes_a_percentage(
    asked: list[str],
    number: str,
    readings: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*asked, number]) == 2
    told = capsys.readouterr()
    assert f"{number!r} may mean {readings}" in told.err
    assert told.out == ""
    assert list(tmp_path.iterdir()) == []


def test_the_four_ways_out_are_told_apart_in_one_table(root: Path) -> None:
    page = (root / "docs" / "storage.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## Four ways out\n")
    named = re.findall(r"^\| \[`([a-z ]+)`\]", section.partition("\n## ")[0], flags=re.MULTILINE)
    assert sorted(named) == ["export", "store copy", "store send", "upload"]
