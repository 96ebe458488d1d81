"""Looks for changes in the series that a run touched, and keeps them as findings.

A change is kept once: change points move a little as runs are added, so one at a run that a known finding of the same
verdict names is that finding. What slows every call shows in the latency, its percentiles and the throughput; it is one
finding, of the metric that stands first, and one question (Bonferroni over the metrics). Of all new changes seen at a
time only those are kept that hold the expected share of false ones at `FALSE_RATE` (Benjamini and Hochberg). That rate
is low because a series is looked at again after every run; a true change that is left out for now is seen better with
the next.

A change is suspected first: kept and shown, but not reported. It is confirmed, and returned, when the series says
enough for that (`stats.confirmation`), or when pairs of both sides, measured again, show it (`workflows.watch.pairs`).
A suspicion that three runs in a row do not show has vanished. What was reported stays until the values are as before
for as long as it took to report, or until its run is in quarantine (`held_findings`): then it is resolved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from benchwright.analysis import causes, explanations, held_findings, step_findings
from benchwright.analysis.comparison import SMALLEST
from benchwright.analysis.goal_series import moments_of_series
from benchwright.analysis.judged_metrics import SPEED, Families, families_of, move_alike, names_of, rank
from benchwright.analysis.judged_results import JudgedResults, is_in_line
from benchwright.errors import StoreError
from benchwright.records import Better, Run, Value, Verdict
from benchwright.records.findings import BISECTED, VANISHED, Finding, FindingRules, Remark, State, verdict_of
from benchwright.schema.series_identity import series_key_of
from benchwright.stats.fdr import benjamini_hochberg
from benchwright.stats.shares import exceeds_chance
from benchwright.stats.summary import combine
from benchwright.store import Series, Store
from benchwright.vcs.history import History

if TYPE_CHECKING:
    from benchwright.stats.changepoint import Change
    from benchwright.stats.confirmation import Policy

FALSE_RATE = 0.01  # expected share of false ones among the new findings of one look
LOOKS = 3  # at different runs that do not show a known change before it has vanished
POINTS = 10_000  # of a series, the newest
OURS = "benchwright"  # who writes remarks that no person made
RETURNED, RECOVERED = "returned", "recovered"
SUSPECTED, CONFIRMED = "suspected", "confirmed"
DOUBTED, UNDECIDED = "doubted", "undecided"  # by pairs: less than half of it is seen, or nothing can be said
_MEMORY = {"rss_peak": 0.05}  # a process's memory moves by a few pages with whatever is imported beside the target
_LEAST = 1e-6  # who asks for every change, however small, means those that can be measured
_NEAR = 3  # values between two places of one change
_UNSEEN = "unseen"  # in `why`: the runs in a row that did not show the change
_STANDING = (State.OPEN, State.ACKNOWLEDGED)


def judge(
    store: Store,
    run_id: str,
    *,
    repository: History | None = None,
    smallest: float = SMALLEST,
    detect: step_findings.Detect | None = None,
    policy: Policy | None = None,
    among: Container[str] | None = None,
    own_branch: bool = False,
) -> list[Finding]:
    """The changes that are confirmed since the last look in the series that the run touched, open in the store.

    Those that are only suspected are kept as well, in that state. Known findings are brought up to date; one whose
    change was undone, and a suspicion that `LOOKS` runs do not show any more, is resolved with a remark.
    With the `repository` values stand in the order of its commits, and the commits between are named. `smallest` counts
    where no threshold is set, and never less than 5 % for memory; muted series and machines in quarantine are left out.
    `among` are the keys of the series that are looked at, where not all are. Of each series its main line is judged: as
    of a run on another branch nothing is, unless the line of its `own_branch` is wanted.
    """
    from benchwright.analysis import drift_detection  # which keeps findings as this module does
    from benchwright.stats import changepoint, confirmation

    policy = policy or confirmation
    run = store.run(run_id, samples=False)
    branch = run.revision.branch if own_branch and run.revision else ""
    looked = list(
        _look(store, run, families_of(run, among), repository, smallest, detect or changepoint.detect, branch)
    )
    every = store.findings(series=sorted({key for one in looked for key in one.family}), limit=POINTS)
    known = [finding for finding in every if finding.drift is None]
    looked = [_with_newest(one, known, policy) for one in looked]
    drifts = drift_detection.judge(store, looked, every, repository, run_id)
    found: list[Finding] = []
    for one in looked:
        told = [finding for finding in known if finding.series == one.series.key]
        found += _bring_up_to_date(store, one, told, repository, run_id, policy)
        _name_in_others(store, one, known)
    latest: dict[str, int] = {}  # series -> the last change in it that this look confirms
    fresh = _drop_chance_candidates(_candidates([(one, _unknown_changes(one, known)) for one in looked]), looked)
    for new in sorted(fresh, key=lambda new: new.change.index):
        finding = step_findings.make_step_finding(new.one.seen, new.change, repository=repository, found_at=_now())
        since = max(new.one.since, latest.get(finding.series, 0))
        confirmed = _is_confirmed(replace(new.one, since=since), new.change, policy)
        kept = store.keep_finding(_with_explanation(store, new, finding, confirmed=confirmed))
        if kept.id == finding.id and kept.state is State.OPEN:
            latest[finding.series] = new.change.index
            found.append(kept)
    return [*found, *drifts]


def record_remeasurement(store: Store, reference: str, run_id: str) -> Finding:
    """Records what a run of the old revision, made in today's environment, says of a finding's cause."""
    finding = store.finding(reference)
    run = store.run(run_id, samples=False)
    old = finding.revisions[0] if finding.revisions else ""
    again = [
        metric.estimate
        for result in explanations.with_revisions(run)
        if result.revision and result.revision.id == old
        if series_key_of(result, finding.metric) == finding.series
        if (metric := result.metric(finding.metric))
    ]
    if not again:
        raise StoreError(f"run {run_id} has no {finding.metric} of {finding.case} at revision {old[:12] or '(none)'}")
    cause = causes.cause_after_remeasuring(finding.before.point, finding.after.point, combine(again))
    said = f"the old revision, measured again in run {run_id}, points to: {cause}"
    remark = Remark(at=_now(), who=OURS, what="remeasured", text=said)
    return store.update_finding(finding.id, remark, why={"cause": cause, "remeasured": run_id})


# ---- looking ----


@dataclass(frozen=True, slots=True, kw_only=True)
class _WatchedSeries:
    """A series, the changes that are seen in it now, and since when to look."""

    seen: step_findings.ExaminedSeries
    family: frozenset[str]  # keys of the series in which the same cause would show
    smallest: float
    since: int = 0  # where the last change that people were told of and that stands came
    left: int | None = None  # where levels begin that the series left and came back from, if it did

    @property
    def series(self) -> Series:
        return self.seen.series

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.seen.changes

    @property
    def values(self) -> list[float]:
        """Returns the values of the series without its drifts."""
        return self.seen.values_without_drift()


def _look(
    store: Store,
    run: Run,
    families: Families,
    repository: History | None,
    smallest: float,
    detect: step_findings.Detect,
    branch: str,
) -> Iterator[_WatchedSeries]:
    rules = FindingRules(mutes=store.mutes(), thresholds=store.thresholds())
    judged = JudgedResults(store)
    order = step_findings.commit_order(repository, run)
    for name, metrics in names_of(run, families).items():
        found = [series for series in store.history(name, metrics=metrics, limit=POINTS) if series.key in families]
        for series in sorted(found, key=lambda one: rank(one.metric)):
            if rules.is_muted(series.case, series.key) or not is_in_line(series.points, run.id, branch=branch):
                continue
            moments = moments_of_series(series, found, judged.of_series(series, branch=branch), order)
            usual = max(smallest, _MEMORY.get(series.metric, 0.0))
            least = max(rules.smallest(series.case, series.metric, usual), _LEAST)
            if seen := step_findings.examine_series(series, moments, smallest=least, detect=detect):
                yield _WatchedSeries(seen=seen, family=families[series.key], smallest=least)


def _with_newest(one: _WatchedSeries, known: Sequence[Finding], policy: Policy) -> _WatchedSeries:
    """The series with the change that its newest values show, which a search for lasting levels sees later."""
    places = {moment.run: i for i, moment in enumerate(one.seen.moments)}
    told = [f for f in known if _is_about(f, one) and f.run in places and f.is_reported]
    standing = [places[finding.run] for finding in told if not _has_remark(finding, RECOVERED)]
    since = max(standing, default=0)
    left = 0 if len(standing) < len(told) else None
    one = replace(one, since=since, left=left)
    shift = policy.newest(one.values, smallest=one.smallest, since=since, seen=left)
    if shift is None or any(abs(change.index - shift.index) <= _NEAR for change in one.changes):
        return one
    newest = one.seen.with_drift(policy.as_change(one.values, shift, since))
    changes = sorted([*one.changes, newest], key=lambda change: change.index)
    return replace(one, seen=replace(one.seen, changes=tuple(changes)))


def _is_confirmed(one: _WatchedSeries, change: Change, policy: Policy) -> bool:
    """Whether the series, up to the next change, says enough for people to be told."""
    until = min((other.index for other in one.changes if other.index > change.index), default=None)
    since = one.since if one.since < change.index else 0
    shift = policy.judge(
        one.values,
        change.index,
        smallest=one.smallest,
        since=since,
        seen=one.left,
        until=until,
        steady=one.series.metric not in SPEED,
    )
    if shift is None or not shift.confirmed:
        return False
    return not one.seen.is_share or exceeds_chance(one.values[since : change.index], one.values[change.index : until])


# ---- what is known already ----


def _unknown_changes(one: _WatchedSeries, known: Sequence[Finding]) -> list[Change]:
    """The changes that no known finding tells of."""
    return [change for change in one.changes if not any(_is_same(one, change, finding) for finding in known)]


def _is_same(one: _WatchedSeries, change: Change, finding: Finding) -> bool:
    """Whether a known finding tells of the change."""
    if finding.series not in one.family or finding.verdict is not _verdict(one, change):
        return False
    alike = move_alike((one.series.metric, change.effect), (finding.metric, finding.effect.point))
    if not alike and not one.seen.is_share:
        return False
    if not finding.settles(one.seen.moments[change.index].revision):
        return False
    return not {*finding.runs}.isdisjoint(one.seen.runs_around(change))


def _name_in_others(store: Store, one: _WatchedSeries, known: Sequence[Finding]) -> None:
    """Adds a change that this metric shows later to the finding that other metrics of the case showed first."""
    for finding in known:
        if finding.series == one.series.key or finding.state not in (*_STANDING, State.SUSPECTED):
            continue
        same = [change for change in one.changes if _is_same(one, change, finding)]
        if same and one.series.metric not in explanations.others_of(finding):
            others = explanations.others_of(store.finding(finding.id)) | {one.series.metric: same[0].effect}
            store.update_finding(finding.id, None, why={"also": others})


def _is_about(finding: Finding, one: _WatchedSeries) -> bool:
    """Whether a finding tells of the series: it is of it, of the same calls, or names its metric among others."""
    if finding.series == one.series.key:
        return True
    same_calls = finding.metric in SPEED and one.series.metric in SPEED
    return finding.series in one.family and (same_calls or one.series.metric in explanations.others_of(finding))


def _verdict(one: _WatchedSeries, change: Change) -> Verdict:
    return verdict_of(change.effect, Better(one.series.better))


def _bring_up_to_date(
    store: Store, one: _WatchedSeries, known: Sequence[Finding], repository: History | None, run_id: str, policy: Policy
) -> list[Finding]:
    """Updates the known findings, and returns those that are confirmed now."""
    there = {moment.run for moment in one.seen.moments}
    confirmed = []
    for finding in known:
        same = [change for change in one.changes if _is_same(one, change, finding)]
        change = max(same, key=lambda change: change.confidence, default=None)
        if change is not None:
            _refresh_finding(store, one, finding, change, repository)
        elif finding.run in there and finding.state is State.SUSPECTED:
            _note_unseen(store, finding, (*_unseen_runs(finding), run_id))
        elif finding.run not in there:
            held_findings.resolve_if_held(store, one.series, finding)
        now = store.finding(finding.id)
        if now.state in _STANDING and finding.run in there:
            _resolve_if_over(store, one, now, policy)
        elif now.state is not State.SUSPECTED or change is None or _has_remark(now, DOUBTED):
            continue
        elif _is_confirmed(one, change, policy):
            _add_remark(store, now, CONFIRMED, "the runs since then show it", State.OPEN)
            confirmed.append(store.finding(now.id))
    return confirmed


def _refresh_finding(
    store: Store, one: _WatchedSeries, finding: Finding, change: Change, repository: History | None
) -> None:
    if finding.last_event in held_findings.GONE:
        state = State.SUSPECTED if finding.state is State.RESOLVED else finding.state
        _add_remark(store, finding, RETURNED, "the change is seen again", state)
    elif finding.state not in (*_STANDING, State.SUSPECTED):
        return
    _note_unseen(store, finding, ())
    bisected = _has_remark(finding, BISECTED)
    if news := step_findings.outdated_fields(one.seen, change, finding, repository=repository, bisected=bisected):
        store.update_finding(finding.id, None, **news)


def _resolve_if_over(store: Store, one: _WatchedSeries, finding: Finding, policy: Policy) -> None:
    """Resolves what was told when the newest runs are as before it; whoever opens it again has the last word."""
    after = [moment.run for moment in one.seen.moments].index(finding.run)
    levels = (one.seen.as_judged(side.point) for side in (finding.before, finding.after))
    before, level = (each / one.seen.drift_factor(after) for each in levels)
    is_back = policy.is_back(one.values[after:], before=before, after=level)
    if is_back and not _has_remark(finding, RECOVERED):
        latest = max((c.index for c in one.changes if c.index > after), default=len(one.values) - 1)
        run = one.seen.moments[latest].run
        _add_remark(store, finding, RECOVERED, f"since run {run} the value is as before", State.RESOLVED)


def _note_unseen(store: Store, finding: Finding, runs: Sequence[str]) -> None:
    """Keeps which runs in a row did not show the change, until they are enough to say that it has vanished."""
    told: list[Value] = [*dict.fromkeys(runs)]
    if len(told) >= LOOKS:
        text = f"{LOOKS} runs in a row do not show the change any more"
        _add_remark(store, finding, VANISHED, text, State.RESOLVED)
        told = []
    if told != _unseen_runs(finding):
        store.update_finding(finding.id, why={_UNSEEN: told})


def _unseen_runs(finding: Finding) -> list[str]:
    told = finding.why.get(_UNSEEN)
    return [str(run) for run in told] if isinstance(told, list) else []


def _has_remark(finding: Finding, what: str) -> bool:
    return any(remark.what == what for remark in finding.remarks)


def _add_remark(store: Store, finding: Finding, what: str, text: str, state: State) -> None:
    store.update_finding(finding.id, Remark(at=_now(), who=OURS, what=what, text=text), state=state)


# ---- what is new ----


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A change as the first of its metrics shows it, with the least doubt that any of them leaves."""

    one: _WatchedSeries
    change: Change
    doubt: float
    also: Mapping[str, Value]  # the effect in other metrics

    def is_(self, one: _WatchedSeries, change: Change) -> bool:
        """Whether the change in another metric is this one."""
        if one.family != self.one.family or _verdict(one, change) is not _verdict(self.one, self.change):
            return False
        if not move_alike((one.series.metric, change.effect), (self.one.series.metric, self.change.effect)):
            return False
        return bool({*one.seen.runs_around(change)} & {*self.one.seen.runs_around(self.change)})


