"""A machine that is leased of a cloud for a run: `cloud:aws/c7i.large@eu-central-1:spot`; `cloud:NAME` is a kept one.

It is ordered when it is needed first, measured on as on any machine that ssh reaches, and given back when its part is
done, however that ends. Where the cloud takes it away, what was under way is a record that says so, and what follows is
measured on another machine, as far as the budget allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchwright.cloud.ledger import LedgerMachine
from benchwright.errors import BenchwrightError, LinkError
from benchwright.execution.attempt import INTERRUPTED, AttemptOutcome
from benchwright.execution.hosts.cloud_fleet import CloudFleet, InstancePool
from benchwright.execution.hosts.cloud_rental import BUDGET, NEW_BUDGET, TAKEN, CloudRental
from benchwright.execution.outposts.environment_desk import WorkTerms
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.outposts.link import Link, Tell
from benchwright.machine.environment.instances import SERVICE
from benchwright.machine.environment.spot_notices import EVERY
from benchwright.prices.machine_text import WantedMachine
from benchwright.records import Failure, Status, Value
from benchwright.records.prices import Market, Price
from benchwright.worker.channel import Frame, Job

OVER = "lease-over"  # the kind of failure of a machine whose time is over
NEEDED = 60.0  # seconds that an attempt is given at least
SPOT_REMEDY = "a spot machine may go at any time: --resume measures what is missing; or measure on demand"


class CloudHost(OutpostHost):
    """One machine after the other of a shape, of which there is one at a time."""

    service = SERVICE  # of the machine's metadata, which knows when the cloud takes it away
    looks_every = EVERY  # seconds between two questions to it

    def __init__(
        self,
        fleet: CloudFleet,
        wanted: WantedMachine,
        *,
        pool: InstancePool,
        lane: int = 0,
        kept: LedgerMachine | None = None,
    ) -> None:
        self._fleet, self.wanted, self.pool, self.lane, self.kept = fleet, wanted, pool, lane, kept
        name = f"cloud:{replace(wanted, options={})}"
        self.rental = CloudRental(fleet, wanted, name, kept)
        self._told: dict[str, Value] = {}  # of the last machine that measured something
        self._longest = 0.0  # seconds of the attempts so far
        super().__init__(name, self._start, eager=False)

    @classmethod
    def from_text(cls, text: str) -> CloudHost:
        """The host of `cloud:TEXT`, on the usual terms: for an hour, without a budget."""
        return cls.several_from_text(text)[0]

    @classmethod
    def several_from_text(cls, text: str, fleet: CloudFleet | None = None) -> list[CloudHost]:
        """The hosts of `cloud:TEXT`: as many as the terms ask for, or as were kept under that name.

        Whoever gives a fleet has it checked when all hosts are there.
        """
        chosen = fleet or CloudFleet()
        found = chosen.hosts_of(text)
        if fleet is None:
            chosen.check()
        return found

    @property
    def system(self) -> Mapping[str, Value]:
        """Its shape and place, which is its identity; and which instance it is, which is not."""
        facts = self.rental.facts()
        return {"host": {"name": self.name}, **({"instance": dict(facts)} if facts else {})}

    @property
    def price(self) -> Price | None:
        """What its machines cost; None where nobody knows."""
        return self.rental.price

    def notes(self) -> dict[str, Value]:
        """What is kept with each result: the machine, and what it has cost by then."""
        return {"lease": dict(self._told)} if self._told else {}

    def attempt(
        self,
        job: Job,
        *,
        directory: Path,
        monitors: Sequence[str],
        while_loading: Callable[[], None],
        on_phase: Tell,
        terms: WorkTerms | None = None,
    ) -> AttemptOutcome:
        """Makes one attempt on the machine of the moment; an outcome whatever becomes of that machine."""
        self._leave_if_taken()
        if refusal := self._refuse_for_time():
            return AttemptOutcome(status=Status.SKIPPED, failure=refusal, early=True)
        began = time.monotonic()
        outcome = super().attempt(
            job, directory=directory, monitors=monitors, while_loading=while_loading, on_phase=on_phase, terms=terms
        )
        self._longest = max(self._longest, time.monotonic() - began)
        self._told = self.rental.describe_lease() or self._told
        failure = outcome.failure
        if failure is None:
            return outcome
        if failure.kind in (TAKEN, OVER):
            self._leave(failure.message)
            return replace(outcome, status=Status.KILLED)
        return replace(outcome, status=Status.SKIPPED) if failure.kind == BUDGET else outcome

    def explain_loss(self, error: LinkError) -> tuple[str, str]:
        """Whether the cloud took the machine, its time was over, or only the line broke."""
        lease = self.rental.lease
        if lease is None:
            return super().explain_loss(error)
        if self.rental.seconds_left <= 0:
            return OVER, f"the lease of {lease.instance.id} was over"
        try:
            lease.refresh()
        except BenchwrightError as gone:
            if gone.kind == TAKEN:
                return TAKEN, gone.message
        return super().explain_loss(error)

    def cancel(self) -> None:
        """Has what is under way end, also the wait for a machine, from another thread."""
        self.rental.stop_waiting()
        super().cancel()

    def close(self) -> None:
        """Gives the machine back, or keeps it where that was asked for."""
        try:
            super().close()
        finally:
            if self._fleet.terms.keep or self.kept is not None:
                self.rental.keep()
            else:
                self.rental.leave("")

    def _start(self, tell: Tell) -> Link:
        link = self.rental.connect(tell)
        if self.wanted.market is Market.SPOT:
            link.say("watch", provider=self.wanted.provider, service=self.service, every=self.looks_every)
        return link

    def _leave(self, reason: str) -> None:
        self._drop()
        self.rental.leave(reason)

    def _leave_if_taken(self) -> None:
        """Leaves a machine that was told meanwhile that it will be taken: the next attempt belongs elsewhere."""
        if self._link is None:
            return
        try:
            self._link.look()
        except LinkError:
            self._drop()
        else:
            if self._link.notice:
                self._leave(self._link.notice)

    def _refuse_for_time(self) -> Failure | None:
        """Why no attempt is begun: the machine would end under it. Another is leased where the budget allows that."""
        rental, terms = self.rental, self._fleet.terms
        needed = min(max(NEEDED, 1.5 * self._longest), terms.seconds / 2)
        if rental.lease is None or rental.seconds_left > needed:
            return None
        if rental.has_room_for_another:
            self._leave("its lease is nearly over")
            return None
        seen = f"{self.name}: {rental.seconds_left:.0f} s are left of its lease, too little for another attempt"
        if terms.budget.is_limited:
            return Failure(kind=BUDGET, message=f"{seen}; {terms.budget.describe()}", remedy=NEW_BUDGET)
        return Failure(kind=OVER, message=seen, remedy="go on with --resume RUN; --lease makes it longer")

    def _learn(self, frame: Frame) -> None:
        """Learns the environment; what the machine itself says of its instance counts before what the cloud says."""
        super()._learn(frame)
        told = frame.data.get("system", {}).get("instance")
        if isinstance(told, dict) and self._environment is not None:
            both = {**self.rental.facts(), **told}
            self._environment = replace(self._environment, system={**self._environment.system, "instance": both})

    def _take(self, frame: Frame, job: Job) -> AttemptOutcome | None:
        """An outcome; of one that the outpost cut off because of a notice, with that as the reason."""
        outcome = super()._take(frame, job)
        notice = self._link.notice if self._link is not None else ""
        if outcome is None or not notice or outcome.failure is None or outcome.failure.kind != INTERRUPTED:
            return outcome
        which = self.rental.lease.instance.id if self.rental.lease else self.name
        failure = Failure(kind=TAKEN, message=f"the cloud takes {which} away: {notice}", remedy=SPOT_REMEDY)
        return replace(outcome, failure=failure)
