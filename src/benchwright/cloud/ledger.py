"""The ledger of all machines that were ordered from here: a journal on disk, written before a cloud is asked.

One JSON value a line, never changed, on the disk before the call that it announces. So whatever ends a process, what
it may have started is known: `sweep` finds it by its token. User data and keys are not in it: they may be secrets.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from benchwright import config, schema
from benchwright.cloud.orders import Instance, Order, instant
from benchwright.errors import DecodeError, OptionError, did_you_mean
from benchwright.records.prices import Price
from benchwright.system import json_lines, locks, streams, whole_files

VARIABLE = "BENCHWRIGHT_CLOUD_LEDGER"  # names another file
VERSION = 1
PATIENCE = 30.0  # seconds to wait for another process that writes its line
_SECRET = ("user_data", "public_key")
_PRIVATE = 0o600
_TOKEN = re.compile(r"[0-9a-f]{32}")  # it names a file: who holds the order
_NONSENSE = (KeyError, ValueError, TypeError, AttributeError, DecodeError)  # of a line that is none of ours


class LedgerEvent(StrEnum):
    """What a line of the ledger says; those that end in -ing are written before the cloud is asked."""

    ORDERED = "ordered"
    CREATED = "created"
    RUNNING = "running"
    KEPT = "kept"  # it outlives the process that ordered it, until it expires
    STOPPING = "stopping"
    STOPPED = "stopped"
    STARTING = "starting"
    STARTED = "started"
    ENDING = "ending"
    ENDED = "ended"
    FAILED = "failed"  # no machine came of the order


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCost:
    """What a machine cost so far, or in all: the price record times the time that it was up, and what that rests on."""

    seconds: float
    amount: float | None = None  # None: no price is known
    currency: str = ""
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerMachine:
    """All that the ledger says of one order."""

    order: Order
    price: Price | None = None
    payer: str = ""
    event: LedgerEvent = LedgerEvent.ORDERED  # the last one
    at: str = ""  # of the last event
    ordered_at: str = ""
    id: str = ""  # "": no answer of the cloud was written down
    zone: str = ""
    image: str = ""
    address: str = ""
    login: str = ""
    host: str = ""
    is_kept: bool = False
    reason: str = ""
    up: tuple[tuple[str, str], ...] = ()  # stretches in which it was up, from and to; the last may be open: ""

    @property
    def token(self) -> str:
        """The token of its order."""
        return self.order.token

    @property
    def name(self) -> str:
        """What to type for it: its name, else its id, else the beginning of its token."""
        return self.order.name or self.id or self.token[:12]

    @property
    def is_open(self) -> bool:
        """Whether a machine may still be there."""
        return self.event not in (LedgerEvent.ENDED, LedgerEvent.FAILED)

    def is_expired(self, now: datetime) -> bool:
        """Whether it should have ended by itself."""
        return bool(self.order.expires) and datetime.fromisoformat(self.order.expires) <= now

    def cost(self, now: datetime) -> LedgerCost:
        """What it cost until now, or until it ended."""
        seconds = sum(
            max(0.0, ((datetime.fromisoformat(end) if end else now) - datetime.fromisoformat(begin)).total_seconds())
            for begin, end in self.up
        )
        if self.price is None:
            return LedgerCost(seconds=seconds)
        amount = self.price.per_hour * seconds / 3600
        return LedgerCost(seconds=seconds, amount=amount, currency=self.price.currency, price=self.price)


class CloudLedger:
    """The journal; many processes may write and read it at once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or ledger_path()

    # ---- writing ----

    def ordered(self, order: Order, price: Price | None, *, payer: str = "", now: datetime | None = None) -> None:
        """Writes an order down; on the disk before this returns. Must come before the cloud is asked."""
        document = {name: value for name, value in schema.encode(order).items() if name not in _SECRET}
        told = {"order": document, "price": schema.encode(price) if price else None, "payer": payer}
        self._write(LedgerEvent.ORDERED, order.token, told, now)

    def created(self, instance: Instance, *, now: datetime | None = None) -> None:
        """Writes down which machine came of an order."""
        names = ("id", "zone", "image", "launched_at", "address", "login", "host")
        self._write(LedgerEvent.CREATED, instance.token, {n: v for n in names if (v := getattr(instance, n))}, now)

    def running(self, instance: Instance, *, now: datetime | None = None) -> None:
        """Writes down that a machine is up, and where."""
        self._write(LedgerEvent.RUNNING, instance.token, {"address": instance.address, "host": instance.host}, now)

    def note(
        self, event: LedgerEvent, token: str, *, reason: str = "", at: str = "", now: datetime | None = None
    ) -> None:
        """Writes down any other event; `at` is when it happened, where that was earlier."""
        self._write(event, token, {"reason": reason, "happened_at": at} if reason or at else {}, now)

    # ---- reading ----

    def machines(self) -> list[LedgerMachine]:
        """Every order that was written down, in order of time. A line that cannot be read is passed by."""
        return list(self._replay()[0].values())

    def unread_lines(self) -> list[int]:
        """The numbers of lines that cannot be read, and may have been orders; 1 is the first."""
        return self._replay()[1]

    def open_machines(self) -> list[LedgerMachine]:
        """Those of which a machine may still be there."""
        return [machine for machine in self.machines() if machine.is_open]

    def get(self, token: str) -> LedgerMachine | None:
        """What is written of one order."""
        return next((machine for machine in self.machines() if machine.token == token), None)

    def find(self, text: str) -> LedgerMachine:
        """The machine that somebody names: by name, id, or the beginning of its token; one that is open counts first.

        An `OptionError` says which there are.
        """
        machines = self.machines()[::-1]  # the newest of a name
        for those in ([one for one in machines if one.is_open], machines):
            for machine in those:
                if text in (machine.order.name, machine.id, machine.token):
                    return machine
            begun = [machine for machine in those if len(text) >= 6 and machine.token.startswith(text)]
            if len(begun) == 1:
                return begun[0]
        known = [machine.name for machine in machines if machine.is_open]
        raise OptionError(
            f"no machine {text!r} was ordered from here",
            remedy=(did_you_mean(text, known) if known else "no machine is up") + "; see `benchwright cloud list`",
        )

    # ---- who holds an order ----

    @contextlib.contextmanager
    def hold(self, token: str) -> Iterator[None]:
        """Tells other processes that somebody looks after an order; ends with this process, however that ends."""
        folder = self._held_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locks.hold_lock(folder / token):
            yield

    def is_held(self, token: str) -> bool:
        """Whether a process that lives looks after that order."""
        path = self._held_folder() / token
        if not path.exists():
            return False
        with locks.hold_free_lock(path) as is_free:
            return not is_free

    # ---- files ----

    def _held_folder(self) -> Path:
        return self.path.with_name(f"{self.path.name}.held")

    def _write(self, event: LedgerEvent, token: str, told: dict[str, Any], now: datetime | None) -> None:
        line = {"v": VERSION, "at": instant(now or datetime.now(UTC)), "event": event.value, "token": token, **told}
        try:
            self._append(line)
        except OSError as error:
            raise OptionError(
                f"{self.path}: the ledger of machines cannot be written: {error.strerror or error}",
                remedy=f"nothing is ordered without it; make room, or name another file with {VARIABLE}",
            ) from None

    def _append(self, line: dict[str, Any]) -> None:
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = locks.open_lock(self.path.with_name(f"{self.path.name}.lock"), patience=PATIENCE, mode=_PRIVATE)
        if lock is None:
            raise OSError(f"another process has held its lock for {PATIENCE:g} s")
        try:
            handle = json_lines.open_lines(self.path, _PRIVATE)
            try:
                json_lines.append(handle, line)
            finally:
                os.close(handle)
        finally:
            os.close(lock)
        if is_new:
            whole_files.sync_folder(self.path.parent)

    def _replay(self) -> tuple[dict[str, LedgerMachine], list[int]]:
        """Each order as its lines leave it, by its token; and the numbers of lines that say nothing."""
        found: dict[str, LedgerMachine] = {}
        unread: list[int] = []
        number, value = 0, None
        with contextlib.suppress(FileNotFoundError):
            for number, value in json_lines.read_lines(self.path):
                if not isinstance(value, dict) or not {"event", "token", "at"} <= value.keys():
                    unread.append(number)
                elif value["event"] == LedgerEvent.ORDERED:
                    try:
                        found[str(value["token"])] = _first(value)
                    except _NONSENSE:
                        unread.append(number)
                elif before := found.get(str(value["token"])):
                    with contextlib.suppress(*_NONSENSE):  # as an event that only a newer version knows
                        found[before.token] = _next(before, value)
        if unread and unread[-1] == number and not isinstance(value, streams.TooLargeError):
            unread.pop()  # another process is still writing it; or it was cut off, and so nothing was ordered
        return found, unread


