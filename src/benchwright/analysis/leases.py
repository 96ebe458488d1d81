"""What the cloud machines of a run cost: each result says how long its machine had been leased by then, and at what.

So the sum is that until the last result of each machine. Until a machine has ended a little more is paid, which the
ledger of `benchwright cloud list` knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchwright.records import Result
from benchwright.units.numbers import number

DETAIL = "lease"  # where a result keeps it, among its details


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedMachine:
    """One machine that was leased for a run."""

    machine: str  # aws/c7i.large@eu-central-1
    instance: str
    zone: str
    seconds: float  # from its order to its last result
    cost: float | None  # None: its price is not known
    currency: str

    @property
    def text(self) -> str:
        """Which machine, for how long, and what it cost."""
        paid = f"{self.cost:.4g} {self.currency}".strip() if self.cost is not None else "no price known"
        zone = f", {self.zone}" if self.zone else ""
        return f"{self.machine} ({self.instance}{zone}) {self.seconds / 60:.1f} min, {paid}"


def leased_machines(results: Iterable[Result]) -> list[LeasedMachine]:
    """Every machine that was leased, in the order in which they measured first."""
    found: dict[str, LeasedMachine] = {}
    for result in results:
        told = result.details.get(DETAIL)
        if not isinstance(told, dict):
            continue
        one = LeasedMachine(
            machine=str(told.get("machine", "")),
            instance=str(told.get("instance", "")),
            zone=str(told.get("zone", "")),
            seconds=number(told.get("seconds")) or 0.0,
            cost=number(told.get("cost")),
            currency=str(told.get("currency", "")),
        )
        token = str(told.get("token", ""))
        if token not in found or found[token].seconds <= one.seconds:
            found[token] = one
    return list(found.values())


def describe_leases(results: Iterable[Result]) -> list[str]:
    """A line for what the machines cost, and one for each of them; nothing where none was leased."""
    machines = leased_machines(results)
    if not machines:
        return []
    sums: dict[str, float] = {}
    for one in machines:
        if one.cost is not None:
            sums[one.currency] = sums.get(one.currency, 0.0) + one.cost
    paid = " and ".join(f"{amount:.4g} {currency}".strip() for currency, amount in sums.items())
    unknown = sum(one.cost is None for one in machines)
    count = "1 machine was" if len(machines) == 1 else f"{len(machines)} machines were"
    parts = [f"{paid} until the last result" if paid else "", f"{unknown} without a known price" if unknown else ""]
    said = "; ".join(filter(None, parts))
    return [f"{count} leased: {said}", *(f"  {one.text}" for one in machines)]
