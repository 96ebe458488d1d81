"""What lists are made of: a series, a run, a finding in one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from benchwright.pages.names import machine_names, suite_of
from benchwright.pages.shapes import CauseLine, Facet, FacetValue, FindingLine, RunLine, SeriesLine
from benchwright.records.causes import FindingHead
from benchwright.records.findings import Finding, State
from benchwright.schema.parsing import json_mapping
from benchwright.store import RunSummary, Series
from benchwright.store.archive import Archive, FacetCounts, ListedSeries

SPARK = 30  # points
NAMES = 50  # cases that a run in a list is told by
NAMED = 50  # metrics, machines, suites and people of a cause
_OPEN_AT_ONCE = 1000  # findings


def series_lines(
    archive: Archive,
    listed: Sequence[ListedSeries],
    *,
    names: Mapping[str, str] | None = None,
    opened: Sequence[Finding | FindingHead] | None = None,
) -> list[SeriesLine]:
    """The series with their newest points and the ids of their open findings; what is known already is not asked."""
    if not listed:
        return []
    keys = list(dict.fromkeys(one.series.key for one in listed))
    tails = archive.tails(keys, points=SPARK)
    named = machine_names(archive) if names is None else names
    if opened is None:
        opened = archive.findings(states=[State.OPEN], series=keys, limit=_OPEN_AT_ONCE)
    ids: dict[str, list[str]] = {}
    for finding in opened:
        ids.setdefault(finding.series, []).append(finding.id)
    return [
        series_line(
            one.series,
            count=one.count,
            last_at=one.last_at // 1000,
            spark=tails.get(one.series.key, ()),
            name=named.get(one.series.machine, ""),
            findings=ids.get(one.series.key, ()),
        )
        for one in listed
    ]


def series_line(
    series: Series, *, count: int, last_at: int, spark: Sequence[float], name: str, findings: Sequence[str] = ()
) -> SeriesLine:
    """A series in a list."""
    return SeriesLine(
        key=series.key,
        unit=series.unit,
        case=series.case,
        params=json_mapping(series.params),
        metric=series.metric,
        better=series.better,
        machine=series.machine,
        machine_name=name,
        count=count,
        last_at=last_at,
        last=spark[-1] if len(spark) else None,
        spark=spark,
        findings=findings,
    )


def facet_lines(counts: FacetCounts, names: Mapping[str, str]) -> list[Facet]:
    """What a list can be narrowed by, machines by their names."""
    return [
        Facet(
            name=one.name,
            values=[
                FacetValue(value=value, label=names.get(value, value) if one.name == "machine" else value, count=count)
                for value, count in one.values
            ],
            more=one.more,
        )
        for one in counts.facets
    ]


def run_lines(archive: Archive, found: Sequence[RunSummary], *, cases: int | None = NAMES) -> list[RunLine]:
    """Runs in a list, with how much of each was measured in quarantine."""
    held = archive.held_results([one.id for one in found])
    return [run_line(one, cases=cases, held=held.get(one.id, 0)) for one in found]


def run_line(summary: RunSummary, *, cases: int | None = NAMES, held: int = 0) -> RunLine:
    """A run in a list, with the first names of its cases."""
    return RunLine(
        id=summary.id,
        started_at=milliseconds(summary.started_at),
        cases=summary.cases[:cases],
        case_count=len(summary.cases),
        results=summary.results,
        failed=summary.failed,
        planned=summary.planned,
        revision=summary.revision,
        tags=("damaged",) if summary.damaged else summary.tags,
        held=held,
        is_race=summary.is_race,
    )


def finding_lines(
    archive: Archive, found: Sequence[Finding], *, names: Mapping[str, str] | None = None
) -> list[FindingLine]:
    """The findings with the points on both sides of their changes; the newest of a series whose run is gone."""
    if not found:
        return []
    named = machine_names(archive) if names is None else names
    places = [(one.series, one.drift.last if one.drift else one.run) for one in found]
    sparks = archive.around(places, points=SPARK)
    lost = list(dict.fromkeys(one.series for one, spark in zip(found, sparks, strict=True) if not spark))
    tails = archive.tails(lost, points=SPARK) if lost else {}
    return [
        _finding_line(one, named.get(one.machine, ""), spark or tails.get(one.series, ()))
        for one, spark in zip(found, sparks, strict=True)
    ]


def _finding_line(finding: Finding, name: str, spark: Sequence[float]) -> FindingLine:
    return FindingLine(
        id=finding.id,
        series=finding.series,
        unit=finding.unit,
        case=finding.case,
        suite=suite_of(finding.case),
        params=json_mapping(finding.params),
        metric=finding.metric,
        machine=finding.machine,
        machine_name=name,
        verdict=finding.verdict,
        state=finding.state,
        before=finding.before,
        after=finding.after,
        effect=finding.effect,
        confidence=finding.confidence,
        found_at=milliseconds(finding.found_at),
        run=finding.run,
        assignee=finding.assignee,
        culprit=finding.suspects[0] if finding.suspects else None,
        spark=spark,
        drift=finding.drift,
        cause=finding.cause,
        revisions=(finding.revisions[0], finding.revisions[-1]) if len(finding.revisions) > 1 else finding.revisions,
        repository=finding.repository,
    )


def cause_lines(
    archive: Archive, groups: Sequence[Sequence[FindingHead]], *, names: Mapping[str, str] | None = None
) -> list[CauseLine]:
    """The causes of these groups of findings, as `records.causes.group` makes them."""
    named = machine_names(archive) if names is None else names
    found = archive.fill_causes(groups)
    leads = finding_lines(archive, [cause.lead for cause in found], names=named)
    cases = {members[0].id: {head.case for head in members} for members in groups}
    return [
        CauseLine(
            id=cause.id,
            lead=lead,
            culprit=cause.culprit,
            findings=cause.findings,
            series=cause.series,
            cases=cause.cases,
            worse=cause.worse,
            better=cause.better,
            largest=cause.largest,
            median=cause.median,
            metrics=cause.metrics[:NAMED],
            machines={key: named.get(key, "") for key in cause.machines[:NAMED]},
            suites=sorted({suite_of(case) for case in cases[lead.id]})[:NAMED],
            state=cause.state,
            states=cause.states,
            assignees=cause.assignees[:NAMED],
            found_at=milliseconds(cause.found_at),
            newest_at=milliseconds(cause.newest_at),
        )
        for cause, lead in zip(found, leads, strict=True)
    ]


def milliseconds(instant: str) -> int:
    """An ISO 8601 instant as browsers count; 0 when it is none."""
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        return 0
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
