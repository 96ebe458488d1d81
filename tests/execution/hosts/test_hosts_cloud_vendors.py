"""Google's, Azure's and Oracle's machines, leased for a run: fakes of their interfaces have them, an sshd stands in."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import azure_cloud
import google_cloud
import leased_machine
import oracle_cloud
from benchwright import schema
from benchwright.cloud.budgets import Budget
from benchwright.cloud.ledger import CloudLedger, LedgerEvent
from benchwright.events import Event, Reached
from benchwright.execution.hosts import cloud_rental
from benchwright.execution.hosts.cloud import CloudHost
from benchwright.execution.hosts.cloud_fleet import CloudFleet, CloudTerms
from benchwright.records import Status
from cloud_contract import Stage
from leased_machine import MetadataService
from leased_runs import case, instance, measure
from sshd import Sshd

PRICES = """\
prices:
  - {provider: gcp, shape: c3-standard-4, amount: 0.2, fetched_at: 2026-11-17}
  - {provider: gcp, shape: c3-standard-4, market: spot, amount: 0.05, fetched_at: 2026-11-17}
  - {provider: azure, shape: Standard_D2s_v5, amount: 0.1, currency: EUR, fetched_at: 2026-11-17}
  - {provider: azure, shape: Standard_D2s_v5, market: spot, amount: 0.03, currency: EUR, fetched_at: 2026-11-17}
  - {provider: oci, shape: VM.Standard.E5.Flex.2.16, amount: 0.08, fetched_at: 2026-11-17}
  - {provider: oci, shape: VM.Standard.E5.Flex.2.16, market: spot, amount: 0.04, fetched_at: 2026-11-17}
"""
PREEMPT = json.dumps({"Events": [{"EventType": "Preempt", "NotBefore": "Mon, 19 Sep 2026 18:29:47 GMT"}]})


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sshd, dict[str, str]]]:
    with leased_machine.standing_in(tmp_path_factory.mktemp("machine")) as found:
        yield found


Enter = Callable[[str], Stage]
VENDORS = ("gcp", pytest.param("azure", marks=pytest.mark.soak), pytest.param("oci", marks=pytest.mark.soak))


@pytest.fixture
def enter(machine: tuple[Sshd, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Enter]:
    """Opens a cloud by its name, with somebody else's machine in it, which must be there at the end."""
    for name, value in machine[1].items():
        monkeypatch.setenv(name, value)
    (tmp_path / "prices.yaml").write_text(PRICES)
    monkeypatch.setenv("BENCHWRIGHT_PRICES", str(tmp_path / "prices.yaml"))
    monkeypatch.setenv("BENCHWRIGHT_CLOUD_LEDGER", str(tmp_path / "ledger.jsonl"))
    monkeypatch.setattr(cloud_rental, "AGAIN", 0.1)
    monkeypatch.setattr("benchwright.cloud.leases._PAUSE", 0.05)
    with ExitStack() as stack:

        def open_cloud(name: str) -> Stage:
            folder = tmp_path / name
            folder.mkdir()
            if name == "gcp":
                login = folder / "key.json"
                login.write_text(google_cloud.key_file())
                staged = google_cloud.staged(login, folder, monkeypatch)
            elif name == "azure":
                staged = azure_cloud.staged(azure_cloud.make_certificate(folder), folder, monkeypatch)
            else:
                staged = oracle_cloud.staged(oracle_cloud.write_profile(folder), monkeypatch)
            stage = stack.enter_context(staged)
            foreign = stage.peer.add_foreign()
            stack.callback(_check_left, stage, foreign)
            return stage

        yield open_cloud


def _check_left(stage: Stage, foreign: str) -> None:
    assert stage.peer.left_over() == 0, "something of ours is still there"
    assert stage.make().get(foreign, stage.order.region) is not None, "somebody else's machine was ended"


def _spec(stage: Stage, market: str = "") -> str:
    order = stage.order
    return f"cloud:{order.provider}/{order.shape}@{order.region}{f':{market}' if market else ''}"


