"""A change in a series as a finding: how large, since which run, and which revisions may be behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import stdev
from typing import TYPE_CHECKING, Any

from benchwright import schema
from benchwright.analysis.judged_results import points_around
from benchwright.analysis.timeline import Moment, timeline
from benchwright.errors import FetchError, TargetError
from benchwright.records import Better, Estimate, Result, Run
from benchwright.records.findings import Finding, Suspect, verdict_of
from benchwright.records.request_metrics import is_share_of_failures
from benchwright.stats.distributions import student_quantile
from benchwright.stats.shares import difference_interval
from benchwright.stats.summary import combine
from benchwright.store import Series, Store
from benchwright.vcs.history import History

if TYPE_CHECKING:
    from benchwright.stats.changepoint import Change
    from benchwright.stats.drift_sizes import SlopeSize

Detect = Callable[..., "list[Change]"]

METHOD = "change points of the series"
COMMITS = 5000  # of a repository, the newest: those further back stand in order of time
_NEAR = 2  # runs on either side of a change that count as its place
_LARGEST = 300.0  # of half an interval's logarithm: beyond, nothing is known
_PERCENT = 100.0
_SMALLEST_EFFECT = 1e-9  # one plus a difference; where every request failed and none does any more that would be zero
_PROBABLE = 0.01  # a position below this is none


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedSeries:
    """A series, its values in order, and the changes and drifts in it."""

    series: Series
    moments: tuple[Moment, ...]
    changes: tuple[Change, ...]
    drifts: tuple[SlopeSize, ...] = ()

    @property
    def is_share(self) -> bool:
        """Whether its changes are differences of a share, not ratios."""
        return is_share_of_failures(self.series.metric, self.series.unit)

    def values_without_drift(self) -> list[float]:
        """The values of the series, as they are judged, without its drifts: as if only steps had happened."""
        return [self.as_judged(moment.estimate.point) / self.drift_factor(i) for i, moment in enumerate(self.moments)]

    def as_judged(self, value: float) -> float:
        """A value on the scale of which ratios are judged: of a share its exponential, so that differences are."""
        return math.exp(value / _PERCENT) if self.is_share else value

    def with_drift(self, change: Change) -> Change:
        """A change of these values with the levels that it has among the drifts."""
        along = self.drift_factor(change.index)
        return replace(change, before=change.before * along, after=change.after * along)

    def drift_factor(self, place: int) -> float:
        """By which factor drifts have changed the level up to a place."""
        ways = ((d.effect, (place - d.start) / (d.end - d.start)) for d in self.drifts)
        return float(math.prod(effect ** min(max(way, 0.0), 1.0) for effect, way in ways))

    def runs_around(self, change: Change) -> tuple[str, ...]:
        """The runs at which the change may have come, and their neighbours, oldest first."""
        places = [i for i, _ in positions(change, len(self.moments))]
        low, high = max(0, min(places) - _NEAR), max(places) + _NEAR
        return tuple(dict.fromkeys(moment.run for moment in self.moments[low : high + 1]))


def examine_series(
    series: Series, moments: Sequence[Moment], *, smallest: float, detect: Detect
) -> ExaminedSeries | None:
    """Looks for steps and drifts in a series; None where it has no ratios, or is a share that was always the same.

    The share of requests that failed has steps only.
    """
    seen = ExaminedSeries(series=series, moments=tuple(moments), changes=())
    values = seen.values_without_drift()
    if not values or min(values) <= 0.0 or (seen.is_share and min(values) == max(values)):
        return None
    if seen.is_share:
        return replace(seen, changes=tuple(detect(values, smallest=smallest)))
    from benchwright.stats.drift import examine

    trend = examine(values, smallest=smallest, detect=detect)
    return replace(seen, changes=trend.changes, drifts=trend.drifts)


def make_step_finding(seen: ExaminedSeries, change: Change, *, repository: History | None, found_at: str) -> Finding:
    """A change as an open finding; what differs between its sides is not filled in."""
    series, moments = seen.series, seen.moments
    revisions, suspects = _find_suspects(moments, positions(change, len(moments)), repository)
    verdict = verdict_of(change.effect, Better(series.better))
    first = moments[change.index].run
    return Finding(
        id=schema.fingerprint([series.key, first, verdict])[:10],
        series=series.key,
        method=METHOD,
        verdict=verdict,
        revisions=revisions,
        case=series.case,
        params=series.params,
        metric=series.metric,
        unit=series.unit,
        machine=series.machine,
        run=first,
        runs=seen.runs_around(change),
        found_at=found_at,
        suspects=suspects,
        confidence=change.confidence,
        **_sizes(seen, change),
    )


def outdated_fields(
    seen: ExaminedSeries, change: Change, known: Finding, *, repository: History | None, bisected: bool
) -> dict[str, Any]:
    """The fields in which a known finding is out of date; what a bisection found out is left as it is."""
    moments = seen.moments
    fresh: dict[str, Any] = {**_sizes(seen, change), "confidence": change.confidence}
    fresh["runs"] = tuple(dict.fromkeys([*known.runs, *seen.runs_around(change)]))
    if not bisected:
        fresh["run"] = moments[change.index].run
        revisions, suspects = _find_suspects(moments, positions(change, len(moments)), repository)
        if revisions != known.revisions:
            fresh |= {"revisions": revisions, "suspects": suspects}
    return {name: value for name, value in fresh.items() if getattr(known, name) != value}


def moments_of(
    store: Store, finding: Finding, *, order: Sequence[str] = (), limit: int = 10_000
) -> tuple[list[Moment], int | None]:
    """The moments of a finding's series, and which is the first after the change; None when it is not among them."""
    found = store.history(finding.case, metrics=[finding.metric], limit=limit)
    series = next((one for one in found if one.key == finding.series and one.unit == finding.unit), None)
    moments = timeline(points_around(series.points, finding.run), order=order) if series else []
    place = next((i for i, moment in enumerate(moments) if moment.run == finding.run and i), None)
    return moments, place


