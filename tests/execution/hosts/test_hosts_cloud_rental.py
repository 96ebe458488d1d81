"""One machine after the other of a cloud in memory: whatever goes wrong, none is forgotten, and none costs unseen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.cloud import keys
from benchwright.cloud.budgets import Budget
from benchwright.cloud.ledger import CloudLedger, LedgerEvent
from benchwright.cloud.orders import MachineShape, Order
from benchwright.errors import CloudError, LinkError, NoMachineError, OptionError
from benchwright.execution.hosts import cloud_rental
from benchwright.execution.hosts.cloud import CloudHost
from benchwright.execution.hosts.cloud_fleet import CloudFleet, CloudTerms
from benchwright.execution.hosts.ssh import SshConnection
from benchwright.execution.outposts.host import OutpostHost
from fake_cloud import FakeCloud


class Stubborn(FakeCloud):
    """A cloud that throttles so many questions before an order, and cannot end a machine."""

    def __init__(self, throttled: int = 0, *, is_stubborn: bool = False) -> None:
        super().__init__()
        self._throttled, self.is_stubborn = throttled, is_stubborn

    def check(self, order: Order) -> MachineShape:
        if self._throttled:
            self._throttled -= 1
            raise CloudError("fake: slow down", kind="throttled")
        return super().check(order)

    def end(self, instance_id: str, region: str) -> None:
        if self.is_stubborn:
            raise CloudError("fake: not now", kind="failed")
        super().end(instance_id, region)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices: [{provider: fake, shape: small, amount: 0.1, fetched_at: 2026-11-17}]\n")
    monkeypatch.setenv("BENCHWRIGHT_PRICES", str(prices))
    monkeypatch.setattr(keys, "public_key", lambda: "ssh-ed25519 AAAA us")
    monkeypatch.setattr("benchwright.cloud.calls.time.sleep", lambda seconds: None)


Hire = Callable[..., CloudHost]


@pytest.fixture
def hire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hire:
    """A host of a cloud, with a budget for one machine and a half."""

    def make(cloud: FakeCloud, text: str = "fake/small@here", keep: str = "") -> CloudHost:
        terms = CloudTerms(budget=Budget(0.15, "USD"), keep=keep)
        fleet = CloudFleet(terms, CloudLedger(tmp_path / "ledger.jsonl"), load=lambda _: cloud)
        [host] = fleet.hosts_of(text)
        fleet.check()
        monkeypatch.setattr(host.rental, "_pause", lambda seconds: None)
        return host

    return make


def test_what_is_throttled_before_an_order_is_asked_again(hire: Hire) -> None:
    cloud = Stubborn(throttled=3)
    host = hire(cloud)
    cloud._throttled = 3
    host.rental.lease = host.rental._rent(lambda text: None)
    assert len(cloud.live()) == 1
    host.close()
    assert cloud.live() == []


def test_a_machine_that_could_not_be_given_back_is_still_paid_for_by_the_budget(hire: Hire) -> None:
    cloud = Stubborn(is_stubborn=True)
    host = hire(cloud)
    host.rental.lease = host.rental._rent(lambda text: None)
    host.rental.leave("it is in the way")
    assert host._fleet.troubles and len(cloud.live()) == 1
    assert host._fleet.terms.budget.room("another", 0.1) == pytest.approx(1800, abs=5)
    with pytest.raises(NoMachineError, match="budget"):  # half an hour is left, a whole one is held
        host._fleet.terms.budget.hold("half of the rest", 0.1, 1500.0)
        host.rental._rent(lambda text: None)


def test_an_order_that_went_wrong_and_may_have_left_a_machine_is_still_held(hire: Hire) -> None:
    cloud = Stubborn(is_stubborn=True)
    host = hire(cloud)
    cloud.get = lambda instance_id, region: (_ for _ in ()).throw(CloudError("fake: no"))  # type: ignore
    with pytest.raises(NoMachineError):
        host.rental._rent(lambda text: None)
    assert len(cloud.live()) == 1 and len(host._fleet.ledger.open_machines()) == 1
    assert host._fleet.terms.budget.room("another", 0.1) == pytest.approx(1800, abs=5)


def test_a_machine_that_cannot_be_kept_is_given_back(hire: Hire, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = FakeCloud()
    host = hire(cloud, keep="series")
    host.rental.lease = host.rental._rent(lambda text: None)
    note = CloudLedger.note

    def refuse(ledger: CloudLedger, event: LedgerEvent, token: str, **told: str) -> None:
        if event is LedgerEvent.KEPT:
            raise OptionError("the disk is full")
        note(ledger, event, token, **told)  # type: ignore[arg-type]

    monkeypatch.setattr(CloudLedger, "note", refuse)
    host.close()
    assert cloud.live() == [] and host._fleet.kept == []
    assert "the disk is full" in host._fleet.troubles[0]


def test_a_line_that_cannot_be_closed_costs_no_machine(hire: Hire, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = FakeCloud()
    host = hire(cloud)
    host.rental.lease = host.rental._rent(lambda text: None)

    def fail(host: OutpostHost) -> None:
        raise OSError("the line is stuck")

    monkeypatch.setattr(OutpostHost, "close", fail)
    with pytest.raises(OSError, match="stuck"):
        host.close()
    assert cloud.live() == []


def test_a_machine_of_somebody_s_own_is_not_ended_because_nobody_was_let_in(
    hire: Hire, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = FakeCloud()
    first = hire(cloud, keep="mine")
    first.rental.lease = first.rental._rent(lambda text: None)
    first.close()
    again = hire(cloud, "mine")
    monkeypatch.setattr(cloud_rental, "SIGN_IN", -1.0)
    monkeypatch.setattr(keys, "sign_in_options", lambda token: [])

    def refuse(connection: object) -> None:
        raise LinkError("no route to host")

    monkeypatch.setattr(SshConnection, "open", refuse)
    with pytest.raises(NoMachineError, match="no route to host"):
        again.rental.connect(lambda text: None)
    assert len(cloud.live()) == 1 and again._fleet.ledger.open_machines()[0].is_kept


@pytest.mark.parametrize(
    ("launched", "since"),
    [
        ("", 1000.0),
        ("1970-01-01T00:18:20+00:00", 1100.0),  # after some throttled tries, which cost nothing
        ("1970-01-01T00:01:00+00:00", 1000.0),  # by a clock that is slow
        ("1970-01-01T10:00:00+00:00", 1200.0),  # by a clock that is fast
    ],
)
def test_a_machine_is_paid_for_from_its_launch_on_within_what_was_seen_of_it(launched: str, since: float) -> None:
    assert cloud_rental.paid_since(launched, 1000.0, 1200.0) == since
