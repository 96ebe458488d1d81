"""Who is told what, when: each target of each finding once, not too often, and later what could not be told now."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright.config import Notify
from benchwright.errors import BenchwrightError
from benchwright.notify import addresses, statuses
from benchwright.notify.journal import HOUR, DeliveryJournal, Ledger, TargetRecord
from benchwright.notify.messages import CERTAIN, Message, Notice
from benchwright.notify.notices import notice
from benchwright.notify.senders import Withdrawing, deliver, sender_at, takes_updates, withdraws
from benchwright.notify.targets import all_targets, wants
from benchwright.records import Estimate, Verdict
from benchwright.records.causes import by_size, causes_of, head_of
from benchwright.records.findings import Finding
from benchwright.report.change_picture import SeriesPicture, png, sketch
from benchwright.system.http import PassingError
from benchwright.vcs.forges import Projects

if TYPE_CHECKING:
    from benchwright.store import Store

DAYS = 7  # for which something that cannot be told is tried again, and for which a target knows a cause it was told of
DRAWN = 10  # findings of a message, at most, that come with a picture of their series


class DeliveryOutcome(StrEnum):
    """How the delivery of a message ended."""

    SENT = "sent"
    WITHDRAWN = "withdrawn"  # a status was taken back: what it spoke of is resolved or ignored
    FAILED = "failed"  # it is tried again later
    LATER = "later"  # the target has had enough for now, or rests after a failure
    DROPPED = "dropped"  # nobody needs it any more, or it failed for too long
    JOINED = "joined"  # the target was told of its cause: no message is needed


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelivery:
    """A message to one target: which findings it names, and how its delivery ended."""

    target: str  # its address, without secrets
    findings: tuple[str, ...]
    outcome: DeliveryOutcome
    why: str = ""


class Notifier:
    """Tells targets of findings, each of each one once, whatever happens in between."""

    def __init__(
        self,
        settings: Notify,
        *,
        journal: Path,
        clock: Callable[[], float] = time.time,
        kept: bool = True,
        projects: Projects | None = None,
    ) -> None:
        self._settings = settings
        self._journal = DeliveryJournal(journal, clock=clock)
        self._projects = projects or Projects()  # where commits can be looked at
        self._kept = kept  # whether targets that the store keeps are told, too

    def tell(
        self,
        findings: Iterable[Finding] = (),
        store: Store | None = None,
        *,
        asked: bool = False,
        again: bool = False,
    ) -> list[MessageDelivery]:
        """Tells of the findings that are worth it, and of what earlier attempts left; never raises for a target.

        `store` gives the pictures and the targets that people keep there, and says which findings are over by now:
        these are not told any more, and a status that speaks of nothing else is taken back. `asked` by a person, any
        finding is worth it and no target rests after a failure; `again` repeats what was told before.
        """
        meant = all_targets(self._settings, store if self._kept else None)
        targets = [target.address for target in meant]
        try:
            if not targets:
                return []
            with self._journal.hold() as ledger:
                for finding in findings:
                    if asked or finding.state not in statuses.UNTOLD:
                        wanting = [target.address for target in meant if asked or wants(target, finding)]
                        self._note(ledger, finding, wanting, again)
                serving = (
                    _TargetDelivery(self._settings, self._journal, ledger, text, store, self._projects)
                    for text in targets
                )
                return [told for one in serving for told in one.serve(rested=asked)]
        except OSError as error:  # what could not be noted is not sent: it would be sent each time
            why = f"{self._journal.path}: {error.strerror or error}"
            return [
                MessageDelivery(target=addresses.mask_address(t), findings=(), outcome=DeliveryOutcome.FAILED, why=why)
                for t in targets
            ]

    def _note(self, ledger: Ledger, finding: Finding, targets: Iterable[str], again: bool) -> None:
        """Writes down which targets are to get the finding."""
        records = {key: ledger.of(key) for key in map(addresses.key_of, targets)}
        fresh = [
            key
            for key, record in records.items()
            if finding.id not in record.waiting and (again or finding.id not in record.settled)
        ]
        if fresh:
            self._journal.note_due(ledger, finding, fresh)


class _TargetDelivery:
    """The messages that wait for one target."""

    def __init__(
        self,
        settings: Notify,
        journal: DeliveryJournal,
        ledger: Ledger,
        text: str,
        store: Store | None,
        projects: Projects,
    ) -> None:
        self._settings, self._journal, self._ledger, self._store = settings, journal, ledger, store
        self._projects = projects
        self._text, self._key = text, addresses.key_of(text)
        self._record = ledger.of(self._key)

    def serve(self, *, rested: bool) -> Iterator[MessageDelivery]:
        """Sends what waits, as far as it may be sent now, and takes back what no longer stands."""
        yield from self._drop()
        can_withdraw = self._can_withdraw()
        if can_withdraw:
            for finding in statuses.find_returned(self._record, self._store):
                self._journal.note_due(self._ledger, finding, [self._key])
        if not rested:  # a person who asks gets a message
            yield from self._join()
        if waiting := tuple(self._record.waiting):
            left = self._left()
            if why := self._reason_to_wait(left, rested=rested):
                yield self._make_outcome(waiting, DeliveryOutcome.LATER, why)
                return
            groups = self._group(waiting)
            for batch in groups if len(groups) <= min(left, self._settings.together) else [sum(groups, ())]:
                told = self._send(batch)
                yield told
                if told.outcome is DeliveryOutcome.FAILED:
                    return
        taken = statuses.find_withdrawable(self._ledger, self._record, self._store) if can_withdraw else ()
        yield from self._withdraw(taken or self._find_recovered(), rested=rested)

    def _group(self, waiting: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The findings of each cause, the largest change first; causes in the order in which they wait."""
        groups: dict[str, list[str]] = {}
        for each in waiting:
            groups.setdefault(self._cause_of(each) or f" {each}", []).append(each)
        return [tuple(sorted(group, key=self._by_size)) for group in groups.values()]

    def _by_size(self, finding: str) -> tuple[bool, float, str]:
        return by_size(head_of(self._ledger.findings[finding]))

    def _cause_of(self, finding: str) -> str:
        known = self._ledger.findings.get(finding)
        return known.cause if known else ""

    def _join(self) -> Iterator[MessageDelivery]:
        """Settles what waits and has a cause that the target was told of: nobody wants 300 messages of one commit."""
        known = self._known_causes()
        joined = tuple(each for each in self._record.waiting if self._cause_of(each) in known)
        if joined and not self._wants_updates():
            commits = {each: known[self._cause_of(each)] for each in joined}
            self._journal.note_joined(self._ledger, self._key, joined, commits)
            yield self._make_outcome(joined, DeliveryOutcome.JOINED, "its cause was told before")

    def _known_causes(self) -> dict[str, str]:
        """The causes of which the target had a message lately that holds, each with the commit of which that spoke."""
        now, found = self._journal.clock(), {}
        for each, at in self._record.told_at.items():
            lately = now - at <= DAYS * 24 * HOUR and each not in self._record.withdrawn
            if lately and (cause := self._cause_of(each)):
                found[cause] = self._record.commits.get(each, "")
        return found

    def _wants_updates(self) -> bool:
        try:
            return takes_updates(self._text)
        except BenchwrightError:  # told when there is something to send
            return True

    def _commits_of(self, ids: tuple[str, ...]) -> dict[str, str]:
        """The commit to speak of for each finding: one for those of a cause, the same as in an earlier message."""
        known = self._known_causes()
        found: dict[str, str] = {}
        for group in self._group(ids):
            culprit = causes_of(self._ledger.findings[each] for each in group)[0].culprit
            lead = Notice(finding=self._ledger.findings[group[0]]).commit
            commit = known.get(self._cause_of(group[0])) or (
                culprit.revision if culprit and culprit.probability >= CERTAIN else lead
            )
            found |= dict.fromkeys(group, commit)
        return found

    def _can_withdraw(self) -> bool:
        try:
            return bool(self._record.told) and self._store is not None and withdraws(self._text)
        except BenchwrightError:  # told when there is something to send
            return False

    def _find_recovered(self) -> tuple[str, ...]:
        """Findings of which the target is told once that they are over; one that takes back statuses does just that."""
        try:
            return () if withdraws(self._text) else statuses.find_recovered(self._record, self._store)
        except BenchwrightError:  # told when there is something to send
            return ()

    def _withdraw(self, taken: tuple[str, ...], *, rested: bool) -> Iterator[MessageDelivery]:
        """Takes back statuses of commits at which none of the findings stands any more, or tells that they are over."""
        if fresh := [each for each in taken if each not in self._record.withdrawing]:
            self._journal.note_over(self._ledger, self._key, fresh)
        if not taken:
            return
        if why := self._reason_to_wait(self._left(), rested=rested):
            yield self._make_outcome(taken, DeliveryOutcome.LATER, why)
        else:
            yield self._send(taken, withdraw=True)

    def _left(self) -> int:
        """Returns how many messages the target may still get in this hour."""
        now = self._journal.clock()
        return self._settings.per_hour - sum(0 <= now - at < HOUR for at in self._record.tried)

    def _reason_to_wait(self, left: int, *, rested: bool) -> str:
        return _reason_to_wait(self._record, left, self._journal.clock(), rested=rested)

    def _drop(self) -> Iterator[MessageDelivery]:
        now, waiting = self._journal.clock(), dict(self._record.waiting)
        to_do = [*waiting.items(), *self._record.withdrawing.items()]
        old = tuple(dict.fromkeys(each for each, since in to_do if now - since > DAYS * 24 * HOUR))
        over = tuple(each for each in waiting if each not in old and self._is_over(each))
        for gone, why in ((old, f"could not be sent in {DAYS} days"), (over, "resolved or ignored meanwhile")):
            if gone:
                self._journal.note_drop(self._ledger, self._key, gone, why)
                yield self._make_outcome(gone, DeliveryOutcome.DROPPED, why)

    def _is_over(self, finding: str) -> bool:
        return statuses.is_over(self._store, finding)

    def _send(self, ids: tuple[str, ...], *, withdraw: bool = False) -> MessageDelivery:
        commits = {each: self._record.commits.get(each, "") for each in ids} if withdraw else self._commits_of(ids)
        self._journal.note_attempt(self._ledger, self._key, ids)
        pause = 0.0
        try:
            why = self._send_message(ids, commits, withdraw=withdraw)
        except PassingError as error:
            why, pause = str(error), error.pause
        except BenchwrightError as error:
            why = error.message
        else:
            if withdraw:
                self._journal.note_withdrawal(self._ledger, self._key, ids)
            else:
                self._journal.note_delivery(self._ledger, self._key, ids, commits)
            return self._make_outcome(ids, DeliveryOutcome.WITHDRAWN if withdraw else DeliveryOutcome.SENT, why)
        self._journal.note_failure(self._ledger, self._key, ids, why, pause)
        return self._make_outcome(ids, DeliveryOutcome.FAILED, why)

    def _send_message(self, ids: tuple[str, ...], commits: Mapping[str, str], *, withdraw: bool) -> str:
        sender = sender_at(self._text)
        known = (self._ledger.findings[each] for each in ids)
        notices = tuple(
            notice(
                finding,
                self._store if number < DRAWN else None,
                link=self._settings.link,
                picture=sender.pictures,
                code=self._projects.links(finding.repository),
                at=commits.get(finding.id, ""),
            )
            for number, finding in enumerate(known)
        )
        # The time that they wait since tells a repetition that a person asked for from a second attempt.
        since = self._record.withdrawing if withdraw else self._record.waiting
        parts = [self._key, *(f"{each} {since[each]}" for each in sorted(ids))]
        identity = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        send = sender.withdraw if withdraw and isinstance(sender, Withdrawing) else sender.send
        joined = not withdraw and all(self._cause_of(each) in self._known_causes() for each in ids)
        resolved = withdraw and send == sender.send
        message = Message(id=identity, notices=notices, resolved=resolved, joined=joined)
        return deliver(send, message, addresses.mask_address(self._text))

    def _make_outcome(self, findings: tuple[str, ...], outcome: DeliveryOutcome, why: str) -> MessageDelivery:
        return MessageDelivery(target=addresses.mask_address(self._text), findings=findings, outcome=outcome, why=why)


