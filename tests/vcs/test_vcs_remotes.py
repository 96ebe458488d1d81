"""Where working copies came from: addresses of every form, as git and Mercurial keep them, and never a secret."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright import schema, vcs
from benchwright.records import Revision
from benchwright.records.code import clean_repository
from benchwright.vcs.history import open_repository
from benchwright.vcs.remotes import built_request, git_repository, local_repository, merged_request, web_address

SECRET = "glpat-s3cr3t"
ADDRESSES = [
    ("git@github.com:owner/name.git", "https://github.com/owner/name"),
    ("github.com:owner/name", "https://github.com/owner/name"),
    ("git@gitlab.example.com:group/sub/name.git", "https://gitlab.example.com/group/sub/name"),
    ("git@host:/srv/git/name.git", "https://host/srv/git/name"),
    ("ssh://git@gitlab.example.com:2222/group/name.git", "https://gitlab.example.com/group/name"),
    ("ssh://git@ssh.github.com:443/owner/name.git", "https://github.com/owner/name"),
    ("ssh://git@[2001:db8::1]:22/owner/name", "https://[2001:db8::1]/owner/name"),
    ("git://git.example.org/pub/name.git", "https://git.example.org/pub/name"),
    ("https://github.com/owner/name", "https://github.com/owner/name"),
    ("HTTPS://GitHub.com/owner/name.git/", "https://github.com/owner/name"),
    ("http://gitea.example.com:3000/owner/name.git", "http://gitea.example.com:3000/owner/name"),
    (f"https://oauth2:{SECRET}@gitlab.com/group/name.git", "https://gitlab.com/group/name"),
    (f"https://{SECRET}@github.com/owner/name", "https://github.com/owner/name"),
    (f"https://github.com/owner/name?access_token={SECRET}#{SECRET}", "https://github.com/owner/name"),
    (f"ssh://git:{SECRET}@host.example/owner/name", "https://host.example/owner/name"),
    ("https://git.sr.ht/~user/name", "https://git.sr.ht/~user/name"),
    ("https://example.com/a b/ü.git", "https://example.com/a%20b/%C3%BC"),
]
NO_ADDRESSES = [
    "",
    "/srv/git/name.git",
    "../name",
    "./name:with/colon",
    r"C:\code\name",
    "C:/code/name",
    "file:///srv/git/name.git",
    "ext::ssh -i key host %S /name",
    "s3://bucket/name",
    "javascript://github.com/%0aalert(1)",
    "https://github.com",
    "https://github.com:port/owner/name",
    "https://[::1/owner/name",
    f"https://host@{SECRET}@other/../name",
    "https://example.com/a/../../etc",
]


@pytest.mark.parametrize(("remote", "web"), ADDRESSES, ids=[each for each, _ in ADDRESSES])
def test_a_remote_is_the_page_of_its_repository(remote: str, web: str) -> None:
    assert web_address(remote) == web
    assert clean_repository(web) == web


@pytest.mark.parametrize("remote", NO_ADDRESSES)
def test_what_names_no_server_is_no_address(remote: str) -> None:
    assert web_address(remote) == ""


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="/@\0"), min_size=1, max_size=12),
    st.sampled_from(["https", "http", "ssh", "git+ssh"]),
)
def test_no_login_is_ever_left(login: str, scheme: str) -> None:
    marked = f"KEEP{login}SECRET"
    found = web_address(f"{scheme}://{marked}@github.com/owner/name.git")
    assert "KEEP" not in found and "SECRET" not in found and "keep" not in found


def test_a_record_keeps_no_login_whoever_sends_it() -> None:
    sent = Revision(vcs="git", id="c0ffee", repository=f"https://u:{SECRET}@github.com/owner/name")
    assert sent.repository == ""
    read = schema.decode(Revision, {"vcs": "git", "id": "1", "repository": "javascript:alert(1)"})
    assert read.repository == ""
    assert Revision(vcs="git", id="1", repository="https://host/a/b.git").repository == "https://host/a/b"


# ---- git ----


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_REF", "GITHUB_REPOSITORY", "CI_MERGE_REQUEST_IID", "BITBUCKET_PR_ID", "CHANGE_ID"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "copy"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for name, value in (("user.name", "Ada Lovelace"), ("user.email", "ada@example.com")):
        git(folder, "config", name, value)
    git(
        folder, "commit", "-q", "--allow-empty", "-m", "Merge branch 'x' into 'main'\n\nSee merge request group/name!12"
    )
    return folder


def test_a_revision_carries_its_repository_its_author_and_its_request(copy: Path) -> None:
    git(copy, "remote", "add", "origin", f"https://me:{SECRET}@gitlab.com/group/name.git")
    found = vcs.revision(copy)
    assert found is not None and (found.repository, found.author) == ("https://gitlab.com/group/name", "Ada Lovelace")
    assert found.pull_request == 12
    listed = open_repository(copy).resolve("HEAD").revision
    assert (listed.repository, listed.pull_request, listed.subject) == (
        found.repository, 12, "Merge branch 'x' into 'main'",
    )  # fmt: skip
    assert SECRET not in repr(found) and SECRET not in str(schema.encode(found))
    assert local_repository(copy / "deeper") == (copy, "https://gitlab.com/group/name")


def test_without_a_remote_or_with_a_path_there_is_no_repository(copy: Path) -> None:
    assert vcs.revision(copy).repository == ""  # type: ignore[union-attr]
    git(copy, "remote", "add", "origin", str(copy.parent / "elsewhere.git"))
    assert vcs.revision(copy).repository == ""  # type: ignore[union-attr]


def test_the_remote_that_a_branch_follows_comes_before_origin_and_the_only_one_is_taken(copy: Path) -> None:
    git(copy, "remote", "add", "mine", "git@github.com:me/name.git")
    assert vcs.revision(copy).repository == "https://github.com/me/name"  # type: ignore[union-attr]
    git(copy, "remote", "add", "origin", "git@github.com:they/name.git")
    assert vcs.revision(copy).repository == "https://github.com/they/name"  # type: ignore[union-attr]
    git(copy, "config", "branch.main.remote", "mine")
    assert vcs.revision(copy).repository == "https://github.com/me/name"  # type: ignore[union-attr]


REPLACED = [
    # url.<base>.insteadOf, the remote, the repository
    (("git@github.com:", "gh:"), "gh:owner/name", "https://github.com/owner/name"),
    ((f"https://x:{SECRET}@github.com/", "https://github.com/"), "https://github.com/o/n", "https://github.com/o/n"),
    (("/srv/copies/", "https://github.com/"), "https://github.com/o/n.git", "https://github.com/o/n"),
    (("https://gitlab.com/", "work:"), "work:group/sub/name", "https://gitlab.com/group/sub/name"),
    (("ssh://git@host.example:2222/", "h:"), "h:a/b.git", "https://host.example/a/b"),
]


@pytest.mark.parametrize(("rule", "remote", "web"), REPLACED)
def test_abbreviations_are_written_out_as_git_does(rule: tuple[str, str], remote: str, web: str, copy: Path) -> None:
    git(copy, "remote", "add", "origin", remote)
    git(copy, "config", f"url.{rule[0]}.insteadOf", rule[1])
    git(copy, "config", "--add", f"url.{rule[0]}.insteadOf", "not-this:")
    assert vcs.revision(copy).repository == web  # type: ignore[union-attr]
    whole = git(copy, "remote", "get-url", "origin")  # what git itself makes of it
    if web_address(whole):
        assert web_address(whole) == web


def test_the_longest_beginning_is_replaced() -> None:
    told = "remote.origin.url\nh:x/y\0url.https://a.example/.insteadof\nh:\0url.https://b.example/.insteadof\nh:x/\0"
    assert git_repository(told) == "https://b.example/y"
    assert git_repository("") == ""


# ---- pull requests ----


CI = [
    ({"GITHUB_REF": "refs/pull/12/merge", "GITHUB_REPOSITORY": "owner/name"}, 12),
    ({"GITHUB_REF": "refs/pull/12/head", "GITHUB_REPOSITORY": "other/benchmarks"}, 0),
    ({"GITHUB_REF": "refs/heads/main", "GITHUB_REPOSITORY": "owner/name"}, 0),
    ({"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_PATH": "owner/name"}, 7),
    ({"BITBUCKET_PR_ID": "3", "BITBUCKET_REPO_FULL_NAME": "Owner/name"}, 3),
    ({"BUILDKITE_PULL_REQUEST": "false"}, 0),
    ({"CHANGE_ID": "44"}, 44),
    ({"CHANGE_ID": "44; rm"}, 0),
    ({}, 0),
]


@pytest.mark.parametrize(("environment", "number"), CI)
def test_continuous_integration_says_which_request_it_builds(environment: dict[str, str], number: int) -> None:
    assert built_request("https://github.com/owner/name", environment) == number


MESSAGES = [
    ("Merge pull request #12 from ada/branch\n\nFaster", 12),
    ("Merge pull request #12 in PROJ/name from x to main", 12),
    ("Merge pull request 'Faster (#3)' (#12) from ada/branch into main", 12),
    ("Merged in faster (pull request #12)", 12),
    ("Merge branch 'x' into 'main'\n\nFaster\n\nSee merge request group/sub/name!12", 12),
    ("Merge branch 'x' into 'main'\n\nSee merge request !12", 12),
    ("Fix #12", 0),
    ("Faster (#12)", 0),  # an issue, on GitLab: `CodeLinks.request_of` knows
    ("See merge request of old", 0),
]


@pytest.mark.parametrize(("message", "number"), MESSAGES)
def test_the_message_of_a_merge_says_which_request_it_merged(message: str, number: int) -> None:
    assert merged_request(message) == number


def test_mercurial_tells_its_default_path(tmp_path: Path) -> None:
    (tmp_path / ".hg").mkdir()
    assert local_repository(tmp_path) == (tmp_path, "")
    (tmp_path / ".hg" / "hgrc").write_text(f"[paths]\ndefault = https://me:{SECRET}@hg.example.com/group/name\n")
    assert local_repository(tmp_path) == (tmp_path, "https://hg.example.com/group/name")
    share = tmp_path / "share" / ".hg"
    share.mkdir(parents=True)
    (share / "sharedpath").write_text(f"{tmp_path / '.hg'}\n")
    assert local_repository(share.parent) == (share.parent, "https://hg.example.com/group/name")
    (tmp_path / ".hg" / "hgrc").write_text("no section\n")
    assert local_repository(tmp_path) == (tmp_path, "")