def _candidates(fresh: Sequence[tuple[_WatchedSeries, Sequence[Change]]]) -> list[_Candidate]:
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


def _drop_chance_candidates(candidates: Sequence[_Candidate], looked: Sequence[_WatchedSeries]) -> list[_Candidate]:
    """Those that so many looks would not show by chance; a family without one counts as a look in vain."""
    metrics = Counter(one.family for one in looked)
    doubts = [min(1.0, candidate.doubt * metrics[candidate.one.family]) for candidate in candidates]
    in_vain = [1.0] * len(metrics.keys() - {candidate.one.family for candidate in candidates})
    called = benjamini_hochberg([*doubts, *in_vain], FALSE_RATE)
    return [candidate for candidate, real in zip(candidates, called, strict=False) if real]


def _with_explanation(store: Store, new: _Candidate, finding: Finding, *, confirmed: bool) -> Finding:
    moments = new.one.seen.moments
    old, new_moment = moments[new.change.index - 1], moments[new.change.index]
    before, after = explanations.results_of(store, old), explanations.results_of(store, new_moment)
    told = explanations.explain(store, finding, old, new_moment, new.also)
    what, text = "opened" if confirmed else SUSPECTED, explanations.name_others(new.also)
    first = Remark(at=finding.found_at, who=OURS, what=what, text=text)
    suspects = step_findings.add_commit_texts(finding.suspects, [*before, *after])
    state = State.OPEN if confirmed else State.SUSPECTED
    repository = step_findings.repository_of([*before, *after])
    return replace(finding, why=told, remarks=(first,), suspects=suspects, state=state, repository=repository)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