def commit_order(repository: History | None, run: Run) -> tuple[str, ...]:
    """The commits that led to what the run measured, oldest first; none where the repository does not know it."""
    if repository is None or run.revision is None:
        return ()
    try:
        return tuple(commit.revision.id for commit in repository.latest(run.revision.id, COMMITS))
    except (TargetError, FetchError):
        return ()


def add_commit_texts(suspects: Sequence[Suspect], results: Sequence[Result]) -> tuple[Suspect, ...]:
    """The suspects with subject and author where a result knows them."""
    known = {r.revision.id: r.revision for r in results if r.revision}
    return tuple(
        replace(
            s,
            subject=s.subject or known[s.revision].subject,
            author=s.author or known[s.revision].author,
            pull_request=s.pull_request or known[s.revision].pull_request,
        )
        if s.revision in known
        else s
        for s in suspects
    )


def repository_of(results: Sequence[Result]) -> str:
    """The web address of the repository that the newest of these results is of; "" when none knows it."""
    return next((r.revision.repository for r in reversed(results) if r.revision and r.revision.repository), "")


def positions(change: Change, count: int) -> list[tuple[int, float]]:
    """Where the change may have come, with probabilities that add up to one."""
    likely = [(i, p) for i, p in change.position if p >= _PROBABLE and 0 < i < count] or [(change.index, 1.0)]
    whole = sum(p for _, p in likely)
    return sorted((i, p / whole) for i, p in likely)


def _sizes(seen: ExaminedSeries, change: Change) -> dict[str, Any]:
    values = [moment.estimate.point for moment in seen.moments]
    start = max((c.index for c in seen.changes if c.index < change.index), default=0)
    end = min((c.index for c in seen.changes if c.index > change.index), default=len(values))
    if seen.is_share:
        return _sizes_of_share(change, [seen.moments[start : change.index], seen.moments[change.index : end]])
    sides = values[start : change.index], values[change.index : end]
    before, after = (_level(point, side) for point, side in zip((change.before, change.after), sides, strict=True))
    effect = Estimate(point=change.effect, low=change.low, high=change.high, method="ratio of the levels")
    return {"before": before, "after": after, "effect": effect}


