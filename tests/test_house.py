"""The architecture page draws the house as it is, and old names of modules lead to the new ones."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from numpy import float64, int64
from numpy.typing import NDArray

import benchwright
from benchwright import _moved, adapters, plugins

MOST_ENTRIES = 36
BESIDE = {"browser", "readers", "support", "tensorflow"}  # folders of tests that no folder of the package answers to


def test_the_top_can_be_overlooked(root: Path) -> None:
    entries = {path.name for path in (root / "src" / "benchwright").iterdir()} - {"__pycache__"}
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


def test_the_architecture_names_every_folder(root: Path) -> None:
    package = root / "src" / "benchwright"
    folders = {path.parent.relative_to(package).as_posix() for path in package.rglob("__init__.py")} - {"."}
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| [^|]*\| `([a-z_/]+)/` \|", page, re.MULTILINE))
    assert folders == named


def test_tests_mirror_the_package(root: Path) -> None:
    places = {path.parent.relative_to(root / "tests") for path in (root / "tests").rglob("test_*.py")} - {Path()}
    package = root / "src" / "benchwright"
    astray = [p.as_posix() for p in places if p.parts[0] not in BESIDE and not _is_module(package / p)]
    assert sorted(astray) == []


def _is_module(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").exists()


def test_helpers_of_tests_are_imported(root: Path) -> None:
    scripts = {"test_project.py", "test_docs_site.py"}  # what these run are scripts of the repository
    loaded = re.compile(r"^import runpy|spec_from_file_location\(", re.MULTILINE)
    found = {p.name for p in (root / "tests").rglob("*.py") if loaded.search(p.read_text(encoding="utf-8"))}
    assert found - {"test_house.py"} == scripts


def test_the_journeys_pass_modules_that_there_are(root: Path) -> None:
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    journeys = page.partition("## Journeys")[2].partition("\n## ")[0]
    passed = re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", journeys)
    assert len(passed) > 40
    missing = [name for name in passed if importlib.util.find_spec(f"benchwright.{name}") is None]
    assert missing == []


@pytest.mark.parametrize("name", sorted(_moved.MOVED))
def test_an_old_name_gives_the_module_of_today(name: str) -> None:
    old = importlib.import_module(f"benchwright.{name}")
    assert old is importlib.import_module(f"benchwright.{_moved.MOVED[name]}")
    assert old.__name__ == f"benchwright.{_moved.MOVED[name]}" == (old.__spec__ and old.__spec__.name)


def test_what_lies_below_an_old_package_is_loaded_once() -> None:
    script = (
        "from benchwright.runtimes import fake as old; from benchwright.worker.runtimes import fake as new\n"
        "from benchwright.runtimes.fake import Fake\n"
        "assert old is new and Fake is new.Fake, (old, new)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"benchwright\.nowhere"):
        importlib.import_module("benchwright.nowhere")
    with pytest.raises(ModuleNotFoundError, match=r"benchwright\.worker\.runtimes\.nothing"):
        importlib.import_module("benchwright.runtimes.nothing")


@pytest.mark.parametrize("name", adapters.__all__)
def test_adapters_hold_what_they_name(name: str) -> None:
    assert isinstance(getattr(adapters, name), type) and name in dir(adapters)


@pytest.mark.parametrize("name", adapters.__all__)
def test_adapters_hold_what_their_methods_take_and_give(name: str) -> None:
    held = {getattr(adapters, each) for each in adapters.__all__}
    needed = {one for one in _mentioned_by(getattr(adapters, name)) if not one.__module__.startswith(_OPEN)}
    assert needed <= held, needed - held


_OPEN = ("benchwright.records", "benchwright.events")  # documented homes of their own


def _mentioned_by(owner: type) -> Iterator[type]:
    """Classes of ours in the annotations of a class and of its methods, those for the type checker's eyes too."""
    members = [getattr(member, "fget", member) for member in vars(owner).values()]
    names = {**vars(sys.modules[owner.__module__]), **_FOR_TYPE_CHECKERS}
    for member in (owner, *filter(inspect.isfunction, members)):
        for hint in typing.get_type_hints(member, names).values():
            yield from _classes_in(hint)


_FOR_TYPE_CHECKERS = {
    "Frame": adapters.Frame,
    "Job": adapters.Job,
    "NDArray": NDArray,
    "float64": float64,
    "int64": int64,
}  # imported by modules for them alone


def _classes_in(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("benchwright."):
        yield hint
    for part in hint if isinstance(hint, list) else typing.get_args(hint):
        yield from _classes_in(part)


def test_every_group_of_plug_ins_has_a_protocol_that_the_docs_name(root: Path) -> None:
    page = (root / "docs" / "extending.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `benchwright\.(\w+)` \|.*\| `benchwright\.adapters\.(\w+)` \|$", page, re.MULTILINE)
    assert {group for group, _ in rows} == set(plugins.BUILTIN)
    assert {protocol for _, protocol in rows} <= set(adapters.__all__)
    assert [name for name in adapters.__all__ if not re.search(rf"`(?:benchwright\.adapters\.)?{name}`", page)] == []


def test_adapters_load_nothing_but_what_is_asked_for() -> None:
    found = "[m in sys.modules for m in ('sqlalchemy', 'numpy')]"
    script = f"import sys; from benchwright.adapters import Loaded; print({found})"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[False, False]"


def test_adapters_know_no_other_name() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        adapters.nothing  # noqa: B018


def test_a_class_name_means_one_thing(root: Path) -> None:
    homes: dict[str, list[str]] = {}
    for path in sorted((root / "src" / "benchwright").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_the_glossary_holds_the_classes_that_people_meet(root: Path) -> None:
    named = {*benchwright.__all__, *adapters.__all__}
    for path in (root / "src" / "benchwright" / "records").glob("*.py"):
        named |= {
            node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)
        }
    page = (root / "docs" / "glossary.md").read_text(encoding="utf-8")
    held = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert {name for name in named if name[0].isupper()} - held == set()


def test_every_warning_is_explained_with_the_module_that_writes_it(root: Path) -> None:
    page = (root / "docs" / "warnings.md").read_text(encoding="utf-8")
    rows = [re.findall(r"`([^`]+)`", line) for line in page.splitlines() if line.startswith("| `")]
    explained = {code for names in rows for code in names if "." not in code}
    modules = {name for names in rows for name in names if "." in name}
    assert [name for name in modules if importlib.util.find_spec(f"benchwright.{name}") is None] == []
    written = {code for path in (root / "src").rglob("*.py") for code in _warning_codes(path)}
    assert len(written) > 40 and written - explained == set()


def _warning_codes(path: Path) -> Iterator[str]:
    """The codes in `ResultWarning(code="...")`, and in functions that make one: `_warning("...", seen, remedy)`."""
    text = path.read_text(encoding="utf-8")
    if "ResultWarning" not in text:
        return
    constants = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            constants |= {name.id: node.value.value for name in node.targets if isinstance(name, ast.Name)}
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        if name in ("_warning", "_warn"):
            given = node.args[:1]
        for code in given:
            value = code.value if isinstance(code, ast.Constant) else constants.get(getattr(code, "id", ""))
            if isinstance(value, str):
                yield value
