"""The branch that a job of continuous integration works on, and the repository's tags of a commit."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from benchwright import vcs
from benchwright.vcs.git import GitRepository
from benchwright.vcs.hg import HgRepository
from benchwright.vcs.jobs import OWN, SERVICES, branch_of_job


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [OWN, *SERVICES, *(one for said in SERVICES.values() for one in (said.folder, *said.branches) if one)]:
        monkeypatch.delenv(name, raising=False)
    for name, value in {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HGRCPATH": ""}.items():
        monkeypatch.setenv(name, value)


def _run(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    _run(folder, "git", "init", "--quiet", "--initial-branch", "trunk")
    _run(folder, "git", "config", "user.name", "A")
    _run(folder, "git", "config", "user.email", "a@example.org")
    _run(folder, "git", "config", "log.excludeDecoration", "refs/tags/*")  # a setting of the user's
    for subject in ("One", "Two, with (tag: refs/tags/none)"):
        _run(folder, "git", "commit", "--quiet", "--allow-empty", "-m", subject)
    return folder


def test_tags_of_the_commit_are_kept_with_it(repository: Path) -> None:
    _run(repository, "git", "tag", "old", "HEAD~1")
    _run(repository, "git", "tag", "v1.0")
    _run(repository, "git", "tag", "--annotate", "-m", "shipped", "release/2026,11")
    found = vcs.revision(repository)
    assert found is not None
    assert (found.branch, found.tags, found.subject) == (
        "trunk",
        ("release/2026,11", "v1.0"),
        "Two, with (tag: refs/tags/none)",
    )
    first, second = GitRepository(repository).latest("HEAD", 2)
    assert (first.revision.tags, second.revision.tags) == (("old",), ("release/2026,11", "v1.0"))
    assert (first.revision.subject, second.revision.subject) == ("One", found.subject)


@pytest.mark.soak
def test_tags_of_mercurial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}")
    folder = tmp_path / "hg"
    _run(tmp_path, "hg", "init", str(folder))
    (folder / "file").write_text("1")
    _run(folder, "hg", "commit", "--addremove", "--quiet", "--message", "One", "--user", "A")
    _run(folder, "hg", "tag", "--local", "v 1")
    found = vcs.revision(folder)
    assert found is not None and (found.tags, found.subject, found.branch) == (("v 1",), "One", "default")
    assert HgRepository(folder).resolve(".").revision.tags == ("v 1",)


@pytest.mark.parametrize(
    ("environment", "branch"),
    [
        ({}, ""),
        ({"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/heads/topic/a"}, "topic/a"),
        ({"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_HEAD_REF": "fix"}, "fix"),
        ({"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/tags/v1"}, ""),
        ({"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main"}, "main"),
        ({"GITLAB_CI": "true", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "fix", "CI_COMMIT_BRANCH": ""}, "fix"),
        ({"JENKINS_URL": "x", "GIT_BRANCH": "origin/main"}, "main"),
        ({"TF_BUILD": "True", "BUILD_SOURCEBRANCH": "refs/heads/main"}, "main"),
        ({"CI_COMMIT_BRANCH": "main"}, ""),  # of no service that is known to be running
        ({"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main", OWN: "mine"}, "mine"),
    ],
)
def test_a_job_says_its_branch_where_git_knows_none(
    repository: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], branch: str
) -> None:
    _run(repository, "git", "checkout", "--quiet", "--detach")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = vcs.revision(repository)
    assert found is not None and found.branch == branch


def test_what_git_knows_counts_before_the_job(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITLAB_CI", "true")
    monkeypatch.setenv("CI_COMMIT_BRANCH", "main")
    found = vcs.revision(repository)
    assert found is not None and found.branch == "trunk"


def test_a_repository_beside_the_jobs_own_is_not_on_its_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITLAB_CI", "true")
    monkeypatch.setenv("CI_COMMIT_BRANCH", "main")
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path / "mine"))
    assert branch_of_job(tmp_path / "mine" / "inner") == "main"
    assert branch_of_job(tmp_path / "other") == ""
