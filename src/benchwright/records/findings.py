"""Findings: what was judged about a series, and what people make of it. Records like those of `records`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TypedDict

from benchwright.records import Better, Estimate, Value, Verdict
from benchwright.records.code import clean_repository
from benchwright.records.request_metrics import is_share_of_failures

REFUTED = "refuted"  # of a remark: pairs of processes do not show the change
VANISHED, ABSORBED = "vanished", "absorbed"  # of a remark: runs do not show it any more; it is part of a drift
QUARANTINED = "quarantined"  # of a remark: it was told of results that were put into quarantine since
BISECTED = "bisected"  # of a remark: commits were measured against each other, and the suspects are what that says


class State(StrEnum):
    """What people make of a finding; nobody has been told of one that is only suspected."""

    SUSPECTED = "suspected"
    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A revision that may be behind a finding, and how probable that is."""

    revision: str
    probability: float
    subject: str = ""
    author: str = ""
    effect: Estimate | None = None  # of this revision alone, as a ratio, where it was measured against its parent
    pull_request: int = 0  # the number of the request that it came with; 0: none is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One line of a finding's story."""

    at: str
    who: str
    what: str  # "opened", "acknowledged", "assigned", "comment", ...
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a drift, and by which factor the value changes along it."""

    effect: Estimate
    runs: tuple[str, ...]  # the last before it, and its last
    revisions: tuple[str, ...] = ()  # the same of revisions, where they are known
    commits: int = 0  # between them, the last counted; 0 where that is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How a value drifts: from which run to which, how steeply, and how much each part of it carries."""

    first: str  # the last run at the old level
    last: str  # the first at the new level; the newest while it goes on
    ongoing: bool
    length: int  # how many runs after the first the last one is
    slope: Estimate  # by which share each run is larger than the one before it
    earliest: str = ""  # the run at which it began at the earliest
    latest: str = ""  # the same at the latest
    steps: int = 0  # that lie on it, with findings of their own; its levels and its size are without them
    parts: tuple[Part, ...] = ()  # oldest first; none where the noise does not let them be told


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A judged change in a series or between two revisions: a step, or a drift."""

    id: str
    series: str
    before: Estimate
    after: Estimate
    effect: Estimate  # after / before; where it `has_ratio`, else 1 + (after - before) of shares
    method: str
    verdict: Verdict
    revisions: tuple[str, ...] = ()  # oldest first: the last that was as before, and those that may have changed it
    state: State = State.OPEN
    case: str = ""
    params: str = ""  # compact JSON, as in a series
    metric: str = ""
    unit: str = ""
    machine: str = ""  # schema.environment_key
    confidence: float | None = None  # that there is a change at all
    run: str = ""  # the first that shows it
    runs: tuple[str, ...] = ()  # those around it, oldest first: a like change at one of them is the same one
    found_at: str = ""
    suspects: tuple[Suspect, ...] = ()  # the most probable first
    why: Mapping[str, Value] = field(default_factory=dict)  # what differs between its two sides
    assignee: str = ""
    remarks: tuple[Remark, ...] = ()
    drift: Drift | None = None  # None: the value changed at once
    cause: str = ""  # id of the cause that it shares with others (`records.causes`); a store gives it one
    repository: str = ""  # of its revisions: a web address, never with a login

    def __post_init__(self) -> None:
        if self.repository:
            object.__setattr__(self, "repository", clean_repository(self.repository))

    @property
    def is_reported(self) -> bool:
        """Whether people were told of it: not while it is suspected, nor when it was given up before."""
        return self.state is not State.SUSPECTED and self.last_event not in (VANISHED, REFUTED, ABSORBED)

    @property
    def has_ratio(self) -> bool:
        """Whether the effect is a ratio, as pairs and bisections judge it; that of failed requests is a difference."""
        return not is_share_of_failures(self.metric, self.unit)

    @property
    def last_event(self) -> str:
        """What the newest remark tells of, comments apart: `suspected`, `confirmed`, `refuted` ..."""
        return next((remark.what for remark in reversed(self.remarks) if remark.what != "comment"), "")

    def is_at_least(self, smallest: float) -> bool:
        """Whether the change is as large as this share: a factor of 1.1 or of 1 / 1.1 is a change of 10 %."""
        ratio = self.effect.point
        return ratio > 0 and abs(math.log(ratio)) >= math.log1p(smallest) - 1e-12

    def settles(self, revision: str) -> bool:
        """Whether the finding also speaks of a like change that came near it, at that revision.

        Pairs that refuted it measured the commits it names, and say nothing of one that came soon after.
        """
        return self.last_event != REFUTED or not revision or revision in self.revisions


STATE_WORDS = {  # of a remark: what a person did who put a finding into this state
    State.SUSPECTED: "suspected",
    State.OPEN: "reopened",
    State.ACKNOWLEDGED: "acknowledged",
    State.RESOLVED: "resolved",
    State.IGNORED: "ignored",
}
_FROM = {  # which findings of a cause a change of state is for
    State.ACKNOWLEDGED: (State.OPEN,),
    State.RESOLVED: (State.OPEN, State.ACKNOWLEDGED),
    State.IGNORED: (State.OPEN, State.ACKNOWLEDGED),
    State.OPEN: (State.ACKNOWLEDGED, State.RESOLVED, State.IGNORED),
    State.SUSPECTED: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """What somebody makes of a finding, or of all findings of a cause; what is None stays as it is."""

    state: State | None = None
    assignee: str | None = None
    comment: str = ""

    def steps(self, finding: Finding, who: str, at: str) -> list[tuple[Remark, FindingChanges]]:
        """The lines of the finding's story, and what changes with each; the comment goes with the first of them."""
        found: list[tuple[str, str, FindingChanges]] = []
        if self.state is not None and self.state is not finding.state:
            found.append((STATE_WORDS[self.state], self.comment, {"state": self.state}))
        if self.assignee is not None and self.assignee != finding.assignee:
            said = f"to {self.assignee}" if self.assignee else "to nobody"
            text = f"{said}. {self.comment}" if self.comment and not found else said
            found.append(("assigned", text, {"assignee": self.assignee}))
        if not found and self.comment:
            found.append(("comment", self.comment, {}))
        return [(Remark(at=at, who=who, what=what, text=text), changes) for what, text, changes in found]

    def meant(self, findings: Sequence[Finding]) -> list[Finding]:
        """Those findings of one cause that this is for.

        Not those that nobody was told of while others were, nor those that are past it: who acknowledges a cause does
        not take up again what is resolved.
        """
        told = [finding for finding in findings if finding.is_reported]
        if self.state is None or not told:
            return told or list(findings)
        return [finding for finding in told if finding.state in _FROM[self.state]]