def ledger_path() -> Path:
    """Where the ledger is: the file that BENCHWRIGHT_CLOUD_LEDGER names, else one in the user's folder of states."""
    named = os.environ.get(VARIABLE, "")
    return Path(named).expanduser().absolute() if named else config.state_folder() / "cloud.jsonl"


def _first(told: dict[str, Any]) -> LedgerMachine:
    known = {field.name for field in fields(Order)} - set(_SECRET)
    order = schema.decode(Order, {name: value for name, value in told["order"].items() if name in known})
    price = None
    with contextlib.suppress(DecodeError):  # a machine of which nobody knows what it costs is a machine all the same
        price = schema.decode(Price, told["price"]) if told.get("price") else None
    at = _instant(told["at"])
    if (
        order.token != told["token"]
        or not _TOKEN.fullmatch(order.token)
        or (order.expires and not _instant(order.expires))
    ):
        raise ValueError("this is no line of ours")
    return LedgerMachine(order=order, price=price, payer=str(told.get("payer", "")), at=at, ordered_at=at)


def _next(machine: LedgerMachine, told: dict[str, Any]) -> LedgerMachine:
    event, at = LedgerEvent(told["event"]), _instant(told.get("happened_at") or told["at"])
    after = replace(machine, event=event, at=at, reason=str(told.get("reason") or machine.reason))
    match event:
        case LedgerEvent.CREATED:
            names = ("id", "zone", "image", "address", "login", "host")
            facts = {name: str(told[name]) for name in names if told.get(name)}
            begin = _instant(told.get("launched_at") or at)
            return replace(after, **facts, up=machine.up or ((begin, ""),))  # type: ignore[arg-type]
        case LedgerEvent.RUNNING:
            return replace(
                after, address=str(told.get("address") or machine.address), host=str(told.get("host") or machine.host)
            )
        case LedgerEvent.KEPT:
            return replace(after, is_kept=True)
        case LedgerEvent.STARTED:
            is_down = not machine.up or machine.up[-1][1]
            return replace(after, up=(*machine.up, (at, ""))) if is_down else after
        case LedgerEvent.STOPPED | LedgerEvent.ENDED | LedgerEvent.FAILED:
            return replace(after, up=tuple((begin, end or at) for begin, end in machine.up))
        case _:
            return after


def _instant(value: Any) -> str:
    """An instant as the ledger writes them; a line with another text there is passed by."""
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None or not 2000 <= moment.year < 9000:  # in another zone it must still be a date
        raise ValueError("no instant of ours")
    return str(value)
