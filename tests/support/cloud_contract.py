"""What every cloud must hold to, as tests: a class derives from `CloudContract` and has a fixture `stage`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchwright.cloud.calls import create_once
from benchwright.cloud.leases import lease
from benchwright.cloud.ledger import CloudLedger
from benchwright.cloud.orders import TOKEN_LABEL, Instance, InstanceState, MachineShape, Order, instant
from benchwright.cloud.provider import CloudProvider, KnowsZones
from benchwright.cloud.sweep import sweep
from benchwright.errors import CloudError, OptionError
from benchwright.records.prices import Market

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFake ada@lab"
TOKEN = "0123456789abcdef0123456789abcdef"
USER_DATA = "#cloud-config\n{}\n"


@dataclass
class Stage:
    """A cloud on the loopback, a way to its provider, and an order that it can fulfil."""

    make: Callable[[], CloudProvider]
    peer: Any  # refuse(kind), add_foreign(), left_over()
    order: Order
    shape: MachineShape  # what the order's shape is said to have
    misspelled: str  # a shape that there is not, and the nearest one
    nearest: str
    secrets: tuple[str, ...] = field(default=())  # no message may hold one


def usual_order(**changed: Any) -> Order:
    made = Order(
        token=TOKEN,
        provider="",
        shape="",
        region="",
        public_key=KEY,
        user_data=USER_DATA,
        run="Run 7 of Ada",
        expires=instant(datetime.now(UTC) + timedelta(hours=2)),
    )
    return replace(made, **changed)


def sleepless(seconds: float) -> None:
    """No test waits."""


def state_of(cloud: CloudProvider, instance: Instance) -> InstanceState | None:
    found = cloud.get(instance.id, instance.region)
    return None if found is None else found.state


class CloudContract:
    """The promises of `CloudProvider`, and faults on the way."""

    def test_a_shape_is_described(self, stage: Stage) -> None:
        assert stage.make().check(stage.order) == stage.shape
        assert stage.peer.left_over() == 0

    def test_an_unknown_shape_is_refused_with_the_nearest(self, stage: Stage) -> None:
        with pytest.raises(OptionError, match="there is no shape") as refused:
            stage.make().check(replace(stage.order, shape=stage.misspelled))
        assert stage.nearest in refused.value.remedy
        with pytest.raises((OptionError, CloudError)):
            stage.make().create(replace(stage.order, shape=stage.misspelled))
        assert stage.peer.left_over() == 0

    def test_a_machine_from_its_order_to_its_end(self, stage: Stage) -> None:
        cloud, order = stage.make(), stage.order
        made = cloud.create(order)
        assert (made.token, made.shape, made.region) == (order.token, order.shape, order.region)
        assert made.labels[TOKEN_LABEL] == order.token and made.labels["benchwright-run"] == "run-7-of-ada"
        assert made.expires == order.expires
        assert (made.state, made.address) == (InstanceState.RUNNING, "203.0.113.9")
        assert made.image, "of which some clouds say nothing later"
        listed = [[replace(one, image=made.image) for one in cloud.instances(order.region, of)] for of in ("", TOKEN)]
        assert listed == [[made], [made]]
        assert cloud.instances(order.region, "f" * 32) == []
        cloud.stop(made.id, made.region)
        assert state_of(cloud, made) is InstanceState.STOPPED
        cloud.start(made.id, made.region)
        assert state_of(cloud, made) is InstanceState.RUNNING
        cloud.end(made.id, made.region)
        cloud.end(made.id, made.region)  # of one that is gone nothing is said
        gone = cloud.get(made.id, made.region)
        assert gone is None or gone.is_gone
        assert stage.peer.left_over() == 0

    def test_a_lease_pays_by_the_ledger_and_gives_back(self, stage: Stage, tmp_path: Path) -> None:
        ledger = CloudLedger(tmp_path / "ledger.jsonl")
        with lease(stage.order, provider=stage.make(), ledger=ledger, sleep=sleepless) as leased:
            assert leased.instance.address == "203.0.113.9"
            assert stage.peer.left_over() > 0
        assert stage.peer.left_over() == 0
        assert [machine.is_open for machine in ledger.machines()] == [False]

    def test_what_a_killed_process_ordered_is_swept_and_nothing_else(self, stage: Stage, tmp_path: Path) -> None:
        foreign, cloud = stage.peer.add_foreign(), stage.make()
        ledger = CloudLedger(tmp_path / "ledger.jsonl")
        ledger.ordered(stage.order, None)
        cloud.create(stage.order)  # and here the process was killed
        report = sweep(ledger, load=lambda _: cloud)
        assert len(report.ended) == 1
        assert report.is_clean and stage.peer.left_over() == 0
        assert cloud.get(foreign, stage.order.region) is not None

    def test_zones_that_offer_the_shape_are_named(self, stage: Stage) -> None:
        cloud = stage.make()
        assert isinstance(cloud, KnowsZones)
        zones = cloud.zones(replace(stage.order, zone="none"))
        assert len(zones) == 2
        assert cloud.create(replace(stage.order, zone=zones[1])).zone == zones[1]

    @pytest.mark.parametrize("lost", ["lost-before", "lost-after"])
    def test_a_lost_answer_makes_no_second_machine(self, lost: str, stage: Stage) -> None:
        stage.peer.refuse(lost)
        made = create_once(stage.make(), stage.order, sleep=sleepless)
        assert [one.id for one in stage.make().instances(stage.order.region)] == [made.id]
        again = stage.make().create(stage.order)  # a process that knows nothing of the first
        assert again.id == made.id and len(stage.make().instances(stage.order.region)) == 1

    @pytest.mark.parametrize("kind", ["capacity", "quota", "throttled", "login"])
    def test_refusals_are_told_apart_and_leave_nothing(self, kind: str, stage: Stage) -> None:
        stage.peer.refuse(kind)
        with pytest.raises(CloudError) as refused:
            stage.make().create(stage.order)
        assert refused.value.kind == kind
        assert refused.value.remedy
        assert not any(secret in str(refused.value) for secret in stage.secrets)
        if kind != "throttled":  # which is sent again
            assert stage.peer.left_over() == 0

    def test_what_is_throttled_is_sent_again(self, stage: Stage) -> None:
        stage.peer.refuse("throttled")
        made = create_once(stage.make(), stage.order, sleep=sleepless)
        assert [one.id for one in stage.make().instances(stage.order.region)] == [made.id]

    def test_machines_of_others_are_not_seen_and_not_touched(self, stage: Stage) -> None:
        foreign = stage.peer.add_foreign()
        cloud = stage.make()
        assert cloud.instances(stage.order.region) == []
        with pytest.raises(CloudError, match="not ordered by Benchwright"):
            cloud.end(foreign, stage.order.region)
        found = cloud.get(foreign, stage.order.region)
        assert found is not None and found.token == ""

    def test_a_spot_machine_is_one(self, stage: Stage) -> None:
        made = stage.make().create(replace(stage.order, market=Market.SPOT))
        assert made.market is Market.SPOT and stage.make().will_be_taken(made) == ""