class FindingChanges(TypedDict, total=False):
    """The fields of a finding that a store changes: all but its id, its series, its cause and its remarks."""

    before: Estimate
    after: Estimate
    effect: Estimate
    method: str
    verdict: Verdict
    revisions: tuple[str, ...]
    state: State
    case: str
    params: str
    metric: str
    unit: str
    machine: str
    confidence: float | None
    run: str
    runs: tuple[str, ...]
    found_at: str
    suspects: tuple[Suspect, ...]
    why: Mapping[str, Value]
    assignee: str
    drift: Drift | None
    repository: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    """A series, or every series of the cases whose name matches, in which no change is reported."""

    what: str  # a series' key, or a case's name with `*` as a wildcard
    who: str = ""
    at: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """The smallest change that is reported for the cases whose name matches, as a share: 0.05 is five per cent."""

    case: str  # a name, with `*` as a wildcard
    smallest: float
    metric: str = ""  # "" for every metric


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRules:
    """Mutes and thresholds, as a store keeps them."""

    mutes: Sequence[Mute] = ()
    thresholds: Sequence[Threshold] = ()

    def is_muted(self, case: str, series: str = "") -> bool:
        """Whether nothing is reported of the case, or of that series of it."""
        return any((series and mute.what == series) or matches(mute.what, case) for mute in self.mutes)

    def smallest(self, case: str, metric: str, default: float) -> float:
        """The threshold that fits best: a name before a pattern, a longer pattern first, a metric's before all's."""
        fitting = [t for t in self.thresholds if t.metric in ("", metric) and matches(t.case, case)]
        best = max(fitting, key=lambda t: (t.case == case, len(t.case), t.metric != ""), default=None)
        return default if best is None else best.smallest


def matches(pattern: str, name: str) -> bool:
    """Whether the name is the pattern's, in which `*` stands for anything."""
    return wildcard(pattern).fullmatch(name) is not None


@lru_cache(maxsize=1024)
def wildcard(pattern: str) -> re.Pattern[str]:
    """The regular expression of a name in which only `*` is special.

    Each part is taken where it occurs first, and nowhere else is tried: that finds the same, and what anybody may ask
    for does not take longer with every `*`.
    """
    first, *others = map(re.escape, pattern.split("*"))
    if not others:
        return re.compile(first)
    taken = "".join(f"(?>.*?{part})" for part in others[:-1] if part)
    return re.compile(f"{first}{taken}.*{others[-1]}", re.DOTALL)


def verdict_of(effect: float, better: Better) -> Verdict:
    """What a change by the factor `effect` is where `better` is the good direction."""
    return Verdict.BETTER if (effect > 1) == (better is Better.HIGHER) else Verdict.WORSE
