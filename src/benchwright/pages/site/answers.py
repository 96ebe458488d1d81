"""The answers that a site holds: everything that can be reached from its newest runs, and all findings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, cast
from urllib.parse import quote

from benchwright.errors import UserError
from benchwright.pages.causes import cause_view, causes_page
from benchwright.pages.compare import compare
from benchwright.pages.findings import finding_view, findings_page
from benchwright.pages.issues import issue_draft
from benchwright.pages.machines import machine_notices, machine_view, machines
from benchwright.pages.matrix import matrix
from benchwright.pages.names import machine_names
from benchwright.pages.overview import overview
from benchwright.pages.pareto import pareto
from benchwright.pages.results import result_view
from benchwright.pages.runs import run_view, runs_page
from benchwright.pages.series import series_page, series_view
from benchwright.pages.shapes import (
    CausesPage,
    CauseView,
    FindingLine,
    FindingsPage,
    FindingView,
    Matrix,
    Overview,
    Pareto,
    RunsPage,
    RunView,
    SeriesPage,
)
from benchwright.pages.site.files import answer_name
from benchwright.pages.views import views_page
from benchwright.records.causes import by_size, head_of
from benchwright.records.costs import MONEY
from benchwright.records.findings import State
from benchwright.report.issue_text import IssueSubject
from benchwright.store.archive import Archive, SeriesFilter
from benchwright.vcs.forges import Projects

_KEYS = 500  # series that are asked for at once
_SIDES = 6  # machines and backends, of which every two are compared


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """A record of `pages.shapes`, and the names under which pages ask for it."""

    names: Sequence[str]
    view: Callable[[], Any]
    part_of: str = ""  # the answer that tells whether this one has changed


def _settled(page: Overview) -> Overview:
    """The overview without what only somebody with the store can do something about."""
    return replace(page, judging=replace(page.judging, failing="", failing_since=0, older=0))


def _make_answer(view: Any, *parts: str, **query: str) -> SiteAnswer:
    return _fixed_answer(view, [answer_name(*parts, query=query)])


def _fixed_answer(view: Any, names: Sequence[str]) -> SiteAnswer:
    return SiteAnswer(names, lambda: view)


def answers(archive: Archive, newest: int, projects: Projects | None = None, link: str = "") -> Iterator[SiteAnswer]:
    """Every answer of the site, each as soon as it is made.

    `projects` say where code is shown; `link` is the page of a finding as others reach it, with `{id}` in it.
    """
    runs = _runs(archive, newest)
    found = _findings(archive)
    yield _make_answer(_settled(overview(archive)), "overview")
    yield _make_answer(runs, "runs")
    yield _make_answer(found, "findings")
    causes = _causes(archive)
    yield _make_answer(causes, "causes")
    for cause in causes.causes:
        if cause.findings > 1:  # what has one alone is shown as that finding
            yield _make_answer(_cause(archive, cause.id), "causes", cause.id)
            yield from _issue(archive, projects, link, cause.lead, cause.id)
    measured_on = machines(archive)
    yield _make_answer(measured_on, "machines")
    yield _make_answer(views_page(archive), "views")
    yield _make_answer(machine_notices(archive), "machines", "notices")
    for machine in measured_on.machines:
        yield _make_answer(machine_view(archive, machine.key), "machines", machine.key)
    keys = dict.fromkeys(value.series for value in archive.values_of_runs([run.id for run in runs.runs]))
    keys.update(dict.fromkeys(line.series for line in found.findings))
    yield from _series(archive, list(keys))
    sides = dict.fromkeys((*_pairs("machine", [one.key for one in measured_on.machines]), *_backends(archive)))
    for run in runs.runs:
        view = run_view(archive, run.id, limit=None)
        sides.update(dict.fromkeys(_runs_before(view)))
        yield _make_answer(view, "runs", run.id)
        yield from _results(archive, view)
    for line in found.findings:
        finding = finding_view(archive, line.id)
        sides.update(dict.fromkeys(_runs_around(finding)))
        yield _make_answer(finding, "findings", line.id)
        yield from _issue(archive, projects, link, line)
    for a, b in sides:
        yield from _compare_both_ways(archive, a, b)
    for names, shown in matrices(archive):
        yield _fixed_answer(shown, names)
    for query in itertools.islice(_pareto_queries(archive), _FRONTS):
        try:
            front = _query_pareto(archive, query)
        except UserError:  # a case without these metrics: the page says that it was not published
            continue
        yield _fixed_answer(front, [answer_name("pareto", query=query)])


def _issue(
    archive: Archive, projects: Projects | None, link: str, line: FindingLine, cause: str = ""
) -> Iterator[SiteAnswer]:
    """The finding, or its cause, as an issue, where the forge has a form for one: a site can do no more."""
    links = projects.links(line.repository) if projects else None
    if links is None or not links.issue:
        return
    found = archive.findings(cause=cause, limit=_KEYS) if cause else [archive.finding(line.id)]
    standing = [one for one in found if one.state not in (State.RESOLVED, State.IGNORED)] or found
    subject = IssueSubject(
        findings=sorted(standing, key=lambda one: by_size(head_of(one))),
        id=cause or line.id,
        links=links,
        pages={one.id: link.replace("{id}", quote(one.id, safe="")) for one in standing} if link else {},
        machines=machine_names(archive),
    )
    yield _make_answer(issue_draft(subject), *(("causes", cause) if cause else ("findings", line.id)), "issue")


def _runs(archive: Archive, newest: int) -> RunsPage:
    page = runs_page(archive, limit=newest, cases=None)
    lines = list(page.runs)
    while page.next and len(lines) < newest:
        page = runs_page(archive, limit=newest - len(lines), before=page.next, cases=None)
        lines += page.runs
    return RunsPage(runs=lines)


def _findings(archive: Archive) -> FindingsPage:
    page = findings_page(archive, limit=_KEYS)
    lines = list(page.findings)
    while page.next:
        page = findings_page(archive, limit=_KEYS, after=page.next)
        lines += page.findings
    return replace(page, findings=lines, next="")


def _causes(archive: Archive) -> CausesPage:
    page = causes_page(archive, limit=_KEYS)
    lines = list(page.causes)
    while page.next:
        page = causes_page(archive, limit=_KEYS, after=page.next)
        lines += page.causes
    return replace(page, causes=lines, next="")


def _cause(archive: Archive, cause: str) -> CauseView:
    view = cause_view(archive, cause, limit=_KEYS)
    lines, remarks, page = list(view.findings), dict.fromkeys(view.remarks), view
    while page.next:
        page = cause_view(archive, cause, limit=_KEYS, after=page.next)
        lines += page.findings
        remarks |= dict.fromkeys(page.remarks)
    return replace(view, findings=lines, remarks=sorted(remarks, key=lambda remark: remark.at), next="")


def _series(archive: Archive, keys: Sequence[str]) -> Iterator[SiteAnswer]:
    pages = [
        series_page(archive, SeriesFilter(keys=tuple(keys[start : start + _KEYS]), limit=_KEYS))
        for start in range(0, max(len(keys), 1), _KEYS)
    ]
    whole = replace(pages[0], series=[line for page in pages for line in page.series] if keys else [], next="")
    yield _make_answer(_narrow_filters(whole), "series")
    seen: set[str] = set()
    for line in whole.series:
        for fold, query in ((False, {}), (True, {"rounds": "together"})):
            names = [answer_name("series", line.key, query={"unit": line.unit, **query})]
            if line.key not in seen:  # pages that name no unit
                names.append(answer_name("series", line.key, query=query))
            yield SiteAnswer(names, partial(series_view, archive, line.key, line.unit, fold=fold))
        seen.add(line.key)


def _narrow_filters(page: SeriesPage) -> SeriesPage:
    """The page with filters that offer only what its list holds."""
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


def _runs_before(run: RunView) -> Iterator[tuple[str, str]]:
    """Pairs of runs that its page offers to compare."""
    for other in (run.previous, run.baseline):
        if other:
            yield f"run:{other}", f"run:{run.line.id}"


def _runs_around(finding: FindingView) -> Iterator[tuple[str, str]]:
    """The runs on both sides of a change."""
    runs, last = list(finding.runs), finding.line.run
    if last in runs and (place := runs.index(last)):
        yield f"run:{runs[place - 1]}", f"run:{last}"


def _compare_both_ways(archive: Archive, a: str, b: str) -> Iterator[SiteAnswer]:
    """Compares two sides both ways round: the page can swap its sides."""
    for before, after in ((a, b), (b, a)):
        try:
            view = compare(archive, before, after)
        except UserError:  # a run that is gone, or has no case in common: the page says that it was not published
            return
        yield _make_answer(view, "compare", a=before, b=after)


# ---- matrices: every metric by the usual pairs of dimensions, under every address that asks for them ----


_DIMENSIONS = 4  # of which every two are crossed
_MOST = 600  # files


def matrices(archive: Archive) -> Iterator[tuple[list[str], Matrix]]:
    """Names and matrices, the most usual first."""
    first = _query_matrix(archive, {})
    files: dict[tuple[str, str, str, str], str] = {}
    for query in itertools.islice(_queries(first), _MOST):
        try:
            view = _query_matrix(archive, query)
        except UserError:  # a dimension that this metric does not have
            continue
        names = [answer_name("matrix", query=query)]
        # What is left out of a query is chosen by the view, so that several queries mean the same matrix.
        same = (view.metric, view.row_dimension, view.column_dimension, repr(sorted(view.chosen.items())))
        if known := files.get(same):
            names = [known, *names]
        files[same] = names[0]
        yield names, view


def _queries(first: Matrix) -> Iterator[Mapping[str, str]]:
    dimensions = ["", *first.dimensions[:_DIMENSIONS]]
    metrics = ["", *first.metrics]
    yield from ({"metric": metric} for metric in metrics)
    pairs = [(rows, columns) for rows, columns in itertools.product(dimensions, repeat=2) if rows != columns]
    for metric in metrics:
        yield from ({"metric": metric, "rows": rows, "columns": columns} for rows, columns in pairs)
    for metric in metrics:
        for dimension, choices in first.choices.items():
            yield from ({"metric": metric, dimension: choice} for choice in choices)


def _query_matrix(archive: Archive, query: Mapping[str, str]) -> Matrix:
    fixed = {name: value for name, value in query.items() if name not in ("metric", "rows", "columns")}
    return matrix(
        archive,
        metric=query.get("metric", ""),
        rows=query.get("rows", ""),
        columns=query.get("columns", ""),
        baseline="",
        chosen=fixed,
    )


# ---- fronts: the usual pairs of metrics, of every case ----


_FRONTS = 200  # files
_METRICS = 4  # of which every two are axes, and the cost


def _pareto_queries(archive: Archive) -> Iterator[Mapping[str, str]]:
    """What the page asks for by itself, then what can be chosen there, the most usual first."""
    first = pareto(archive)
    if not first.points:
        return
    cases = [*first.choices.get("case", ()), "*"]
    costs = [name for name in first.metrics if name in MONEY][:1]
    axes = list(itertools.permutations(dict.fromkeys([*first.metrics[:_METRICS], *costs]), 2))
    yield {}
    yield from ({"x": x, "y": y} for x, y in axes)
    yield from ({"case": case} for case in cases)
    yield from ({"case": case, "x": x, "y": y} for case in cases for x, y in axes)


def _query_pareto(archive: Archive, query: Mapping[str, str]) -> Pareto:
    chosen = {"case": query["case"]} if "case" in query else {}
    return pareto(archive, x=query.get("x", ""), y=query.get("y", ""), chosen=chosen)


# ---- an archive that stands still: hundreds of pages ask it the same, and all should tell of the same moment ----


_CASES = 8  # whose series are remembered

# Small answers that many pages ask for. Whole runs and series are asked for once, and would fill the memory.
_REMEMBERED = frozenset(
    {
        "case_names",
        "environments",
        "findings",
        "machines",
        "metric_directions",
        "metric_names",
        "newest_values",
        "outcomes",
        "quarantines",
        "runs_page",
        "commits",
        "subjects",
        "totals",
        "count_findings",
    }
)


def hold_still(archive: Archive) -> Archive:
    """The same archive, but a question that is asked twice gets the same answer."""
    return cast(Archive, _StillArchive(archive))


class _StillArchive:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._answers: dict[str, Any] = {}
        self._tails: dict[tuple[str, int], Sequence[float]] = {}
        # Every series of a case asks for all of that case, one page after the other.
        self.series = lru_cache(_CASES)(archive.series)

    def tails(self, keys: Sequence[str], *, points: int = 30) -> dict[str, Sequence[float]]:
        """The newest points of these series: each is asked for once, and shown beside each of its relatives."""
        new = [key for key in keys if (key, points) not in self._tails]
        found = self._archive.tails(new, points=points) if new else {}
        self._tails |= {(key, points): tail for key, tail in found.items()}
        return {key: self._tails[key, points] for key in keys if (key, points) in self._tails}

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._archive, name)
        return self._remembering(name, verb) if name in _REMEMBERED else verb

    def _remembering(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        def remember(*arguments: Any, **named: Any) -> Any:
            key = repr((name, arguments, sorted(named.items())))
            if key not in self._answers:
                self._answers[key] = verb(*arguments, **named)
            return self._answers[key]

        return remember
