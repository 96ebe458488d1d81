"""Revisions of a real repository, built in working copies and environments of their own."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import psutil
import pytest

from benchwright.errors import TargetError
from benchwright.execution.builds import MARK, Builder, BuiltRevision
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.plan_elsewhere import plan_in
from benchwright.execution.rounds import Plan, execute
from benchwright.targets.sources import Request
from benchwright.workflows.ab.pairs import setting_of

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "thing"
version = "1"

[tool.hatch.build]
include = ["thing.py"]
dev-mode-dirs = ["."]
"""


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two revisions of a package, `before` and `after`."""
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "Ada")
        monkeypatch.setenv(f"{name}_EMAIL", "ada@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for name in ("before", "after"):
        (folder / "thing.py").write_text(f"NAME = {name!r}\n")
        (folder / "pyproject.toml").write_text(PROJECT)
        (folder / "bench.py").write_text("import thing\n\n\ndef look():\n    return thing.NAME\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", name)
        git(folder, "tag", name)
    return folder


def _says(built: BuiltRevision) -> str:
    """What a child of the build sees of the package."""
    code = "import thing; print(thing.NAME)"
    environment = {**os.environ, **built.environment}
    command = [built.python, "-P", "-c", code]
    return subprocess.run(command, cwd="/", env=environment, check=True, capture_output=True, text=True).stdout.strip()


def test_each_revision_is_built_once_and_leaves_the_users_copy_alone(repository: Path, tmp_path: Path) -> None:
    (repository / "thing.py").write_text("NAME = 'edited'\n")
    count = tmp_path / "count"
    builder = Builder(repository, command=f'echo "$BENCHWRIGHT_REVISION" >> {count}; echo done > made.txt')
    first, second = builder.prepare("before"), builder.prepare("after")
    assert first.ok and second.ok and not first.cached
    assert (first.folder / "made.txt").read_text() == "done\n"
    assert "'before'" in (first.folder / "thing.py").read_text()
    again = Builder(repository, command=f'echo "$BENCHWRIGHT_REVISION" >> {count}; echo done > made.txt')
    assert again.prepare("before").cached
    assert count.read_text().split() == [first.revision.id, second.revision.id]
    assert (repository / "thing.py").read_text() == "NAME = 'edited'\n"
    assert git(repository, "status", "--porcelain") == "M thing.py"
    builder.drop("before")
    assert not first.folder.exists()
    assert not builder.prepare("before").cached


def test_what_a_build_installs_is_its_own_even_where_the_package_is_installed_here(repository: Path) -> None:
    around = Surroundings(environment="here")  # what builds the package is here, so that no network is needed
    builder = Builder(repository, command="pip install --no-build-isolation --no-deps -q -e .", surroundings=around)
    found = {name: _says(builder.prepare(name)) for name in ("before", "after")}
    assert found == {"before": "before", "after": "after"}
    assert _can_import(builder.prepare("before"), "numpy", "benchwright")


@pytest.mark.parametrize("command", ["", "pip --version && python -m pip --version"])
def test_an_environment_holds_nothing_that_is_installed_here(repository: Path, command: str) -> None:
    built = Builder(repository, command=command).prepare("before")
    assert built.ok, built.log.read_text()
    assert built.own and not _can_import(built, "numpy") and not _can_import(built, "click")
    (case,) = plan_in(built, Request(targets=["bench.py::look"]))
    run = execute(Plan(cases=[case], rounds=1, host=setting_of(built).host, paths=built.paths, directory=built.folder))
    assert run.results[0].status == "ok", run.results[0].error
    assert run.results[0].environment.packages == {}


def _can_import(built: BuiltRevision, *names: str) -> bool:
    command = [built.python, "-c", f"import {', '.join(names)}"]
    environment = {**os.environ, **built.environment}
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, check=False).returncode == 0


def test_a_failing_build_is_remembered_with_its_words(repository: Path, tmp_path: Path) -> None:
    builder = Builder(repository, command=f"echo x >> {tmp_path}/tries; echo no such header >&2; exit 3")
    failed = builder.prepare("before")
    assert failed.failure is not None and not failed.ok
    assert failed.failure.message == f"the build of {failed.revision.id[:12]} ended with exit code 3"
    assert failed.failure.log_tail == "no such header"
    again = builder.prepare("before").failure
    assert again is not None and again.log_tail == failed.failure.log_tail
    assert again.message == f"{failed.failure.message} earlier; --rebuild builds it again"
    assert (tmp_path / "tries").read_text() == "x\n"
    builder.prepare("before", rebuild=True)
    assert (tmp_path / "tries").read_text() == "x\nx\n"


def test_a_build_that_hangs_ends_with_all_it_started_and_is_tried_again(repository: Path, tmp_path: Path) -> None:
    command = f"test -e {tmp_path}/child || {{ sleep 600 & echo $! > {tmp_path}/child; wait; }}"
    failed = Builder(repository, command=command, timeout=1.0).prepare("before").failure
    assert failed is not None and failed.kind == "timeout"
    child = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    again = Builder(repository, command=command).prepare("before")
    assert again.ok and not again.cached


def test_a_broken_pipe_ends_a_program_of_the_build_as_usual(repository: Path) -> None:
    built = Builder(repository, command="yes | :").prepare("before")
    assert built.ok and built.log.read_text() == ""  # not "yes: Broken pipe", as where the signal is ignored


def test_what_was_cut_off_does_not_look_built(repository: Path, tmp_path: Path) -> None:
    builder = Builder(repository)
    built = builder.prepare("before")
    (built.folder.parent / MARK).unlink()  # as kill -9 before the last step leaves it
    (built.folder / "half").write_text("")
    again = builder.prepare("before")
    assert again.ok and not again.cached and not (again.folder / "half").exists()


def test_two_at_once_build_one(repository: Path, tmp_path: Path) -> None:
    command = f"echo x >> {tmp_path}/tries"
    found: list[BuiltRevision] = []
    threads = [
        threading.Thread(target=lambda: found.append(Builder(repository, command=command).prepare("after")))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(built.cached for built in found) == [False, True, True]
    assert (tmp_path / "tries").read_text() == "x\n"


def test_cases_are_planned_and_measured_in_the_working_copy(repository: Path) -> None:
    from benchwright.execution.hosts.local import LocalHost

    built = Builder(repository).prepare("before")
    (case,) = plan_in(built, Request(targets=["bench.py::look"]))
    assert case.name == "bench.py::look" and str(built.folder) in case.target.uri
    host = LocalHost(python=built.python, directory=built.folder, environment=built.environment)
    run = execute(Plan(cases=[case], rounds=1, host=host, paths=built.paths, directory=built.folder))
    assert run.results[0].status == "ok", run.results[0].error
    assert run.results[0].revision is not None and run.results[0].revision.id == built.revision.id


def test_a_target_that_is_not_there_is_told_with_its_revision(repository: Path) -> None:
    built = Builder(repository).prepare("before")
    with pytest.raises(TargetError, match=rf"revision {built.revision.id[:12]}: .*nothing") as told:
        plan_in(built, Request(targets=["bench.py::nothing"]))
    said = f"{told.value.message} {told.value.remedy}"
    assert "bench.py" in said and str(built.folder) not in said  # a path that the user has, not one of the copy
