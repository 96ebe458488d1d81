"""Looks for changes in the series that a run touched, and keeps them as findings.

A change is kept once: change points move a little as runs are added, so one at a run that a known finding of the same
verdict names is that finding. What slows every call shows in the latency, its percentiles and the throughput; it is one
finding, of the metric that stands first, and one question (Bonferroni over the metrics). Of all new changes seen at a
time only those are kept that hold the expected share of false ones at `FALSE_RATE` (Benjamini and Hochberg). That rate
is low because a series is looked at again after every run; a true change that is left out for now is seen better with
the next.

What is known needs less to be kept than to be found: its place is, so that nothing is searched for. While the runs
before and after it differ there by half of what counts as a change, it holds (`_holds`); it has vanished when three
runs in a row say otherwise.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from benchwright import reckoning, schema, why
from benchwright.analysis.judged import SPEED, directions_of, judged_metrics, rank
from benchwright.errors import StoreError
from benchwright.findings import Finding, Remark, State
from benchwright.judging import Rules, verdict_of
from benchwright.records import Better, Result, Run, Status, Value, Verdict
from benchwright.report.comparison import SMALLEST
from benchwright.stats.compare import benjamini_hochberg
from benchwright.stats.ranksum import larger
from benchwright.stats.summary import combine
from benchwright.store import Series, Store
from benchwright.timeline import Moment, timeline
from benchwright.vcs.history import Repository

if TYPE_CHECKING:
    from benchwright.stats.changepoint import Change

Detect = Callable[..., "list[Change]"]

FALSE_RATE = 0.01  # expected share of false ones among the new findings of one look
LOOKS = 3  # at different runs that do not show a known change before it has vanished
POINTS = 10_000  # of a series, the newest
OURS = "benchwright"  # who writes remarks that no person made
VANISHED, RETURNED, RECOVERED, BISECTED = "vanished", "returned", "recovered", "bisected"
_MEMORY = {"rss_peak": 0.05}  # a process's memory moves by a few pages with whatever is imported beside the target
_LEAST = 1e-6  # who asks for every change, however small, means those that can be measured
_HOLDS = 0.01  # how often chance may keep a finding
_UNSEEN = "unseen"  # in `why`: the runs in a row that did not show the change
_STANDING = (State.OPEN, State.ACKNOWLEDGED)


def judge(
    store: Store,
    run_id: str,
    *,
    repository: Repository | None = None,
    smallest: float = SMALLEST,
    detect: Detect | None = None,
) -> list[Finding]:
    """The changes that were not known before in the series that the run touched, kept in the store as open findings.

    Known findings are brought up to date; one whose change `LOOKS` runs do not show any more, or that was undone, is
    resolved with a remark.
    With the `repository` values stand in the order of its commits, and the commits between are named. `smallest` counts
    where no threshold is set, and never less than 5 % for memory; muted series are left out.
    """
    looked = list(_look(store, store.run(run_id, samples=False), repository, smallest, detect or _detect()))
    known = store.findings(series=sorted({key for one in looked for key in one.family}), limit=POINTS)
    for one in looked:
        told = [finding for finding in known if finding.series == one.series.key]
        _bring_up_to_date(store, one, told, repository, run_id)
    found: list[Finding] = []
    for new in _standing_out(_candidates([(one, _unknown(one, known)) for one in looked]), looked):
        finding = reckoning.finding(new.one.seen, new.change, repository=repository, found_at=_now())
        kept = store.keep_finding(_explained(store, new, finding))
        if kept.id == finding.id:
            found.append(kept)
    return found


def remeasured(store: Store, reference: str, run_id: str) -> Finding:
    """Records what a run of the old revision, made in today's environment, says of a finding's cause."""
    finding = store.finding(reference)
    run = store.run(run_id, samples=False)
    old = finding.revisions[0] if finding.revisions else ""
    again = [
        metric.estimate
        for result in _with_revisions(run)
        if result.revision and result.revision.id == old
        if schema.series_key(result.case, result.environment, finding.metric) == finding.series
        if (metric := result.metric(finding.metric))
    ]
    if not again:
        raise StoreError(f"run {run_id} has no {finding.metric} of {finding.case} at revision {old[:12] or '(none)'}")
    cause = why.told_apart(finding.before.point, finding.after.point, combine(again))
    said = f"the old revision, measured again in run {run_id}, points to: {cause}"
    remark = Remark(at=_now(), who=OURS, what="remeasured", text=said)
    return store.update_finding(finding.id, remark, why={"cause": cause, "remeasured": run_id})


# ---- looking ----


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """A series with what is seen in it now."""

    seen: reckoning.Seen
    family: frozenset[str]  # keys of the series in which the same cause would show
    smallest: float

    @property
    def series(self) -> Series:
        return self.seen.series

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.seen.changes


def _detect() -> Detect:
    from benchwright.stats.changepoint import detect

    return detect


def _look(store: Store, run: Run, repository: Repository | None, smallest: float, detect: Detect) -> Iterator[_Looked]:
    rules = Rules(mutes=store.mutes(), thresholds=store.thresholds())
    order = reckoning.order(repository, run)
    families = _families(run)
    for name, metrics in _names(run).items():
        found = [series for series in store.history(name, metrics=metrics, limit=POINTS) if series.key in families]
        for series in sorted(found, key=lambda one: rank(one.metric)):
            if rules.muted(series.case, series.key):
                continue
            moments = timeline(series.points, order=order)
            values = [moment.estimate.point for moment in moments]
            if not values or min(values) <= 0:  # a change is a ratio
                continue
            usual = max(smallest, _MEMORY.get(series.metric, 0.0))
            least = max(rules.smallest(series.case, series.metric, usual), _LEAST)
            changes = tuple(detect(values, smallest=least))
            yield _Looked(
                seen=reckoning.Seen(series=series, moments=tuple(moments), changes=changes),
                family=families[series.key],
                smallest=least,
            )


def _names(run: Run) -> dict[str, list[str]]:
    """The judged metrics of each case's name; a name none of whose metrics is judged is left out."""
    found: dict[str, dict[str, None]] = {}
    for result in _ok(run):
        judged = judged_metrics(directions_of(result.metrics))
        found.setdefault(result.case.name, {}).update(dict.fromkeys(judged))
    return {name: list(metrics) for name, metrics in found.items() if metrics}