def _reason_to_wait(record: TargetRecord, left: int, now: float, *, rested: bool) -> str:
    """Why nothing may be sent at present, or ""."""
    if left < 1:
        return "the limit of messages for this hour is reached"
    if not rested and now < record.resting_until <= now + record.longest_rest:
        return f"it failed {record.failures} times; tried again in {record.resting_until - now:.0f} s"
    return ""


# ---- whether a target works ----


_VALUES = (1.0, 1.01, 0.99, 1.0, 1.02, 0.99, 1.01, 1.1, 1.11, 1.09, 1.1, 1.12)  # ms
_CHANGE = 7


def try_target(text: str) -> str:
    """Sends a test message with an invented finding and says what happened; raises when it could not be sent.

    GitHub and GitLab get no comment, which nobody could take back: there the token is tried.
    """
    sender = sender_at(text)
    trace = SeriesPicture(
        values=tuple(v / 1000 for v in _VALUES), change=_CHANGE, title="a test of Benchwright", unit="s"
    )
    picture = png(trace) if sender.pictures else b""
    notice = Notice(finding=_invent_finding(), sketch=sketch(trace), picture=picture)
    message = Message(id=secrets.token_hex(16), notices=(notice,), test=True)
    return deliver(sender.send, message, addresses.mask_address(text))


def _invent_finding() -> Finding:
    return Finding(
        id="test",
        series="test",
        case="a test of Benchwright",
        metric="latency_p50",
        unit="s",
        before=Estimate(point=0.001, low=0.00099, high=0.00101),
        after=Estimate(point=0.0011, low=0.00109, high=0.00111),
        effect=Estimate(point=1.1, low=1.08, high=1.12),
        method="invented",
        verdict=Verdict.WORSE,
    )
