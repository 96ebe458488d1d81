"""What `tasks check` left out of a log."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.targets.tasks import leftovers, reader
from benchwright.targets.tasks.leftovers import find_leftovers

Call = Callable[..., "subprocess.CompletedProcess[str]"]

TASKS = r"""
[tasks.train]
command = "true"
patterns = ['speed (?P<speed>\S+) loss (?P<loss>\S+)']
[tasks.train.metrics]
speed = { compute = "mean" }
rate = { series = "speed", compute = "rate" }
errors = { pattern = 'ERROR (.*)', compute = "count" }

[tasks.other]
command = "true"
"""
LOG = """start
speed 1 loss 0.5
speed fast loss 0.4
speed 2-3 loss nan
ERROR disk
speed 4 loss 0.1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks.toml").write_text(TASKS)
    (tmp_path / "saved.log").write_text(LOG)
    return tmp_path


def test_everything_that_was_left_out_is_listed_with_its_reason(inside: Call, folder: Path) -> None:
    ended = inside("tasks", "check", "tasks.toml::train", "--log", "saved.log")
    assert ended.returncode == 0, ended.stdout
    said = [line.strip() for line in ended.stdout.splitlines()]
    assert "2 hits of speed gave no value:" in said
    assert "line 3: speed fast loss 0.4  (no number in 'fast')" in said
    assert "line 4: speed 2-3 loss nan  (2 numbers in '2-3')" in said
    assert "captured and used by no metric: loss" in said
    assert "1 of 6 lines hold nothing that a pattern looks for" in said
    assert "rate: 4 hits, no value (optional): a saved log has no times; a run has" in said
    assert "other: not checked, another task was asked for" in said


def test_the_same_is_in_json(inside: Call, folder: Path) -> None:
    told = json.loads(inside("tasks", "check", "tasks.toml::train", "--log", "saved.log", "--json").stdout)["data"]
    assert [(one["task"], one["checked"], one["why"]) for one in told] == [
        ("train", True, ""),
        ("other", False, "another task was asked for"),
    ]
    left = told[0]["left_out"]
    assert [(hit["line"], hit["series"]) for hit in left["hits"]] == [(3, "speed"), (4, "speed")]
    assert left["unused_groups"] == ["loss"] and left["lines_without_hit"] == 1 and left["hit_counts"] == {"speed": 2}
    (without, _) = json.loads(inside("tasks", "check", "tasks.toml::train", "--json").stdout)["data"]
    assert "no log was given" in without["why"] and without["left_out"] is None


def test_sections_without_a_command_are_not_checked(inside: Call, tmp_path: Path) -> None:
    section = "patterns = ['x (\\S+)']\nmetrics = ['m']\ncompute_method = ['last']\n"
    (tmp_path / "t.cfg").write_text(f"[a]\n{section}command_to_execute = true\n[only_metrics]\n{section}")
    (tmp_path / "saved.log").write_text("x 1\n")
    ended = inside("tasks", "check", "t.cfg", "--log", "saved.log")
    assert ended.returncode == 0 and "only_metrics: not checked, it has no command, only metrics" in ended.stdout
    assert "left out" not in ended.stdout


def test_many_hits_long_lines_and_a_long_log_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (task, _) = reader.read(folder / "tasks.toml")
    log = folder / "long.log"
    log.write_text("speed x loss 1\n" * 9 + "y" * 70_000 + "\nspeed 1 loss 1")
    found = find_leftovers(task, log)
    assert (len(found.hits), found.counts, found.long, found.lines) == (5, {"speed": 9}, 1, 11)
    assert "  and 4 more" in found.as_lines()
    monkeypatch.setattr(leftovers, "MOST_READ", 45)
    cut = find_leftovers(task, log)
    assert not cut.is_whole and cut.counts == {"speed": 3} and "was not gone through" in cut.as_lines()[-1]


def test_an_expression_that_takes_too_long_is_given_up(folder: Path) -> None:
    (folder / "tasks.toml").write_text(
        "[tasks.train]\ncommand = 'true'\n[tasks.train.metrics]\nm = { pattern = '(a+)+$', optional = true }\n"
    )
    (task,) = reader.read(folder / "tasks.toml")
    (folder / "slow.log").write_text("a" * 40 + "b\n")
    assert find_leftovers(task, folder / "slow.log").given_up == ["(a+)+$"]
