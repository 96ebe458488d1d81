"""Machines for a while: leased, kept, stopped, given back. Each step is in the ledger before a cloud is asked."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType

from benchwright.cloud.calls import OrderAttempt, Sleep, ask_patiently, create_once, find_again
from benchwright.cloud.ledger import CloudLedger, LedgerEvent, LedgerMachine
from benchwright.cloud.orders import Instance, InstanceState, Order
from benchwright.cloud.provider import CloudProvider
from benchwright.errors import BenchwrightError, CloudError, OptionError
from benchwright.records.prices import Price

Tell = Callable[[str], None]

BOOT = 600.0  # seconds until a machine that was ordered must be up
_PAUSE = 2.0  # seconds between two looks at a machine that is on its way
_ENDING = 120.0  # seconds in which an ended machine must be seen to end
_REFUSED = ("capacity", "throttled", "quota", "login", "shape")  # kinds after which no machine was made
SETTLE = 300.0  # seconds after which a machine that was ordered and is not seen was never made
_LEAST = 300.0  # seconds that must be left of a machine that is started again


@dataclass(slots=True)
class Lease:
    """A machine that this process looks after. Leaving its block gives it back, unless `keep` was called."""

    order: Order
    instance: Instance
    price: Price | None
    provider: CloudProvider
    ledger: CloudLedger
    _held: contextlib.ExitStack = field(repr=False)
    _sleep: Sleep = field(default=time.sleep, repr=False)
    is_over: bool = False  # given back, or kept for later

    def keep(self) -> None:
        """Lets the machine outlive this process, until it expires or somebody ends it."""
        self.ledger.note(LedgerEvent.KEPT, self.order.token)
        self.is_over = True
        self._held.close()

    def give_back(self, reason: str = "") -> None:
        """Ends the machine, unless that was done; what it cost is in the ledger then."""
        if self.is_over:
            return
        _end(self.provider, self.ledger, self.instance, reason, self._sleep)
        self.is_over = True
        self._held.close()

    def refresh(self) -> Instance:
        """The machine as the cloud sees it now; a `CloudError` of the kind `taken` where the cloud took it back."""
        now = ask_patiently(lambda: self.provider.get(self.instance.id, self.instance.region), sleep=self._sleep)
        if now is None or now.is_gone:
            why = (now and (self.provider.will_be_taken(now) or now.reason)) or "the cloud ended it"
            raise CloudError(f"{self.instance.id} is gone: {why}", kind="taken", remedy="measure on another machine")
        self.instance = now
        return now

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.give_back(f"{type(error).__name__}" if error is not None else "")
        except BenchwrightError as further:
            if error is None:
                raise
            _add(error, f"{self.instance.id} could not be ended ({further.message}): run `benchwright cloud sweep`")


def lease(
    order: Order,
    *,
    provider: CloudProvider,
    price: Price | None = None,
    ledger: CloudLedger | None = None,
    payer: str = "",
    tell: Tell | None = None,
    sleep: Sleep = time.sleep,
) -> Lease:
    """Orders one machine and waits until it is up and has an address.

    Whatever goes wrong on the way, Ctrl-C among it, what may have been started is ended before the error goes on; where
    even that fails, the ledger still has it, for `sweep`. Check the order first: `provider.check(order)`.
    """
    book, say = ledger or CloudLedger(), tell or (lambda text: None)
    with contextlib.ExitStack() as stack:
        stack.enter_context(book.hold(order.token))
        book.ordered(order, price, payer=payer)
        attempt = OrderAttempt()
        try:
            say(f"ordering {order.provider}/{order.shape} in {order.zone or order.region}")
            created = create_once(provider, order, sleep=sleep, attempt=attempt)
            book.created(created)
            say(f"{created.id} is booting")
            up = _wait_for(provider, created.id, created.region, InstanceState.RUNNING, sleep)
            # Some clouds tell these of a machine only when it is created.
            instance = replace(up, login=up.login or created.login, image=up.image or created.image)
            book.running(instance)
        except BaseException as error:
            is_refused = isinstance(error, CloudError) and error.kind in _REFUSED and not attempt.may_exist
            _abandon(provider, book, order, error, sleep, is_refused=is_refused)
            raise
        return Lease(
            order=order,
            instance=instance,
            price=price,
            provider=provider,
            ledger=book,
            _held=stack.pop_all(),
            _sleep=sleep,
        )
    raise AssertionError("unreachable")


def resume(machine: LedgerMachine, *, provider: CloudProvider, ledger: CloudLedger | None = None) -> Lease:
    """A lease on a machine that an earlier process kept; a `CloudError` of the kind `taken` where it is gone.

    Leaving its block ends it, as with any lease: call `keep` where it is to stay.
    """
    book = ledger or CloudLedger()
    held = contextlib.ExitStack()
    held.enter_context(book.hold(machine.token))
    try:
        instance = ask_patiently(lambda: provider.get(machine.id, machine.order.region))
        if instance is None or instance.is_gone:
            book.note(LedgerEvent.ENDED, machine.token, reason="it was gone", at=_end_of(machine, instance))
            raise CloudError(f"{machine.name} is gone", kind="taken", remedy="order another: benchwright cloud up")
    except BaseException:
        held.close()
        raise
    instance = replace(instance, login=instance.login or machine.login, image=instance.image or machine.image)
    return Lease(
        order=machine.order, instance=instance, price=machine.price, provider=provider, ledger=book, _held=held
    )


def end(
    machine: LedgerMachine,
    *,
    provider: CloudProvider,
    ledger: CloudLedger,
    reason: str = "",
    now: datetime | None = None,
) -> bool:
    """Ends the machine of the ledger, wherever it is; returns whether there was one.

    An order that is too new to be settled stays as it is, and is an error.
    """
    if machine.id:  # before the first question: whatever ends this process now, `sweep` carries it out
        _announce_end(ledger, machine.token, reason)
    instances = look_for(machine, provider)
    if not instances and is_unsettled(machine, now or datetime.now(UTC)):
        raise CloudError(
            f"it was ordered at {machine.ordered_at}, and no machine is seen yet",
            remedy="one may still appear: run `benchwright cloud sweep` in five minutes",
        )
    for instance in instances:
        if not machine.id:
            ledger.created(instance)
        _end(provider, ledger, instance, reason, time.sleep)
    if not instances:
        write_off(machine, provider=provider, ledger=ledger, reason=reason)
    return bool(instances)


def is_unsettled(machine: LedgerMachine, now: datetime) -> bool:
    """Whether an order, to which no answer was written down, is so new that its machine may still appear."""
    age = (now - datetime.fromisoformat(machine.ordered_at)).total_seconds()
    return not machine.id and abs(age) < SETTLE  # an order of the future is one of a clock that was set back


def write_off(machine: LedgerMachine, *, provider: CloudProvider, ledger: CloudLedger, reason: str = "") -> None:
    """Writes down that no machine is left of an order: it costs nothing from when it ended, as far as that is known."""
    gone = ask_patiently(lambda: provider.get(machine.id, machine.order.region)) if machine.id else None
    event = LedgerEvent.ENDED if machine.id else LedgerEvent.FAILED
    why = reason or (gone and gone.reason) or ("it was gone" if machine.id else "no machine came of it")
    ledger.note(event, machine.token, reason=why, at=_end_of(machine, gone))


def look_for(machine: LedgerMachine, provider: CloudProvider) -> list[Instance]:
    """What a cloud has of an order, found by its label: also a second machine that nobody wrote down."""
    found = ask_patiently(lambda: provider.instances(machine.order.region, machine.token))
    if machine.id and machine.id not in {instance.id for instance in found}:  # lists lag behind what is true
        known = ask_patiently(lambda: provider.get(machine.id, machine.order.region))
        found = [*found, known] if known is not None and known.token == machine.token else found
    return [instance for instance in found if not instance.is_gone]


def stop(machine: LedgerMachine, *, provider: CloudProvider, ledger: CloudLedger) -> Instance:
    """Stops a machine, and waits until it is stopped."""
    ledger.note(LedgerEvent.STOPPING, machine.token)
    try:
        ask_patiently(lambda: provider.stop(machine.id, machine.order.region))
    except BenchwrightError:
        ledger.note(LedgerEvent.RUNNING, machine.token, reason="it could not be stopped")
        raise
    stopped = _wait_for(provider, machine.id, machine.order.region, InstanceState.STOPPED, time.sleep)
    ledger.note(LedgerEvent.STOPPED, machine.token)
    return stopped


def start(machine: LedgerMachine, *, provider: CloudProvider, ledger: CloudLedger) -> Instance:
    """Starts a machine that was stopped. Its expiry stays: one that has come near it is refused."""
    now = datetime.now(UTC)
    if machine.order.expires and (datetime.fromisoformat(machine.order.expires) - now).total_seconds() < _LEAST:
        raise OptionError(
            f"{machine.name} expires at {machine.order.expires}: it would end itself at once",
            remedy=f"end it with `benchwright cloud down {machine.name}`, and order another",
        )
    ledger.note(LedgerEvent.STARTING, machine.token)
    ask_patiently(lambda: provider.start(machine.id, machine.order.region))
    ledger.note(LedgerEvent.STARTED, machine.token)
    instance = _wait_for(provider, machine.id, machine.order.region, InstanceState.RUNNING, time.sleep)
    ledger.running(instance)
    return instance


def _end(provider: CloudProvider, ledger: CloudLedger, instance: Instance, reason: str, sleep: Sleep) -> None:
    _announce_end(ledger, instance.token, reason)
    ask_patiently(lambda: provider.end(instance.id, instance.region), sleep=sleep)
    waited = 0.0
    while waited < _ENDING:
        now = ask_patiently(lambda: provider.get(instance.id, instance.region), sleep=sleep)
        if now is None or now.is_gone:
            _confirm_end(ledger, instance, reason)
            return
        sleep(_PAUSE)
        waited += _PAUSE
    raise CloudError(
        f"{instance.id} was told to end {_ENDING:g} s ago and is still there", remedy="benchwright cloud sweep"
    )


def _announce_end(ledger: CloudLedger, token: str, reason: str) -> None:
    """Writes down that a machine is to end, where that can be written: a full disk must not keep it up."""
    with contextlib.suppress(OptionError):
        ledger.note(LedgerEvent.ENDING, token, reason=reason)


def _confirm_end(ledger: CloudLedger, instance: Instance, reason: str) -> None:
    try:
        ledger.note(LedgerEvent.ENDED, instance.token, reason=reason)
    except OptionError as error:
        raise OptionError(
            f"{instance.id} has ended, but the ledger does not say so: {error.message}",
            remedy="make room, and run `benchwright cloud sweep`: it writes that down",
        ) from None


def _abandon(
    provider: CloudProvider,
    ledger: CloudLedger,
    order: Order,
    error: BaseException,
    sleep: Sleep,
    *,
    is_refused: bool,
) -> None:
    """Ends what may have come of an order that went wrong. What cannot be ended now is left to `sweep`, and said."""
    reason = error.message if isinstance(error, BenchwrightError) else type(error).__name__
    try:
        found = None if is_refused else find_again(provider, order, sleep=sleep)
        if found is None:
            ledger.note(LedgerEvent.FAILED, order.token, reason=reason)
        else:
            _end(provider, ledger, found, reason, sleep)
    except BenchwrightError as further:
        note = f"a machine may have been started all the same ({further.message}): run `benchwright cloud sweep`"
        _add(error, note)


def _add(error: BaseException, note: str) -> None:
    """Says something more with an error that goes on."""
    if isinstance(error, BenchwrightError):
        error.remedy = f"{error.remedy}; {note}" if error.remedy else note
    else:
        error.add_note(note)


def _wait_for(provider: CloudProvider, instance_id: str, region: str, state: InstanceState, sleep: Sleep) -> Instance:
    """Waits until a machine is in that state; one that is to run has an address then."""
    waited = 0.0
    while True:
        now = ask_patiently(lambda: provider.get(instance_id, region), sleep=sleep)
        if now is not None and now.is_gone:
            why = provider.will_be_taken(now) or now.reason or "no reason was given"
            raise CloudError(f"{instance_id} ended before it was up: {why}", kind="taken", remedy="order another")
        if now is not None and now.state is state and (now.address or state is not InstanceState.RUNNING):
            return now
        if waited >= BOOT:
            state_now = now.state.value if now else "unknown to the cloud"
            raise CloudError(
                f"{instance_id} is {state_now} after {BOOT:g} s, not {state.value}",
                remedy="a machine without a public address needs ?subnet= of a network that gives one",
            )
        sleep(_PAUSE)
        waited += _PAUSE


def _end_of(machine: LedgerMachine, instance: Instance | None) -> str:
    """When a machine ended that was not seen to end: as its cloud says, else when it expired, if that is past."""
    if instance is not None and instance.ended_at:
        return instance.ended_at
    return machine.order.expires if machine.is_expired(datetime.now(UTC)) else ""
