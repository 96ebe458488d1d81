"""The top of the command line: help and version before any import, verbs found, errors on one line."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

from benchwright.cli import VERBS, main, top_level_help

Benchwright = Callable[..., subprocess.CompletedProcess[str]]
HEAVY = {"click", "rich", "numpy", "sqlalchemy", "pandas", "torch", "onnxruntime", "openvino", "importlib.metadata"}


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_exactly_the_verbs(benchwright: Benchwright, arguments: list[str]) -> None:
    ended = benchwright(*arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    _, _, commands = ended.stdout.rpartition("and exit.\n")
    assert re.findall(r"^  (\S+)  +\S", commands, flags=re.MULTILINE) == list(VERBS)


def test_help_has_headings_in_the_order_of_work(inside: Benchwright) -> None:
    headings = re.findall(r"^(\S.*):$", inside("--help").stdout, flags=re.MULTILINE)
    assert headings == [
        "Options",
        "Begin",
        "Measure",
        "Judge",
        "Look",
        "Share",
        "This machine",
        "Older command lines",
        "Other names",
    ]


def test_no_line_of_help_is_wider_than_a_terminal() -> None:
    assert max(map(len, top_level_help().splitlines())) <= 90


def test_the_version_is_one_line(benchwright: Benchwright) -> None:
    ended = benchwright("--version")
    assert ended.returncode == 0
    assert re.fullmatch(r"benchwright \d+\.\d+\.\d+\S*\n", ended.stdout)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(argument: str) -> None:
    script = f"import sys\nfrom benchwright.cli import main\nmain([{argument!r}])\nprint(*sorted(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(ended.stdout.splitlines()[-1].split())
    assert "benchwright.cli" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_a_click_command_with_help(verb: str) -> None:
    command = importlib.import_module(VERBS[verb][0]).command
    assert isinstance(command, click.Command)
    assert command.help
    undescribed = [p.name for p in command.params if isinstance(p, click.Option) and not p.hidden and not p.help]
    assert undescribed == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_answers_help_without_a_framework(verb: str) -> None:
    script = f"import sys\nfrom benchwright.cli import main\nprint(main([{verb!r}, '--help']))\nprint(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    *text, code, modules = ended.stdout.splitlines()
    assert code == "0"
    assert text[0].startswith(f"Usage: benchwright {verb}")
    assert set(modules.split()) & {"torch", "onnxruntime", "openvino", "pandas", "pyarrow", "scipy"} == set()


def test_an_unknown_command_is_refused_with_the_nearest(inside: Benchwright) -> None:
    ended = inside("comapre", "a", "b")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == "benchwright: unknown command 'comapre'\n  did you mean 'compare'?\n"


def test_an_unknown_flag_is_refused(inside: Benchwright) -> None:
    ended = inside("list", "--jsn")
    assert ended.returncode == 2
    assert "--json" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    script = 'set -o pipefail; "$0" -m benchwright list --help | head -c 1'
    ended = subprocess.run(["bash", "-c", script, sys.executable], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_exit_code_is_returned_to_callers_in_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == top_level_help()
    assert main(["nonsense"]) == 2
