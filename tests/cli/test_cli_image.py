"""`benchwright image` as a process, where it needs one."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

import containers

engine, python_image = containers.engine, containers.python_image
Cli = Callable[..., subprocess.CompletedProcess[str]]


def test_the_dockerfile_of_this_interpreter_needs_no_engine(benchwright: Cli) -> None:
    ended = benchwright("image", "build", "--print", env={"PATH": "", "BENCHWRIGHT_CONTAINER_ENGINE": "nothing"})
    assert ended.returncode == 0, ended.stderr
    assert f"FROM python:{sys.version_info[0]}.{sys.version_info[1]}-slim\n" in ended.stdout
    assert "    numpy==" in ended.stdout
    again = benchwright("image", "build", "--print", "--here", "--json")
    assert json.loads(again.stdout)["data"] == {"dockerfile": ended.stdout}


def test_the_dockerfile_of_a_run_is_that_of_its_environment(benchwright: Cli, tmp_path: Path) -> None:
    assert benchwright("run", "fake:constant?ms=1", "--rounds", "1", "--samples", "5").returncode == 0
    ended = benchwright("image", "build", "--from-run", "last", "--packages", "numpy", "--write", "context")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == str(Path("context", "Dockerfile"))
    written = sorted(path.name for path in (tmp_path / "context").iterdir())
    assert written[0] == "Dockerfile" and written[1].endswith(".whl") and written[2] == "constraints.txt"
    assert "    numpy==" in (tmp_path / "context" / "Dockerfile").read_text(encoding="utf-8")


def test_wrong_requests_end_with_2(inside: Cli) -> None:
    for arguments in (
        ("--here", "--from-run", "last"),
        ("--packages", "no-such-package", "--print"),
        ("--base", "a b", "--print"),
        ("--build-arg", "novalue", "--print"),
        ("--from-run", "no-such-run"),
    ):
        ended = inside("image", "build", *arguments)
        assert ended.returncode == 2 and ended.stderr.startswith("benchwright: "), ended.stderr


@pytest.mark.soak
def test_an_image_is_built_listed_and_measured_in(benchwright: Cli, python_image: str, engine: str) -> None:
    tag = f"localhost/benchwright-tests/{uuid.uuid4()}:one"
    try:
        ended = benchwright("image", "build", "--base", python_image, "--packages", "none", "--tag", tag, "--json")
        assert ended.returncode == 0, ended.stderr
        built = json.loads(ended.stdout)["data"]
        assert built["name"] == tag
        listed = json.loads(benchwright("image", "list", "--json").stdout)
        assert listed["kind"] == "images"
        rows = listed["data"]
        assert [row["id"] for row in rows if tag in row["tags"]] == [built["id"]]
        assert tag in benchwright("image", "list").stdout
        measured = benchwright(
            *("run", "fake:constant?ms=1", "--host", f"container:{tag}", "--rounds", "1", "--samples", "5", "--json")
        )
        assert measured.returncode == 0, measured.stderr
        packages = json.loads(measured.stdout)["data"]["results"][0]["environment"]["packages"]
        assert packages.keys() == {"benchwright"}
    finally:
        containers.remove(engine, tag)
