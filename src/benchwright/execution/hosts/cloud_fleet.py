"""The cloud machines of one run: what is asked for, what each costs, and the budget that all of them share.

Everything that can be wrong is found before anything is ordered: shapes, zones, images, logins, prices, the budget.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from benchwright.cloud import keys, load_provider
from benchwright.cloud.budgets import Budget
from benchwright.cloud.calls import ask_patiently
from benchwright.cloud.first_boot import FirstBoot, cloud_config
from benchwright.cloud.ledger import CloudLedger, LedgerMachine
from benchwright.cloud.orders import Order, instant, make_order
from benchwright.cloud.provider import CloudProvider, KnowsZones
from benchwright.errors import OptionError
from benchwright.prices.book import WantedPrice
from benchwright.prices.machine_text import WantedMachine, parse_machine
from benchwright.prices.shelf import open_book
from benchwright.records.prices import Price

if TYPE_CHECKING:
    from benchwright.execution.hosts import AnyHost
    from benchwright.execution.hosts.cloud import CloudHost

WHAT = "--host"
LEASE = 3600.0  # seconds that a machine is leased for, unless somebody says otherwise
SHORTEST_LEASE, LONGEST_LEASE = 300.0, 14 * 86400.0  # a machine takes minutes to come up
MOST_INSTANCES = 64
SEVERAL = "|"  # between zones, in the order in which they are tried
_OURS = ("python",)  # words after `?` that are for the host, not for the cloud
# An outpost needs Python 3.11, and an environment the module venv; images have older ones, or none of the latter.
_PYTHON = (
    "python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' || dnf install -y python3.12 || "
    "dnf install -y python3.11 || { export DEBIAN_FRONTEND=noninteractive; apt-get update && apt-get install -y "
    "python3-venv; } || true"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudTerms:
    """On which terms machines are leased for a run."""

    budget: Budget = field(default_factory=Budget)
    seconds: float = LEASE  # until a machine ends by itself
    keep: str = ""  # the name under which they stay for the next run; "" gives them back
    instances: int = 1  # of each shape
    run: str = ""  # its id, which becomes a label
    owner: str = ""  # who asks for them, another label


class InstancePool:
    """Machines of one shape: they share the rounds of every case out, so that their spread is in the result."""

    shares_rounds = True


@dataclass(slots=True)
class CloudFleet:
    """Makes the hosts of a run that are machines of clouds."""

    terms: CloudTerms = field(default_factory=CloudTerms)
    ledger: CloudLedger = field(default_factory=CloudLedger)
    load: Callable[[str], CloudProvider] = load_provider
    hosts: list[CloudHost] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)  # names of machines that stay, and until when
    troubles: list[str] = field(default_factory=list)  # what could not be given back
    _providers: dict[str, CloudProvider] = field(default_factory=dict)
    _payers: dict[tuple[str, str], str] = field(default_factory=dict)

    def hosts_of(self, text: str) -> list[CloudHost]:
        """The hosts of `cloud:TEXT`, which is a machine to lease, or the name of machines that were kept."""
        from benchwright.execution.hosts.cloud import CloudHost

        pool, found = InstancePool(), []
        if "/" not in text:
            found = [CloudHost(self, _wanted_of(one), pool=pool, kept=one) for one in self._kept(text)]
        else:
            wanted = self._settle(parse_machine(text, what=WHAT))
            found = [CloudHost(self, wanted, pool=pool, lane=lane) for lane in range(self.terms.instances)]
        for host in found:
            self.hosts.append(host)
            place = len(self.hosts)
            host.rental.label = f"{self.terms.keep}-{place}" if self.terms.keep and place > 1 else self.terms.keep
        return found

    def check(self) -> None:
        """Refuses, before anything is ordered, what a cloud would refuse and what the budget does not allow."""
        names = [one.name for one in self.hosts if not one.lane]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise OptionError(f"{WHAT}: {twice[0]} is named twice", remedy="--instances 2 leases two of a shape")
        up = {one.order.name for one in self.ledger.open_machines()} if self.terms.keep else set()
        if there := sorted(up & {host.rental.label for host in self.hosts if host.kept is None}):
            raise OptionError(
                f"--keep: a machine called {there[0]} is up already",
                remedy=f"use it with {WHAT} cloud:{there[0]}, or take another name",
            )
        prices = []
        for host in self.hosts:
            price = host.rental.price = (host.kept.price if host.kept else None) or self.price_of(host.wanted)
            prices += [price] if price else []
            if not host.lane and host.kept is None:
                order = self.order(host.wanted, self.zones(host.wanted)[0], name=host.rental.label)
                provider = self.provider(host.wanted)
                ask_patiently(lambda provider=provider, order=order: provider.check(order))  # type: ignore[misc]
                self.payer(order)
        self.terms.budget.check(prices, self.terms.seconds)

    def provider(self, wanted: WantedMachine) -> CloudProvider:
        """The cloud of a machine; one for all of them."""
        if wanted.provider not in self._providers:
            self._providers[wanted.provider] = self.load(wanted.provider)
        return self._providers[wanted.provider]

    def price_of(self, wanted: WantedMachine) -> Price | None:
        """What the machine costs; with a budget an error where that is not known."""
        asked = WantedPrice(provider=wanted.provider, shape=wanted.shape, region=wanted.region, market=wanted.market)
        book = open_book(provider=wanted.provider)
        return book.get(asked, what="--budget") if self.terms.budget.is_limited else book.find(asked)

    def payer(self, order: Order) -> str:
        """Who pays, for the ledger; asked once."""
        place = (order.provider, order.region)
        if place not in self._payers:
            provider = self._providers[order.provider]
            self._payers[place] = ask_patiently(lambda: provider.payer(order.region))
        return self._payers[place]

    def zones(self, wanted: WantedMachine) -> list[str]:
        """Where the machine may be, in the order in which that is tried; "" leaves it to the cloud."""
        if named := wanted.options.get("zone"):
            return [zone for zone in named.split(SEVERAL) if zone]
        provider = self.provider(wanted)
        order = self.order(wanted, "")
        known = ask_patiently(lambda: provider.zones(order)) if isinstance(provider, KnowsZones) else ()
        return ["", *known]

    def order(self, wanted: WantedMachine, zone: str, *, seconds: float | None = None, name: str = "") -> Order:
        """The order of one machine, with a token of its own; it ends by itself when the lease is over."""
        provider, now = self.provider(wanted), datetime.now(UTC)
        told = {word: value for word, value in wanted.options.items() if word not in (*_OURS, "zone")}
        asked = replace(wanted, options={**told, "zone": zone} if zone else told)
        order = make_order(
            asked,
            region=wanted.region,
            seconds=self.terms.seconds if seconds is None else seconds,
            known=provider.options,
            now=now,
            name=name,
            run=self.terms.run,
            owner=self.terms.owner,
            what=WHAT,
        )
        key = keys.public_key()
        boot = FirstBoot(expires=order.expires, ordered=instant(now), public_key=key, commands=(_PYTHON,))
        return replace(order, public_key=key, user_data=cloud_config(boot))

    def _settle(self, wanted: WantedMachine) -> WantedMachine:
        """The machine with its region: that of the vendor's own settings where none is named."""
        return replace(wanted, region=wanted.region or self.provider(wanted).default_region())

    def _kept(self, name: str) -> list[LedgerMachine]:
        """The machines that were kept under a name, or the one of that id."""
        numbered = re.compile(rf"{re.escape(name)}(-\d+)?")
        found = [one for one in self.ledger.open_machines() if one.id and numbered.fullmatch(one.order.name)]
        found = found or [self.ledger.find(name)]
        now = datetime.now(UTC)
        for one in found:
            if not one.is_open or one.is_expired(now):
                raise OptionError(
                    f"{WHAT}: {one.name} is there no more", remedy="see `benchwright cloud list`, or lease another"
                )
            if self.ledger.is_held(one.token):
                raise OptionError(f"{WHAT}: {one.name} is in use by another run", remedy="wait for its end")
        return found


def _wanted_of(machine: LedgerMachine) -> WantedMachine:
    order = machine.order
    return WantedMachine(provider=order.provider, shape=order.shape, region=order.region, market=order.market)


def refuse_new(hosts: Sequence[AnyHost], verb: str) -> None:
    """Refuses machines that would have to be leased for what has no end."""
    from benchwright.execution.hosts.cloud import CloudHost

    for host in hosts:
        if isinstance(host, CloudHost) and host.kept is None:
            raise OptionError(
                f"--host {host.name}: {verb} has no end, and neither would the bill",
                remedy="lease one with `benchwright cloud up`, and name it: --host cloud:NAME; it ends when it expires",
            )


def describe_fleet(fleet: CloudFleet) -> Iterator[str]:
    """What is to be said after a run: which machines stay, and which could not be given back."""
    for name, until in fleet.kept:
        yield f"{name} is kept until {until}: --host cloud:{name} uses it, `benchwright cloud down {name}` ends it"
    yield from fleet.troubles
