"""The list of series, and one series with everything that is drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from benchwright.errors import StoreError
from benchwright.pages import at_once, axes
from benchwright.pages.lines import SPARK, facet_lines, milliseconds, series_line, series_lines
from benchwright.pages.machines import quarantine_line
from benchwright.pages.names import machine_names
from benchwright.pages.price_marks import price_marks
from benchwright.pages.shapes import Mark, Note, SeriesLine, SeriesPage, SeriesView
from benchwright.records.findings import Finding
from benchwright.store.archive import MOST_SORTED, RELEASE, Annotation, Archive, Columns, ListedSeries, SeriesFilter
from benchwright.units import limits

MOST = 500  # series on a page
CASES = 1000  # names to choose from; the search finds the others
POINTS = 100_000  # of one series
RELATED = 24
_LOOKED_AT = 400  # series of the same case, for related ones
_FINDINGS = 500
_SUBJECTS = 2000  # of the newest revisions


@at_once
def series_page(archive: Archive, chosen: SeriesFilter, *, facets: bool = False) -> SeriesPage:
    """The series that were chosen, and what else could be; with `facets` the first page also counts it."""
    wanted = max(1, min(chosen.limit, MOST))
    names = machine_names(archive)
    chosen = replace(chosen, machine_order=tuple(sorted(names, key=lambda key: (names[key].casefold(), key))))
    counts = archive.series_facets(chosen) if facets and not chosen.after else None
    found = archive.series(replace(chosen, limit=wanted + 1))
    shown = found[:wanted]
    return SeriesPage(
        series=series_lines(archive, shown, names=names),
        cases=archive.case_names()[:CASES],
        metrics=archive.metric_names(),
        machines=names,
        next=str(shown[-1].number) if len(found) > wanted else "",
        facets=facet_lines(counts, names) if counts else (),
        total=counts.total if counts else 0,
        sortable=counts is None or counts.total <= MOST_SORTED,
    )


@at_once
def series_view(archive: Archive, key: str, unit: str = "", *, fold: bool = False) -> SeriesView:
    """One series with its newest points. Without a unit, that of the most points. An unknown one is a `StoreError`.

    With `fold` the rounds of a run are one point with their interval together; otherwise each round is a point.
    """
    listed = _find_series(archive, key, unit)
    series = listed.series
    columns = archive.columns(key, series.unit, limit=POINTS)
    tail = columns.point[-SPARK:].tolist()
    rounds = np.ones(len(columns.at), dtype=np.int64)
    if fold:
        columns, rounds = axes.fold_rounds(columns, limits(series.metric, series.unit))
    found = archive.findings(series=[key], limit=_FINDINGS)
    names = machine_names(archive)
    line = series_line(
        series,
        count=listed.count,
        last_at=listed.last_at // 1000,
        spark=tail,
        name=names.get(series.machine, ""),
        findings=[one.id for one in found if one.state == "open"],
    )
    written = archive.annotations(key)
    newest = columns.revisions[-_SUBJECTS:]
    commits = archive.commits(newest)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(["", *(one.repository for one in commits.values())]))}
    return SeriesView(
        line=line,
        at=sequence(columns.at // 1000),
        point=sequence(columns.point),
        low=sequence(columns.low),
        high=sequence(columns.high),
        run=sequence(columns.run),
        revision=sequence(columns.revision),
        result=sequence(columns.result),
        runs=columns.runs,
        revisions=columns.revisions,
        subjects={revision: facts.subject for revision, facts in commits.items() if facts.subject},
        marks=_marks(found, columns, series.unit),
        notes=[_note(one) for one in written],
        related=_find_related(archive, listed, names),
        rounds=sequence(rounds),
        branch=sequence(columns.branch),
        branches=columns.branches,
        main=axes.main_line(columns.branches, columns.branch),
        committed=axes.commit_instants(columns, archive.commit_dates(columns.revisions)),
        releases=axes.releases(columns, archive.commit_tags(), written),
        quarantines=[quarantine_line(one) for one in archive.quarantines(series.machine)],
        repository=[numbers[commits[one].repository if one in commits else ""] for one in newest],
        repositories=[*numbers],
        prices=price_marks(archive, series.metric, series.machine, columns),
    )


def sequence(column: Any) -> Sequence[Any]:
    """An array where a view has a sequence: it is as good as one, and is written as JSON a hundred times faster."""
    return cast(Sequence[Any], column)


def _find_series(archive: Archive, key: str, unit: str) -> ListedSeries:
    found = archive.series(SeriesFilter(keys=(key,)))
    if unit:
        found = [one for one in found if one.series.unit == unit]
    if not found:
        raise StoreError(
            f"no series {key!r}{f' in {unit!r}' if unit else ''}", remedy="GET series lists those there are"
        )
    return max(found, key=lambda one: one.count)


def _marks(found: Sequence[Finding], columns: Columns, unit: str) -> list[Mark]:
    """Where the findings lie, oldest first; one whose run is not among the points lies where it was found."""
    places = {run: i for i, run in enumerate(columns.runs)}
    marks = []
    for finding in found:
        if finding.unit not in ("", unit):
            continue
        at = until = milliseconds(finding.found_at)
        if (place := places.get(finding.drift.first if finding.drift else finding.run)) is not None:
            at = until = int(columns.at[np.argmax(columns.run == place)]) // 1000
        if finding.drift and (place := places.get(finding.drift.last)) is not None:
            until = int(columns.at[np.argmax(columns.run == place)]) // 1000
        marks.append(
            Mark(
                at=at,
                finding=finding.id,
                verdict=finding.verdict,
                state=finding.state,
                effect=finding.effect,
                before=finding.before,
                after=finding.after,
                run=finding.run,
                until=until,
            )
        )
    return sorted(marks, key=lambda mark: mark.at)


def _note(annotation: Annotation) -> Note:
    return Note(
        id=annotation.id,
        at=annotation.at // 1000,
        text=annotation.text,
        who=annotation.who,
        everywhere=not annotation.series,
        release=annotation.kind == RELEASE,
    )


def _find_related(archive: Archive, listed: ListedSeries, names: dict[str, str]) -> list[SeriesLine]:
    """Other metrics of the same case on the same machine first, then the same metric elsewhere."""
    here = listed.series
    others = [
        one
        for one in archive.series(SeriesFilter(case=here.case, limit=_LOOKED_AT))
        if one.series.case == here.case and (one.series.key, one.series.unit) != (here.key, here.unit)
    ]
    place = (here.params, here.machine)
    same = [one for one in others if (one.series.params, one.series.machine) == place]
    elsewhere = [
        one for one in others if one.series.metric == here.metric and (one.series.params, one.series.machine) != place
    ]
    return series_lines(archive, [*same, *elsewhere][:RELATED], names=names)
