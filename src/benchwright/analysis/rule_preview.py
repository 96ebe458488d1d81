"""What a rule would have done in the last 90 days: a replay over the findings that were kept, nothing else.

A finding counts once people could have been told of it: not while it is only suspected. What was muted, or smaller than
the thresholds in force, was never kept. So where a rule would let more through than before, its number is a lower
bound, and the preview says so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from benchwright.analysis.comparison import SMALLEST, format_percent
from benchwright.analysis.detection import CONFIRMED, SUSPECTED
from benchwright.records import Verdict
from benchwright.records.findings import Finding, FindingRules, Mute, State, Threshold, matches

DAYS = 90
MOST = 5000  # findings that are looked at, the newest
SHOWN = 10  # findings that are named
FRESH = 30.0  # seconds for which findings that were read are not read again


class FindingSource(Protocol):
    """What a preview is made from: a store."""

    def findings(self, *, limit: int = ...) -> list[Finding]:
        """The newest findings first."""
        ...

    def mutes(self) -> list[Mute]:
        """What is muted."""
        ...

    def thresholds(self) -> list[Threshold]:
        """Every threshold."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedFinding:
    """A finding that a rule is about."""

    id: str
    case: str
    metric: str
    unit: str
    verdict: Verdict
    ratio: float  # after / before, as the effect of a finding is
    found_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePreview:
    """What a rule would have done in the last days."""

    days: int
    of: int  # findings of these days that people were told of
    matching: int  # those that the rule is about
    told: int  # those of them that people would have been told of
    times: int  # messages: findings of one cause share one
    is_complete: bool  # false: what was not kept may have been told, too
    sentence: str
    findings: tuple[PreviewedFinding, ...] = ()  # of a target those it would have been told of, else those silenced


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentFindings:
    """The findings of the last days that people were told of, and the rules in force."""

    found: Sequence[Finding]
    rules: FindingRules
    is_all: bool  # false where there are more than are looked at


def recent_findings(store: FindingSource, *, now: datetime | None = None) -> RecentFindings:
    """Reads what previews are made from."""
    since = (now or datetime.now(UTC)) - timedelta(days=DAYS)
    newest = store.findings(limit=MOST)
    recent = [finding for finding in newest if _found_at(finding) >= since]
    return RecentFindings(
        found=[finding for finding in recent if _was_told(finding)],
        rules=_rules(store),
        is_all=len(newest) < MOST or len(recent) < len(newest),
    )


class RecentFindingsReader:
    """Reads what previews are made from; the findings at most once in half a minute, as pages ask with every key.

    Thousands of findings take a second or two to read. Rules are read each time: somebody has just changed them.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # who asks meanwhile waits for the same answer
        self._known: RecentFindings | None = None
        self._read_at = 0.0

    def read(self, store: FindingSource) -> RecentFindings:
        """Returns what previews are made from."""
        with self._lock:
            if self._known is None or self._clock() - self._read_at > FRESH:
                self._known, self._read_at = recent_findings(store), self._clock()
                return self._known
            known = self._known
        return replace(known, rules=_rules(store))


def _rules(store: FindingSource) -> FindingRules:
    return FindingRules(mutes=store.mutes(), thresholds=store.thresholds())


def preview_mute(recent: RecentFindings, what: str) -> RulePreview:
    """What would have been silent with a mute of a series, or of the cases of that name."""
    silenced = [one for one in recent.found if one.series == what or matches(what, one.case)]
    sentence = _of_all(recent, f"This would have silenced {_count(len(silenced), recent)}.")
    return _preview(recent, matching=silenced, told=[], named=silenced, sentence=sentence)


def preview_threshold(recent: RecentFindings, threshold: Threshold) -> RulePreview:
    """What would have been told with this threshold beside the others."""
    others = [t for t in recent.rules.thresholds if (t.case, t.metric) != (threshold.case, threshold.metric)]
    rules = FindingRules(thresholds=[*others, threshold])
    nowhere = -1.0
    matching = [
        one
        for one in recent.found
        if threshold.metric in ("", one.metric)
        and matches(threshold.case, one.case)
        and rules.smallest(one.case, one.metric, nowhere) == threshold.smallest
    ]
    told = [one for one in matching if one.is_at_least(threshold.smallest)]
    named = [one for one in matching if not one.is_at_least(threshold.smallest)]
    before = recent.rules.smallest(threshold.case, threshold.metric, SMALLEST)
    is_lower = threshold.smallest < before
    some = f"{_those(len(matching))} in these cases; this would have told of {len(told)}."
    sentence = _of_all(recent, some if matching else "None of them was in these cases.")
    if is_lower:
        sentence += f" Changes below {format_percent(before)} were not kept: it may have been more."
    return _preview(recent, matching=matching, told=told, named=named, sentence=sentence, is_complete=not is_lower)


def preview_target(recent: RecentFindings, wants: Callable[[Finding], bool]) -> RulePreview:
    """What somebody would have been told who wants such findings."""
    told = [one for one in recent.found if wants(one)]
    times = _count_causes(told)
    often = "once" if times == 1 else "never" if not times else f"{times} times"
    sentence = f"This would have told you {often} in the last {DAYS} days"
    sentence += f", of {_changes(len(told))}." if told else "."
    return _preview(recent, matching=told, told=told, named=told, sentence=sentence)


def _preview(
    recent: RecentFindings,
    *,
    matching: Sequence[Finding],
    told: Sequence[Finding],
    named: Sequence[Finding],
    sentence: str,
    is_complete: bool = True,
) -> RulePreview:
    if not recent.is_all:
        sentence += f" Only the newest {MOST:,} findings were looked at."
    return RulePreview(
        days=DAYS,
        of=len(recent.found),
        matching=len(matching),
        told=len(told),
        times=_count_causes(told),
        is_complete=is_complete and recent.is_all,
        sentence=sentence,
        findings=tuple(map(_previewed, named[:SHOWN])),
    )


def _was_told(finding: Finding) -> bool:
    """Whether people could hear of it: it was found for sure, or confirmed later."""
    if finding.state is State.SUSPECTED:
        return False
    words = [remark.what for remark in finding.remarks]
    return SUSPECTED not in words[:1] or CONFIRMED in words


def _found_at(finding: Finding) -> datetime:
    try:
        at = datetime.fromisoformat(finding.found_at)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _previewed(finding: Finding) -> PreviewedFinding:
    return PreviewedFinding(
        id=finding.id,
        case=finding.case,
        metric=finding.metric,
        unit=finding.unit,
        verdict=finding.verdict,
        ratio=finding.effect.point,
        found_at=finding.found_at,
    )


def _count_causes(findings: Iterable[Finding]) -> int:
    return len({finding.cause or finding.id for finding in findings})


def _of_all(recent: RecentFindings, of_these: str) -> str:
    all_of_them = f"In the last {DAYS} days people were told of {_changes(len(recent.found))}."
    return f"{all_of_them} {of_these}" if recent.found else all_of_them


def _changes(count: int) -> str:
    return "no change" if not count else "1 change" if count == 1 else f"{count:,} changes"


def _count(count: int, recent: RecentFindings) -> str:
    return "none of them" if not count else "all of them" if count == len(recent.found) else f"{count:,} of them"


def _those(count: int) -> str:
    return "1 of them was" if count == 1 else f"{count:,} of them were"
