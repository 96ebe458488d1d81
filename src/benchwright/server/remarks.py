"""Lines of a finding's story that a visitor adds: signed and dated by the server, never by what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from benchwright.analysis.detection import OURS
from benchwright.records.findings import STATE_WORDS, Finding, Remark, State
from benchwright.records.machines import Quarantine
from benchwright.server.access import Visitor

if TYPE_CHECKING:
    from benchwright.store import Store

TRIAGED = frozenset({"state", "assignee"})  # the fields of a finding that belong to people
_LONGEST = 80  # characters of a value in the audit log


def new_remark(visitor: Visitor, what: str, text: str, *, claimed: str = "") -> Remark:
    """Returns a remark of this visitor at this moment."""
    return Remark(at=now(), who=sign(visitor, claimed), what=what, text=text)


def sign_remark(remark: Remark | None, changes: Mapping[str, Any], visitor: Visitor) -> Remark | None:
    """Returns the remark that is kept for one that was sent along with these changes of a finding.

    Whoever judges says in their own words what happened. Whoever triages does not: the word follows from the change,
    so that a story cannot tell of something that did not happen.
    """
    if "write" in visitor.scopes:
        return remark and new_remark(visitor, remark.what, remark.text, claimed=remark.who)
    text = remark.text if remark else ""
    if isinstance(state := changes.get("state"), State):
        return new_remark(visitor, name_state(state), text)
    if "assignee" in changes:
        return new_remark(visitor, "assigned", text)
    return new_remark(visitor, "comment", text) if text else None


def sign_story(finding: Finding, visitor: Visitor) -> Finding:
    """Returns a finding that comes with its story, each line of which also says who sent it.

    The lines are otherwise as they were told: a story may come from another store, where others wrote it.
    """
    return replace(
        finding, remarks=tuple(replace(line, who=_sign_sender(line.who, visitor)) for line in finding.remarks)
    )


def _sign_sender(claimed: str, visitor: Visitor) -> str:
    if claimed in ("", OURS) or not visitor.name:
        return sign(visitor, claimed)
    return f"{claimed} (sent by {visitor.name})"


def name_state(state: State) -> str:
    """Returns the word for a finding that was put into this state."""
    return STATE_WORDS[state]


def sign(visitor: Visitor, claimed: str = "") -> str:
    """Returns who did something: the token's name, or the address of somebody without one.

    `claimed` is believed on one's own machine, where whoever asks without a token may do everything anyway, and told
    beside the token's name where a program writes what it judged.
    """
    if not visitor.name:
        return claimed if claimed and "admin" in visitor.scopes else f"somebody at {visitor.address}"
    return f"{OURS} ({visitor.name})" if claimed == OURS else visitor.name


def describe_changes(before: Finding, after: Finding) -> str:
    """Returns what is different now, for the audit log: "state open -> resolved"."""
    told = []
    for field in fields(Finding):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old != new and field.name != "remarks":
            told.append(f"{field.name} {str(old)[:_LONGEST]} -> {str(new)[:_LONGEST]}")
    if len(after.remarks) > len(before.remarks):
        told.append(after.remarks[-1].what)
    return ", ".join(told) or "nothing changed"


def describe_quarantine(held: Quarantine) -> str:
    """Returns which machine is held, since when, until when and why, for the audit log."""
    until = f" until {_instant(held.until)}" if held.until is not None else ""
    return f"{held.machine[:12]} since {_instant(held.since)}{until}: {held.reason[:_LONGEST] or 'no reason given'}"


def _instant(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, UTC).isoformat(timespec="seconds")


def describe_rule(store: Store, verb: str, arguments: Mapping[str, Any]) -> str:
    """Returns how the rule stands that a verb changes, for the audit log; "" for verbs of other things."""
    if verb in ("mute", "unmute"):
        what = arguments["mute"].what if verb == "mute" else arguments["what"]
        known = next((one for one in store.mutes() if one.what == what), None)
        return (
            "not muted" if known is None else f"muted {f'({known.reason[:_LONGEST]})' if known.reason else ''}".strip()
        )
    if verb in ("set_threshold", "drop_threshold"):
        meant = arguments["threshold"] if verb == "set_threshold" else None
        place = (meant.case, meant.metric) if meant else (arguments["case"], arguments.get("metric", ""))
        least = next((one.smallest for one in store.thresholds() if (one.case, one.metric) == place), None)
        return "no threshold" if least is None else f"{100 * least:g} %"
    return ""


def now() -> str:
    """Returns this second, as remarks are dated."""
    return datetime.now(UTC).isoformat(timespec="seconds")
