"""Machines of clouds, as people ask for them: planned with their price, brought up, listed, ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchwright.cloud import first_boot, keys, leases, load_provider
from benchwright.cloud.calls import ask_patiently
from benchwright.cloud.ledger import CloudLedger, LedgerEvent, LedgerMachine
from benchwright.cloud.orders import Instance, MachineShape, Order, make_order
from benchwright.cloud.provider import CloudProvider
from benchwright.errors import BenchwrightError, OptionError
from benchwright.execution.hosts.cloud_fleet import SHORTEST_LEASE
from benchwright.prices import shelf
from benchwright.prices.book import WantedPrice
from benchwright.prices.machine_text import WantedMachine, parse_machine
from benchwright.records.prices import Price
from benchwright.system.interrupts import Interrupt

SHORTEST, LONGEST = SHORTEST_LEASE, 30 * 86400.0  # seconds that a machine may be ordered for
_KEYS = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")
_LARGEST_KEY = 16 << 10  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRequest:
    """What somebody wants of a new machine, beside its text."""

    until: datetime
    name: str = ""
    owner: str = ""
    run: str = ""
    price: str = ""  # as `--price` takes it; "": what is known of the shape
    public_key: Path | None = None  # None: the usual one in ~/.ssh, if there is one
    packages: Sequence[str] = ()
    server: str = ""
    agent_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePlan:
    """A machine that could be ordered: checked with its cloud, with who pays how much. Nothing was started yet."""

    order: Order
    provider: CloudProvider
    shape: MachineShape
    price: Price | None
    payer: str
    seconds: float  # until it ends itself

    @property
    def most(self) -> float | None:
        """What it costs if it is up for all of its time; None where no price is known."""
        return self.price.per_hour * self.seconds / 3600 if self.price else None


def plan_machine(
    text: str,
    request: MachineRequest,
    *,
    ledger: CloudLedger | None = None,
    load: Callable[[str], CloudProvider] = load_provider,
    what: str = "SPEC",
) -> MachinePlan:
    """Checks the order of a machine with its cloud: shape, place, image, rights; finds its price and who pays."""
    wanted = parse_machine(text, what=what)
    provider = load(wanted.provider)
    now = datetime.now(UTC)
    seconds = (request.until - now).total_seconds()
    if not SHORTEST <= seconds <= LONGEST:
        raise OptionError(
            f"a machine can be ordered for {SHORTEST / 60:g} minutes to {LONGEST / 86400:g} days, not until "
            f"{request.until.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
            remedy="--until 2h",
        )
    if request.name and any(one.order.name == request.name for one in (ledger or CloudLedger()).open_machines()):
        raise OptionError(
            f"a machine called {request.name} is up already", remedy=f"benchwright cloud status {request.name}"
        )
    order = make_order(
        wanted,
        region=wanted.region or provider.default_region(),
        seconds=seconds,
        known=provider.options,
        now=now,
        name=request.name,
        owner=request.owner,
        run=request.run,
        what=what,
    )
    order = _with_first_boot(order, request, now)
    price = shelf.find_price(request.price) if request.price else known_price(wanted, order.region)
    shape = ask_patiently(lambda: provider.check(order))
    payer = ask_patiently(lambda: provider.payer(order.region))
    return MachinePlan(order=order, provider=provider, shape=shape, price=price, payer=payer, seconds=seconds)


def bring_up(plan: MachinePlan, *, ledger: CloudLedger | None = None, tell: leases.Tell | None = None) -> SeenMachine:
    """Orders the machine of a plan and keeps it until it expires; whatever goes wrong, what was started is ended."""
    book, interrupt = ledger or CloudLedger(), Interrupt()
    with interrupt.watch():  # SIGTERM and a closed terminal end what was ordered, too, as Ctrl-C does
        with interrupt.allow():
            lease = leases.lease(
                plan.order, provider=plan.provider, price=plan.price, ledger=book, payer=plan.payer, tell=tell
            )
        with lease:  # where even that cannot be written down, the machine is given back
            lease.keep()
    found = book.get(plan.order.token)
    assert found is not None
    return SeenMachine(known=found, instance=lease.instance)


def known_price(wanted: WantedMachine, region: str) -> Price | None:
    """What a machine costs, from one's own prices and the lists that were imported; None where nobody knows."""
    asked = WantedPrice(provider=wanted.provider, shape=wanted.shape, region=region, market=wanted.market)
    return shelf.open_book(provider=wanted.provider).find(asked)


def down(machine: LedgerMachine, *, ledger: CloudLedger, reason: str = "given back") -> LedgerMachine:
    """Ends a machine; what it cost is in the ledger then."""
    leases.end(machine, provider=load_provider(machine.order.provider), ledger=ledger, reason=reason)
    return ledger.get(machine.token) or machine


def stop(machine: LedgerMachine, *, ledger: CloudLedger) -> LedgerMachine:
    """Stops a machine that is up; its disk stays, and costs."""
    _check_there(machine)
    leases.stop(machine, provider=load_provider(machine.order.provider), ledger=ledger)
    return ledger.get(machine.token) or machine


