"""The records of the settings pages. The dashboard's types are generated from here too (`make types`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.analysis.rule_preview import PreviewedFinding as PreviewedFinding
from benchwright.analysis.rule_preview import RulePreview as RulePreview


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteLine:
    """A series, or the cases of a name, of which no change is reported."""

    what: str
    who: str
    at: int  # milliseconds since 1970
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdLine:
    """The smallest change that is reported of the cases of a name."""

    case: str
    metric: str  # "" for every metric
    smallest: float  # a share


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesPage:
    """GET rules"""

    mutes: Sequence[MuteLine]
    thresholds: Sequence[ThresholdLine]
    usual: float  # the smallest change that is reported where no threshold fits
    cases: Sequence[str]  # every case, to choose from
    metrics: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLine:
    """Somebody who is told of findings."""

    id: int  # 0 for one of the server's file, which is changed there
    address: str  # without what may be secret
    verdicts: Sequence[str]
    cases: str
    smallest: float
    who: str
    made_at: int
    preview: RulePreview
    identity: str = ""  # the same for two addresses of one place; no secret can be read in it


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsPage:
    """GET notify-targets"""

    targets: Sequence[TargetLine]
    prefix: str  # of the variables that a target may name


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLine:
    """A token of a program; the token itself is kept nowhere."""

    name: str
    scope: str
    made_at: int
    expires_at: int  # 0 for never
    used_at: int  # to the minute; 0 for never


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensPage:
    """GET tokens"""

    tokens: Sequence[TokenLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLine:
    """Somebody who is signed in with a browser."""

    name: str  # of the session, to end it
    who: str
    role: str
    groups: Sequence[str]
    made_at: int
    seen_at: int
    ends_at: int
    is_you: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    """GET people"""

    people: Sequence[PersonLine]
    sign_in: str  # the provider's address; "" where nobody can sign in


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
