"""A machine's control benchmark: measured and kept as a run, and what becomes of a machine that it shows to be slow.

Its series are judged as all are. A confirmed regression in one of them puts the machine into quarantine, with that
finding as the reason and from the run on that shows it first: what the machine measured since is kept and marked, but
not judged. The quarantine ends when somebody releases the machine, or when two controls in a row are as before.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from benchwright import config
from benchwright.analysis.detection import OURS, RECOVERED
from benchwright.analysis.explanations import others_of
from benchwright.analysis.judged_metrics import SPEED
from benchwright.analysis.judged_results import JudgedResults
from benchwright.analysis.timeline import Moment, timeline
from benchwright.events import Listener, nobody
from benchwright.execution.control import ROUNDS, control_plan, is_control
from benchwright.execution.hosts import AnyHost
from benchwright.records import CONTROL, Better, Run, Verdict
from benchwright.records.findings import Finding, Remark, State
from benchwright.records.machines import Quarantine, Quarantines
from benchwright.report.findings import change_text
from benchwright.store import Store
from benchwright.store.archive import Archive
from benchwright.store.choices import SeriesFilter
from benchwright.workflows.run import execute

NEVER = "never"
IN_A_ROW = 2  # controls that are as before, after which a machine is released
QUARANTINED = "machine in quarantine"  # the remark on the finding
_DECIDING = ("latency_p50", "throughput")  # a longer tail alone makes a machine noisy, which its health shows
_TAIL, _FEWEST = 60, 12  # rounds that say what is usual, and below which nobody knows
_LEAST, _DEVIATIONS = 0.05, 3.0  # of a logarithm, and robust standard deviations: what stands out from the usual
_BACK = 0.7  # of the way back, as a logarithm: from which on a value is as before
_STANDING = (State.OPEN, State.ACKNOWLEDGED)
_POINTS = 1000  # of a series, the newest


def run_control(
    *,
    host: AnyHost | None = None,
    store: str | None = None,
    save: bool = True,
    command: Sequence[str] = (),
    listener: Listener = nobody,
) -> Run:
    """Runs the control benchmark on a host, by default on this machine, and keeps it in the store."""
    return execute(control_plan(host, command=command), store=store, save=save, listener=listener)


def is_unusual(store: Store, machine: str) -> bool:
    """Whether a machine's newest control took longer than those before it: then the next one should not take hours.

    Of a machine that became slow five controls must tell. After a while a level that lasts is the usual one.
    """
    archive = cast(Archive, store)
    chosen = SeriesFilter(case=f"{CONTROL}*", machine=machine, metrics=_DECIDING)
    known = {one.series.key: one.series for one in archive.series(chosen)}
    if not known:
        return False
    tails = archive.tails([*known], points=_TAIL + ROUNDS)
    return any(_stands_out(values, known[key].better == Better.HIGHER) for key, values in tails.items())


def _stands_out(values: Sequence[float], more_is_better: bool) -> bool:
    """Whether the newest rounds of a series are worse than those before, as far as one can know it."""
    before, rounds = values[:-ROUNDS], values[-ROUNDS:]
    if len(before) < _FEWEST or min(values) <= 0:
        return False
    sign = -1.0 if more_is_better else 1.0
    logs = [sign * math.log(value) for value in before]
    usual = statistics.median(logs)
    deviation = 1.4826 * statistics.median(abs(value - usual) for value in logs)
    newest = statistics.median(sign * math.log(value) for value in rounds)
    return newest > usual + max(_LEAST, _DEVIATIONS * deviation)


def hold_slow(store: Store, runs: Sequence[str]) -> list[Quarantine]:
    """Puts machines whose control became slower into quarantine, and releases those whose control is as before.

    `runs` are the controls that were judged just now. A quarantine that somebody ended is not made again for what was
    seen before; what people decided stays.
    """
    if not runs or config.load().machines.quarantine == NEVER:
        return []
    changed = []
    archive = cast(Archive, store)
    values = archive.values_of_runs([*runs], metrics=SPEED)
    series = sorted({value.series for value in values})
    found = archive.findings(states=_STANDING, series=series, limit=_POINTS) if series else []
    standing = [one for one in found if _is_of_slow_machine(one)]
    for machine in sorted({value.machine for value in values}):
        known = Quarantines(archive.quarantines(machine))
        mine = [one for one in standing if one.machine == machine]
        lasting = known.covering(machine, _now())
        if lasting is None:
            # What was seen before the last release counts no more: somebody has decided that the machine is judged.
            ended = max((one.until for one in known.of(machine) if one.until is not None), default=-(2**63))
            changed += list(_hold(archive, [one for one in mine if _since(archive, one) >= ended]))
        elif lasting.finding and lasting.until is None:
            changed += list(_release(archive, lasting, mine))
    return changed


def _is_of_slow_machine(finding: Finding) -> bool:
    """Whether a finding says that a machine became slower."""
    metrics = {finding.metric, *others_of(finding)}
    return is_control(finding.case) and finding.verdict is Verdict.WORSE and not metrics.isdisjoint(_DECIDING)


def _hold(archive: Archive, findings: Sequence[Finding]) -> Iterator[Quarantine]:
    if not findings:
        return
    first = min(findings, key=lambda one: (_since(archive, one), -abs(math.log(one.effect.point)), one.id))
    since = _since(archive, first)
    reason = f"{first.case} became {change_text(first)} ({first.metric}), finding {first.id}"
    held = Quarantine(machine=first.machine, since=since, reason=reason, who=OURS, made_at=_today(), finding=first.id)
    archive.quarantine(held)
    text = "its results since then are kept and marked, but not judged, until two controls in a row are as before"
    remark = Remark(at=_today(), who=OURS, what=QUARANTINED, text=text)
    archive.update_finding(first.id, remark, why={"quarantine": f"the machine is in quarantine: {text}"})
    yield held


def _release(archive: Archive, lasting: Quarantine, findings: Sequence[Finding]) -> Iterator[Quarantine]:
    """Ends a quarantine when the newest controls are as before in everything that they showed."""
    known = {one.id: one for one in (archive.finding(lasting.finding), *findings)}
    newest = [_newest(archive, finding) for finding in known.values()]
    if not all(_is_back(moments, finding) for moments, finding in zip(newest, known.values(), strict=True)):
        return
    until = min(_microseconds(archive.header(moments[0].run).started_at) for moments in newest)
    if until <= lasting.since:
        return
    ended = replace(lasting, until=until, released_by=OURS)
    archive.quarantine(ended)
    for finding in known.values():
        if finding.state in _STANDING:
            text = f"{IN_A_ROW} controls in a row are as before, and the machine is released"
            remark = Remark(at=_today(), who=OURS, what=RECOVERED, text=text)
            archive.update_finding(finding.id, remark, state=State.RESOLVED)
    yield ended


def _since(archive: Archive, finding: Finding) -> int:
    """When the first control began that shows it: microseconds since 1970."""
    return _microseconds(archive.header(finding.run).started_at)


def _newest(archive: Archive, finding: Finding) -> list[Moment]:
    """The newest controls of the finding's series that came after what it tells of."""
    judged = JudgedResults(archive)
    for series in archive.history(finding.case, metrics=(finding.metric,), limit=_POINTS):
        if series.key == finding.series:
            moments = timeline(judged.of_series(series))
            runs = [moment.run for moment in moments]
            after = moments[runs.index(finding.run) + 1 :] if finding.run in runs else moments
            return after[-IN_A_ROW:]
    return []


def _is_back(moments: Sequence[Moment], finding: Finding) -> bool:
    before, after = finding.before.point, finding.after.point
    if len(moments) < IN_A_ROW or min(before, after, *(one.estimate.point for one in moments)) <= 0 or before == after:
        return False
    whole = math.log(after / before)
    return all(math.log(after / one.estimate.point) / whole >= _BACK for one in moments)


def _microseconds(instant: str) -> int:
    moment = datetime.fromisoformat(instant)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6)


def _now() -> int:
    return round(datetime.now(UTC).timestamp() * 1e6)


def _today() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
