"""The triage list, and one finding with its picture."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from benchwright.errors import OptionError, StoreError
from benchwright.pages import at_once
from benchwright.pages.finding_lists import ChosenHeads
from benchwright.pages.lines import finding_lines
from benchwright.pages.machines import machine_note
from benchwright.pages.series import series_view
from benchwright.pages.shapes import FindingsPage, FindingView
from benchwright.records.findings import Finding, State
from benchwright.store.archive import Archive
from benchwright.store.choices import EVERY_FINDING, FindingChoice
from benchwright.units import whole_number

MOST = 500
_FURTHEST = 2**62  # what a database takes as a number
_SEEN = 2  # revisions at least, for one to be the culprit


@at_once
def findings_page(
    archive: Archive,
    states: Sequence[State] = (),
    *,
    limit: int = 100,
    after: str = "",
    cause: str = "",
    chosen: FindingChoice = EVERY_FINDING,
    words: str = "",
    facets: bool = False,
) -> FindingsPage:
    """The newest findings in these states, and of this cause, at most `limit`; all when none is named.

    `after` is `Page.next`. With `facets` the first page counts what the list can be narrowed by.
    """
    wanted = max(1, min(limit, MOST))
    skipped = whole_number(after) or 0
    at, last = _read_place(after) if after and whole_number(after) is None else (0, "")
    narrowed = replace(chosen, states=tuple(state.value for state in states))
    heads = ChosenHeads(archive, narrowed, words=words, until=at, cause=cause, facets=facets and not after)
    ordered = sorted(heads.fitting, key=lambda head: (-head.at, head.id))
    # Behind the last one, not behind so many: findings that come, or leave the list, meanwhile move no other.
    behind = [head for head in ordered if not last or (-head.at, head.id) > (-at, last)]
    shown = behind[skipped : skipped + wanted + 1]
    counts = archive.count_findings()
    return FindingsPage(
        findings=finding_lines(archive, archive.findings_of([head.id for head in shown[:wanted]])),
        counts={state.value: counts.get(state.value, 0) for state in State},
        total=len(ordered),
        facets=heads.facets() if facets and not after else (),
        next=f"{shown[wanted - 1].at}.{shown[wanted - 1].id}" if len(shown) > wanted else "",
    )


def _read_place(after: str) -> tuple[int, str]:
    """When the last finding of the page before was found, and its id."""
    at, _, last = after.partition(".")
    found = whole_number(at)
    if found is None or not last or found > _FURTHEST:
        raise OptionError(f"{after[:100]!r} is no place in the list of findings", remedy="begin with the newest again")
    return found, last


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
        siblings=max(0, len(archive.finding_heads(cause=finding.cause)) - 1) if finding.cause else 0,
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
    if finding.has_ratio and len(finding.revisions) >= _SEEN:
        found.append(f"benchwright bisect {finding.id}")
    if len(finding.runs) >= _SEEN and finding.run in finding.runs and (place := finding.runs.index(finding.run)):
        found.append(shlex.join(["benchwright", "compare", finding.runs[place - 1], finding.run]))
    return [*found, *_remeasure_command(finding)]


def _remeasure_command(finding: Finding) -> list[str]:
    told = finding.why.get("remeasure")
    return [told] if isinstance(told, str) else []
