"""Records of the API that no page shows: what changes are made of, and what they are answered with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchwright.notify import MessageDelivery
from benchwright.records import Value
from benchwright.records.findings import State
from benchwright.records.findings import Triage as Triage
from benchwright.store.choices import FindingChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, and what to do."""

    error: str
    remedy: str
    added: Sequence[str] = ()  # of a stream that was refused in the middle: the runs before it
    present: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One thing that was sent. `added` is false when it was there already, the very same."""

    id: str
    added: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenResult:
    """What became of one of several results: the status that the answer to it alone would have, and why not."""

    id: str  # "" where it could not be read
    added: bool
    status: int
    error: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenResults:
    """What became of several results, in the order in which they were sent."""

    results: Sequence[TakenResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """How many entries of a report were taken, as FAI-PEP's remote reporter wants to hear it."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """Runs that were sent: ids of those that are new, and of those that were there."""

    added: Sequence[str]
    present: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a verb of the store answers; `next`, where it is a part of a list, is what to change to get the next one."""

    answer: Value
    next: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A token that the browser is to keep."""

    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuarantine:
    """A machine is to be put into quarantine. Instants are milliseconds since 1970."""

    reason: str
    since: int | None = None  # None: now
    until: int | None = None  # None: until somebody releases it


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralTriage:
    """What somebody makes of several findings; what is None stays as it is."""

    findings: tuple[str, ...]  # ids of findings, or of causes: then all findings of it that it is for
    state: State | None = None
    assignee: str | None = None
    comment: str = ""
    only: FindingChoice | None = None  # of causes, only findings that fit: what a list that is narrowed shows


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenFindings:
    """Findings to split from their cause, or to join to another."""

    findings: tuple[str, ...]  # ids of findings, or of causes
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFinding:
    """A finding that was changed, with the state that it had before."""

    id: str
    before: State
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class TriagedFindings:
    """PATCH findings: those that were changed."""

    changed: Sequence[ChangedFinding]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIssue:
    """An issue to open, or a pull request to comment on."""

    page: str = ""  # the address of the finding's page, for whoever reads the text
    pull_request: int = 0  # of a comment: its number; 0 for the one that the probable culprit came with


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNote:
    """Something to write beside a series."""

    at: int  # milliseconds since 1970
    text: str
    everywhere: bool = False  # beside every series
    release: bool = False  # it stands on the axis of charts


@dataclass(frozen=True, slots=True, kw_only=True)
class NewView:
    """A page to keep under a name."""

    name: str
    address: str  # what follows `#/` in a browser
    is_home: bool = False  # what opens first; needs the scope write


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewChanges:
    """What becomes of a view; what is None stays as it is."""

    name: str | None = None
    address: str | None = None
    is_home: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTarget:
    """Somebody to tell of findings."""

    address: str  # secrets by reference: ${BENCHWRIGHT_NOTIFY_NAME}
    verdicts: tuple[str, ...] = ("worse",)
    cases: str = "*"  # a name with wildcards
    smallest: float = 0.0  # a share: 0.05 is five per cent


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetChanges:
    """What becomes of a target; what is None stays as it is."""

    address: str | None = None
    verdicts: tuple[str, ...] | None = None
    cases: str | None = None
    smallest: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTest:
    """How a test message fared."""

    sent: bool
    why: str  # what the target said, or why it was not sent


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldFindings:
    """Findings, or causes, that the server's targets are to be told of; without one, what could not be told before."""

    findings: tuple[str, ...] = ()
    again: bool = False  # also targets that were told of it before


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeliveries:
    """How each message fared."""

    told: Sequence[MessageDelivery]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token to make."""

    name: str
    scope: str = "read"
    expires: str = ""  # how long it is valid, such as "90d"; "" for ever


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken:
    """A token that was made. It is shown this once."""

    name: str
    scope: str
    expires_at: str
    token: str
