"""Working copies of real repositories, and local work that must survive whatever is asked."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import FetchError
from benchwright.vcs.checkouts import Repository, WorkingCopyFacts, checkout, describe
from benchwright.vcs.git_program import Git

pytestmark = pytest.mark.usefixtures("plain_git")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


class Server:
    """A bare repository, and the working copy of somebody who pushes to it."""

    def __init__(self, root: Path) -> None:
        self.bare, self.desk = root / "lib1.git", root / "desk"
        root.mkdir()
        git(root, "init", "--quiet", "--bare", "--initial-branch", "trunk", str(self.bare))
        git(root, "init", "--quiet", "--initial-branch", "trunk", str(self.desk))
        git(self.desk, "remote", "add", "origin", str(self.bare))
        self.url = f"file://{self.bare}"
        self.first = self.commit("trunk", "one")
        self.h1 = self.commit("feat", "two")
        self.h2 = self.commit("feat", "three")

    def commit(self, ref: str, text: str, *, onto: str = "", file: str = "a.py") -> str:
        """A new commit with this text in the file, at the branch, tag or other ref of the server."""
        if onto:
            git(self.desk, "checkout", "--quiet", "--detach", onto)
        (self.desk / file).write_text(text)
        git(self.desk, "add", "--force", ".")
        git(self.desk, "commit", "--quiet", "-m", text)
        full = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
        git(self.desk, "push", "--quiet", "--force", "origin", f"HEAD:{full}")
        return git(self.desk, "rev-parse", "HEAD")

    def asked(self, branch: str = "", revision: str = "") -> Repository:
        return Repository(url=self.url, branch=branch, revision=revision)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path / "server")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "site-packages" / "lib1"


def text(folder: Path) -> str:
    return (folder / "a.py").read_text()


def state(folder: Path) -> tuple[str, ...]:
    """Everything of the user's that a failing checkout must leave alone."""
    refs = git(folder, "for-each-ref", "refs/heads", "refs/tags")
    return (
        text(folder),
        git(folder, "rev-parse", "HEAD", "--abbrev-ref", "HEAD"),
        refs,
        git(folder, "status", "--short"),
    )


def refused(server: Server, folder: Path, match: str, branch: str = "", revision: str = "") -> FetchError:
    before = state(folder)
    with pytest.raises(FetchError, match=match) as caught:
        checkout(server.asked(branch, revision), folder)
    assert state(folder) == before
    assert str(folder) in str(caught.value)
    return caught.value


def test_a_missing_folder_is_cloned_at_the_default_branch(server: Server, folder: Path) -> None:
    made = checkout(server.asked(), folder)
    assert made == WorkingCopyFacts(url=server.url, branch="trunk", revision=server.first) == describe(folder)
    assert text(folder) == "one"
    assert [path.name for path in folder.parent.iterdir()] == ["lib1"]


def test_a_branch_and_a_hash_on_it(server: Server, folder: Path) -> None:
    assert checkout(server.asked("feat", server.h1), folder) == WorkingCopyFacts(
        url=server.url, branch="feat", revision=server.h1
    )
    assert text(folder) == "two"
    assert checkout(server.asked("feat"), folder).revision == server.h2
    assert checkout(server.asked("feat", server.h1[:8]), folder).revision == server.h1


def test_a_hash_that_is_not_on_the_branch_is_on_none(server: Server, folder: Path) -> None:
    assert checkout(server.asked("trunk", server.h1), folder) == WorkingCopyFacts(
        url=server.url, branch="", revision=server.h1
    )


def test_a_hash_alone(server: Server, folder: Path) -> None:
    assert checkout(server.asked("", server.h1), folder).branch == ""
    assert checkout(server.asked(), folder) == WorkingCopyFacts(url=server.url, branch="trunk", revision=server.first)


