"""Which statuses at a target are out of date: those to take back, and those to set again."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from benchwright.errors import StoreError
from benchwright.notify.journal import Ledger, TargetRecord
from benchwright.notify.messages import Notice
from benchwright.records import Verdict
from benchwright.records.findings import Finding, State

if TYPE_CHECKING:
    from benchwright.store import Store

OVER = (State.RESOLVED, State.IGNORED)
RECOVERED = "recovered"  # in a finding's story: the values are as before
UNTOLD = (*OVER, State.SUSPECTED)  # nobody is told of these, unless a person asks for it
LOOKED_AT = 1000  # findings that a target was told of, the newest, of which is asked how they stand now
_STANDING = (State.OPEN, State.ACKNOWLEDGED)


def is_over(store: Store | None, finding: str) -> bool:
    """Whether the store says that a finding is resolved or ignored, so that nobody needs a message of it."""
    try:
        return store is not None and store.finding(finding).state in OVER
    except StoreError:  # the journal has it, so it was found
        return False


def find_withdrawable(ledger: Ledger, record: TargetRecord, store: Store | None) -> tuple[str, ...]:
    """The findings of commits whose status says that something is worse, though none of those told there stands."""
    commits: dict[str, list[str]] = {}
    for each in sorted((record.told - record.withdrawn) | {*record.waiting}):
        finding = ledger.findings.get(each)
        if finding is not None and finding.verdict is Verdict.WORSE and not finding.drift:  # a drift sets no status
            commits.setdefault(record.commits.get(each) or Notice(finding=finding).commit, []).append(each)
    commits.pop("", None)
    over = {finding.id for finding in _read(store, {each for ids in commits.values() for each in ids}, OVER)}
    settled = (ids for ids in commits.values() if over.issuperset(ids))
    return tuple(each for ids in settled for each in ids if each in record.told)


def find_recovered(record: TargetRecord, store: Store | None) -> tuple[str, ...]:
    """The findings that a target was told of and whose values are as before again, as the store says.

    Of a cause it is told once, when none of its findings stands any more.
    """
    told = _read_told(record, store)
    standing = {finding.cause for finding in told if finding.cause and finding.state not in OVER}
    return tuple(
        finding.id
        for finding in told
        if finding.state is State.RESOLVED and _is_recovered(finding) and finding.cause not in standing
    )


def _read_told(record: TargetRecord, store: Store | None) -> list[Finding]:
    """The newest findings that a target was told of and that are not taken back, in order of their ids.

    Those that people ignored are nothing to tell of.
    """
    states = [state for state in State if state is not State.IGNORED]
    return sorted(_read(store, record.told - record.withdrawn, states), key=lambda finding: finding.id)


def _read(store: Store | None, ids: Set[str], states: Sequence[State]) -> list[Finding]:
    """The newest of these findings that are in one of the states, by one question: it is asked every minute."""
    if store is None or not ids:
        return []
    try:
        return store.findings(ids=sorted(ids), states=states, limit=LOOKED_AT)
    except StoreError:
        return []


def _is_recovered(finding: Finding) -> bool:
    return any(remark.what == RECOVERED for remark in finding.remarks)


def find_returned(record: TargetRecord, store: Store | None) -> list[Finding]:
    """Findings that were taken back and stand again, as they are now."""
    if store is None or not record.withdrawn:
        return []
    try:
        standing = store.findings(states=_STANDING)
    except StoreError:
        return []
    return [finding for finding in standing if finding.id in record.withdrawn and finding.id not in record.waiting]
