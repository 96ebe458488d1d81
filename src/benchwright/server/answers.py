"""Records of the API that no page shows: what changes are made of, and what they are answered with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.records import Value
from benchwright.records.findings import State


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
    """What a verb of the store answers."""

    answer: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A token that the browser is to keep."""

    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """What somebody makes of a finding; what is None stays as it is."""

    state: State | None = None
    assignee: str | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNote:
    """Something to write beside a series."""

    at: int  # milliseconds since 1970
    text: str
    everywhere: bool = False  # beside every series


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One line of the audit log."""

    id: int
    at: int  # milliseconds since 1970
    who: str
    address: str
    action: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """GET audit: the newest first."""

    lines: Sequence[AuditLine]
    next: str = ""
