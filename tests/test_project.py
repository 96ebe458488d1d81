"""The project's own promises: nothing of the machine it was built on, nothing public undocumented."""

from __future__ import annotations

import importlib
import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import click
import pytest

import benchwright
from benchwright.cli import VERBS
from benchwright.cli.completion import WORDS_FILE

# Written so that this file does not hold what it looks for. Public names that documents may hold are not listed.
_BUILT_WITH = [
    r"/" + r"work/(?!$)",
    r"/" + r"root/",
    r"/" + r"opt/(?:wheels|pypi)",
    r"file" + r":///opt",
    r"https?://(?!\S*/funding/)[^\s\"'`)]*(?:pypi|pythonhosted|npm|registry|artifactory|nexus|mirror)[^\s\"'`)]*",
]


def test_no_file_names_the_machine_it_was_written_on_or_a_registry(root: Path) -> None:
    pattern = re.compile("|".join(_BUILT_WITH))
    found = [f"{path.relative_to(root)}: {m[0]}" for path in _files(root) for m in pattern.finditer(_text(path))]
    assert found == []


def test_every_public_name_exists_and_is_documented(root: Path) -> None:
    documents = _documents(root)
    public = [name for name in benchwright.__all__ if name != "__version__"]
    assert public
    assert [name for name in public if not hasattr(benchwright, name)] == []
    assert [name for name in public if not re.search(rf"\b(?:bw\.|`)?{name}\b", documents)] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_is_documented(verb: str, root: Path) -> None:
    documents = _documents(root)
    command = importlib.import_module(VERBS[verb][0]).command
    assert f"benchwright {verb}" in documents
    missing = [flag for flag in _flags(command) if not re.search(rf"(?<![\w-]){flag}(?![\w-])", documents)]
    assert missing == []


def test_the_reference_of_the_command_line_is_current(root: Path) -> None:
    made = runpy.run_path(str(root / "docs" / "generate_cli.py"))["page"]()
    assert (root / "docs" / "cli.md").read_text(encoding="utf-8") == made, "run `make schema`"


def test_the_words_that_shells_complete_are_current(root: Path) -> None:
    made = runpy.run_path(str(root / "docs" / "generate_cli.py"))["completion_words"]()
    held = (root / "src" / "benchwright" / "cli" / WORDS_FILE).read_text(encoding="utf-8")
    assert held == made, "run `make schema`"


def test_the_types_of_the_dashboard_are_current(root: Path) -> None:
    made = runpy.run_path(str(root / "dashboard" / "generate.py"))["text"]()
    assert (root / "dashboard" / "src" / "shapes.ts").read_text(encoding="utf-8") == made, "run `make types`"


def test_the_changelog_has_a_place_for_what_is_not_released(root: Path) -> None:
    headings = re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings[0] == "Unreleased"


def test_the_version_is_stated_once(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", benchwright.__version__)


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page(root: Path) -> None:
    listed = set(
        re.findall(r"([\w/-]+\.md)\s*$", (root / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    pages = {path.relative_to(root / "docs").as_posix() for path in (root / "docs").rglob("*.md")}
    assert listed == pages


def test_links_between_pages_lead_somewhere(root: Path) -> None:
    broken = [
        f"{page.relative_to(root)}: {link}"
        for page in [*(root / "docs").rglob("*.md"), *root.glob("*.md")]
        for link in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", _text(page))
        if not (page.parent / link).exists()
    ]
    assert broken == []


def test_make_lists_every_command(root: Path) -> None:
    listed = subprocess.run(["make", "-s"], cwd=root, capture_output=True, text=True, check=True).stdout
    declared = re.search(r"^\.PHONY: (.+)$", (root / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert declared
    assert re.findall(r"^  make ([\w-]+)  +\S", listed, flags=re.MULTILINE) == declared[1].split()


def test_the_licence_is_whole(root: Path) -> None:
    text = (root / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text


def _files(root: Path) -> list[Path]:
    """What a clone would hold: tracked files and those that are about to be."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    return [root / name for name in names if name and (root / name).is_file()]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="ignore")


def _documents(root: Path) -> str:
    return "\n".join(_text(page) for page in [*(root / "docs").rglob("*.md"), root / "README.md"])


def _flags(command: click.Command) -> list[str]:
    own = [flag for p in command.params if isinstance(p, click.Option) and not p.hidden for flag in p.opts]
    if isinstance(command, click.Group):
        own += [flag for inner in command.commands.values() for flag in _flags(inner)]
    return [flag for flag in own if flag.startswith("--")]
