"""What lists are made of: a series, a run, a finding in one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from benchwright.pages.names import machine_names, suite_of
from benchwright.pages.shapes import FindingLine, RunLine, SeriesLine
from benchwright.records.findings import Finding, State
from benchwright.schema.parsing import json_mapping
from benchwright.store import RunSummary, Series
from benchwright.store.archive import Archive, ListedSeries

SPARK = 30  # points
_OPEN_AT_ONCE = 1000  # findings


def series_lines(
    archive: Archive,
    listed: Sequence[ListedSeries],
    *,
    names: Mapping[str, str] | None = None,
    opened: Sequence[Finding] | None = None,
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


def run_line(summary: RunSummary) -> RunLine:
    """A run in a list."""
    return RunLine(
        id=summary.id,
        started_at=milliseconds(summary.started_at),
        cases=summary.cases,
        results=summary.results,
        failed=summary.failed,
        planned=summary.planned,
        revision=summary.revision,
        tags=("damaged",) if summary.damaged else summary.tags,
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
    )


def milliseconds(instant: str) -> int:
    """An ISO 8601 instant as browsers count; 0 when it is none."""
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        return 0
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
