"""`benchwright harness` as a process: its exit codes, its streams, and its help."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]
ROW = """echo 'Caffe2Observer {"type": "NET", "metric": "latency", "unit": "us", "value": 5}'"""
NEEDED = ["harness", "-b", "spec.json", "--framework", "caffe2", "--platform", "host", "--model_cache", "cache"]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A spec with one test, and a program for it."""
    program = tmp_path / "bench"
    program.write_text(f"#!/bin/sh\n{ROW}\nexit $1\n", encoding="utf-8")
    test = {"identifier": "{ID}", "metric": "delay", "iter": 1, "commands": ["{program} {STATUS}"]}
    model = {"name": "tiny", "format": "caffe2", "files": {}}
    (tmp_path / "spec.json").write_text(json.dumps({"model": model, "tests": [test]}), encoding="utf-8")
    return [*NEEDED, "--info", json.dumps({"treatment": {"commit": "abc", "commit_time": 0, "program": "bench"}})]


def test_well_then_badly(inside: Benchwright, words: list[str]) -> None:
    well = inside(*words, "--string_map", '{"STATUS": "0"}', "--json")
    assert well.returncode == 0, well.stderr
    run = json.loads(well.stdout)["data"]
    assert run["results"][0]["details"]["entries"]["NET latency"]["values"] == [5]
    badly = inside(*words, "--string_map", '{"STATUS": "4"}', "--screen")
    assert badly.returncode == 1 and badly.stdout == ""
    assert "status 4" in badly.stderr and "Caffe2Observer" in badly.stderr
    shown = inside("show", run["id"], "--format", "harness")
    (document,) = json.loads(shown.stdout)
    assert document["meta"]["commit"] == "abc" and document["data"]["NET latency"]["summary"]["p50"] == 5


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--info", "{treatment: 1}"], "--info: not JSON"),  # as a wrong quoting makes it
        (["--screenreporter"], "--screen_reporter"),
    ],
)
def test_a_wrong_request(inside: Benchwright, words: list[str], more: list[str], said: str) -> None:
    ended = inside(*words, *more)
    assert ended.returncode == 2 and said in ended.stderr and "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_the_help_has_every_flag(inside: Benchwright) -> None:
    ended = inside("harness", "--help")
    assert ended.returncode == 0 and "--remote_access_token" in ended.stdout and "--dry-run" in ended.stdout
