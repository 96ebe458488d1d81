"""Causes: findings that one commit, or one run, may be behind. They are one group, and people deal with them as one.

A finding has one cause, under an id that never changes by itself: neither when another series joins, nor when a
bisection names the commit. It is found by its *places*: the commits that may be behind the finding, or the run that it
began at where no commit is known. A finding joins the cause with which it shares a place, and begins one of its own
where there is none. A revision that is no whole hash, such as `1.2.3`, is another place in each repository. Only the
places of the finding that began a cause count, so that causes next to each other do not grow together. Better and worse
findings of one commit have one cause. People split causes, and join them again.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from benchwright import schema
from benchwright.records import Verdict
from benchwright.records.findings import Finding, State, Suspect
from benchwright.records.request_metrics import ERRORS

PREFIX = "cause-"  # of an id: no finding's begins so
_SPLIT = f"{PREFIX}x"  # of the id of what people split off: other ids go on with a hexadecimal digit
LIKELY = 0.1  # of the probability of the most probable suspect: a commit below it is no place of the cause
MOST_PLACES = 100  # of a finding: of a longer range of commits, the most probable
LARGEST = 100.0  # of a logarithm: what became zero, or was
_COMMIT = "commit "
_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # a whole id of git's or Mercurial's: no other project has it
_URGENCY = (State.OPEN, State.ACKNOWLEDGED, State.SUSPECTED, State.RESOLVED, State.IGNORED)


class FindingHead(NamedTuple):
    """What a list of causes needs to know of a finding. A tuple, as a page looks at ten thousand at once."""

    id: str
    series: str
    cause: str
    state: str
    verdict: str
    size: float  # of the change: the logarithm of its factor, without its sign
    case: str
    params: str
    metric: str
    machine: str
    at: int  # when it was found: microseconds since 1970
    assignee: str
    suspect: str  # the commit that is most probably behind it, or ""
    sure: float  # how probable that is
    run: str = ""  # the first that shows it


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Findings that one commit, or one run, may be behind: what they are in all, and the largest of them."""

    id: str
    lead: Finding  # the largest change for the worse; where nothing is worse, the largest one
    culprit: Suspect | None  # the commit that most of them point to
    findings: int
    series: int
    cases: int
    worse: int
    better: int
    largest: float  # by which factor the lead changed, whatever its direction: 1.38
    median: float  # the same of the findings that have the lead's verdict, and are told in points as it is, or not
    metrics: tuple[str, ...]
    machines: tuple[str, ...]  # schema.environment_key
    states: Mapping[str, int]
    assignees: tuple[str, ...]
    found_at: str  # when the first of them was found
    newest_at: str  # the same of the last

    @property
    def state(self) -> State:
        """The most urgent state of its findings."""
        return next((state for state in _URGENCY if self.states.get(state.value)), State.OPEN)


# ---- which cause a finding has ----


def places_of(finding: Finding) -> dict[str, float]:
    """Where the cause of a finding may lie, with how probable that is: commits, and the run that it began at."""
    if finding.drift:  # no commit of it is the culprit, so that it shares no cause with a step
        return {f"drift {finding.run}": 1.0} if finding.run else {}
    likely = [one for one in finding.suspects if one.probability >= LIKELY * finding.suspects[0].probability]
    places = {_place_of_commit(one.revision, finding.repository): one.probability for one in likely[:MOST_PLACES]}
    return places | ({f"run {finding.run}": 1.0} if finding.run else {})


def _place_of_commit(revision: str, repository: str) -> str:
    """The place of a revision. Of one like `1.2.3`, which many projects have, the repository is part where it is known.

    A whole hash stands alone: who measured the same commit from a mirror, or told no repository, saw the same cause.
    """
    if not repository or _HASH.fullmatch(revision):
        return f"{_COMMIT}{revision}"
    return f"{_COMMIT}{revision} of {repository}"


def is_commit(place: str) -> bool:
    """Whether a place is a commit."""
    return place.startswith(_COMMIT)


def choose(places: Mapping[str, float], known: Mapping[str, Mapping[str, float]]) -> str:
    """The cause that shares most of these places, of those that are `known` by their own; "" where none does."""
    shared = {cause: _shared(places, theirs) for cause, theirs in known.items()}
    return max(shared, key=lambda cause: (shared[cause], cause)) if any(shared.values()) else ""


