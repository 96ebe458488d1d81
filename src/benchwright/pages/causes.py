"""Causes: the list to work through, in which one bad commit is one line, and one cause with its findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchwright.analysis.detection import OURS
from benchwright.errors import StoreError
from benchwright.pages import at_once
from benchwright.pages.finding_lists import ChosenHeads
from benchwright.pages.lines import cause_lines, finding_lines
from benchwright.pages.shapes import CausesPage, CauseView
from benchwright.records.causes import CausePlace, FindingHead, by_size, group, identity, newest_first, place_after
from benchwright.records.findings import Finding, Remark, State
from benchwright.store.archive import Archive
from benchwright.store.choices import EVERY_FINDING, FindingChoice, read_place
from benchwright.units import whole_number

MOST = 500
_AFTER = "after."  # before the id of the last finding of a page
_DONE = (State.RESOLVED.value, State.IGNORED.value)
_REMARKS = 100  # the newest
_MEMBERS = 100_000  # of a cause


@at_once
def causes_page(
    archive: Archive,
    states: Sequence[State] = (),
    *,
    limit: int = 100,
    after: str = "",
    chosen: FindingChoice = EVERY_FINDING,
    words: str = "",
    facets: bool = False,
) -> CausesPage:
    """The causes of findings in these states, the one that was joined last first. `after` is `Page.next`.

    With `chosen` a cause is what those of its findings are that fit. With `facets` the first page counts what else the
    list can be narrowed by.
    """
    wanted = max(1, min(limit, MOST))
    skipped = whole_number(after) or 0
    place = read_place(after) if after and whole_number(after) is None else None
    joined = archive.causes_joined(until=place.until if place else 0)
    place = place or CausePlace.first(joined)
    narrowed = replace(chosen, states=tuple(state.value for state in states))
    heads = ChosenHeads(
        archive, narrowed, words=words, identity=identity, until=place.until, facets=facets and not after
    )
    groups = group(heads.fitting)
    shown = newest_first(groups, joined, place)[skipped : skipped + wanted + 1]
    counts = archive.count_findings()
    return CausesPage(
        causes=cause_lines(archive, shown[:wanted]),
        total=len(groups),
        findings=len(heads.fitting),
        counts={state.value: counts.get(state.value, 0) for state in State},
        facets=heads.facets() if facets and not after else (),
        next=str(place_after(shown[wanted - 1], joined, place.until)) if len(shown) > wanted else "",
    )


@at_once
def cause_view(archive: Archive, reference: str, *, limit: int = 100, after: str = "") -> CauseView:
    """One cause with its findings in any state, the largest change first; `reference` is the beginning of its id."""
    members = sorted(archive.finding_heads(cause=archive.find_cause(reference), limit=_MEMBERS), key=by_size)
    wanted = max(1, min(limit, MOST))
    skipped = _skipped(members, after)
    shown = members[skipped : skipped + wanted]
    found = archive.findings_of([head.id for head in shown])
    # It is told by what is not dealt with yet, where there is any, as in the list one came from.
    (line,) = cause_lines(archive, [sorted(members, key=lambda head: head.state in _DONE)])
    return CauseView(
        line=line,
        findings=finding_lines(archive, found),
        remarks=_story(found),
        commands=_commands(
            line.id, line.lead.id, suspects=len(found[0].revisions) - 1 if found and found[0].has_ratio else 0
        ),
        next=f"{_AFTER}{shown[-1].id}" if len(members) > skipped + wanted else "",
    )


def _skipped(members: Sequence[FindingHead], after: str) -> int:
    """How many findings of a cause stand up to the last one of the page before."""
    if not after.startswith(_AFTER):
        return whole_number(after) or 0
    last = after.removeprefix(_AFTER)
    for place, head in enumerate(members):
        if head.id == last:
            return place + 1
    raise StoreError(f"the cause has no finding {last!r} any more", remedy="begin with the largest change again")


def _story(found: Sequence[Finding]) -> list[Remark]:
    """What people said and did, each once though it stands in the story of every finding."""
    said = {remark: None for one in found for remark in one.remarks if remark.who != OURS}
    return sorted(said, key=lambda remark: remark.at)[-_REMARKS:]


def _commands(cause: str, lead: str, *, suspects: int) -> list[str]:
    shown = [f"benchwright findings show {cause}"]
    return [*shown, f"benchwright bisect {lead}"] if suspects > 1 else shown
