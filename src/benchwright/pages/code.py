"""Where the commits on a page can be looked at: the forges of the repositories that the page names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from benchwright.pages.shapes import (
    CauseLine,
    CausesPage,
    CauseView,
    Comparison,
    FindingLine,
    FindingsPage,
    FindingView,
    Linked,
    Overview,
    ResultView,
    RunLine,
    RunsPage,
    RunView,
    SeriesView,
)
from benchwright.records import Revision
from benchwright.records.code import CodeLinks
from benchwright.vcs.forges import Projects

MOST = 100  # repositories of one page
T = TypeVar("T")


def add_code_links(view: T, projects: Projects) -> T:
    """The same page with the links of every repository that it names; what is no such page is left as it is."""
    find = _REPOSITORIES.get(type(view))
    if find is None or not isinstance(view, Linked):
        return view
    code: dict[str, CodeLinks] = {}
    for repository in [*dict.fromkeys(["", *find(view)])][:MOST]:
        if found := projects.links(repository):
            code[repository] = found
    return replace(view, code=code) if code else view


def _of_overview(view: Overview) -> Iterator[str]:
    yield from _of_runs(view.runs)
    yield from _of_findings((*view.worse, *view.better))
    yield from _of_causes(view.causes)


def _of_finding(view: FindingView) -> Iterator[str]:
    yield view.line.repository
    yield from view.view.repositories if view.view else ()


def _of_runs(lines: Iterable[RunLine]) -> Iterator[str]:
    for line in lines:
        yield from _of_revision(line.revision)


def _of_findings(lines: Iterable[FindingLine]) -> Iterator[str]:
    return (line.repository for line in lines)


def _of_causes(lines: Iterable[CauseLine]) -> Iterator[str]:
    return (line.lead.repository for line in lines)


def _of_revision(revision: Revision | None) -> Iterator[str]:
    if revision:
        yield revision.repository


_REPOSITORIES: dict[type, Callable[[Any], Iterable[str]]] = {
    CauseView: lambda view: _of_findings((view.line.lead, *view.findings)),
    CausesPage: lambda view: _of_causes(view.causes),
    Comparison: lambda view: (side.repository for side in (view.a, view.b, *view.others)),
    FindingView: _of_finding,
    FindingsPage: lambda view: _of_findings(view.findings),
    Overview: _of_overview,
    ResultView: lambda view: _of_revision(view.revision),
    RunView: lambda view: _of_revision(view.line.revision),
    RunsPage: lambda view: _of_runs(view.runs),
    SeriesView: lambda view: view.repositories,
}
