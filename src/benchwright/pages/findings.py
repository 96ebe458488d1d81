"""The triage list, and one finding with its picture."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from benchwright.errors import StoreError
from benchwright.pages import at_once
from benchwright.pages.lines import finding_lines
from benchwright.pages.machines import machine_note
from benchwright.pages.series import series_view
from benchwright.pages.shapes import FindingsPage, FindingView
from benchwright.records.findings import Finding, State
from benchwright.store.archive import Archive
from benchwright.units import whole_number

MOST = 500
_SEEN = 2  # revisions at least, for one to be the culprit


@at_once
def findings_page(archive: Archive, states: Sequence[State] = (), *, limit: int = 100, after: str = "") -> FindingsPage:
    """The newest findings in these states, at most `limit`; all states when none is named. `after` is `Page.next`."""
    wanted = max(1, min(limit, MOST))
    skipped = whole_number(after) or 0
    found = archive.findings(states=list(states), limit=skipped + wanted + 1)[skipped:]
    totals = archive.totals()
    return FindingsPage(
        findings=finding_lines(archive, found[:wanted]),
        counts={state.value: totals.get(state.value, 0) for state in State},
        next=str(skipped + wanted) if len(found) > wanted else "",
    )


@at_once
def finding_view(archive: Archive, reference: str) -> FindingView:
    """One finding; `reference` is its id, or the beginning of it."""
    finding = archive.finding(reference)
    try:
        view = series_view(archive, finding.series, finding.unit)
    except StoreError:  # it was kept without its series: by hand, or from a store that was copied in part
        view = None
    (line,) = finding_lines(archive, [finding])
    return FindingView(
        line=line,
        method=finding.method,
        revisions=finding.revisions,
        runs=finding.runs,
        suspects=finding.suspects,
        why=finding.why,
        remarks=finding.remarks,
        commands=_commands(finding),
        view=view,
        calibration=machine_note(archive, [line.machine]),
    )


def _commands(finding: Finding) -> list[str]:
    """What to type next: to see it, to find the commit, to tell code from environment."""
    found = [f"benchwright findings show {finding.id}"]
    if finding.drift:  # no commit of it is the culprit
        return [
            *found,
            shlex.join(["benchwright", "compare", finding.drift.first, finding.drift.last]),
            *_remeasure_command(finding),
        ]
    if len(finding.revisions) >= _SEEN:
        found.append(f"benchwright bisect {finding.id}")
    if len(finding.runs) >= _SEEN and finding.run in finding.runs and (place := finding.runs.index(finding.run)):
        found.append(shlex.join(["benchwright", "compare", finding.runs[place - 1], finding.run]))
    return [*found, *_remeasure_command(finding)]


def _remeasure_command(finding: Finding) -> list[str]:
    told = finding.why.get("remeasure")
    return [told] if isinstance(told, str) else []
