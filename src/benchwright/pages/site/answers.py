"""Which answers a site holds: everything that can be reached from its newest runs, and all findings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from benchwright.errors import UserError
from benchwright.pages.site.matrices import matrices
from benchwright.pages.site.names import answer_name
from benchwright.store.archive import Archive, SeriesFilter
from benchwright.pages.compare import compare
from benchwright.pages.findings import finding_view, findings_page
from benchwright.pages.machines import machines
from benchwright.pages.matrix import matrix
from benchwright.pages.overview import overview
from benchwright.pages.results import result_view
from benchwright.pages.runs import run_view, runs_page
from benchwright.pages.series import series_page, series_view
from benchwright.pages.shapes import FindingsPage, FindingView, RunsPage, RunView, SeriesPage

_KEYS = 500  # series that are asked for at once
_SIDES = 6  # machines and backends, of which every two are compared


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """A record of `views.shapes`, and the names under which pages ask for it."""

    names: Sequence[str]
    view: Callable[[], Any]
    part_of: str = ""  # the answer that tells whether this one has changed


def _ready(view: Any, *parts: str, **query: str) -> SiteAnswer:
    return SiteAnswer([answer_name(*parts, query=query)], partial(_same, view))


def answers(archive: Archive, newest: int) -> Iterator[SiteAnswer]:
    """All of them, each as soon as it is made."""
    runs = _runs(archive, newest)
    found = _findings(archive)
    yield _ready(overview(archive), "overview")
    yield _ready(runs, "runs")
    yield _ready(found, "findings")
    measured_on = machines(archive)
    yield _ready(measured_on, "machines")
    keys = dict.fromkeys(value.series for value in archive.values_of_runs([run.id for run in runs.runs]))
    keys.update(dict.fromkeys(line.series for line in found.findings))
    yield from _series(archive, list(keys))
    sides = dict.fromkeys((*_pairs("machine", [one.key for one in measured_on.machines]), *_backends(archive)))
    for run in runs.runs:
        view = run_view(archive, run.id)
        sides.update(dict.fromkeys(_before(view)))
        yield _ready(view, "runs", run.id)
        yield from _results(archive, view)
    for line in found.findings:
        finding = finding_view(archive, line.id)
        sides.update(dict.fromkeys(_around(finding)))
        yield _ready(finding, "findings", line.id)
    for a, b in sides:
        yield from _compared(archive, a, b)
    for names, shown in matrices(archive):
        yield SiteAnswer(names, partial(_same, shown))


def _same(view: Any) -> Any:
    return view


def _runs(archive: Archive, newest: int) -> RunsPage:
    page = runs_page(archive, limit=newest)
    lines = list(page.runs)
    while page.next and len(lines) < newest:
        page = runs_page(archive, limit=newest - len(lines), before=page.next)
        lines += page.runs
    return RunsPage(runs=lines)


def _findings(archive: Archive) -> FindingsPage:
    page = findings_page(archive, limit=_KEYS)
    lines = list(page.findings)
    while page.next:
        page = findings_page(archive, limit=_KEYS, after=page.next)
        lines += page.findings
    return replace(page, findings=lines, next="")


def _series(archive: Archive, keys: Sequence[str]) -> Iterator[SiteAnswer]:
    pages = [
        series_page(archive, SeriesFilter(keys=tuple(keys[start : start + _KEYS]), limit=_KEYS))
        for start in range(0, max(len(keys), 1), _KEYS)
    ]
    whole = replace(pages[0], series=[line for page in pages for line in page.series] if keys else [], next="")
    yield _ready(_only_these(whole), "series")
    seen: set[str] = set()
    for line in whole.series:
        names = [answer_name("series", line.key, query={"unit": line.unit})]
        if line.key not in seen:  # pages that name no unit
            names.append(answer_name("series", line.key))
        seen.add(line.key)
        yield SiteAnswer(names, partial(series_view, archive, line.key, line.unit))


def _only_these(page: SeriesPage) -> SeriesPage:
    """Filters offer what the list holds."""
    cases = {line.case for line in page.series}
    metrics = {line.metric for line in page.series}
    names = {line.machine: line.machine_name for line in page.series}
    return replace(page, cases=sorted(cases), metrics=sorted(metrics), machines=names)


def _results(archive: Archive, run: RunView) -> Iterator[SiteAnswer]:
    whole = answer_name("runs", run.line.id)
    for case in run.cases:
        for result in case.results:
            yield SiteAnswer([answer_name("results", result)], partial(result_view, archive, result), part_of=whole)


def _backends(archive: Archive) -> Iterator[tuple[str, str]]:
    try:
        found = matrix(archive, columns="runtime")
    except UserError:  # there is only one
        return
    yield from _pairs("runtime", found.columns)


def _pairs(kind: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from itertools.combinations([f"{kind}:{name}" for name in names[:_SIDES]], 2)


def _before(run: RunView) -> Iterator[tuple[str, str]]:
    """Pairs of runs that its page offers to compare."""
    for other in (run.previous, run.baseline):
        if other:
            yield f"run:{other}", f"run:{run.line.id}"


def _around(finding: FindingView) -> Iterator[tuple[str, str]]:
    """The runs on both sides of a change."""
    runs, last = list(finding.runs), finding.line.run
    if last in runs and (place := runs.index(last)):
        yield f"run:{runs[place - 1]}", f"run:{last}"


def _compared(archive: Archive, a: str, b: str) -> Iterator[SiteAnswer]:
    """Both ways round: the page can swap its sides."""
    for before, after in ((a, b), (b, a)):
        try:
            view = compare(archive, before, after)
        except UserError:  # a run that is gone, or has no case in common: the page says that it was not published
            return
        yield _ready(view, "compare", a=before, b=after)