def _families(run: Run) -> dict[str, frozenset[str]]:
    """Every judged series that the run touched, with those in which the same cause would show: all of speed."""
    found: dict[str, frozenset[str]] = {}
    for result in _ok(run):
        judged = judged_metrics(directions_of(result.metrics))
        keys = {name: schema.series_key(result.case, result.environment, name) for name in judged}
        speed = frozenset(keys[name] for name in SPEED if name in keys)
        found |= {key: speed if name in SPEED else frozenset([key]) for name, key in keys.items()}
    return found


def _ok(run: Run) -> Iterable[Result]:
    return (result for result in run.results if result.status is Status.OK)


# ---- what is known already ----


def _unknown(one: _Looked, known: Sequence[Finding]) -> list[Change]:
    """The changes that no known finding tells of."""
    return [
        change
        for change in one.changes
        if not any(_same(one, finding, _verdict(one, change), one.seen.around(change)) for finding in known)
    ]


def _same(one: _Looked, finding: Finding, verdict: Verdict, runs: Sequence[str]) -> bool:
    return finding.series in one.family and finding.verdict is verdict and bool({*finding.runs} & {*runs})


def _verdict(one: _Looked, change: Change) -> Verdict:
    return verdict_of(change.effect, Better(one.series.better))


def _bring_up_to_date(
    store: Store, one: _Looked, known: Sequence[Finding], repository: Repository | None, run_id: str
) -> None:
    there = {moment.run for moment in one.seen.moments}
    for finding in known:
        same = [c for c in one.changes if _same(one, finding, _verdict(one, c), one.seen.around(c))]
        if same:
            _still_seen(store, one, finding, max(same, key=lambda change: change.confidence), repository)
        elif finding.run in there and finding.state in _STANDING and _last(finding) != VANISHED:
            _not_seen(store, finding, () if _holds(one, finding) else (*_unseen(finding), run_id))


def _still_seen(store: Store, one: _Looked, finding: Finding, change: Change, repository: Repository | None) -> None:
    if _last(finding) == VANISHED:
        state = State.OPEN if finding.state is State.RESOLVED else finding.state
        _tell(store, finding, RETURNED, "the change is seen again", state)
    elif finding.state not in _STANDING:
        return
    _not_seen(store, finding, ())
    bisected = _has(finding, BISECTED)
    if news := reckoning.news(one.seen, change, finding, repository=repository, bisected=bisected):
        store.update_finding(finding.id, None, **news)
    last = one.changes[-1]
    if last is not change and not _has(finding, RECOVERED) and _undone(one, change, last):
        level = one.seen.moments[last.index].run
        _tell(store, finding, RECOVERED, f"since run {level} the value is as before", State.RESOLVED)


