"""What is new, what changed, what fails. However large the store, the work is bounded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from benchwright.analysis.judged_metrics import headline_metrics, rank
from benchwright.errors import StoreError
from benchwright.pages import at_once
from benchwright.pages.lines import finding_lines, milliseconds, run_line, series_lines
from benchwright.pages.names import machine_names, suite_of
from benchwright.pages.shapes import Failing, Overview, SuiteLine
from benchwright.records import Status, Verdict
from benchwright.records.findings import Finding, State
from benchwright.store.archive import Archive, ListedSeries, SeriesFilter

RUNS = 10
CHANGED = 12  # of the worse and of the better
FAILING = 20
SERIES = 2000  # looked at
SPARKS = 3  # of a suite
SUITES = 24
_FINDINGS = 500
_RECENT_RUNS = 40  # what fails is looked for in these
_MISSES = 3  # of a case that fails, for the reason: each is a document to read


@at_once
def overview(archive: Archive) -> Overview:
    """The first page."""
    names = machine_names(archive)
    runs = archive.runs_page(limit=_RECENT_RUNS)
    found = sorted(archive.findings(states=[State.OPEN], limit=_FINDINGS), key=_effect_size, reverse=True)
    failing = _failing(archive, names, milliseconds(runs[-1].started_at) * 1000 if runs else 0)
    changed = {
        verdict: finding_lines(archive, [one for one in found if one.verdict is verdict][:CHANGED], names=names)
        for verdict in (Verdict.WORSE, Verdict.BETTER)
    }
    totals = archive.totals()
    return Overview(
        runs=[run_line(one) for one in runs[:RUNS]],
        worse=changed[Verdict.WORSE],
        better=changed[Verdict.BETTER],
        failing=failing[:FAILING],
        suites=_suites(archive, names, found, failing),
        counts={
            **{name: totals.get(name, 0) for name in ("runs", "results", "series", "points", "machines")},
            "findings": sum(totals.get(state.value, 0) for state in State),
        },
    )


def _effect_size(finding: Finding) -> float:
    return abs(math.log(finding.effect.point)) if finding.effect.point > 0 else math.inf


def _failing(archive: Archive, names: Mapping[str, str], since: int) -> list[Failing]:
    """The cases whose newest run on a machine did not go well, the newest first."""
    newest: dict[tuple[str, str], tuple[int, str]] = {}
    statuses = archive.statuses(since=since)
    for case, machine, run, _, _, at in statuses:
        newest[case, machine] = max(newest.get((case, machine), (0, "")), (at, run))
    bad = [one for one in statuses if one[3] not in (Status.OK, Status.SKIPPED) and one[2] == newest[one[0], one[1]][1]]
    bad.sort(key=lambda one: -one[5])
    return [
        Failing(
            case=case,
            machine=machine,
            machine_name=names.get(machine, ""),
            run=run,
            status=status,
            count=count,
            at=at // 1000,
            reason=_reason(archive, case, run) if i < FAILING else "",
        )
        for i, (case, machine, run, status, count, at) in enumerate(bad)
    ]


def _reason(archive: Archive, case: str, run: str) -> str:
    try:
        ended = archive.misses(case, limit=_MISSES)
    except StoreError:
        return ""
    return next((one.reason for one in reversed(ended) if one.run == run), "")


# ---- suites ----


def _suites(
    archive: Archive, names: Mapping[str, str], found: Sequence[Finding], failing: Sequence[Failing]
) -> list[SuiteLine]:
    """Suites by machine, those that changed or fail first."""
    groups: dict[tuple[str, str], list[ListedSeries]] = {}
    for one in archive.series(SeriesFilter(limit=SERIES)):
        groups.setdefault((suite_of(one.series.case), one.series.machine), []).append(one)
    changed = {finding.series for finding in found}
    worse, better = (
        Counter((suite_of(one.case), one.machine) for one in found if one.verdict is verdict)
        for verdict in (Verdict.WORSE, Verdict.BETTER)
    )
    failed = Counter((suite_of(one.case), one.machine) for one in failing)
    shown = sorted(groups, key=lambda place: (-worse[place], -failed[place], -better[place], place))[:SUITES]
    picked = {place: _pick_sparks(groups[place], changed) for place in shown}
    lines = iter(series_lines(archive, [one for place in shown for one in picked[place]], names=names, opened=found))
    return [
        SuiteLine(
            suite=place[0],
            machine=place[1],
            machine_name=names.get(place[1], ""),
            series=len(groups[place]),
            worse=worse[place],
            better=better[place],
            failing=failed[place],
            last_at=max(one.last_at for one in groups[place]) // 1000,
            sparks=[next(lines) for _ in picked[place]],
        )
        for place in shown
    ]


def _pick_sparks(suite: Sequence[ListedSeries], changed: set[str]) -> list[ListedSeries]:
    """The changed first, then the metrics that a short view of their case shows, then the newest."""
    known: dict[tuple[str, str], dict[str, str]] = {}
    for one in suite:
        known.setdefault((one.series.case, one.series.params), {})[one.series.metric] = one.series.better
    headlines = {case: set(headline_metrics(metrics)) for case, metrics in known.items()}

    def interest(one: ListedSeries) -> tuple[bool, bool, int, int]:
        beside = one.series.metric not in headlines[one.series.case, one.series.params]
        return (one.series.key not in changed, beside, rank(one.series.metric), -one.last_at)

    return sorted(suite, key=interest)[:SPARKS]
