"""Whom to tell of what: the targets that `[notify]` names, and those that people keep at a server.

What a server keeps was written by somebody in a browser, who need not be whoever runs the machine. So such an address
holds no secret, only names of variables that were set for this: those that begin with `BENCHWRIGHT_NOTIFY_`. It cannot
name files or other variables, and takes no other token to a server of its own choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from urllib.parse import parse_qs, urlsplit

from benchwright.config import VERDICTS, Notify
from benchwright.errors import OptionError, StoreError, did_you_mean
from benchwright.notify.addresses import check_login, identity_of, mask_address
from benchwright.records.causes import PREFIX as CAUSE
from benchwright.records.findings import Finding, matches
from benchwright.store.archive import NotifyTarget
from benchwright.system import secret_references

if TYPE_CHECKING:
    from benchwright.store import Store

MOST = 100_000  # findings of a cause
PREFIX = "BENCHWRIGHT_NOTIFY_"  # of the variables that a target kept at a server may name
_OPEN = ("webhook", "github", "gitlab")  # whose addresses are not secrets as a whole
_LONGEST = 1000


@runtime_checkable
class KeepsTargets(Protocol):
    """A store that keeps targets: the database of a server."""

    def notify_targets(self) -> list[NotifyTarget]:
        """Every target, the oldest first."""
        ...


@runtime_checkable
class TellsTargets(Protocol):
    """A store at a server, which tells its targets itself: it has the secrets, and knows what it told before."""

    def served_targets(self) -> list[dict[str, Any]]:
        """The targets as the server shows them to an admin, without secrets."""
        ...

    def tell_targets(self, references: Sequence[str], *, again: bool = False) -> list[dict[str, Any]]:
        """Has the server tell its targets of findings; returns how each message fared."""
        ...


def findings_to_tell(store: Store, reference: str) -> list[Finding]:
    """Returns the finding that is named, or those of the cause that people were told of."""
    if not reference.startswith(CAUSE):
        return [store.finding(reference)]
    return [one for one in store.findings(cause=reference, limit=MOST) if one.is_reported]


def all_targets(settings: Notify, store: object = None) -> tuple[NotifyTarget, ...]:
    """Returns the targets of `[notify]`, then those that the store keeps, each place once.

    A store that does not answer has none: the targets of the file are told all the same.
    """
    found = [NotifyTarget(address=address, verdicts=settings.verdicts) for address in settings.targets]
    if isinstance(store, KeepsTargets):
        with suppress(StoreError):
            found += store.notify_targets()
    places: dict[str, NotifyTarget] = {}
    for target in found:
        places.setdefault(identity_of(target.address), target)
    return tuple(places.values())


def wants(target: NotifyTarget, finding: Finding) -> bool:
    """Whether a target is to be told of changes like this one."""
    return (
        finding.verdict in target.verdicts
        and matches(target.cases, finding.case)
        and finding.is_at_least(target.smallest)
    )


def check_kept_target(target: NotifyTarget) -> None:
    """Raises an `OptionError` when a server must not keep such a target."""
    address = target.address.strip()
    if not address or len(address) > _LONGEST or not address.isprintable() or address != target.address:
        raise OptionError("the address of the target cannot be read", remedy="such as github://owner/name")
    _check_references(address)
    if not secret_references.is_reference(address):
        _check_written(address)
    if not target.verdicts or {*target.verdicts} - {*VERDICTS}:
        raise OptionError(
            f"verdicts: {', '.join(target.verdicts) or 'none'}", remedy=f"one or both of {', '.join(VERDICTS)}"
        )
    if not 0 <= target.smallest < math.inf:
        raise OptionError(f"smallest: {target.smallest} is not a share", remedy="0.05 is five per cent")
    if not target.cases.strip() or len(target.cases) > _LONGEST:
        raise OptionError("cases: no name of a case", remedy="* means every case")


def _check_references(address: str) -> None:
    for name in secret_references.names_in(address):
        if not name.startswith(PREFIX):
            raise OptionError(
                f"{mask_address(address)}: a target that is kept here cannot use {name}",
                remedy=f"set a variable whose name begins with {PREFIX} where the server runs, and write that",
            )


def _check_written(address: str) -> None:
    """Refuses an address in which a secret is written out, or which would take a token elsewhere."""
    kind = address.partition("://")[0].lower().partition("+")[0]
    if kind not in _OPEN or "://" not in address:
        raise OptionError(
            f"{mask_address(address)}: such an address is a secret as a whole",
            remedy=f"put it into a variable where the server runs, and write ${{{PREFIX}NAME}}; "
            f"{did_you_mean(kind, _OPEN)}",
        )
    check_login(address, address)
    parts = urlsplit(address)
    if kind != "webhook" and "api" in parse_qs(parts.query) and "@" not in parts.netloc:
        raise OptionError(
            f"{mask_address(address)}: the server's own token would go to another server",
            remedy=f"name a token for that server: {kind}://${{{PREFIX}TOKEN}}@owner/name?api=...",
        )
