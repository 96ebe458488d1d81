"""A cloud in memory that goes wrong on demand: refuses, loses answers, shows machines late, makes two of one order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from benchwright.cloud.orders import Instance, InstanceState, MachineShape, Order
from benchwright.errors import CloudError

EARLY = "2026-11-17T08:00:00+00:00"


class FakeCloud:
    """`faults` are played one after the other, one for each creation.

    `throttled`, `capacity`: refused. `lost`: nothing was made and no answer came. `made`: made, and no answer came.
    `late`: the same, and the machine is seen only after two more looks. None: all is well.
    """

    name = "fake"
    options: Mapping[str, str] = {"net": "a network"}

    def __init__(self, *faults: str | None, is_idempotent: bool = True) -> None:
        self._faults: Iterable[str | None] = iter(faults)
        self._is_idempotent = is_idempotent
        self.made: dict[str, Instance] = {}
        self._hidden: dict[str, int] = {}  # id -> looks until it is seen
        self.created = 0

    def default_region(self) -> str:
        return "here"

    def payer(self, region: str) -> str:
        return "the test"

    def check(self, order: Order) -> MachineShape:
        return MachineShape(provider=self.name, name=order.shape, region=order.region, vcpus=2)

    def create(self, order: Order) -> Instance:
        self.created += 1
        fault = next(iter(self._faults), None)
        if fault in ("throttled", "capacity", "lost"):
            raise CloudError(f"fake: {fault}", kind=fault)
        known = [one for one in self.made.values() if one.token == order.token]
        instance = known[0] if known and self._is_idempotent else self._make(order)
        if fault is not None:
            self._hidden[instance.id] = 2 if fault == "late" else 0
            raise CloudError("fake: no answer", kind="lost")
        return instance

    def instances(self, region: str, token: str = "") -> list[Instance]:
        for name in self._hidden:
            self._hidden[name] -= 1
        seen = [one for one in self.made.values() if self._hidden.get(one.id, -1) < 0]
        return [one for one in seen if one.region == region and one.token and token in ("", one.token)]

    def get(self, instance_id: str, region: str) -> Instance | None:
        return self.made.get(instance_id)

    def start(self, instance_id: str, region: str) -> None:
        self._set(instance_id, InstanceState.RUNNING)

    def stop(self, instance_id: str, region: str) -> None:
        self._set(instance_id, InstanceState.STOPPED)

    def end(self, instance_id: str, region: str) -> None:
        self._set(instance_id, InstanceState.ENDED)

    def will_be_taken(self, instance: Instance) -> str:
        return instance.reason

    def live(self) -> list[Instance]:
        """What costs money."""
        return [one for one in self.made.values() if not one.is_gone]

    def take(self, instance_id: str, reason: str) -> None:
        """Ends a machine as a cloud does that needs it for others."""
        self.made[instance_id] = replace(self.made[instance_id], state=InstanceState.ENDED, reason=reason)

    def _make(self, order: Order) -> Instance:
        instance = Instance(
            provider=self.name,
            id=f"i-{len(self.made)}",
            region=order.region,
            state=InstanceState.RUNNING,
            token=order.token,
            address="192.0.2.1",
            labels=order.labels,
            launched_at=EARLY,
        )
        self.made[instance.id] = instance
        return instance

    def _set(self, instance_id: str, state: InstanceState) -> None:
        self.made[instance_id] = replace(self.made[instance_id], state=state)
