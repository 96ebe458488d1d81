from __future__ import annotations

import os
import stat
import subprocess
import sysconfig
from pathlib import Path

import pytest

from benchwright import vcs


@pytest.fixture(autouse=True)
def plain_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_COMMITTER_DATE": "2026-03-01T12:00:00+01:00",
        "HGUSER": "A <a@example.org>",
        "HGRCPATH": "",
    }.items():
        monkeypatch.setenv(name, value)


def run(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "inner").mkdir(parents=True)
    run(folder, "git", "init", "--quiet", "--initial-branch", "trunk")
    (folder / "inner" / "file.py").write_text("a = 1\n")
    run(folder, "git", "add", ".")
    run(folder, "git", "commit", "--quiet", "-m", "Say a\n\nAnd why.")
    return folder


def test_a_clean_copy(repository: Path) -> None:
    found = vcs.revision(repository)
    assert found is not None
    assert found.id == run(repository, "git", "rev-parse", "HEAD")
    assert (found.vcs, found.branch, found.dirty) == ("git", "trunk", False)
    assert (found.committed_at, found.subject) == ("2026-03-01T12:00:00+01:00", "Say a")


def test_a_file_inside_names_the_same_revision(repository: Path) -> None:
    assert vcs.revision(repository / "inner" / "file.py") == vcs.revision(repository)
    assert vcs.revision(str(repository / "inner" / "not there yet.py")) == vcs.revision(repository)


def test_a_changed_file_makes_it_dirty_and_an_untracked_one_does_not(repository: Path) -> None:
    (repository / "new.py").write_text("b = 2\n")
    clean = vcs.revision(repository)
    (repository / "inner" / "file.py").write_text("a = 3\n")
    changed = vcs.revision(repository)
    assert clean is not None and not clean.dirty
    assert changed is not None and changed.dirty


def test_a_staged_change_is_dirty(repository: Path) -> None:
    run(repository, "git", "rm", "--quiet", "inner/file.py")
    found = vcs.revision(repository)
    assert found is not None and found.dirty


def test_a_detached_head_has_no_branch(repository: Path) -> None:
    run(repository, "git", "checkout", "--quiet", "--detach")
    found = vcs.revision(repository)
    assert found is not None and found.branch == ""


def test_a_worktree_is_a_copy_too(repository: Path, tmp_path: Path) -> None:
    run(repository, "git", "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "-side"))
    found = vcs.revision(tmp_path / "-side")
    assert found is not None and found.branch == "side"


def test_a_subject_that_is_not_utf8(repository: Path) -> None:
    message = repository / "message"
    message.write_bytes(b"caf\xe9")
    run(repository, "git", "-c", "i18n.commitEncoding=latin-1", "commit", "--quiet", "--allow-empty", "-F", "message")
    found = vcs.revision(repository)
    assert found is not None and found.subject == "café"


def test_no_repository(tmp_path: Path) -> None:
    assert vcs.revision(tmp_path) is None
    assert vcs.checkout(tmp_path).reason == f"{tmp_path} is not in a git or hg repository"


def test_no_commit_yet(tmp_path: Path) -> None:
    run(tmp_path, "git", "init", "--quiet")
    assert vcs.checkout(tmp_path) == vcs.Checkout(reason=f"{tmp_path} has no commit yet")


def test_a_folder_that_only_looks_like_a_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = vcs.checkout(tmp_path)
    assert found.revision is None
    assert "not a git repository" in found.reason


def test_a_repository_of_someone_else_says_what_git_says(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    found = vcs.checkout(repository)
    assert found.revision is None
    assert "dubious ownership" in found.reason
    assert "safe.directory" in found.reason


def test_git_is_not_installed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert vcs.checkout(repository) == vcs.Checkout(reason="git is not installed")


def test_git_that_hangs(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "git"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(vcs, "TIMEOUT", 0.2)
    assert vcs.checkout(repository).reason == "git took longer than 0.2 s"


def test_variables_that_git_sets_in_hooks_do_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run(other, "git", "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    found = vcs.revision(repository)
    assert found is not None and found.subject == "Say a"


def test_no_program_of_the_repository_is_started(repository: Path, tmp_path: Path) -> None:
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\n")
    monitor.chmod(stat.S_IRWXU)
    run(repository, "git", "config", "core.fsmonitor", str(monitor))
    assert vcs.revision(repository) is not None
    assert not (tmp_path / "started").exists()


def test_mercurial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}")
    run(tmp_path, "hg", "init", ".")
    assert vcs.checkout(tmp_path) == vcs.Checkout(reason=f"{tmp_path} has no commit yet")
    (tmp_path / "file.py").write_text("a = 1\n")
    run(tmp_path, "hg", "branch", "trunk")
    run(tmp_path, "hg", "commit", "--addremove", "--date", "2026-03-01 12:00 +0100", "-m", "Say a\n\nAnd why.")
    clean = vcs.revision(tmp_path)
    (tmp_path / "new.py").write_text("b = 2\n")
    assert vcs.revision(tmp_path) == clean
    (tmp_path / "file.py").write_text("a = 3\n")
    changed = vcs.revision(tmp_path)
    assert clean is not None and changed is not None
    assert clean.id == run(tmp_path, "hg", "log", "-r", ".", "-T", "{node}")
    assert (clean.vcs, clean.branch, clean.dirty, clean.subject) == ("hg", "trunk", False, "Say a")
    assert clean.committed_at == "2026-03-01T12:00:00+01:00"
    assert changed.dirty
