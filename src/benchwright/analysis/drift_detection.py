"""Keeps drifts as findings: new ones are opened once, known ones grow or end, and steps become part of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchwright.analysis import detection, drift_findings, explanations
from benchwright.analysis.comparison import SMALLEST
from benchwright.analysis.judged_metrics import move_alike
from benchwright.analysis.judged_results import JudgedResults
from benchwright.analysis.step_findings import examine_series, repository_of
from benchwright.analysis.timeline import timeline
from benchwright.records import Value
from benchwright.records.findings import ABSORBED, VANISHED, Finding, Remark, State
from benchwright.stats.fdr import benjamini_hochberg
from benchwright.store import Series, Store
from benchwright.vcs.history import History

if TYPE_CHECKING:
    from benchwright.analysis.detection import _WatchedSeries as Looked
    from benchwright.stats.drift_sizes import SlopeSize


def judge(
    store: Store, looked: Sequence[Looked], known: Sequence[Finding], repository: History | None, run_id: str
) -> list[Finding]:
    """The drifts that were not known, kept; known ones grow, or end. Steps that turn out to be part of one are over."""
    found: list[Finding] = []
    slopes = [finding for finding in known if finding.drift is not None]
    for one in looked:
        for finding in slopes:
            if finding.series == one.series.key:
                _follow_drift(store, one, finding, repository, run_id)
    for one, drift, also in _choose_new_drifts(looked, slopes):
        finding = drift_findings.make_drift_finding(one.seen, drift, repository=repository, found_at=detection._now())
        told = explanations.explain(store, finding, one.seen.moments[drift.start], one.seen.moments[drift.end], also)
        text = explanations.name_others(also)
        opened = Remark(at=finding.found_at, who=detection.OURS, what="opened", text=text)
        web = repository_of(explanations.results_of(store, one.seen.moments[drift.end]))
        kept = store.keep_finding(replace(finding, why=told, remarks=(opened,), repository=web))
        if kept.id == finding.id:
            found.append(kept)
    for one in looked:
        for drift in one.seen.drifts:
            _absorb(store, one, drift, [*slopes, *found], known)
    return found


def drifts_in(store: Store, series: Series, smallest: float = SMALLEST) -> list[Finding]:
    """The drifts that the newest points of a series show now, as findings that are not kept."""
    from benchwright.stats.changepoint import detect

    series = replace(series, points=series.points[-detection.POINTS :])
    moments = timeline(JudgedResults(store).of_series(series)) if series.better else []
    seen = examine_series(series, moments, smallest=smallest, detect=detect)
    if seen is None:
        return []
    return [drift_findings.make_drift_finding(seen, drift, repository=None, found_at="") for drift in seen.drifts]


def _follow_drift(store: Store, one: Looked, finding: Finding, repository: History | None, run_id: str) -> None:
    same = [drift for drift in one.seen.drifts if drift_findings.is_known(one.seen, drift, finding)]
    if not same:
        if finding.state in detection._STANDING and finding.last_event != VANISHED:
            detection._note_unseen(
                store,
                finding,
                () if drift_findings.is_still_there(one.seen, finding) else (*detection._unseen_runs(finding), run_id),
            )
    elif finding.last_event == VANISHED:
        state = State.OPEN if finding.state is State.RESOLVED else finding.state
        detection._add_remark(store, finding, detection.RETURNED, "the drift is seen again", state)
    elif finding.state in detection._STANDING:
        detection._note_unseen(store, finding, ())
        best = max(same, key=lambda drift: abs(drift.effect - 1))
        if news := drift_findings.outdated_fields(one.seen, best, finding, repository=repository):
            finding = store.update_finding(finding.id, None, **news)
    standing = finding.state in detection._STANDING and not detection._has_remark(finding, detection.RECOVERED)
    if standing and drift_findings.is_undone(one.seen, finding, one.smallest):
        detection._add_remark(
            store, finding, detection.RECOVERED, "the value is as it was before the drift", State.RESOLVED
        )


def _choose_new_drifts(
    looked: Sequence[Looked], known: Sequence[Finding]
) -> list[tuple[Looked, SlopeSize, dict[str, Value]]]:
    """The new drifts that so many looks would not show by chance, each as the first of its metrics shows it."""
    new: list[tuple[Looked, SlopeSize, dict[str, Value]]] = []
    for one in looked:
        for drift in one.seen.drifts:
            if any(_is_known(one, drift, f) for f in known):
                continue
            verdict = drift_findings.verdict_in(one.seen, drift)
            same = next((n for n in new if _is_same(n[0], n[1], one, drift)), None)
            if same is None:
                new.append((one, drift, {}))
            elif drift_findings.verdict_in(same[0].seen, same[1]) is verdict:
                same[2][one.series.metric] = drift.effect
    metrics = Counter(one.family for one in looked)
    doubts = [min(1.0, (1.0 - drift.confidence) * metrics[one.family]) for one, drift, _ in new]
    in_vain = [1.0] * len(metrics.keys() - {one.family for one, _, _ in new})
    called = benjamini_hochberg([*doubts, *in_vain], detection.FALSE_RATE)
    return [each for each, real in zip(new, called, strict=False) if real]


def _absorb(store: Store, one: Looked, drift: SlopeSize, slopes: Sequence[Finding], known: Sequence[Finding]) -> None:
    """Ends the findings of steps that are part of a drift people know of."""
    told = next((f for f in slopes if _is_known(one, drift, f)), None)
    if told is None:
        return
    for step in known:
        if (
            step.series != one.series.key
            or step.state not in (*detection._STANDING, State.SUSPECTED)
            or not drift_findings.is_part(one.seen, drift, step)
        ):
            continue
        if not any(detection._is_same(one, change, step) for change in one.changes):
            detection._add_remark(store, step, ABSORBED, f"it is part of the drift {told.id}", State.RESOLVED)


def _is_known(one: Looked, drift: SlopeSize, finding: Finding) -> bool:
    """Whether a finding of this case tells of the drift."""
    if finding.series not in one.family or not drift_findings.is_known(one.seen, drift, finding):
        return False
    return move_alike((one.series.metric, drift.effect), (finding.metric, finding.effect.point))


def _is_same(one: Looked, drift: SlopeSize, other: Looked, another: SlopeSize) -> bool:
    """Whether two metrics of a case show one drift."""
    if one.family != other.family or not (drift.start < another.end and another.start < drift.end):
        return False
    return move_alike((one.series.metric, drift.effect), (other.series.metric, another.effect))
