"""What is new, what changed, what fails. However large the store, the work is bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from benchwright.analysis.judged_metrics import headline_metrics, rank
from benchwright.errors import StoreError
from benchwright.pages import at_once
from benchwright.pages.lines import cause_lines, milliseconds, run_lines, series_lines
from benchwright.pages.names import machine_names, suite_of
from benchwright.pages.shapes import Failing, Judging, Overview, SuiteLine
from benchwright.records import Verdict
from benchwright.records.causes import FindingHead, group
from benchwright.records.findings import State
from benchwright.store.archive import Archive, ListedSeries, SeriesFilter
from benchwright.store.arrivals import JudgingState

RUNS = 10
CHANGED = 12  # causes, of what is worse and of what is better
FAILING = 20
_LOOKED_AT = 24  # series of a suite
SPARKS = 3  # of a suite
SUITES = 24
_RECENT_RUNS = 40  # what fails is looked for in these
_BAD = 500  # cases by machine and status that are looked into, the newest
_MISSES = 3  # of a case that fails, for the reason: each is a document to read


@at_once
def overview(archive: Archive) -> Overview:
    """The first page."""
    names = machine_names(archive)
    runs = archive.runs_page(limit=_RECENT_RUNS)
    found = archive.finding_heads(states=[State.OPEN])
    groups = group(found)
    races = frozenset(run.id for run in runs if run.is_race)
    failing = _failing(archive, names, milliseconds(runs[-1].started_at) * 1000 if runs else 0, races)
    ranked = sorted(groups, key=_interest)
    worse, better = ([one for one in ranked if (one[0].verdict == "worse") is is_worse] for is_worse in (True, False))
    causes = cause_lines(archive, [*worse[:CHANGED], *better[:CHANGED]], names=names)
    totals = archive.totals()
    return Overview(
        runs=run_lines(archive, runs[:RUNS]),
        causes=causes,
        worse=[one.lead for one in causes if one.worse],
        better=[one.lead for one in causes if not one.worse],
        failing=failing[:FAILING],
        suites=_suites(archive, names, found, failing),
        counts={
            **{name: totals.get(name, 0) for name in ("runs", "results", "series", "points", "machines")},
            "findings": sum(totals.get(state.value, 0) for state in State),
            "open": totals.get(State.OPEN.value, 0),
            "causes": len(groups),
            "worse": sum(1 for one in found if one.verdict == "worse"),
            "worse_causes": len(worse),
        },
        judging=judging_state(archive),
    )


def judging_state(archive: Archive) -> Judging:
    """How far everything is judged."""
    # An archive of somebody else's may note nothing of this.
    state = archive.judging() if hasattr(archive, "judging") else JudgingState(waiting=0)
    return Judging(
        until=state.until,
        waiting=state.waiting,
        since=state.since // 1000,
        older=state.older,
        failing=state.failing,
        failing_since=state.failing_since // 1000,
        troubles=len(state.troubles),
        trouble=state.troubles[0].why if state.troubles else "",
    )


def _interest(members: Sequence[FindingHead]) -> tuple[float, int]:
    """A key to sort causes by: the largest change first; of those about as large, the one that touched most series."""
    return -round(members[0].size, 2), -len(members)


def _failing(archive: Archive, names: Mapping[str, str], since: int, races: Container[str]) -> list[Failing]:
    """The cases whose newest run on a machine did not go well, the newest first; a race tries what may not work."""
    newest: dict[tuple[str, str], tuple[int, str]] = {}
    told = (one for one in archive.statuses(since=since, only_bad=True) if one[2] not in races)
    bad = sorted(told, key=lambda one: -one[5])[:_BAD]
    if not bad:  # as it should be: of thousands of results none need be told
        return []
    for case, machine, run, _, _, at in archive.statuses(since=since, cases=[*dict.fromkeys(one[0] for one in bad)]):
        if run not in races:
            newest[case, machine] = max(newest.get((case, machine), (0, "")), (at, run))
    bad = [one for one in bad if one[2] == newest[one[0], one[1]][1]]
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
    archive: Archive, names: Mapping[str, str], found: Sequence[FindingHead], failing: Sequence[Failing]
) -> list[SuiteLine]:
    """Suites by machine, those that changed or fail first."""
    known, last = archive.series_by_case(), archive.last_measured()
    suites = _find_suites(_Identity(known))
    of_case = {case: suite_of(case) for case in {one.case for one in found}}
    worse, better = (
        Counter((of_case[one.case], one.machine) for one in found if one.verdict == verdict)
        for verdict in (Verdict.WORSE.value, Verdict.BETTER.value)
    )
    failed = Counter((suite_of(one.case), one.machine) for one in failing)
    shown = sorted(suites, key=lambda place: (-worse[place], -failed[place], -better[place], place))[:SUITES]
    picked = _pick_sparks(archive, {place: suites[place] for place in shown}, known, found)
    shown = [place for place in shown if picked[place]]  # those of the others have no points any more
    lines = iter(series_lines(archive, [one for place in shown for one in picked[place]], names=names, opened=found))
    return [
        SuiteLine(
            suite=place[0],
            machine=place[1],
            machine_name=names.get(place[1], ""),
            series=suites[place].series,
            worse=worse[place],
            better=better[place],
            failing=failed[place],
            last_at=max(last.get(place[1], {}).get(case, 0) for case in suites[place].cases) // 1000,
            sparks=[next(lines) for _ in picked[place]],
        )
        for place in shown
    ]


_Place = tuple[str, str]  # suite and machine
_Known = Mapping[tuple[str, str], Sequence[tuple[str, int]]]  # `Archive.series_by_case`


class _Suite(NamedTuple):
    """The cases of a suite on one machine."""

    cases: Sequence[str]
    series: int
    first: Sequence[int]  # numbers of series that may be shown, those of the metrics that are most wanted


class _Identity(NamedTuple):
    """A mapping that equals only itself: to remember what was made of it."""

    of: _Known

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.of is self.of


@lru_cache(maxsize=4)  # of the databases that this process shows: to look through 100,000 series takes 0.1 s
def _find_suites(known: _Identity) -> Mapping[_Place, _Suite]:
    cases: dict[_Place, list[str]] = {}
    for case, machine in known.of:
        cases.setdefault((suite_of(case), machine), []).append(case)
    found = {}
    for place, names in cases.items():
        series = [one for case in names for one in known.of[case, place[1]]]
        first = sorted(series, key=lambda one: rank(one[0]))[:_LOOKED_AT]
        found[place] = _Suite(names, len(series), [number for _, number in first])
    return found


def _pick_sparks(
    archive: Archive, suites: Mapping[_Place, _Suite], known: _Known, found: Sequence[FindingHead]
) -> dict[_Place, list[ListedSeries]]:
    """Of each suite the changed first, then the metrics that a short view of their case shows, then the newest."""
    numbers = {number: place for place, suite in suites.items() for number in suite.first}
    for finding in found:
        if (place := (suite_of(finding.case), finding.machine)) in suites:
            there = known.get((finding.case, finding.machine), ())
            numbers |= {number: place for metric, number in there if metric == finding.metric}
    looked: dict[_Place, list[ListedSeries]] = {place: [] for place in suites}
    for one in archive.series(SeriesFilter(numbers=tuple(numbers), limit=len(numbers))):
        looked[numbers[one.number]].append(one)
    changed = {finding.series for finding in found}
    return {place: _most_wanted(series, changed) for place, series in looked.items()}


def _most_wanted(suite: Sequence[ListedSeries], changed: set[str]) -> list[ListedSeries]:
    known: dict[tuple[str, str], dict[str, str]] = {}
    for one in suite:
        known.setdefault((one.series.case, one.series.params), {})[one.series.metric] = one.series.better
    headlines = {case: set(headline_metrics(metrics)) for case, metrics in known.items()}

    def interest(one: ListedSeries) -> tuple[bool, bool, int, int]:
        beside = one.series.metric not in headlines[one.series.case, one.series.params]
        return (one.series.key not in changed, beside, rank(one.series.metric), -one.last_at)

    return sorted(suite, key=interest)[:SPARKS]
