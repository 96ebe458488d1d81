"""A drift in a series as a finding: levels then and now, since when, how steep, and how much each part of it carries.

A drift is kept once and grows with its series: one that overlaps a known finding of the same verdict is that finding.
What was taken for a step before the slope showed is part of it from then on.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchwright import schema
from benchwright.analysis.step_findings import ExaminedSeries, commits_between
from benchwright.records import Better, Estimate, Verdict
from benchwright.records.findings import Drift, Finding, Part, verdict_of
from benchwright.vcs.history import History

if TYPE_CHECKING:
    from benchwright.stats import drift_sizes as stats

METHOD = "slope of the series"
_LEVEL = 10  # runs that tell a level
_HALF = 0.5  # of a drift: while that is there, it holds


def make_drift_finding(
    seen: ExaminedSeries, drift: stats.SlopeSize, *, repository: History | None, found_at: str
) -> Finding:
    """A drift as an open finding; what differs between its ends is not filled in."""
    series, moments = seen.series, seen.moments
    verdict = verdict_in(seen, drift)
    return Finding(
        id=schema.fingerprint([series.key, "drift", moments[drift.start].run, verdict])[:10],
        series=series.key,
        method=METHOD,
        verdict=verdict,
        case=series.case,
        params=series.params,
        metric=series.metric,
        unit=series.unit,
        machine=series.machine,
        found_at=found_at,
        **_content(seen, drift, repository),
    )


def outdated_fields(
    seen: ExaminedSeries, drift: stats.SlopeSize, known: Finding, *, repository: History | None
) -> dict[str, Any]:
    """The fields in which a known finding is out of date."""
    fresh = _content(seen, drift, repository)
    fresh["runs"] = tuple(dict.fromkeys([*known.runs[:1], *fresh["runs"]]))
    return {name: value for name, value in fresh.items() if getattr(known, name) != value}


def verdict_in(seen: ExaminedSeries, drift: stats.SlopeSize) -> Verdict:
    """The verdict on a drift: better or worse."""
    return verdict_of(drift.effect, Better(seen.series.better))


def is_known(seen: ExaminedSeries, drift: stats.SlopeSize, known: Finding) -> bool:
    """Whether a finding, of this series or of another metric of the same runs, tells of this drift."""
    if known.drift is None or known.verdict is not verdict_in(seen, drift):
        return False
    ends = _ends(seen, known)
    return ends is not None and drift.start < ends[1] and ends[0] < drift.end


def is_part(seen: ExaminedSeries, drift: stats.SlopeSize, step: Finding) -> bool:
    """Whether what was taken for a step lies on the slope, in its direction."""
    place = _place(seen, step.run)
    if step.drift is not None or place is None or step.verdict is not verdict_in(seen, drift):
        return False
    return min(drift.earliest, drift.start) <= place <= drift.end


def is_still_there(seen: ExaminedSeries, known: Finding) -> bool:
    """Whether a known drift that is not found any more still shows: at its end, half of it at least is there."""
    ends = _ends(seen, known)
    if ends is None:
        return True
    then, now = _levels(seen, *ends)
    return math.log(now / then) / math.log(known.effect.point) >= _HALF


def is_undone(seen: ExaminedSeries, known: Finding, smallest: float) -> bool:
    """Whether the newest runs are at the old level again, after a drift that has ended."""
    ends = _ends(seen, known)
    if ends is None or known.drift is None or known.drift.ongoing or len(seen.moments) - ends[1] <= _LEVEL:
        return False
    now = statistics.median(moment.estimate.point for moment in seen.moments[-_LEVEL:])
    along = now / known.before.point if known.effect.point > 1 else known.before.point / now
    return along <= 1 + smallest


def _content(seen: ExaminedSeries, drift: stats.SlopeSize, repository: History | None) -> dict[str, Any]:
    """The fields that grow with the series."""
    moments = seen.moments
    first, last = moments[drift.start], moments[drift.end]
    revisions = _revisions(seen, drift, repository)
    runs = (first.run, moments[drift.start + 1].run, last.run)
    method = f"slope over {drift.end - drift.start} runs"
    return {
        "before": Estimate(point=drift.before, low=None, high=None, method=method),
        "after": Estimate(point=drift.after, low=None, high=None, method=method),
        "effect": Estimate(point=drift.effect, low=drift.low, high=drift.high, method="end of the slope / beginning"),
        "confidence": drift.confidence,
        "run": moments[drift.start + 1].run,
        "runs": tuple(dict.fromkeys(runs)),
        "revisions": tuple(revisions),
        "drift": Drift(
            first=first.run,
            last=last.run,
            ongoing=drift.ongoing,
            length=drift.end - drift.start,
            steps=sum(drift.start < change.index <= drift.end for change in seen.changes),
            slope=Estimate(point=drift.slope, low=drift.slope_low, high=drift.slope_high, method=method),
            earliest=moments[drift.earliest].run,
            latest=moments[drift.latest].run,
            parts=tuple(_part(seen, part, revisions) for part in drift.parts),
        ),
    }


def _revisions(seen: ExaminedSeries, drift: stats.SlopeSize, repository: History | None) -> list[str]:
    """The revisions from the beginning of the slope to its end: all that a repository knows, or those measured."""
    moments = seen.moments[drift.start : drift.end + 1]
    measured = list(dict.fromkeys(moment.revision for moment in moments if moment.revision))
    if repository is None or len(measured) < 2:
        return measured
    commits = [commit.revision for commit in commits_between(measured[0], measured[-1], repository)]
    return [measured[0], *commits] if len(commits) >= len(measured) - 1 else measured


def _part(seen: ExaminedSeries, part: stats.SlopePart, revisions: Sequence[str]) -> Part:
    first, last = seen.moments[part.start], seen.moments[part.end]
    known = first.revision, last.revision
    inside = all(revision in revisions for revision in known)
    return Part(
        effect=Estimate(point=part.effect, low=part.low, high=part.high, method="slope of this part"),
        runs=(first.run, last.run),
        revisions=known if all(known) else (),
        commits=max(0, revisions.index(known[1]) - revisions.index(known[0])) if inside else 0,
    )


def _levels(seen: ExaminedSeries, start: int, end: int) -> tuple[float, float]:
    values = [moment.estimate.point for moment in seen.moments]
    before, after = values[max(0, start - _LEVEL) : start + 1], values[end : end + _LEVEL]
    after = after if len(after) >= _LEVEL // 2 else values[max(start + 1, end - _LEVEL // 2) :]
    return statistics.median(before), statistics.median(after)


def _ends(seen: ExaminedSeries, known: Finding) -> tuple[int, int] | None:
    """Returns where a known drift lies among the runs; None when the runs do not have it any more."""
    if known.drift is None:
        return None
    first, last = _place(seen, known.drift.first), _place(seen, known.drift.last)
    return None if first is None or last is None else (first, last)


def _place(seen: ExaminedSeries, run: str) -> int | None:
    return next((i for i, moment in enumerate(seen.moments) if moment.run == run), None)
