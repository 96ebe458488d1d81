"""What the files of a revision say that it needs, and what becomes of it."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from benchwright.errors import OptionError, TargetError
from benchwright.events import Event, Noted, Staged
from benchwright.execution.builds import Builder
from benchwright.execution.builds.surroundings import RevisionNeeds, Surroundings, needs_of
from benchwright.execution.plan_elsewhere import plan_in
from benchwright.targets.sources import Request


@pytest.mark.parametrize(
    ("files", "needs"),
    [
        ({}, RevisionNeeds()),
        ({"pyproject.toml": "[project]\ndependencies = ['a>=1', 'b']\n"}, RevisionNeeds(requirements=("a>=1", "b"))),
        ({"pyproject.toml": "[project]\ndynamic = ['dependencies']\n"}, RevisionNeeds(unread="pyproject.toml")),
        ({"pyproject.toml": "[tool.poetry.dependencies]\na = '^1'\n"}, RevisionNeeds(unread="pyproject.toml")),
        ({"pyproject.toml": "no [ toml"}, RevisionNeeds()),
        (
            {"setup.cfg": "[options]\ninstall_requires =\n  # why\n  a>=1\n  b\n"},
            RevisionNeeds(requirements=("a>=1", "b")),
        ),
        ({"setup.py": "setup(name='x', install_requires=['a>=1'])"}, RevisionNeeds(requirements=("a>=1",))),
        ({"setup.py": "NEEDS = ['a>=1']\nsetup(install_requires=NEEDS)"}, RevisionNeeds(requirements=("a>=1",))),
        ({"setup.py": "setup(install_requires=read('in.txt'))"}, RevisionNeeds(unread="setup.py")),
        ({"requirements.txt": "a==1\n"}, RevisionNeeds(file="requirements.txt", content="a==1\n")),
        ({"requirements.txt": "a\n", "pyproject.toml": "[project]\ndependencies = []\n"}, RevisionNeeds()),
    ],
)
def test_needs_are_read_and_nothing_is_run(tmp_path: Path, files: dict[str, str], needs: RevisionNeeds) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert needs_of(tmp_path) == needs


def test_only_plain_needs_are_shared() -> None:
    assert (
        RevisionNeeds(requirements=("a>=1",)).can_be_shared
        and RevisionNeeds(file="r.txt", content="a==1\nb\n").can_be_shared
    )
    assert not RevisionNeeds(file="r.txt", content="-e .\n").can_be_shared
    assert not RevisionNeeds(requirements=("a @ file:///elsewhere/a",)).can_be_shared


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commits `v1` and `v2` ask for other versions of a package, `v3` for the same as `v2`."""
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "Ada")
        monkeypatch.setenv(f"{name}_EMAIL", "ada@example.org")
    for name, value in {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "BENCHWRIGHT_CACHE": str(tmp_path / "cache"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
    }.items():
        monkeypatch.setenv(name, value)
    for version in ("1.0", "2.0"):
        _wheel(tmp_path / "wheels", version)
    folder = tmp_path / "project"
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")
    for number, needs in enumerate(("'needed==1.0'", "'needed'", "'needed'"), 1):
        (folder / "pyproject.toml").write_text(f"[project]\ndependencies = [{needs}]\n")
        (folder / "bench.py").write_text(f"import needed\n\ndef look():\n    return {number}\n")
        _git(folder, "add", ".")
        _git(folder, "commit", "-q", "-m", f"{number}")
        _git(folder, "tag", f"v{number}")
    return folder


def test_each_revision_has_what_its_own_files_ask_for(repository: Path, tmp_path: Path) -> None:
    told: list[Event] = []
    builder = Builder(repository, listener=told.append)
    first, second, third = (builder.prepare(name) for name in ("v1", "v2", "v3"))
    assert first.ok, first.failure
    assert (first.packages, second.packages, third.packages) == ({"needed": "1.0"}, {"needed": "2.0"}, second.packages)
    assert second.python == third.python != first.python, "who needs the same shares an environment"
    stages = [event.text for event in told if isinstance(event, Staged)]
    assert [text for text in stages if text.startswith("installing")] == ["installing needed==1.0", "installing needed"]
    (tmp_path / "held.txt").write_text("needed<2\n")
    held = Builder(repository, surroundings=Surroundings(constraints=(tmp_path / "held.txt",)))
    assert held.prepare("v2").packages == {"needed": "1.0"}
    assert builder.prepare("v2").cached and builder.prepare("v2").packages == {"needed": "2.0"}
    (case,) = plan_in(builder.prepare("v2"), Request(targets=["bench.py::look"]))
    assert case.name == "bench.py::look"


def test_what_cannot_be_installed_says_what_to_do_and_is_tried_again(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    failed = Builder(repository).prepare("v1").failure
    assert failed is not None and failed.message.endswith("needs could not be installed: needed==1.0")
    assert "without a network, --environment here takes what is installed here" in failed.remedy
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    assert Builder(repository).prepare("v1").ok


def test_a_package_that_is_missing_comes_with_the_flag_that_adds_it(repository: Path) -> None:
    (repository / "pyproject.toml").unlink()
    _git(repository, "commit", "-q", "-am", "needs nothing, it says")
    with pytest.raises(TargetError, match="--install needed adds it") as raised:
        plan_in(Builder(repository).prepare("HEAD"), Request(targets=["bench.py::look"]))
    assert "--environment here" in raised.value.remedy
    around = Surroundings(install=("needed",))
    assert Builder(repository, surroundings=around).prepare("HEAD").packages == {"needed": "2.0"}


def test_a_submodule_that_cannot_be_had_is_left_out_and_told(repository: Path, tmp_path: Path) -> None:
    for name in ("here", "gone"):
        (tmp_path / name).mkdir()
        _git(tmp_path / name, "init", "-q")
        (tmp_path / name / "file.txt").write_text(name)
        _git(tmp_path / name, "add", ".")
        _git(tmp_path / name, "commit", "-q", "-m", name)
        _git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"{tmp_path}/{name}", name)
    _git(repository, "commit", "-q", "-m", "submodules")
    (tmp_path / "gone").rename(tmp_path / "moved")
    (repository / ".git" / "modules" / "gone").rename(tmp_path / "module")
    told: list[Event] = []
    builder = Builder(repository, surroundings=Surroundings(environment="here"), listener=told.append)
    built = builder.prepare("HEAD")
    assert built.ok and (built.folder / "here" / "file.txt").exists() and not (built.folder / "gone/file.txt").exists()
    (note,) = [event.text for event in told if isinstance(event, Noted)]
    assert ": submodule gone is left out: repository" in note and note.endswith("does not exist")
    assert "\n" not in note and "Cloning" not in note and note.count("does not exist") == 1
    assert builder.prepare("HEAD").cached and builder.prepare("HEAD").warnings == built.warnings
    whole = Surroundings(environment="here", submodules="all")
    assert Builder(repository, surroundings=whole).prepare("HEAD").failure is not None
    none = Builder(repository, surroundings=Surroundings(environment="here", submodules="no")).prepare("HEAD")
    assert none.ok and not none.warnings and not (none.folder / "here" / "file.txt").exists()
    _git(
        repository, "update-index", "--force-remove", "gone", "here"
    )  # .gitmodules still names them, and git minds neither
    _git(repository, "commit", "-q", "-m", "no submodules")
    assert builder.prepare("HEAD").ok and not builder.prepare("HEAD").warnings


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (Surroundings(environment="other"), "environment: 'other'"),
        (Surroundings(submodules="some"), "submodules: 'some'"),
        (Surroundings(install=("--index-url",)), "names no package"),
        (Surroundings(constraints=(Path("nowhere.txt"),)), "there is no constraint file nowhere.txt"),
    ],
)
def test_what_cannot_be_had_is_refused(repository: Path, wrong: Surroundings, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Builder(repository, surroundings=wrong)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def _wheel(folder: Path, version: str) -> None:
    folder.mkdir(exist_ok=True)
    info = f"needed-{version}.dist-info"
    with zipfile.ZipFile(folder / f"needed-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("needed.py", f"VERSION = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: needed\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