def _shared(mine: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    """How much of the probability both give to the same commits; to the same run where one of them knows no commit."""
    both = mine.keys() & theirs.keys()
    commits = [place for place in both if is_commit(place)]
    if not commits and any(map(is_commit, mine)) and any(map(is_commit, theirs)):
        return 0.0
    return sum(min(mine[place], theirs[place]) for place in commits or both)


def new_id(finding: Finding, is_taken: Callable[[str], bool]) -> str:
    """The id of a cause that this finding begins: where nothing has it yet, the same whichever finding comes first."""
    places = places_of(finding)
    first = max(places, key=lambda place: (is_commit(place), places[place], place), default=finding.id)
    name = PREFIX + schema.fingerprint([first])[:10]
    return PREFIX + schema.fingerprint([first, finding.id])[:10] if is_taken(name) else name


def split_id(findings: Iterable[str]) -> str:
    """The id of the cause that the findings of these ids get when they are split from theirs."""
    return _SPLIT + schema.fingerprint(["split", *sorted(findings)])[:9]


def is_split(cause: str) -> bool:
    """Whether people split this cause off another: nothing joins it by itself."""
    return cause.startswith(_SPLIT)


# ---- what the findings of a cause are in all ----


def head_of(finding: Finding) -> FindingHead:
    """What a list of causes needs to know of a finding."""
    first = finding.suspects[0] if finding.suspects else None
    return FindingHead(
        id=finding.id,
        series=finding.series,
        cause=finding.cause,
        state=finding.state.value,
        verdict=finding.verdict.value,
        size=min(LARGEST, abs(math.log(finding.effect.point))) if finding.effect.point > 0 else LARGEST,
        case=finding.case,
        params=finding.params,
        metric=finding.metric,
        machine=finding.machine,
        at=_microseconds(finding.found_at),
        assignee=finding.assignee,
        suspect=first.revision if first and not finding.drift else "",
        sure=first.probability if first and not finding.drift else 0.0,
        run=finding.run,
    )


def group(heads: Iterable[FindingHead]) -> list[list[FindingHead]]:
    """The findings of each cause, both in order of `by_size`. One without a cause is a group of its own."""
    groups: dict[str, list[FindingHead]] = {}
    for head in sorted(heads, key=by_size):
        groups.setdefault(identity(head), []).append(head)
    return list(groups.values())


def identity(head: FindingHead) -> str:
    """What a finding shares with all others of its cause, and with none besides."""
    return head.cause or f" {head.id}"


class CausePlace(NamedTuple):
    """A place in a list of causes: behind that of this name, as the list was at an instant.

    What is found or triaged while somebody reads the list moves no cause over the place.
    """

    until: int  # the newest finding that counts: microseconds since 1970
    at: int  # when the last finding by then joined the cause before it
    name: str

    def __str__(self) -> str:
        return f"{self.until}.{self.at}.{self.name}"

    @classmethod
    def first(cls, joined: Mapping[str, int]) -> CausePlace:
        """The place before all causes that there are now."""
        newest = max(joined.values(), default=0)
        return cls(newest, newest + 1, "")

    @classmethod
    def read(cls, text: str) -> CausePlace:
        """The place of a text that one was written as; a `ValueError` where it is none."""
        until, at, name = text.split(".", 2)
        return cls(int(until), int(at), name)


def newest_first(
    groups: Iterable[list[FindingHead]], joined: Mapping[str, int], place: CausePlace | None = None
) -> list[list[FindingHead]]:
    """The groups in the order of lists, those behind a place: that which a finding joined last is the first.

    `joined` says when that was of each cause, with findings in any state: so the order does not change with what people
    make of findings. No two stand alike.
    """
    keyed = {_newest_key(members, joined): members for members in groups}
    first = (-place.at, place.name) if place else None
    return [keyed[key] for key in sorted(keyed) if first is None or key > first]


def place_after(members: Sequence[FindingHead], joined: Mapping[str, int], until: int) -> CausePlace:
    """The place behind a group."""
    at, name = _newest_key(members, joined)
    return CausePlace(until, -at, name)


def _newest_key(members: Sequence[FindingHead], joined: Mapping[str, int]) -> tuple[int, str]:
    name = identity(members[0])
    return -joined.get(name, max(head.at for head in members)), name


def by_size(head: FindingHead) -> tuple[bool, float, str]:
    """A key to sort by: the worse before the better, the largest change first."""
    return head.verdict != "worse", -head.size, head.id


def find_culprit(members: Sequence[FindingHead]) -> FindingHead | None:
    """The finding that is surest of the commit to which most of them point; None where no commit is known."""
    named = [head for head in members if head.suspect]
    votes: dict[str, float] = {}
    for head in named:
        votes[head.suspect] = votes.get(head.suspect, 0.0) + head.sure
    return max(named, key=lambda head: (votes[head.suspect], head.suspect, head.sure, head.id), default=None)


def make_cause(members: Sequence[FindingHead], lead: Finding, culprit: Suspect | None) -> Cause:
    """The cause of these findings, which stand in order of `by_size`; `lead` is the first of them."""
    from statistics import median  # which a worker does not wait for

    first = members[0]
    alike = [
        one for one in members if one.verdict == first.verdict and (one.metric == ERRORS) == (first.metric == ERRORS)
    ]
    times = sorted(head.at for head in members)
    return Cause(
        id=first.cause,
        lead=lead,
        culprit=culprit,
        findings=len(members),
        series=len({head.series for head in members}),
        cases=len({(head.case, head.params) for head in members}),
        worse=sum(head.verdict == Verdict.WORSE.value for head in members),
        better=sum(head.verdict == Verdict.BETTER.value for head in members),
        largest=math.exp(first.size),
        median=math.exp(median(head.size for head in alike)),
        metrics=tuple(sorted({head.metric for head in members})),
        machines=tuple(sorted({head.machine for head in members})),
        states=dict(Counter(head.state for head in members)),
        assignees=tuple(sorted({head.assignee for head in members if head.assignee})),
        found_at=_instant(times[0]),
        newest_at=_instant(times[-1]),
    )


def causes_of(findings: Iterable[Finding]) -> list[Cause]:
    """The causes of these findings, with nothing but these in them, those with the largest change first."""
    known = {finding.id: finding for finding in findings}
    found = []
    for members in group(map(head_of, known.values())):
        named = find_culprit(members)
        culprit = known[named.id].suspects[0] if named else None
        found.append(make_cause(members, known[members[0].id], culprit))
    return found


def _microseconds(instant: str) -> int:
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        return 0
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000_000)


def _instant(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).isoformat()