def test_a_hash_that_no_branch_leads_to_any_more(server: Server, folder: Path) -> None:
    git(server.bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    lost = server.commit("feat", "lost", onto=server.h1)
    server.commit("feat", "rewritten", onto=server.first)
    assert checkout(server.asked("", lost), folder).revision == lost


@pytest.mark.parametrize("name", ["v1", "refs/tags/v1"])
@pytest.mark.parametrize("kind", ["light", "annotated"])
def test_a_tag(server: Server, folder: Path, name: str, kind: str) -> None:
    git(server.desk, "tag", *(["-a", "-m", "one"] if kind == "annotated" else []), "v1", server.h1)
    git(server.desk, "push", "--quiet", "origin", "v1")
    assert checkout(server.asked(name), folder) == WorkingCopyFacts(url=server.url, branch="", revision=server.h1)
    assert checkout(server.asked("trunk", "v1"), folder).revision == server.h1


def test_a_tag_that_moved_and_one_of_the_users_own(server: Server, folder: Path) -> None:
    git(server.desk, "push", "--quiet", "origin", f"{server.h1}:refs/tags/nightly")
    checkout(server.asked("nightly"), folder)
    git(folder, "tag", "--force", "nightly", server.first)
    git(server.desk, "push", "--quiet", "--force", "origin", f"{server.h2}:refs/tags/nightly")
    assert checkout(server.asked("nightly"), folder).revision == server.h2
    assert git(folder, "rev-parse", "nightly") == server.first


@pytest.mark.parametrize("name", ["pull/7", "pull/7/head", "refs/pull/7/head"])
def test_a_pull_request_also_when_it_is_rewritten(server: Server, folder: Path, name: str) -> None:
    head = server.commit("refs/pull/7/head", "from a fork", onto=server.first)
    assert checkout(server.asked(name), folder) == WorkingCopyFacts(url=server.url, branch="", revision=head)
    again = server.commit("refs/pull/7/head", "from a fork, better", onto=server.first)
    assert checkout(server.asked(name), folder).revision == again
    assert text(folder) == "from a fork, better"


def test_a_rewritten_branch_is_followed_when_nothing_local_is_on_it(server: Server, folder: Path) -> None:
    checkout(server.asked("feat"), folder)
    rewritten = server.commit("feat", "rewritten", onto=server.first)
    assert checkout(server.asked("feat"), folder) == WorkingCopyFacts(url=server.url, branch="feat", revision=rewritten)


def test_a_branch_is_followed_and_its_origin_known(server: Server, folder: Path) -> None:
    checkout(server.asked("feat"), folder)
    newest = server.commit("feat", "four")
    assert checkout(server.asked("feat"), folder).revision == newest and text(folder) == "four"
    assert git(folder, "rev-parse", "--abbrev-ref", "feat@{upstream}") == "origin/feat"
    assert checkout(server.asked("trunk"), folder).revision == server.first
    assert checkout(server.asked(), folder).branch == "trunk"


def test_without_pull_nothing_newer_is_asked_for(server: Server, folder: Path) -> None:
    checkout(server.asked("feat"), folder)
    server.commit("feat", "four")
    assert checkout(server.asked("feat"), folder, pull=False).revision == server.h2
    assert checkout(server.asked(), folder, pull=False).branch == "feat"
    later = server.commit("late", "five")
    assert checkout(server.asked("late"), folder, pull=False).revision == later  # not here yet, so asked for
    git(folder, "remote", "set-url", "origin", str(server.bare))
    server.bare.rename(server.bare.with_name("away.git"))
    assert checkout(server.asked("trunk"), folder, pull=False).revision == server.first
    with pytest.raises(FetchError):
        checkout(server.asked("trunk"), folder)


def test_changed_files_stay_when_nothing_else_is_asked(server: Server, folder: Path) -> None:
    checkout(server.asked("feat", server.h1), folder)
    (folder / "a.py").write_text("edited")
    assert checkout(server.asked("feat", server.h1), folder).revision == server.h1
    assert checkout(server.asked("", server.h1), folder).branch == ""  # the same commit under another name
    assert text(folder) == "edited"


@pytest.mark.parametrize("staged", [False, True])
def test_changed_files_are_not_lost_to_another_revision(server: Server, folder: Path, staged: bool) -> None:
    checkout(server.asked("feat", server.h1), folder)
    (folder / "a.py").write_text("edited")
    if staged:
        git(folder, "add", "a.py")
    for branch, revision in (("feat", ""), ("trunk", ""), ("feat", server.h2), ("", server.first)):
        error = refused(server, folder, r"a\.py was changed here", branch, revision)
        assert "stash" in error.remedy
    server.commit("feat", "four")
    refused(server, folder, r"a\.py was changed here")


@pytest.mark.parametrize("ignored", [False, True])
def test_files_that_git_does_not_know_are_not_overwritten(server: Server, folder: Path, ignored: bool) -> None:
    checkout(server.asked(), folder)
    (folder / "new.py").write_text("mine")
    if ignored:
        (folder / ".git" / "info" / "exclude").write_text("new.py\n")
    server.commit("feat", "theirs", file="new.py")
    refused(server, folder, r"new\.py", "feat")
    assert (folder / "new.py").read_text() == "mine"


def test_local_commits_on_top_of_a_branch_stay(server: Server, folder: Path) -> None:
    checkout(server.asked("feat"), folder)
    (folder / "a.py").write_text("mine")
    git(folder, "commit", "--quiet", "-am", "mine")
    mine = git(folder, "rev-parse", "HEAD")
    assert checkout(server.asked("feat"), folder) == WorkingCopyFacts(url=server.url, branch="feat", revision=mine)
    assert checkout(server.asked("feat", mine), folder).revision == mine


def test_local_commits_are_not_left_behind(server: Server, folder: Path) -> None:
    checkout(server.asked("feat"), folder)
    (folder / "a.py").write_text("mine")
    git(folder, "commit", "--quiet", "-am", "mine")
    for branch, revision in (("trunk", ""), ("feat", server.h1), ("", server.first)):
        error = refused(server, folder, "1 commits that are only here", branch, revision)
        assert "push them" in error.remedy
    server.commit("feat", "four")
    refused(server, folder, "1 commits that are only here", "feat")
    git(folder, "tag", "kept", "HEAD")  # as the remedy says
    assert checkout(server.asked("trunk"), folder).revision == server.first


def test_local_commits_of_a_branch_that_would_be_moved(server: Server, folder: Path) -> None:
    checkout(server.asked("feat"), folder)
    (folder / "a.py").write_text("mine")
    git(folder, "commit", "--quiet", "-am", "mine")
    git(folder, "checkout", "--quiet", "trunk")
    refused(server, folder, "feat has 1 commits that are only here", "feat", server.h1)


def test_local_commits_on_no_branch(server: Server, folder: Path) -> None:
    checkout(server.asked("", server.h1), folder)
    (folder / "a.py").write_text("mine")
    git(folder, "commit", "--quiet", "-am", "mine")
    refused(server, folder, "HEAD has 1 commits that are only here", "feat")


def test_a_branch_that_is_only_here_stays_when_nothing_is_asked(server: Server, folder: Path) -> None:
    checkout(server.asked(), folder)
    git(folder, "checkout", "--quiet", "-b", "mine")
    assert checkout(server.asked(), folder).branch == "mine"


def test_a_folder_of_another_origin_is_an_error(server: Server, folder: Path, tmp_path: Path) -> None:
    other = Server(tmp_path / "other")
    checkout(other.asked(), folder)
    error = refused(server, folder, "came from")
    assert other.url in str(error) and server.url in str(error)


def test_the_same_origin_in_other_words(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout(server.asked(), folder)
    monkeypatch.chdir(server.bare.parent)
    for url in (str(server.bare), f"{server.url}/", "lib1.git", "../server/lib1.git"):
        assert checkout(Repository(url=url), folder).revision == server.first


def test_a_relative_address_is_of_where_one_stands(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(server.bare.parent)
    assert checkout(Repository(url="lib1.git"), folder) == WorkingCopyFacts(
        url=str(server.bare), branch="trunk", revision=server.first
    )


def test_a_folder_that_is_no_repository_is_an_error(server: Server, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "copied.py").write_text("copied")
    with pytest.raises(FetchError, match="not a git repository"):
        checkout(server.asked(), folder)
    assert [path.name for path in folder.iterdir()] == ["copied.py"]
    assert describe(folder) is None and describe(folder / "none") is None


def test_an_empty_folder_is_filled(server: Server, folder: Path) -> None:
    folder.mkdir(parents=True)
    assert checkout(server.asked(), folder).revision == server.first


def test_a_failing_clone_leaves_nothing(server: Server, folder: Path) -> None:
    with pytest.raises(FetchError, match="git clone"):
        checkout(Repository(url=f"{server.url}-gone"), folder)
    assert list(folder.parent.iterdir()) == []


def test_a_clone_that_was_killed_is_begun_again(server: Server, folder: Path) -> None:
    left = folder.with_name(".lib1.clone")
    left.mkdir(parents=True)
    (left / "half").write_text("half")
    assert checkout(server.asked(), folder).revision == server.first and not left.exists()


def test_an_empty_repository(tmp_path: Path, folder: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", str(tmp_path / "empty.git"))
    with pytest.raises(FetchError, match="has no commit"):
        checkout(Repository(url=f"file://{tmp_path}/empty.git"), folder)


def test_a_name_that_is_not_there(server: Server, folder: Path) -> None:
    with pytest.raises(FetchError, match="no branch, tag or pull request 'feta'") as caught:
        checkout(server.asked("feta"), folder)
    assert "feat" in caught.value.remedy
    with pytest.raises(FetchError) as caught:
        checkout(server.asked(server.h1), folder)
    assert "url;;hash" in caught.value.remedy


@pytest.mark.parametrize("revision", ["0" * 40, "0123456"])
def test_a_hash_that_is_not_there(server: Server, folder: Path, revision: str) -> None:
    with pytest.raises(FetchError, match=f"{revision} is not in"):
        checkout(server.asked("feat", revision), folder)


def test_a_branch_named_like_an_option_or_a_path(server: Server, folder: Path) -> None:
    tip = server.commit("a.py", "a branch with the name of a file", onto=server.first)
    assert checkout(server.asked("a.py"), folder) == WorkingCopyFacts(url=server.url, branch="a.py", revision=tip)


def test_a_helper_program_in_an_address_is_never_started(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    asked = Git(folder=tmp_path / "repo")
    with pytest.raises(FetchError, match="ext"):
        asked.ask("clone", "--", f"ext::touch {tmp_path}/evil", str(tmp_path / "made"))
    assert not (tmp_path / "evil").exists()


def test_credentials_are_never_shown(server: Server, folder: Path) -> None:
    secret = f"file://ada:s3cret@{server.bare}-gone"
    with pytest.raises(FetchError) as caught:
        checkout(Repository(url=secret), folder)
    assert "s3cret" not in str(caught.value) and "ada" not in str(caught.value)
    checkout(server.asked(), folder)
    git(folder, "remote", "set-url", "origin", "https://ada:s3cret@x.org/lib.git?token=t0ken")
    found = describe(folder)
    assert found is not None and found.url == "https://x.org/lib.git"
    git(folder, "remote", "set-url", "origin", "ssh://git:s3cret@x.org/lib.git")
    found = describe(folder)
    assert found is not None and found.url == "ssh://git@x.org/lib.git"


def test_nobody_is_asked_for_a_password(site: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_ASKPASS", raising=False)
    site.script = [lambda answer: answer.refuse(401, WWW_Authenticate='Basic realm="x"')]
    with pytest.raises(FetchError, match="git clone"):
        checkout(Repository(url=site.url("/lib.git")), folder, timeout=60)


def test_a_server_that_never_answers_ends_at_the_limit(site: Any, folder: Path) -> None:
    held = threading.Event()
    site.script = [lambda answer: held.wait(30)]
    with pytest.raises(FetchError, match=r"took longer than 0\.5 s"):
        checkout(Repository(url=site.url("/lib.git")), folder, timeout=0.5)
    held.set()
    assert list(folder.parent.iterdir()) == []


def test_the_variables_of_a_hook_do_not_mislead(
    server: Server, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(server.desk / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert checkout(server.asked("feat"), folder).revision == server.h2
    assert text(folder) == "three"


def test_without_git_the_error_says_so(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match="git is not installed"):
        checkout(Repository(url="https://x.org/lib.git"), folder)
