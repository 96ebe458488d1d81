"""A Dockerfile from a recorded environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.errors import OptionError
from benchwright.execution.images import recipes
from benchwright.execution.images.recipes import recipe
from benchwright.records import Environment

RECORDED = {"numpy": "2.4.6", "Typing_Extensions": "4.1", "benchwright": "0.1.0", "pip": "23.2", "torch": "2.9.0+cpu"}


def _environment(packages: dict[str, str] | None = None, python: object = "3.12.4") -> Environment:
    system = {} if python is None else {"python": str(python)}
    return Environment(machine={}, system=system, packages=RECORDED if packages is None else packages)


def test_everything_recorded_is_installed_exactly_on_the_recorded_python() -> None:
    lines = recipe(_environment()).dockerfile.splitlines()
    assert "FROM python:3.12-slim" in lines
    at = lines.index("RUN python3 -m pip install --no-cache-dir --no-deps \\")
    pins = ["    numpy==2.4.6 \\", "    torch==2.9.0+cpu \\", "    Typing_Extensions==4.1"]
    assert lines[at + 1 : at + 4] == pins
    text = "\n".join(lines)
    assert "pip==" not in text and "benchwright==" not in text
    assert f"COPY {recipes.WHEEL} /tmp/" in lines
    assert not any(line.startswith("ARG") for line in lines)


def test_a_choice_is_installed_with_what_it_needs_in_the_recorded_versions(tmp_path: Path) -> None:
    made = recipe(_environment(), packages=("NumPy", "typing.extensions"))
    assert "    numpy==2.4.6 \\\n    Typing_Extensions==4.1\n" in made.dockerfile and "torch" not in made.dockerfile
    dockerfile = recipes.write(made, tmp_path / "new")
    assert dockerfile.read_text(encoding="utf-8") == made.dockerfile
    constraints = (tmp_path / "new" / "constraints.txt").read_text(encoding="utf-8")
    assert constraints == "numpy==2.4.6\ntorch==2.9.0+cpu\nTyping_Extensions==4.1\n"


def test_no_packages_on_a_base_of_ones_own_needs_no_index() -> None:
    made = recipe(_environment({}, python=None), base="registry.local:5000/team/base@sha256:ab", packages=())
    assert "FROM registry.local:5000/team/base@sha256:ab\n" in made.dockerfile
    assert made.dockerfile.count("pip install") == 1 == made.dockerfile.count("--no-index")


def test_the_tag_changes_with_the_content() -> None:
    made = recipe(_environment())
    assert made.tag == recipe(_environment()).tag
    assert made.tag != recipe(_environment(), base="python:3.13-slim").tag
    chosen = recipe(_environment(), packages=("numpy",))
    assert chosen.tag != recipe(_environment({"numpy": "2.4.6", "torch": "3"}), packages=("numpy",)).tag


def test_build_arguments_are_seen_by_commands() -> None:
    assert "\nARG PIP_INDEX_URL\n" in recipe(_environment(), arguments=["PIP_INDEX_URL"]).dockerfile


@pytest.mark.parametrize(
    "packages",
    [{"numpy; rm -rf /": "1"}, {"numpy": "1 && curl x"}, {"a\nRUN x": "1"}, {"numpy": "1\\"}, {"-r": "1"}],
)
def test_a_record_cannot_smuggle_commands_in(packages: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="cannot be installed"):
        recipe(_environment(packages))


@pytest.mark.parametrize("base", ["python 3", "python\nRUN x", "-x", "$(x)"])
def test_a_base_that_is_no_name_is_refused(base: str) -> None:
    with pytest.raises(OptionError, match="not the name of an image"):
        recipe(_environment(), base=base)


def test_records_that_do_not_suffice_are_refused() -> None:
    with pytest.raises(OptionError, match="nothing about packages"):
        recipe(_environment({}))
    with pytest.raises(OptionError, match="nothing about Python's version"):
        recipe(_environment(python=None))
    with pytest.raises(OptionError, match="'nunpy' is not in the record") as refused:
        recipe(_environment(), packages=("nunpy",))
    assert "numpy" in refused.value.remedy
    with pytest.raises(OptionError, match="name of a variable"):
        recipe(_environment(), arguments=["A B"])