def _holds(one: _Looked, finding: Finding) -> bool:
    """Whether the runs since the finding's still differ from those before it, each up to the next change there is."""
    values = [moment.estimate.point for moment in one.seen.moments]
    place = next(i for i, moment in enumerate(one.seen.moments) if moment.run == finding.run)
    start = max((change.index for change in one.changes if change.index < place), default=0)
    end = min((change.index for change in one.changes if change.index > place), default=len(values))
    sides = values[start:place], values[place:end]
    low, high = sides if finding.effect.point > 1 else sides[::-1]
    if larger(low, high) > _HOLDS:
        return False
    return statistics.median(high) / statistics.median(low) >= 1 + one.smallest / 2


def _not_seen(store: Store, finding: Finding, runs: Sequence[str]) -> None:
    """Keeps which runs in a row did not show the change, until they are enough to say that it has vanished."""
    told = [*dict.fromkeys(runs)]
    if len(told) >= LOOKS:
        state = State.RESOLVED if finding.state is State.OPEN else finding.state
        _tell(store, finding, VANISHED, f"{LOOKS} runs in a row do not show the change any more", state)
        told = []
    if told != _unseen(finding):
        store.update_finding(finding.id, why={_UNSEEN: told})


def _unseen(finding: Finding) -> list[str]:
    told = finding.why.get(_UNSEEN)
    return [str(run) for run in told] if isinstance(told, list) else []


def _undone(one: _Looked, change: Change, last: Change) -> bool:
    """Whether the present level is no further from the old one, in the direction of the change, than may be."""
    along = last.after / change.before if change.effect > 1 else change.before / last.after
    return bool(along <= 1 + one.smallest)


def _last(finding: Finding) -> str:
    """The last thing that happened to it, comments apart."""
    return next((remark.what for remark in reversed(finding.remarks) if remark.what != "comment"), "")


def _has(finding: Finding, what: str) -> bool:
    return any(remark.what == what for remark in finding.remarks)


def _tell(store: Store, finding: Finding, what: str, text: str, state: State) -> None:
    store.update_finding(finding.id, Remark(at=_now(), who=OURS, what=what, text=text), state=state)


# ---- what is new ----


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A change as the first of its metrics shows it, with the least doubt that any of them leaves."""

    one: _Looked
    change: Change
    doubt: float
    also: Mapping[str, Value]  # the effect in other metrics

    def is_(self, one: _Looked, change: Change) -> bool:
        """Whether the change in another metric is this one."""
        if one.family != self.one.family or _verdict(one, change) is not _verdict(self.one, self.change):
            return False
        return bool({*one.seen.around(change)} & {*self.one.seen.around(self.change)})


def _candidates(fresh: Sequence[tuple[_Looked, Sequence[Change]]]) -> list[_Candidate]:
    found: list[_Candidate] = []
    for one, changes in fresh:
        for change in changes:
            doubt = 1.0 - change.confidence
            place = next((i for i, other in enumerate(found) if other.is_(one, change)), None)
            if place is None:
                found.append(_Candidate(one=one, change=change, doubt=doubt, also={}))
            else:
                same = found[place]
                also = {**same.also, one.series.metric: change.effect}
                found[place] = replace(same, doubt=min(same.doubt, doubt), also=also)
    return found


def _standing_out(candidates: Sequence[_Candidate], looked: Sequence[_Looked]) -> list[_Candidate]:
    """Those that so many looks would not show by chance; a family without one counts as a look in vain."""
    metrics = Counter(one.family for one in looked)
    doubts = [min(1.0, candidate.doubt * metrics[candidate.one.family]) for candidate in candidates]
    in_vain = [1.0] * len(metrics.keys() - {candidate.one.family for candidate in candidates})
    called = benjamini_hochberg([*doubts, *in_vain], FALSE_RATE)
    return [candidate for candidate, real in zip(candidates, called, strict=False) if real]


def _explained(store: Store, new: _Candidate, finding: Finding) -> Finding:
    moments = new.one.seen.moments
    before, after = (_side(store, moments[i]) for i in (new.change.index - 1, new.change.index))
    told = why.differences(before, after)
    if new.also:
        told["also"] = dict(new.also)
    if told["cause"] == why.EITHER and len(finding.revisions) > 1:
        target = after[0].case.target.uri or after[0].case.name
        told["remeasure"] = why.remeasuring(finding.revisions[0], finding.revisions[-1], target)
    opened = Remark(at=finding.found_at, who=OURS, what="opened")
    suspects = reckoning.named(finding.suspects, [*before, *after])
    return replace(finding, why=told, remarks=(opened,), suspects=suspects)


def _side(store: Store, moment: Moment) -> list[Result]:
    run = store.run(moment.run, samples=False)
    return [result for result in _with_revisions(run) if result.id in moment.results]


def _with_revisions(run: Run) -> Iterator[Result]:
    for result in run.results:
        yield result if result.revision else replace(result, revision=run.revision)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
