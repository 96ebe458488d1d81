"""Commits in reports: links where the forge is known, words where it is not, and nothing that acts."""

from __future__ import annotations

import re
from dataclasses import replace

import sample_runs as samples
from benchwright.analysis.comparison import compare_runs
from benchwright.config import Project
from benchwright.records import Revision, Run
from benchwright.report.comparison_text import comparison_markdown
from benchwright.report.html import html_page
from benchwright.report.markdown import run_markdown
from benchwright.vcs.forges import Projects

OLD, NEW = "a" * 40, "b" * 40


def run(name: str, commit: str, **more: object) -> Run:
    fields: dict[str, object] = {"repository": "https://github.com/owner/name", "subject": "Faster (#12)", **more}
    return replace(samples.make_run(name), revision=Revision(vcs="git", id=commit, **fields))  # type: ignore[arg-type]


def test_markdown_leads_to_the_commit_the_request_and_the_range() -> None:
    told = run_markdown(run("r1", NEW))
    assert f"commit [`bbbbbbbbbbbb`](https://github.com/owner/name/commit/{NEW})" in told
    assert "[`pull request 12`](https://github.com/owner/name/pull/12)" in told
    a, b = run("r1", OLD), run("r2", NEW)
    compared = comparison_markdown(compare_runs(a, b), a, b, smallest=0.01)
    range_ = f"https://github.com/owner/name/compare/{OLD}...{NEW}"
    assert f"What changed: [`aaaaaaaaaaaa...bbbbbbbbbbbb`]({range_})" in compared
    other = replace(b, revision=replace(b.revision, repository="https://github.com/else/where"))  # type: ignore[type-var]
    assert "What changed" not in comparison_markdown(compare_runs(a, other), a, other, smallest=0.01)


def test_what_is_configured_wins_in_a_report() -> None:
    projects = Projects((Project(url="https://code.example.com/o/n", forge="gitlab"),))
    told = html_page([run("r1", OLD, repository=""), run("r2", NEW, repository="")], projects)
    assert f'href="https://code.example.com/o/n/-/commit/{NEW}"' in told
    assert f'href="https://code.example.com/o/n/-/compare/{OLD}...{NEW}"' in told


def test_a_report_links_nothing_that_it_should_not() -> None:
    evil = run("r1", NEW, repository="javascript:alert(1)", subject='"><script>alert(1)</script>', branch="<b>")
    for page in (html_page([evil]), html_page([evil], Projects((Project(url="https://github.com/o/n"),)))):
        assert "<script>alert" not in page and "javascript:" not in page
        assert all(url.startswith("https://") for url in re.findall(r'href="([^"]*)"', page))
    assert "href=" not in html_page([run("r1", "working copy", repository="")])
    assert "commit `bbbbbbbbbbbb`" in run_markdown(run("r1", NEW, repository=""))