def _sizes_of_share(change: Change, sides: Sequence[Sequence[Moment]]) -> dict[str, Any]:
    """The levels in per cent, and one plus their difference, of a change in exponentials of shares.

    The interval of the difference holds that of the change, and what the intervals of both levels say (`shares`): runs
    without a single failure do not scatter, and yet something may fail.
    """
    levels = [_PERCENT * math.log(level) for level in (change.before, change.after)]
    before, after = (_level_of_share(point, side) for point, side in zip(levels, sides, strict=True))
    point, low, high = (1.0 + math.log(each) for each in (change.effect, change.low, change.high))
    if (ends := difference_interval(before, after)) is not None:
        low, high = min(low, 1.0 + ends[0] / _PERCENT), max(high, 1.0 + ends[1] / _PERCENT)
    point, low, high = (min(max(each, _SMALLEST_EFFECT), 2.0) for each in (point, low, high))
    effect = Estimate(point=point, low=low, high=high, method="one plus the difference of the levels")
    return {"before": before, "after": after, "effect": effect}


def _level_of_share(point: float, side: Sequence[Moment]) -> Estimate:
    """The level with its 95 % interval over the runs, within 0 and 100 %; none where there is one run only."""
    point, count = min(max(point, 0.0), _PERCENT), len(side)
    together = combine([moment.estimate for moment in side])
    if count < 2 or together.low is None or together.high is None:
        return Estimate(point=point, low=None, high=None, method="one run")
    low = max(point - (together.point - together.low), 0.0)
    high = min(point + (together.high - together.point), _PERCENT)
    return Estimate(point=point, low=low, high=high, method=f"over {count} runs")


def _level(point: float, side: Sequence[float]) -> Estimate:
    """The level with its 95 % interval, Student's t over the runs; none where there is one run only."""
    count = len(side)
    if count < 2:
        return Estimate(point=point, low=None, high=None, method="one run")
    ratios = min(point, *side) > 0.0
    spread = stdev([math.log(value) for value in side] if ratios else side)
    half = student_quantile(0.975, count - 1.0) * spread / math.sqrt(count)
    factor = math.exp(min(half, _LARGEST))
    low, high = (point / factor, point * factor) if ratios else (point - half, point + half)
    method = f"t on logarithms over {count} runs" if ratios else f"t over {count} runs"
    return Estimate(point=point, low=low, high=high, method=method)


# ---- which revisions ----


def _find_suspects(
    moments: Sequence[Moment], places: Sequence[tuple[int, float]], repository: History | None
) -> tuple[tuple[str, ...], tuple[Suspect, ...]]:
    """The last revision before the change with those that may have made it, and how probable each suspect is."""
    low, high = places[0][0], places[-1][0]
    measured = [moment.revision for moment in moments[low - 1 : high + 1] if moment.revision]
    revisions = list(dict.fromkeys(measured))
    suspects: dict[str, Suspect] = {}
    for i, probability in places:
        candidates = commits_between(moments[i - 1].revision, moments[i].revision, repository)
        for suspect in candidates:
            known = suspects.get(suspect.revision, suspect)
            share = probability / len(candidates)
            suspects[suspect.revision] = replace(known, probability=known.probability + share)
    if repository is not None and len(revisions) > 1:
        whole = commits_between(revisions[0], revisions[-1], repository)
        revisions = [revisions[0], *(suspect.revision for suspect in whole)]
    ranked = sorted(suspects.values(), key=lambda suspect: -suspect.probability)
    return tuple(revisions), tuple(ranked)


def commits_between(old: str, new: str, repository: History | None) -> list[Suspect]:
    """The commits after `old` up to `new`; none when they are one."""
    if not new or old == new:
        return []
    try:
        commits = repository.after(old, new) if repository and old else []
    except (TargetError, FetchError):
        commits = []
    found = [
        Suspect(
            revision=commit.revision.id,
            probability=0.0,
            subject=commit.revision.subject,
            author=commit.revision.author,
            pull_request=commit.revision.pull_request,
        )
        for commit in commits
    ]
    return found or [Suspect(revision=new, probability=0.0)]
