"""Findings whose run was put into quarantine after they were made.

A machine is known to be unwell only after it was: an automatic quarantine reaches back over the runs that show it. What
such runs told of is taken back, unless the results that are judged show it as well.
"""

from __future__ import annotations

from datetime import UTC, datetime

from benchwright.analysis.judged_results import JudgedResults
from benchwright.records.findings import QUARANTINED, VANISHED, Finding, Remark, State
from benchwright.store import Series, Store

GONE = (VANISHED, QUARANTINED)  # remarks of what judged runs do not show; it returns when they do
_WHO = "benchwright"
_TAKEN_BACK = (State.SUSPECTED, State.OPEN, State.ACKNOWLEDGED)


def resolve_if_held(store: Store, series: Series, finding: Finding) -> None:
    """Resolves a finding whose run is in quarantine; whoever opens it again has the last word.

    To be called where no change like it is seen in the results of the series that are judged. A suspicion, of which
    nobody was told, vanishes.
    """
    if finding.state not in _TAKEN_BACK or _was_taken_back(finding):
        return
    if not JudgedResults(store).is_run_held(series, finding.run):
        return
    what = VANISHED if finding.state is State.SUSPECTED else QUARANTINED
    text = f"the machine was in quarantine when it measured run {finding.run}, and other runs do not show the change"
    at = datetime.now(UTC).isoformat(timespec="seconds")
    store.update_finding(finding.id, Remark(at=at, who=_WHO, what=what, text=text), state=State.RESOLVED)


def _was_taken_back(finding: Finding) -> bool:
    """Whether it was resolved for this reason, and has not been seen in judged results since."""
    told = [remark.what for remark in finding.remarks if remark.what in (QUARANTINED, "returned")]
    return told[-1:] == [QUARANTINED]
