"""Leases on machines of a cloud in memory that goes wrong: never two machines, never one that nobody knows of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.cloud import leases
from benchwright.cloud.calls import TRIES, create_once
from benchwright.cloud.leases import lease
from benchwright.cloud.ledger import CloudLedger, LedgerEvent
from benchwright.cloud.orders import Instance, InstanceState, Order, make_order
from benchwright.cloud.sweep import sweep
from benchwright.errors import CloudError, OptionError
from benchwright.prices.machine_text import parse_machine
from benchwright.records.prices import Price
from fake_cloud import FakeCloud

PRICE = Price(provider="fake", shape="small", amount=3.6)


def _order(seconds: float = 3600) -> Order:
    wanted = parse_machine("fake/small", what="SPEC")
    return make_order(wanted, region="here", seconds=seconds, known={}, now=datetime.now(UTC))


@pytest.fixture
def ledger(tmp_path: Path) -> CloudLedger:
    return CloudLedger(tmp_path / "cloud.jsonl")


def _no_wait(seconds: float) -> None:
    pass


@given(
    faults=st.lists(st.sampled_from(["throttled", "lost", "made", "late", None]), max_size=5),
    is_idempotent=st.booleans(),
)
def test_one_order_leaves_one_machine_whatever_gets_lost(
    faults: list[str | None], is_idempotent: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cloud = FakeCloud(*faults, is_idempotent=is_idempotent)
    book = CloudLedger(tmp_path_factory.mktemp("ledger") / "cloud.jsonl")
    with lease(_order(), provider=cloud, ledger=book, sleep=_no_wait) as found:
        assert [one.id for one in cloud.live()] == [found.instance.id]
        assert [one.id for one in book.open_machines()] == [found.instance.id]
    assert cloud.live() == [] and book.open_machines() == []


def test_an_order_is_given_up_after_some_tries_and_leaves_nothing(ledger: CloudLedger) -> None:
    cloud = FakeCloud(*["lost"] * 20)
    with pytest.raises(CloudError, match="lost"):
        lease(_order(), provider=cloud, ledger=ledger, sleep=_no_wait)
    assert cloud.created == TRIES and ledger.machines()[0].event is LedgerEvent.FAILED


def test_waits_grow_and_are_bounded() -> None:
    waits: list[float] = []
    cloud = FakeCloud(*["throttled"] * 20)
    with pytest.raises(CloudError):
        create_once(cloud, _order(), sleep=waits.append)
    assert len(waits) == TRIES - 1 and max(waits) <= 30 and 0.5 <= waits[0] <= 1.0 and waits[-1] > 4 * waits[0]


class _LoginEnds(FakeCloud):
    """A login that ends once a machine was made: nothing is answered from then on, until somebody signs in."""

    is_signed_in = True

    def create(self, order: Order) -> Instance:
        try:
            return super().create(order)
        finally:
            self.is_signed_in = False

    def instances(self, region: str, token: str = "") -> list[Instance]:
        self._refuse()
        return super().instances(region, token)

    def get(self, instance_id: str, region: str) -> Instance | None:
        self._refuse()
        return super().get(instance_id, region)

    def _refuse(self) -> None:
        if not self.is_signed_in:
            raise CloudError("fake: nobody is signed in", kind="login", remedy="sign in")


@pytest.mark.parametrize("fault", [None, "made"])
def test_a_machine_that_cannot_be_ended_now_is_said_and_left_to_the_sweep(
    fault: str | None, ledger: CloudLedger
) -> None:
    cloud = _LoginEnds(fault)
    with pytest.raises(CloudError, match="nobody is signed in") as caught:
        lease(_order(), provider=cloud, ledger=ledger, sleep=_no_wait)
    assert "run `benchwright cloud sweep`" in caught.value.remedy
    assert len(cloud.live()) == 1 and len(ledger.open_machines()) == 1
    cloud.is_signed_in = True
    report = sweep(ledger, load=lambda name: cloud)
    assert [one.why for one in report.ended] == ["the process that ordered it is gone"] and cloud.live() == []


def test_a_lease_that_is_kept_outlives_its_block_until_it_expires(ledger: CloudLedger) -> None:
    cloud = FakeCloud()
    with lease(_order(), provider=cloud, price=PRICE, ledger=ledger) as found:
        assert ledger.is_held(found.order.token)
        assert sweep(ledger, load=lambda name: cloud).left[0].why == "its process lives"
        found.keep()
    (machine,) = ledger.open_machines()
    assert not ledger.is_held(machine.token)
    assert [one.why[:6] for one in sweep(ledger, load=lambda name: cloud).left] == ["until "]
    with leases.resume(machine, provider=cloud, ledger=ledger) as again:
        assert again.instance.id == machine.id
        again.keep()
    later = datetime.now(UTC) + timedelta(hours=2)
    assert sweep(ledger, load=lambda name: cloud, now=later, is_dry=True).ended and len(cloud.live()) == 1
    assert sweep(ledger, load=lambda name: cloud, now=later).ended[0].id == machine.id and cloud.live() == []
    with pytest.raises(CloudError, match="gone") as caught:
        leases.resume(machine, provider=cloud, ledger=ledger)
    assert caught.value.kind == "taken"


def test_a_machine_that_the_cloud_took_is_told_with_its_reason(ledger: CloudLedger) -> None:
    cloud = FakeCloud()
    with lease(_order(), provider=cloud, ledger=ledger) as found:
        assert found.refresh().state is InstanceState.RUNNING
        cloud.take(found.instance.id, "spot: capacity is needed elsewhere")
        with pytest.raises(CloudError, match="capacity is needed elsewhere") as caught:
            found.refresh()
        assert caught.value.kind == "taken"


def test_a_machine_that_is_about_to_expire_is_not_started(ledger: CloudLedger) -> None:
    cloud = FakeCloud()
    with lease(_order(seconds=200), provider=cloud, ledger=ledger) as found:
        found.keep()
    (machine,) = ledger.open_machines()
    leases.stop(machine, provider=cloud, ledger=ledger)
    with pytest.raises(OptionError, match="it would end itself"):
        leases.start(machine, provider=cloud, ledger=ledger)


def test_a_machine_that_comes_back_after_it_was_written_off_is_swept(ledger: CloudLedger) -> None:
    """An order that no machine was seen of for minutes: one appears all the same."""
    cloud, order = FakeCloud(), _order()
    ledger.ordered(order, None)
    assert not sweep(ledger, load=lambda name: cloud).is_clean
    later = datetime.now(UTC) + timedelta(minutes=6)
    assert sweep(ledger, load=lambda name: cloud, now=later).is_clean and ledger.open_machines() == []
    cloud.create(order)
    report = sweep(ledger, load=lambda name: cloud)
    assert "is there again" in report.ended[0].why and cloud.live() == []


def test_an_end_that_was_begun_is_carried_out(ledger: CloudLedger) -> None:
    cloud = FakeCloud()
    with lease(_order(), provider=cloud, ledger=ledger) as found:
        found.keep()
    ledger.note(LedgerEvent.ENDING, found.order.token)
    assert sweep(ledger, load=lambda name: cloud).ended[0].why == "it was being ended when the process died"
    assert cloud.live() == []


def test_an_id_that_another_machine_has_by_now_is_not_ours(ledger: CloudLedger) -> None:
    cloud = FakeCloud()
    with lease(_order(), provider=cloud, ledger=ledger) as found:
        found.keep()
    cloud.made[found.instance.id] = replace(cloud.made[found.instance.id], token="", labels={})
    sweep(ledger, load=lambda name: cloud, now=datetime.now(UTC) + timedelta(hours=2))
    assert [one.id for one in cloud.live()] == [found.instance.id] and ledger.open_machines() == []


class FullDisk(CloudLedger):
    """A ledger that takes only the first lines: the disk is full after them."""

    def __init__(self, path: Path, lines: int) -> None:
        super().__init__(path)
        self.lines = lines

    def _append(self, line: dict[str, object]) -> None:
        if self.lines <= 0:
            raise OSError(28, "No space left on device")
        self.lines -= 1
        super()._append(line)


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_full_disk_keeps_no_machine_up(tmp_path: Path, lines: int) -> None:
    cloud, book = FakeCloud(), FullDisk(tmp_path / "cloud.jsonl", lines)
    with (
        pytest.raises(OptionError, match="No space left"),
        lease(_order(), provider=cloud, ledger=book, sleep=_no_wait),
    ):
        assert lines == 3
    assert cloud.created == 1 and cloud.live() == []
    book.lines = 9  # there is room again
    later = datetime.now(UTC) + timedelta(seconds=leases.SETTLE + 1)  # where not even an id could be written
    assert sweep(book, load=lambda _: cloud, now=later).is_clean and book.open_machines() == []


def test_a_machine_of_the_ledger_is_ended_and_swept_on_a_full_disk(tmp_path: Path) -> None:
    cloud, book = FakeCloud(), FullDisk(tmp_path / "cloud.jsonl", 4)
    kept = lease(_order(), provider=cloud, ledger=book, sleep=_no_wait)
    kept.keep()
    with pytest.raises(OptionError, match="has ended, but the ledger does not say so"):
        leases.end(book.machines()[0], provider=cloud, ledger=book)
    assert cloud.live() == []
    report = sweep(book, load=lambda _: cloud, now=datetime.now(UTC) + timedelta(hours=2))
    assert not report.is_clean, "it could not be written off"


def test_a_machine_that_is_kept_while_a_sweep_looks_around_stays(ledger: CloudLedger) -> None:
    cloud = FakeCloud()
    leased = lease(_order(), provider=cloud, ledger=ledger, sleep=_no_wait)

    def answer(region: str, token: str = "") -> list[Instance]:
        if not leased.is_over:
            leased.keep()  # after the sweep has read the ledger, and before it looks who holds the order
        return FakeCloud.instances(cloud, region, token)

    cloud.instances = answer  # type: ignore[method-assign]
    report = sweep(ledger, load=lambda _: cloud)
    assert len(cloud.live()) == 1 and report.ended == [] and len(report.left) == 1


def test_what_is_given_back_while_a_sweep_looks_around_is_written_once(ledger: CloudLedger) -> None:
    cloud = FakeCloud()
    leased = lease(_order(), provider=cloud, ledger=ledger, sleep=_no_wait)

    def answer(region: str, token: str = "") -> list[Instance]:
        leased.give_back()
        return FakeCloud.instances(cloud, region, token)

    cloud.instances = answer  # type: ignore[method-assign]
    before = ledger.path.read_bytes().count(b'"ended"')
    report = sweep(ledger, load=lambda _: cloud)
    assert report.ended == report.gone == report.failed == []
    assert before == 0 and ledger.path.read_bytes().count(b'"ended"') == 1


def test_an_order_whose_machine_may_still_appear_is_not_written_off_by_down(ledger: CloudLedger) -> None:
    cloud, order = FakeCloud(), _order()
    ledger.ordered(order, PRICE)  # and its process was killed before the answer
    with pytest.raises(CloudError, match="no machine is seen yet") as told:
        leases.end(ledger.machines()[0], provider=cloud, ledger=ledger)
    assert "sweep" in told.value.remedy and len(ledger.open_machines()) == 1
    later = datetime.now(UTC) + timedelta(seconds=leases.SETTLE + 1)
    assert not leases.end(ledger.machines()[0], provider=cloud, ledger=ledger, now=later)
    assert ledger.open_machines() == []


def test_an_order_of_the_future_is_settled_though_the_clock_was_set_back(ledger: CloudLedger) -> None:
    ledger.ordered(_order(), PRICE, now=datetime.now(UTC) + timedelta(days=400))
    report = sweep(ledger, load=lambda _: FakeCloud())
    assert report.is_clean and ledger.open_machines() == []
