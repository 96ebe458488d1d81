"""Who is told what, when: each target of each finding once, not too often, and later what could not be told now."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright.config import Notify
from benchwright.errors import BenchwrightError, StoreError
from benchwright.fetch.transport import PassingError
from benchwright.findings import Finding, State
from benchwright.notify import addresses
from benchwright.notify.journal import HOUR, Journal, Ledger, Record
from benchwright.notify.messages import Message
from benchwright.notify.notices import notice
from benchwright.notify.senders import deliver, sender_at

if TYPE_CHECKING:
    from benchwright.store import Store

DAYS = 7  # for which something that cannot be told is tried again
_OVER = (State.RESOLVED, State.IGNORED)


class Outcome(StrEnum):
    """What became of a message."""

    SENT = "sent"
    FAILED = "failed"  # it is tried again later
    LATER = "later"  # the target has had enough for now, or rests after a failure
    DROPPED = "dropped"  # nobody needs it any more, or it failed for too long


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one target was told, or why not."""

    target: str  # its address, without secrets
    findings: tuple[str, ...]
    outcome: Outcome
    why: str = ""


class Notifier:
    """Tells targets of findings, each of each one once, whatever happens in between."""

    def __init__(self, settings: Notify, *, journal: Path, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._journal = Journal(journal, clock=clock)

    def tell(
        self,
        findings: Iterable[Finding] = (),
        store: Store | None = None,
        *,
        asked: bool = False,
        again: bool = False,
    ) -> list[Told]:
        """Tells of the findings that are worth it, and of what earlier attempts left; never raises for a target.

        `store` gives the pictures, and says which findings are over by now. `asked` by a person, any finding is worth
        it and no target rests after a failure; `again` repeats what was told before.
        """
        targets = tuple(dict.fromkeys(self._settings.targets))
        try:
            if not targets:
                return []
            with self._journal.held() as ledger:
                for finding in findings:
                    if asked or (finding.verdict in self._settings.verdicts and finding.state not in _OVER):
                        self._note(ledger, finding, targets, again)
                serving = (_Serving(self._settings, self._journal, ledger, text, store) for text in targets)
                return [told for one in serving for told in one.serve(rested=asked)]
        except OSError as error:  # what could not be noted is not sent: it would be sent each time
            why = f"{self._journal.path}: {error.strerror or error}"
            return [Told(target=addresses.shown(t), findings=(), outcome=Outcome.FAILED, why=why) for t in targets]

    def _note(self, ledger: Ledger, finding: Finding, targets: Iterable[str], again: bool) -> None:
        """Writes down who is to hear of it."""
        records = {key: ledger.of(key) for key in map(addresses.key_of, targets)}
        fresh = [
            key
            for key, record in records.items()
            if finding.id not in record.waiting and (again or finding.id not in record.settled)
        ]
        if fresh:
            self._journal.due(ledger, finding, fresh)


class _Serving:
    """One target's turn."""

    def __init__(self, settings: Notify, journal: Journal, ledger: Ledger, text: str, store: Store | None) -> None:
        self._settings, self._journal, self._ledger, self._store = settings, journal, ledger, store
        self._text, self._key = text, addresses.key_of(text)
        self._record = ledger.of(self._key)

    def serve(self, *, rested: bool) -> Iterator[Told]:
        """Sends what waits, as far as it may be sent now."""
        yield from self._drop()
        waiting = tuple(self._record.waiting)
        if not waiting:
            return
        now = self._journal.clock()
        left = self._settings.per_hour - sum(0 <= now - at < HOUR for at in self._record.tried)
        if why := _not_now(self._record, left, now, rested=rested):
            yield self._told(waiting, Outcome.LATER, why)
            return
        one_by_one = len(waiting) <= min(left, self._settings.together)
        for batch in [(each,) for each in waiting] if one_by_one else [waiting]:
            told = self._send(batch)
            yield told
            if told.outcome is Outcome.FAILED:
                return

    def _drop(self) -> Iterator[Told]:
        now, waiting = self._journal.clock(), dict(self._record.waiting)
        old = tuple(each for each, since in waiting.items() if now - since > DAYS * 24 * HOUR)
        over = tuple(each for each in waiting if each not in old and self._is_over(each))
        for gone, why in ((old, f"could not be told in {DAYS} days"), (over, "resolved or ignored meanwhile")):
            if gone:
                self._journal.dropped(self._ledger, self._key, gone, why)
                yield self._told(gone, Outcome.DROPPED, why)

    def _is_over(self, finding: str) -> bool:
        try:
            return self._store is not None and self._store.finding(finding).state in _OVER
        except StoreError:  # the journal has it, so it was found
            return False

    def _send(self, ids: tuple[str, ...]) -> Told:
        self._journal.trying(self._ledger, self._key, ids)
        pause = 0.0
        try:
            why = self._message_out(ids)
        except PassingError as error:
            why, pause = str(error), error.pause
        except BenchwrightError as error:
            why = error.message
        else:
            self._journal.told(self._ledger, self._key, ids)
            return self._told(ids, Outcome.SENT, why)
        self._journal.failed(self._ledger, self._key, ids, why, pause)
        return self._told(ids, Outcome.FAILED, why)

    def _message_out(self, ids: tuple[str, ...]) -> str:
        sender = sender_at(self._text)
        known = (self._ledger.findings[each] for each in ids)
        notices = tuple(notice(f, self._store, link=self._settings.link, picture=sender.pictures) for f in known)
        # The time that they wait since tells a repetition that a person asked for from a second attempt.
        parts = [self._key, *(f"{each} {self._record.waiting[each]}" for each in sorted(ids))]
        identity = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        return deliver(sender, Message(id=identity, notices=notices), addresses.shown(self._text))

    def _told(self, findings: tuple[str, ...], outcome: Outcome, why: str) -> Told:
        return Told(target=addresses.shown(self._text), findings=findings, outcome=outcome, why=why)


def _not_now(record: Record, left: int, now: float, *, rested: bool) -> str:
    """Why nothing may be sent at present, or ""."""
    if left < 1:
        return "as many messages as an hour may have"
    if not rested and now < record.resting_until <= now + record.longest_rest:
        return f"it failed {record.failures} times; tried again in {record.resting_until - now:.0f} s"
    return ""