def start(machine: LedgerMachine, *, ledger: CloudLedger) -> LedgerMachine:
    """Starts a machine that was stopped."""
    _check_there(machine)
    leases.start(machine, provider=load_provider(machine.order.provider), ledger=ledger)
    return ledger.get(machine.token) or machine


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMachine:
    """A machine as the ledger has it, and as its cloud sees it now."""

    known: LedgerMachine | None  # None: ordered elsewhere
    instance: Instance | None = None  # None: the cloud has it no more, or was not asked
    trouble: str = ""  # why the cloud could not be asked

    @property
    def state(self) -> str:
        """One word: as the cloud sees it, else what the ledger said last."""
        if self.instance is not None:
            return self.instance.state.value
        assert self.known is not None
        if not self.known.is_open:
            return "failed" if self.known.event is LedgerEvent.FAILED else "ended"
        return self.known.event.value


def see_machines(
    ledger: CloudLedger, *, whole: bool = False, load: Callable[[str], CloudProvider] = load_provider
) -> list[SeenMachine]:
    """The open machines of the ledger, and those with our label that were ordered elsewhere; with `whole`, all."""
    machines = [one for one in ledger.machines() if whole or one.is_open]
    found: list[SeenMachine] = []
    for name, region in sorted({(one.order.provider, one.order.region) for one in machines if one.is_open}):
        here = [one for one in machines if one.is_open and (one.order.provider, one.order.region) == (name, region)]
        found += _see_place(ledger, here, name, region, load)
    seen = {one.known.token: one for one in found if one.known}
    mine = [seen.get(machine.token) or SeenMachine(known=machine) for machine in machines]
    known = {machine.token for machine in ledger.machines()}
    return [*mine, *(one for one in found if one.known is None and one.instance and one.instance.token not in known)]


def see_machine(
    machine: LedgerMachine, *, ledger: CloudLedger, load: Callable[[str], CloudProvider] = load_provider
) -> SeenMachine:
    """One machine of the ledger, and how its cloud sees it."""
    if not machine.is_open:
        return SeenMachine(known=machine)
    return _see_place(ledger, [machine], machine.order.provider, machine.order.region, load)[0]


def _see_place(
    ledger: CloudLedger,
    here: list[LedgerMachine],
    name: str,
    region: str,
    load: Callable[[str], CloudProvider],
) -> list[SeenMachine]:
    """One region of one cloud. What has ended meanwhile is written off: it costs nothing from then on."""
    try:
        provider = load(name)
        there = [one for one in ask_patiently(lambda: provider.instances(region)) if not one.is_gone]
        by_token = {one.token: one for one in there}
        mine = [_see(ledger, provider, machine, by_token.pop(machine.token, None)) for machine in here]
    except BenchwrightError as error:
        return [SeenMachine(known=machine, trouble=error.message) for machine in here]
    return [*mine, *(SeenMachine(known=None, instance=one) for one in by_token.values())]


def _see(
    ledger: CloudLedger, provider: CloudProvider, machine: LedgerMachine, instance: Instance | None
) -> SeenMachine:
    if instance is None and machine.id and not ledger.is_held(machine.token):
        found = leases.look_for(machine, provider)  # lists lag behind what is true
        if not found:
            leases.write_off(machine, provider=provider, ledger=ledger)
            return SeenMachine(known=ledger.get(machine.token) or machine)
        instance = found[0]
    return SeenMachine(known=machine, instance=instance)


def total_costs(machines: Iterable[LedgerMachine], now: datetime) -> dict[str, float]:
    """What machines cost in all, by currency."""
    found: dict[str, float] = {}
    for machine in machines:
        cost = machine.cost(now)
        if cost.amount is not None:
            found[cost.currency] = found.get(cost.currency, 0.0) + cost.amount
    return found


def _check_there(machine: LedgerMachine) -> None:
    if not machine.is_open or not machine.id:
        raise OptionError(f"{machine.name} is not up any more", remedy="see `benchwright cloud list`")


def _with_first_boot(order: Order, request: MachineRequest, now: datetime) -> Order:
    """The order with a name, a key and user data, in which the timer comes first."""
    key = keys.public_key()  # with which `--host cloud:NAME` signs in
    theirs = _public_key(request.public_key)
    name = order.name or f"{_plain(order.shape)}-{order.token[:4]}"
    boot = first_boot.FirstBoot(
        expires=order.expires,
        ordered=now.isoformat(),
        public_key=key,
        further_keys=(theirs,) if theirs else (),
        packages=tuple(request.packages),
        server=request.server,
        agent_token=request.agent_token,
        agent_name=name if request.server else "",
    )
    return replace(order, name=name, public_key=key, user_data=first_boot.cloud_config(boot))


def _plain(shape: str) -> str:
    from benchwright.cloud.orders import label_value

    plain = label_value(shape.replace(".", "-"))[:30].strip("-_").replace("_", "-")
    return plain if plain[:1].isalpha() else f"m{plain}"


def _public_key(path: Path | None) -> str:
    """The key that may sign in: the file, else the usual one of this user; "" where there is none."""
    if path is None:
        folder = Path(os.path.expanduser("~/.ssh"))  # noqa: PTH111 - Path.home() fails without one
        path = next((folder / name for name in _KEYS if (folder / name).is_file()), None)
    if path is None:
        return ""
    try:
        text = path.read_bytes()[:_LARGEST_KEY].decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise OptionError(
            f"{path}: the key cannot be read: {error}", remedy="give the file that ends in .pub"
        ) from None
    if "PRIVATE KEY" in text:
        raise OptionError(f"{path}: this is a private key, which stays here", remedy=f"give {path}.pub")
    return text
