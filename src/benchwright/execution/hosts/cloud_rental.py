"""The machines that one host has of a cloud, one at a time: found where there is room, signed in on, given back."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from benchwright.cloud import keys, leases
from benchwright.cloud.calls import ask_patiently
from benchwright.cloud.leases import Lease
from benchwright.cloud.ledger import LedgerMachine
from benchwright.errors import BenchwrightError, CloudError, LinkError, NoMachineError
from benchwright.execution.hosts.cloud_fleet import CloudFleet
from benchwright.execution.hosts.ssh import SshConnection, given_options
from benchwright.execution.outposts import launcher
from benchwright.execution.outposts.link import Link, Tell
from benchwright.prices.machine_text import WantedMachine
from benchwright.records import Value
from benchwright.records.prices import Price

TAKEN = "taken"  # the kind of failure of a machine that the cloud took back
BUDGET = "budget"  # and of one for which no money is left
SIGN_IN = 600.0  # seconds until a machine that is up lets somebody in
AGAIN = 5.0  # seconds between two tries to sign in
SHORTEST = 600.0  # seconds: a machine takes minutes to come up, so a shorter lease measures nothing
MOST_MACHINES = 8  # that one host may lease, one after the other
SETTLED = 900  # seconds for the installation of the first boot: the machine is busy until then
_FIRST_BOOT = f"if command -v cloud-init >/dev/null 2>&1; then timeout {SETTLED} cloud-init status --wait; fi; exit 0"
NEW_BUDGET = "go on with a new budget: --resume RUN --budget ..."


class CloudRental:
    """A machine of a shape while there is one, and how to have another."""

    def __init__(self, fleet: CloudFleet, wanted: WantedMachine, name: str, kept: LedgerMachine | None) -> None:
        self._fleet, self._wanted, self._name, self._kept = fleet, wanted, name, kept
        self.price: Price | None = None
        self.label = ""  # what the machine is called where it is to stay
        self.lease: Lease | None = None
        self._since = 0.0  # when it was launched, or taken up again
        self._count = 0  # of machines that were leased
        self._avoided: list[str] = []  # zones in which a machine was taken away, or cannot be had
        self._is_settled = False  # whether its first boot is over
        self._stopping = threading.Event()

    # ---- coming ----

    def connect(self, tell: Tell) -> Link:
        """A line to an outpost on a machine; a `NoMachineError` where there is none, or no money for one."""
        while True:
            if self.lease is None:
                self.lease = self._resume() if self._kept else self._rent(tell)
            try:
                return self._sign_in(self.lease, tell)
            except CloudError as taken:  # before anybody was let in
                self.leave(taken.message)

    def _rent(self, tell: Tell) -> Lease:
        if self._count >= MOST_MACHINES:
            raise NoMachineError(
                f"{self._name}: {self._count} machines were leased and lost", kind=TAKEN, remedy="measure on demand"
            )
        seen: list[str] = []
        try:
            for zone in self._choose_zones():
                try:
                    return self._rent_in(zone, tell)
                except CloudError as error:
                    if error.kind not in ("capacity", TAKEN):
                        raise
                    seen.append(error.message)
                    tell(f"no room in {zone or 'the zone that the cloud chose'}, trying another")
        except NoMachineError:
            raise
        except BenchwrightError as error:
            raise NoMachineError(f"{self._name}: {error.message}", kind=error.kind, remedy=error.remedy) from None
        raise NoMachineError(
            f"{self._name}: {'; '.join(dict.fromkeys(seen))}",
            kind="capacity",
            remedy="name other zones with ?zone=A|B, another region or shape; or try again later: --resume",
        )

    def _choose_zones(self) -> list[str]:
        """Where to look for a machine: not where one was taken away, as long as there are other places."""
        zones = self._fleet.zones(self._wanted)
        wanted = [zone for zone in zones if zone or not self._avoided]  # "" might be the same place again
        return [zone for zone in wanted if zone not in self._avoided] or zones

    def _rent_in(self, zone: str, tell: Tell) -> Lease:
        terms, began = self._fleet.terms, time.time()
        seconds = min(terms.seconds, terms.budget.room("", self.per_hour))
        order = self._fleet.order(self._wanted, zone, seconds=max(seconds, 1.0), name=self.label)
        if seconds < min(SHORTEST, terms.seconds) or not terms.budget.hold(order.token, self.per_hour, seconds):
            raise NoMachineError(
                f"{self._name}: another machine does not fit into the budget ({terms.budget.describe()})",
                kind=BUDGET,
                remedy=NEW_BUDGET,
            )
        try:
            provider = self._fleet.provider(self._wanted)
            ask_patiently(lambda: provider.check(order), sleep=self._pause)
            found = leases.lease(
                order,
                provider=provider,
                price=self.price,
                ledger=self._fleet.ledger,
                payer=self._fleet.payer(order),
                tell=tell,
                sleep=self._pause,
            )
        except BaseException:
            self._release(order.token)
            raise
        self._since = paid_since(found.instance.launched_at, began, time.time())
        self._count += 1
        return found

    def _resume(self) -> Lease:
        """The machine that was kept."""
        assert self._kept is not None
        terms, began = self._fleet.terms, time.time()
        try:
            found = leases.resume(self._kept, provider=self._fleet.provider(self._wanted), ledger=self._fleet.ledger)
        except BenchwrightError as error:
            raise NoMachineError(f"{self._kept.name}: {error.message}", kind=error.kind, remedy=error.remedy) from None
        if not terms.budget.hold(found.order.token, self.per_hour, min(_seconds_left(found), terms.seconds)):
            found.keep()
            raise NoMachineError(f"{self._name}: it does not fit into the budget", kind=BUDGET, remedy=NEW_BUDGET)
        self._since = began
        return found

    def _sign_in(self, lease: Lease, tell: Tell) -> Link:
        """A line to the outpost, as soon as somebody is let in and the first boot has done its work."""
        entry = lease.ledger.get(lease.order.token)
        login = lease.order.login or lease.instance.login or (entry.login if entry else "")
        # Of two options that say the same, ssh takes the first: what its user says counts before what the cloud says.
        options = [*given_options(), *(("-o", f"User={login}") if login else ())]
        ssh = SshConnection(lease.instance.address, [*options, *keys.sign_in_options(lease.order.token)])
        python = self._wanted.options.get("python", "")
        deadline = time.monotonic() + SIGN_IN
        tell(f"signing in on {lease.instance.id}")
        while True:
            try:
                ssh.open()
                self._await_first_boot(ssh, tell)
                words = ssh.command(shlex.join(["exec", *launcher.command(python)]))
                return launcher.start(words, name=self._name, python=python)
            except LinkError as error:
                if time.monotonic() > deadline:
                    self.keep() if self._kept else self.leave("nobody was let in")
                    raise NoMachineError(
                        f"{error.message} ({lease.instance.id} was up for {SIGN_IN:g} s and let nobody in)",
                        kind="sign-in",
                        remedy=error.remedy or "does its network let ssh in?",
                    ) from None
            self._check_alive(lease)
            self._pause(AGAIN)

    def _await_first_boot(self, ssh: SshConnection, tell: Tell) -> None:
        if self._is_settled:
            return
        tell("waiting for the end of its first boot")
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                ssh.command(_FIRST_BOOT),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SETTLED + 60,
                check=False,
            )
            if done.returncode == 255:  # ssh's own
                said = done.stderr.decode("utf-8", "replace").strip()[-200:]
                raise LinkError(f"{self._name}: {said or 'no sign-in'}")
        self._is_settled = True

    @staticmethod
    def _check_alive(lease: Lease) -> None:
        """Gives up at once on a machine that the cloud has taken back while it was waited for."""
        try:
            lease.refresh()
        except BenchwrightError as error:
            if error.kind == TAKEN:
                raise  # a cloud that does not answer says nothing of the machine

    # ---- going ----

    def stop_waiting(self) -> None:
        """Ends a wait for a machine, from another thread."""
        self._stopping.set()

    def leave(self, reason: str) -> None:
        """Gives the machine back; what comes next is measured on another one."""
        self._stopping.clear()  # a wish to stop must not keep it from being ended
        lease, self.lease, self._is_settled = self.lease, None, False
        if lease is None:
            return
        self._avoided.append(lease.order.zone or lease.instance.zone)
        try:
            lease.give_back(reason)
            keys.forget_host(lease.order.token)
        except BenchwrightError as error:
            self._fleet.troubles.append(f"{self._name}: {error.message}; run `benchwright cloud sweep`")
        finally:
            self._release(lease.order.token)

    def keep(self) -> None:
        """Leaves the machine to the next run, until it expires."""
        self._stopping.clear()
        lease, self.lease = self.lease, None
        if lease is None:
            return
        try:
            lease.keep()
        except BenchwrightError as error:  # what cannot be written down is not left running
            self.lease = lease
            self._fleet.troubles.append(f"{self._name}: not kept, since {error.message}")
            self.leave("it could not be kept")
            return
        self._fleet.terms.budget.release(lease.order.token)
        self._fleet.kept.append((lease.order.name or lease.instance.id, lease.order.expires))

    # ---- time and money ----

    def _release(self, token: str) -> None:
        """Frees the money of a machine that is gone; one that may still be there costs on until it ends by itself."""
        entry = self._fleet.ledger.get(token)
        if entry is None or not entry.is_open:
            self._fleet.terms.budget.release(token)

    @property
    def per_hour(self) -> float:
        """What it costs; 0 where that is not known."""
        return self.price.per_hour if self.price else 0.0

    @property
    def seconds_left(self) -> float:
        """Until the machine ends by itself; nothing where there is none."""
        return _seconds_left(self.lease) if self.lease else 0.0

    @property
    def has_room_for_another(self) -> bool:
        """Whether the budget allows one more machine after this one; without a budget nobody has allowed it."""
        budget = self._fleet.terms.budget
        return budget.is_limited and self._kept is None and budget.room("", self.per_hour) > SHORTEST

    def describe_lease(self) -> dict[str, Value]:
        """The machine of the moment, and what it has cost by now; nothing where there is none."""
        lease = self.lease
        if lease is None:
            return {}
        seconds = max(0.0, time.time() - self._since)
        return {
            "token": lease.order.token,
            "machine": self._name.partition(":")[2],
            "instance": lease.instance.id,
            "zone": lease.instance.zone,
            "seconds": round(seconds, 1),
            "cost": self.per_hour * seconds / 3600 if self.price else None,
            "currency": self.price.currency if self.price else "",
        }

    def facts(self) -> Mapping[str, Value]:
        """Which instance it is, as the cloud says."""
        lease = self.lease
        if lease is None:
            return {}
        found = lease.instance
        told = {
            "provider": found.provider,
            "shape": found.shape or lease.order.shape,
            "region": found.region,
            "zone": found.zone,
            "id": found.id,
            "image": found.image,
            "market": found.market.value,
            "host": found.host,
        }
        return {name: value for name, value in told.items() if value}

    def _pause(self, seconds: float) -> None:
        """Waits, unless what is under way is to end: that is raised once, so that a machine can still be ended."""
        if self._stopping.wait(seconds):
            self._stopping.clear()
            raise KeyboardInterrupt


def paid_since(launched_at: str, ordered: float, now: float) -> float:
    """From when on a machine is paid for: its launch, as its cloud says, within what this clock saw of it.

    An order that was throttled for minutes has cost nothing until then.
    """
    launched = datetime.fromisoformat(launched_at).timestamp() if launched_at else ordered
    return min(max(launched, ordered), now)


def _seconds_left(lease: Lease) -> float:
    return (datetime.fromisoformat(lease.order.expires) - datetime.now(UTC)).total_seconds()
