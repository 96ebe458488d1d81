"""People who sign in: an attempt at it, who somebody is, and what their groups may do."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchwright.server.settings import SignInSettings
from benchwright.store.archive import SCOPES

MOST_GROUPS = 200
_LONGEST_NAME = 100
_LONGEST_GROUP = 200


class SignInError(Exception):
    """A sign-in that did not work: what is wrong and what to do, for the person's eyes, and the status of the page."""

    def __init__(self, what: str, remedy: str, *, status: int = 400) -> None:
        super().__init__(what)
        self.remedy = remedy
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """What a browser keeps while somebody is at the provider: it ties the answer to this browser and this attempt."""

    state: str
    nonce: str
    verifier: str  # of PKCE: without it nobody can redeem the code

    @classmethod
    def begin(cls) -> SignInAttempt:
        """Returns a new attempt that nobody can guess."""
        return cls(state=secrets.token_urlsafe(32), nonce=secrets.token_urlsafe(32), verifier=secrets.token_urlsafe(48))

    @property
    def challenge(self) -> str:
        """What the provider is told of the verifier beforehand."""
        return urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")

    def is_answered_by(self, state: str) -> bool:
        """Whether an answer that bears this state belongs to the attempt."""
        return hmac.compare_digest(self.state.encode(), state.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody whom the provider knows."""

    subject: str  # the provider's address and its own name of the person, which stays when they are renamed
    who: str  # for stories and the audit log
    groups: tuple[str, ...]


def person_of(claims: Mapping[str, Any], settings: SignInSettings) -> Person:
    """Returns the person that checked claims are about."""
    return Person(
        subject=f"{settings.issuer} {claims['sub']}",
        who=_name_person(claims),
        groups=_groups(claims, settings),
    )


def role_of(groups: Iterable[str], settings: SignInSettings) -> str:
    """Returns the largest role that the groups give; "" for somebody who may not come in."""
    roles = [settings.groups[group] for group in groups if group in settings.groups]
    return max(roles, key=SCOPES.index) if roles else settings.default_role


def _name_person(claims: Mapping[str, Any]) -> str:
    """Returns a name that cannot be mistaken for another person's: many providers let people choose their own names.

    So the e-mail address stands beside it, if the provider has not said that it is unchecked; else the name by which
    the provider itself knows the person.
    """
    email = _clean(claims.get("email")) if claims.get("email_verified") is not False else ""
    sure = email or _clean(claims["sub"])
    said = next((name for key in ("name", "preferred_username") if (name := _clean(claims.get(key)))), "")
    return f"{said} <{sure}>" if said and said != sure else sure


def _clean(value: object) -> str:
    """Returns a claim as it may stand in a line: printable, without brackets of ours, and not too long."""
    if not isinstance(value, str):
        return ""
    shown = "".join(
        " " if sign in "<>" or unicodedata.category(sign)[0] in "CZ" else sign for sign in value[: 4 * _LONGEST_NAME]
    )
    return " ".join(shown.split())[:_LONGEST_NAME]


def _groups(claims: Mapping[str, Any], settings: SignInSettings) -> tuple[str, ...]:
    """Returns the person's groups, those first that give a role."""
    told = _claim(claims, settings.groups_claim)
    named = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    fitting = {group for group in named if isinstance(group, str) and 0 < len(group) <= _LONGEST_GROUP}
    return tuple(sorted(fitting, key=lambda group: (group not in settings.groups, group))[:MOST_GROUPS])


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """Returns the claim of that name, else what lies at the path within claims: `realm_access.roles`."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
