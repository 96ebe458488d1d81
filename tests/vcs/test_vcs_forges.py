"""Which pages a forge shows a repository's commits, ranges, requests and authors on, and who is asked for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright import config
from benchwright.config import FORGES, Project
from benchwright.errors import DecodeError
from benchwright.records.code import CodeLinks, safe_link
from benchwright.vcs import forges
from benchwright.vcs.forges import Projects, load_projects

OLD, NEW = "a" * 40, "b" * 40


def links(repository: str, *projects: Project, default: str = "") -> CodeLinks:
    found = Projects(projects, default).links(repository)
    assert found is not None
    return found


PAGES = [
    (
        "https://github.com/owner/name",
        f"https://github.com/owner/name/commit/{NEW}",
        f"https://github.com/owner/name/compare/{OLD}...{NEW}",
        "https://github.com/owner/name/pull/12",
        "https://github.com/search?type=commits&q=repo%3Aowner%2Fname+author-name%3A%22Ada%20L%22",
    ),
    (
        "https://gitlab.example.com/group/sub/name",
        f"https://gitlab.example.com/group/sub/name/-/commit/{NEW}",
        f"https://gitlab.example.com/group/sub/name/-/compare/{OLD}...{NEW}",
        "https://gitlab.example.com/group/sub/name/-/merge_requests/12",
        "https://gitlab.example.com/group/sub/name/-/commits/HEAD?author=Ada%20L",
    ),
    (
        "https://codeberg.org/owner/name",
        f"https://codeberg.org/owner/name/commit/{NEW}",
        f"https://codeberg.org/owner/name/compare/{OLD}...{NEW}",
        "https://codeberg.org/owner/name/pulls/12",
        "",
    ),
    (
        "https://bitbucket.org/team/name",
        f"https://bitbucket.org/team/name/commits/{NEW}",
        f"https://bitbucket.org/team/name/branches/compare/{NEW}%0D{OLD}",
        "https://bitbucket.org/team/name/pull-requests/12",
        "",
    ),
    (
        "https://bitbucket.example.com/scm/proj/name",
        f"https://bitbucket.example.com/projects/proj/repos/name/commits/{NEW}",
        f"https://bitbucket.example.com/projects/proj/repos/name/compare/diff?sourceBranch={NEW}&targetBranch={OLD}",
        "https://bitbucket.example.com/projects/proj/repos/name/pull-requests/12",
        "",
    ),
    (
        "https://cgit.example.org/name",
        f"https://cgit.example.org/name/commit/?id={NEW}",
        f"https://cgit.example.org/name/diff/?id={NEW}&id2={OLD}",
        "",
        "https://cgit.example.org/name/log/?qt=author&q=Ada%20L",
    ),
    ("https://git.sr.ht/~ada/name", f"https://git.sr.ht/~ada/name/commit/{NEW}", "", "", ""),
]


@pytest.mark.parametrize(("repository", "commit", "compare", "request_", "author"), PAGES, ids=[p[0] for p in PAGES])
def test_each_forge_has_its_pages(repository: str, commit: str, compare: str, request_: str, author: str) -> None:
    found = links(repository)
    assert found.commit_link(NEW) == commit
    assert found.compare_link(OLD, NEW) == compare
    assert found.request_link(12) == request_
    assert found.author_link("Ada L") == author
    assert found.author_link("") == found.request_link(0) == found.commit_link("working copy") == ""


def test_forms_are_filled_in_and_nothing_breaks_out_of_them() -> None:
    assert links("https://github.com/o/n").issue_link("a&b", "c d#\n") == (
        "https://github.com/o/n/issues/new?title=a%26b&body=c%20d%23%0A"
    )
    assert links("https://gitlab.com/g/n").issue_link("a", "b") == (
        "https://gitlab.com/g/n/-/issues/new?issue%5Btitle%5D=a&issue%5Bdescription%5D=b"
    )
    assert (
        links("https://codeberg.org/o/n").issue_link("a", "b") == "https://codeberg.org/o/n/issues/new?title=a&body=b"
    )
    assert links("https://github.com/o/n").author_link('"><script>') == (
        "https://github.com/search?type=commits&q=repo%3Ao%2Fn+author-name%3A%22%22%3E%3Cscript%3E%22"
    )


def test_a_server_that_nobody_knows_has_a_page_and_no_more() -> None:
    found = links("https://code.example.com/o/n")
    assert (found.web, found.commit, found.issue) == ("https://code.example.com/o/n", "", "")
    assert Projects().links("") is None


def test_what_is_configured_wins_and_counts_for_its_host() -> None:
    ours = Project(url="https://code.example.com/team/name", forge="gitlab", remotes=("https://copies.example/*",))
    assert links("", ours).commit_link(NEW) == f"https://code.example.com/team/name/-/commit/{NEW}"
    assert links("https://copies.example/x/y", ours).web == ours.url
    assert links("http://CODE.example.com/team/NAME".lower(), ours).web == ours.url
    beside = links("https://code.example.com/team/other", ours)
    assert beside.commit_link(NEW) == f"https://code.example.com/team/other/-/commit/{NEW}"
    assert links("https://github.com/o/n", ours).commit_link(NEW) == f"https://github.com/o/n/commit/{NEW}"
    second = Project(url="https://github.com/o/n", commit="{web}/tree/{commit}")
    assert links("https://github.com/o/n", ours, second).commit_link(NEW) == f"https://github.com/o/n/tree/{NEW}"
    assert Projects((Project(url="https://github.com/o/n", forge="none"),)).links("https://github.com/o/n") is None


def test_the_working_copy_is_what_is_meant_where_a_run_says_nothing() -> None:
    assert links("", default="https://github.com/o/n").web == "https://github.com/o/n"
    asked = Project(forge="gitea", token="${TOKEN}")
    here = Projects((asked,), "https://code.example.com/o/n")
    assert here.project_of("") == Project(url="https://code.example.com/o/n", forge="gitea", token="${TOKEN}")


def test_a_token_goes_to_no_server_that_a_run_names() -> None:
    general = Project(forge="gitlab", token="${TOKEN}", api="https://code.example.com/api/v4")
    here = Projects((general,), "https://code.example.com/o/n")
    other = here.project_of("https://gitlab.evil.example/o/n")
    assert (other.url, other.forge, other.token, other.api) == ("https://gitlab.evil.example/o/n", "gitlab", "", "")
    named = Projects((Project(url="https://gitlab.com/o/n", token="${TOKEN}"),))
    assert named.project_of("https://gitlab.com/o/n").token == "${TOKEN}"
    assert named.project_of("https://gitlab.com/evil/n").token == ""


def test_a_hash_at_the_end_of_a_subject_is_a_request_but_on_gitlab() -> None:
    assert links("https://github.com/o/n").request_of(0, "Faster (#12)") == 12
    assert links("https://github.com/o/n").request_of(7, "Faster (#12)") == 7
    assert links("https://github.com/o/n").request_of(0, "Fix #12") == 0
    assert links("https://gitlab.com/o/n").request_of(0, "Faster (#12)") == 0


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://u:p@host/x", "//host/x", "https://host/a b", "https:///x", "data:,x", ""]
)
def test_only_http_without_a_login_is_ever_linked(url: str) -> None:
    assert safe_link(url) == ""


def test_the_forges_that_can_be_configured_are_those_there_are() -> None:
    assert {*FORGES} == {*forges.KINDS, forges.NONE}


# ---- benchwright.toml ----


def written(folder: Path, text: str) -> config.Config:
    (folder / "benchwright.toml").write_text(text, encoding="utf-8")
    return config.load(folder)


def test_a_project_is_read_and_several_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
[project]
url = "https://code.example.com/g/s/n.git"
forge = "gitlab"
token = "${file:secrets/forge}"

[[projects]]
url = "https://git.example.org/lib"
commit = "{web}/commit/?id={commit}"
"""
    read = written(tmp_path, text)
    assert read.project.url == "https://code.example.com/g/s/n"
    assert read.project.token == f"${{file:{tmp_path / 'secrets/forge'}}}"
    monkeypatch.chdir(tmp_path)
    projects = load_projects(str(tmp_path / "results.db"))
    assert [one.url for one in projects.configured] == [read.project.url, "https://git.example.org/lib"]
    found = projects.links("https://git.example.org/lib")
    assert found is not None and found.commit_link(NEW) == f"https://git.example.org/lib/commit/?id={NEW}"


WRONG = [
    ('url = "https://me:s3cr3t@host/o/n"', "project.url is not the page of a repository"),
    ('url = "git@host:o/n"', "project.url is not the page"),
    ('forge = "githup"', "did you mean 'github'"),
    ('commit = "javascript:alert(1)"', "project.commit is not an address"),
    ('compare = "https://host/{from}"', "project.compare: {from}"),
    ('token = "ghp_s3cr3t"', "project.token is written out"),
    ('remotes = ["https://host/*"]', "project.remotes needs a url"),
    ('api = "ftp://host"', "project.api is not an address"),
]


@pytest.mark.parametrize(("line", "said"), WRONG)
def test_what_cannot_be_meant_is_refused_without_repeating_a_secret(line: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DecodeError) as refused:
        written(tmp_path, f"[project]\n{line}\n")
    assert said in f"{refused.value.message} {refused.value.remedy}"
    assert "s3cr3t" not in str(refused.value)
