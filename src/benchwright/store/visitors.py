"""Who may do what at a server, who is signed in, who is told of findings, and what was done."""

from __future__ import annotations

from dataclasses import dataclass

SCOPES = ("read", "triage", "write", "admin")  # of a token: each with those before it
AGENT = "agent"  # the scope of the lab's agents: it includes no other, and none includes it


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Who may do what at a server. The token itself is kept nowhere."""

    name: str
    scope: str  # one of SCOPES, or AGENT
    made_at: str
    expires_at: str = ""  # "" for never
    used_at: str = ""  # to the minute; "" for never


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSession:
    """Somebody who is signed in with a browser. What the browser holds is kept nowhere."""

    name: str  # for those who end it
    subject: str  # the provider's address and its own name of the person
    who: str  # as stories and the audit log name the person
    groups: tuple[str, ...]
    made_at: int  # microseconds since 1970
    seen_at: int  # to a few minutes
    ends_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyTarget:
    """Whom to tell, of what."""

    address: str  # with references to secrets, never with secrets
    verdicts: tuple[str, ...] = ("worse",)
    cases: str = "*"  # a name with wildcards
    smallest: float = 0.0  # changes below this share are not told
    id: int = 0  # its number at the server; 0 for one that a file names
    who: str = ""
    made_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A line of the audit log."""

    id: int
    at: int  # microseconds since 1970
    who: str  # a token's or a person's name, or "" without one
    address: str
    action: str
    what: str