@pytest.mark.parametrize("name", VENDORS)
def test_a_run_leases_two_instances_measures_on_both_and_gives_them_back(name: str, enter: Enter) -> None:
    stage = enter(name)
    currency = "EUR" if name == "azure" else "USD"
    terms = CloudTerms(budget=Budget(1.0, currency), instances=2, run="r-1", owner="ada")
    run = measure(_spec(stage), fleet=CloudFleet(terms), rounds=2, run="r-1")
    assert [result.status for result in run.results] == [Status.OK] * 2
    entries = CloudLedger().machines()
    assert {instance(result)["id"] for result in run.results} == {one.id for one in entries}
    for result in run.results:
        told, price, lease = instance(result), result.details["price"], result.details["lease"]
        assert isinstance(price, dict) and isinstance(lease, dict)
        assert (told["provider"], told["region"], told["market"]) == (name, stage.order.region, "on-demand")
        assert told["shape"].lower() == stage.order.shape.lower() and told["image"]
        assert bool(told.get("zone")) == (name != "azure"), "Azure puts a machine into no zone unless one is named"
        assert (price["provider"], price["currency"], lease["currency"]) == (name, currency, currency)
        assert lease["instance"] == told["id"] and 0 < lease["cost"] < 1
    assert len(entries) == 2 and {one.event for one in entries} == {LedgerEvent.ENDED}
    kept = CloudLedger().path.read_text() + schema.dumps(run)
    assert not any(secret in kept for secret in stage.secrets)


@pytest.mark.parametrize(
    ("name", "notice", "said"),
    [("gcp", "TRUE", "preempted, ends within 30 s"), ("azure", PREEMPT, "preempted not before Mon, 19 Sep 2026")],
    ids=["gcp", "azure"],
)
def test_a_spot_notice_kills_the_attempt_and_the_next_case_goes_elsewhere(
    name: str, notice: str, said: str, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = enter(name)
    monkeypatch.setattr(CloudHost, "looks_every", 0.1)
    told = threading.Event()
    with MetadataService() as metadata:
        monkeypatch.setattr(CloudHost, "service", metadata.address)

        def hear(event: Event) -> None:
            if isinstance(event, Reached) and event.phase.startswith(("running", "measuring")) and not told.is_set():
                told.set()
                metadata.notice = notice

        def start_again(
            self: CloudHost, reason: str, leave: Callable[[CloudHost, str], None] = CloudHost._leave
        ) -> None:
            metadata.notice = ""
            leave(self, reason)

        monkeypatch.setattr(CloudHost, "_leave", start_again)
        cases = case("long", ms=50, samples=2000), case("next")
        run = measure(_spec(stage, "spot"), *cases, rounds=1, listener=hear)
    long, after = run.results
    assert long.status is Status.KILLED and long.error is not None
    assert long.error.kind == "taken" and said in long.error.message
    assert after.status is Status.OK and instance(after)["id"] != instance(long)["id"]
    assert instance(after)["zone"] != instance(long).get("zone") and instance(after)["market"] == "spot"


@pytest.mark.parametrize("name", VENDORS)
def test_a_machine_that_the_cloud_takes_without_a_word_is_told_apart_from_a_broken_line(
    name: str, enter: Enter, machine: tuple[Sshd, dict[str, str]]
) -> None:
    stage = enter(name)
    ended = threading.Event()

    def hear(event: Event) -> None:
        if isinstance(event, Reached) and event.phase.startswith(("running", "measuring")) and not ended.is_set():
            ended.set()
            [entry] = CloudLedger().open_machines()
            stage.make().end(entry.id, entry.order.region)
            machine[0].cut()

    cases = case("long", ms=20, samples=5000), case("next")
    run = measure(_spec(stage, "spot"), *cases, rounds=1, listener=hear)
    gone, after = run.results
    assert gone.status is Status.KILLED and gone.error is not None and gone.error.kind == "taken"
    assert after.status is Status.OK and instance(after)["id"] != instance(gone)["id"]
