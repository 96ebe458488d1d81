"""Histories of real repositories of both kinds, made by the test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from benchwright.errors import FetchError, TargetError
from benchwright.vcs.history import History, open_repository

KINDS = ("git", "hg")
Made = Callable[[str], tuple[History, list[str]]]


def run(folder: Path, *command: str, at: str = "") -> str:
    dated = {"GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at} if at else {}
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, **dated})
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "HGUSER": "Ada <ada@example.org>",
        "HGRCPATH": "",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)  # where pip puts hg


@pytest.fixture
def made(tmp_path: Path, originals: Callable[[str], tuple[Path, list[str]]]) -> Made:
    """A repository with four commits, a day apart, and their ids."""

    def make(kind: str) -> tuple[History, list[str]]:
        folder, ids = originals(kind)
        return open_repository(shutil.copytree(folder, tmp_path / "it")), ids

    return make


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, list[str]]]:
    """Made once for each kind, and then copied: a command of hg takes half a second."""

    @cache
    def make(kind: str) -> tuple[Path, list[str]]:
        folder = tmp_path_factory.mktemp(kind)
        run(folder, *(("git", "init", "-q", "-b", "trunk") if kind == "git" else ("hg", "init")))
        for day in range(1, 5):
            (folder / "file.txt").write_text(f"{day}\n")
            if kind == "git":
                run(folder, "git", "add", "file.txt")
                run(folder, "git", "commit", "-q", "-m", f"Day {day}", at=f"2026-03-0{day}T12:00:00+00:00")
            else:
                dated = ("--date", f"2026-03-0{day} 12:00:00 +0000")
                run(folder, "hg", "commit", "-q", "--addremove", "-m", f"Day {day}", *dated)
        told = (
            ("git", "log", "--reverse", "--format=%H") if kind == "git" else ("hg", "log", "-r", ":", "-T", "{node}\n")
        )
        return folder, run(folder, *told).split()

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_commits_in_order_with_who_and_when(kind: str, made: Made, tmp_path: Path) -> None:
    repository, ids = made(kind)
    head = repository.resolve("trunk" if kind == "git" else "default")
    assert (head.revision.id, head.revision.subject, head.revision.author) == (ids[3], "Day 4", "Ada")
    assert head.parents == (ids[2],)
    assert repository.resolve(ids[1][:12]).revision.id == ids[1]
    assert [c.revision.id for c in repository.after(ids[0], ids[3])] == ids[1:]
    assert repository.after(ids[3], ids[0]) == []
    assert [c.revision.id for c in repository.latest(ids[2], 2)] == ids[1:3]
    first = repository.first_since("2026-03-02T12:00:01+00:00", ids[3])
    assert first is not None and first.revision.id == ids[2]
    assert repository.first_since("2027-01-01T00:00:00+00:00", ids[3]) is None
    assert list(repository.subjects([ids[0], "e" * 40])) == [ids[0]]
    assert repository.bring("origin", "trunk" if kind == "git" else "default").revision.id == ids[3]


@pytest.mark.parametrize(
    ("kind", "names"),
    [("git", ["", "nowhere", "--help", "HEAD~99", "a b"]), ("hg", ["", "--help", "all()", "') or all() or ('"])],
)
def test_a_name_that_means_nothing_is_refused_and_nothing_is_read_into_it(
    kind: str, names: list[str], made: Made
) -> None:
    repository, _ = made(kind)
    for name in names:
        with pytest.raises(TargetError, match="there is no revision"):
            repository.resolve(name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_working_copy_beside_leaves_the_users_own_alone(kind: str, made: Made, tmp_path: Path) -> None:
    repository, ids = made(kind)
    (repository.root / "file.txt").write_text("edited\n")
    beside = tmp_path / "copies" / "with space"
    repository.work_copy(ids[1], beside)
    assert (beside / "file.txt").read_text() == "2\n"
    assert (repository.root / "file.txt").read_text() == "edited\n"
    repository.drop(beside)
    assert not beside.exists()
    repository.work_copy(ids[0], beside)  # its place is free again
    assert (beside / "file.txt").read_text() == "1\n"


def test_a_folder_outside_any_repository(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="not in a git or hg repository"):
        open_repository(tmp_path)


def test_a_remote_branch_is_fetched(made: Made, tmp_path: Path) -> None:
    repository, _ = made("git")
    run(tmp_path, "git", "clone", "-q", str(repository.root), "clone")
    (repository.root / "file.txt").write_text("new\n")
    run(repository.root, "git", "commit", "-q", "-am", "Day 5", at="2026-03-05T12:00:00+00:00")
    clone = open_repository(tmp_path / "clone")
    assert clone.bring("origin", "trunk").revision.subject == "Day 5"
    assert clone.bring("origin", "HEAD").revision.subject == "Day 5"
    with pytest.raises(FetchError, match="nowhere"):
        clone.bring("origin", "nowhere")


def test_those_who_fetch_at_the_same_time_do_not_get_in_each_others_way(made: Made, tmp_path: Path) -> None:
    repository, ids = made("git")
    run(repository.root, "git", "branch", "old", ids[0])
    run(tmp_path, "git", "clone", "-q", str(repository.root), "clone")
    named = {"trunk": ids[3], "old": ids[0]}

    def fetch(number: int) -> bool:
        branch = [*named][number % 2]
        return open_repository(tmp_path / "clone").bring("origin", branch).revision.id == named[branch]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(fetch, range(8)))
    assert not (tmp_path / "clone" / ".git" / "FETCH_HEAD").exists()  # the user's own, as are the branches
    run(repository.root, "git", "branch", "-m", "old", "old/er")
    assert open_repository(tmp_path / "clone").bring("origin", "old/er").revision.id == ids[0]
    assert run(tmp_path / "clone", "git", "branch", "--all", "--format=%(refname)").split() == [
        "refs/heads/trunk",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/old",
        "refs/remotes/origin/trunk",
    ]
