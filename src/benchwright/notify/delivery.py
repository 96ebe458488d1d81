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
from benchwright.errors import BenchwrightError
from benchwright.notify import addresses, statuses
from benchwright.notify.journal import HOUR, DeliveryJournal, Ledger, TargetRecord
from benchwright.notify.messages import Message
from benchwright.notify.notices import notice
from benchwright.notify.senders import Withdrawing, deliver, sender_at, withdraws
from benchwright.records.findings import Finding
from benchwright.system.http import PassingError

if TYPE_CHECKING:
    from benchwright.store import Store

DAYS = 7  # for which something that cannot be told is tried again


class DeliveryOutcome(StrEnum):
    """What became of a message."""

    SENT = "sent"
    WITHDRAWN = "withdrawn"  # a status was taken back: what it spoke of is resolved or ignored
    FAILED = "failed"  # it is tried again later
    LATER = "later"  # the target has had enough for now, or rests after a failure
    DROPPED = "dropped"  # nobody needs it any more, or it failed for too long


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelivery:
    """What one target was told, or why not."""

    target: str  # its address, without secrets
    findings: tuple[str, ...]
    outcome: DeliveryOutcome
    why: str = ""


class Notifier:
    """Tells targets of findings, each of each one once, whatever happens in between."""

    def __init__(self, settings: Notify, *, journal: Path, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._journal = DeliveryJournal(journal, clock=clock)

    def tell(
        self,
        findings: Iterable[Finding] = (),
        store: Store | None = None,
        *,
        asked: bool = False,
        again: bool = False,
    ) -> list[MessageDelivery]:
        """Tells of the findings that are worth it, and of what earlier attempts left; never raises for a target.

        `store` gives the pictures, and says which findings are over by now: these are not told any more, and a status
        that speaks of nothing else is taken back. `asked` by a person, any finding is worth
        it and no target rests after a failure; `again` repeats what was told before.
        """
        targets = tuple(dict.fromkeys(self._settings.targets))
        try:
            if not targets:
                return []
            with self._journal.held() as ledger:
                for finding in findings:
                    if asked or (finding.verdict in self._settings.verdicts and finding.state not in statuses.UNTOLD):
                        self._note(ledger, finding, targets, again)
                serving = (_Serving(self._settings, self._journal, ledger, text, store) for text in targets)
                return [told for one in serving for told in one.serve(rested=asked)]
        except OSError as error:  # what could not be noted is not sent: it would be sent each time
            why = f"{self._journal.path}: {error.strerror or error}"
            return [
                MessageDelivery(target=addresses.shown(t), findings=(), outcome=DeliveryOutcome.FAILED, why=why)
                for t in targets
            ]

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

    def __init__(
        self, settings: Notify, journal: DeliveryJournal, ledger: Ledger, text: str, store: Store | None
    ) -> None:
        self._settings, self._journal, self._ledger, self._store = settings, journal, ledger, store
        self._text, self._key = text, addresses.key_of(text)
        self._record = ledger.of(self._key)

    def serve(self, *, rested: bool) -> Iterator[MessageDelivery]:
        """Sends what waits, as far as it may be sent now, and takes back what no longer stands."""
        yield from self._drop()
        can_withdraw = self._can_withdraw()
        if can_withdraw:
            for finding in statuses.returned(self._record, self._store):
                self._journal.due(self._ledger, finding, [self._key])
        if waiting := tuple(self._record.waiting):
            left = self._left()
            if why := self._not_now(left, rested=rested):
                yield self._told(waiting, DeliveryOutcome.LATER, why)
                return
            one_by_one = len(waiting) <= min(left, self._settings.together)
            for batch in [(each,) for each in waiting] if one_by_one else [waiting]:
                told = self._send(batch)
                yield told
                if told.outcome is DeliveryOutcome.FAILED:
                    return
        taken = statuses.to_take_back(self._ledger, self._record, self._is_over) if can_withdraw else ()
        yield from self._withdraw(taken or self._recovered(), rested=rested)

    def _can_withdraw(self) -> bool:
        try:
            return bool(self._record.told) and self._store is not None and withdraws(self._text)
        except BenchwrightError:  # told when there is something to send
            return False

    def _recovered(self) -> tuple[str, ...]:
        """Findings of which the target is told once that they are over; one that takes back statuses does just that."""
        try:
            return () if withdraws(self._text) else statuses.recovered(self._record, self._store)
        except BenchwrightError:  # told when there is something to send
            return ()

    def _withdraw(self, taken: tuple[str, ...], *, rested: bool) -> Iterator[MessageDelivery]:
        """Takes back statuses of commits at which none of the findings stands any more, or tells that they are over."""
        if fresh := [each for each in taken if each not in self._record.withdrawing]:
            self._journal.over(self._ledger, self._key, fresh)
        if not taken:
            return
        if why := self._not_now(self._left(), rested=rested):
            yield self._told(taken, DeliveryOutcome.LATER, why)
        else:
            yield self._send(taken, withdraw=True)

    def _left(self) -> int:
        """Messages that the target may get in this hour."""
        now = self._journal.clock()
        return self._settings.per_hour - sum(0 <= now - at < HOUR for at in self._record.tried)

    def _not_now(self, left: int, *, rested: bool) -> str:
        return _not_now(self._record, left, self._journal.clock(), rested=rested)

    def _drop(self) -> Iterator[MessageDelivery]:
        now, waiting = self._journal.clock(), dict(self._record.waiting)
        to_do = [*waiting.items(), *self._record.withdrawing.items()]
        old = tuple(dict.fromkeys(each for each, since in to_do if now - since > DAYS * 24 * HOUR))
        over = tuple(each for each in waiting if each not in old and self._is_over(each))
        for gone, why in ((old, f"could not be told in {DAYS} days"), (over, "resolved or ignored meanwhile")):
            if gone:
                self._journal.dropped(self._ledger, self._key, gone, why)
                yield self._told(gone, DeliveryOutcome.DROPPED, why)

    def _is_over(self, finding: str) -> bool:
        return statuses.over(self._store, finding)

    def _send(self, ids: tuple[str, ...], *, withdraw: bool = False) -> MessageDelivery:
        self._journal.trying(self._ledger, self._key, ids)
        pause = 0.0
        try:
            why = self._message_out(ids, withdraw=withdraw)
        except PassingError as error:
            why, pause = str(error), error.pause
        except BenchwrightError as error:
            why = error.message
        else:
            note = self._journal.withdrawn if withdraw else self._journal.told
            note(self._ledger, self._key, ids)
            return self._told(ids, DeliveryOutcome.WITHDRAWN if withdraw else DeliveryOutcome.SENT, why)
        self._journal.failed(self._ledger, self._key, ids, why, pause)
        return self._told(ids, DeliveryOutcome.FAILED, why)

    def _message_out(self, ids: tuple[str, ...], *, withdraw: bool) -> str:
        sender = sender_at(self._text)
        known = (self._ledger.findings[each] for each in ids)
        notices = tuple(notice(f, self._store, link=self._settings.link, picture=sender.pictures) for f in known)
        # The time that they wait since tells a repetition that a person asked for from a second attempt.
        since = self._record.withdrawing if withdraw else self._record.waiting
        parts = [self._key, *(f"{each} {since[each]}" for each in sorted(ids))]
        identity = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        send = sender.withdraw if withdraw and isinstance(sender, Withdrawing) else sender.send
        message = Message(id=identity, notices=notices, resolved=withdraw and send == sender.send)
        return deliver(send, message, addresses.shown(self._text))

    def _told(self, findings: tuple[str, ...], outcome: DeliveryOutcome, why: str) -> MessageDelivery:
        return MessageDelivery(target=addresses.shown(self._text), findings=findings, outcome=outcome, why=why)


def _not_now(record: TargetRecord, left: int, now: float, *, rested: bool) -> str:
    """Why nothing may be sent at present, or ""."""
    if left < 1:
        return "as many messages as an hour may have"
    if not rested and now < record.resting_until <= now + record.longest_rest:
        return f"it failed {record.failures} times; tried again in {record.resting_until - now:.0f} s"
    return ""
