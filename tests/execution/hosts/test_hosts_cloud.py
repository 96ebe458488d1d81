"""Machines that are leased for a run: a real moto server has them, and a real sshd stands in for each."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import leased_machine
from aws_faults import REGION
from benchwright.cloud import leases, load_provider
from benchwright.cloud.budgets import Budget
from benchwright.cloud.ledger import CloudLedger, LedgerEvent
from benchwright.cloud.orders import Instance, Order
from benchwright.cloud.providers import aws
from benchwright.errors import CloudError, OptionError
from benchwright.events import Event, Reached
from benchwright.execution.hosts import cloud_rental
from benchwright.execution.hosts.cloud import CloudHost
from benchwright.execution.hosts.cloud_fleet import CloudFleet, CloudTerms
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Result, Run, Status
from benchwright.workflows import arguments
from leased_machine import LeasedMachines, MetadataService
from leased_runs import case, instance, measure

Inside = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def apart(machines: LeasedMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of each test's own; nobody waits long."""
    monkeypatch.setattr(cloud_rental, "AGAIN", 0.1)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")


def fleet_with(provider: Any = None, **terms: Any) -> CloudFleet:
    return CloudFleet(CloudTerms(**terms), load=load_provider if provider is None else lambda name: provider)


# ---- up, run, down ----


def test_a_run_leases_a_machine_measures_and_gives_it_back(machines: LeasedMachines, inside: Inside) -> None:
    Path("bench.py").write_text("def f():\n    return sum(range(100))\n")
    spec = machines.spec(python=sys.executable)
    words = ["run", "bench.py::f", "--host", spec, "--samples", "5", "--warmup", "0", "--rounds", "1", "--json"]
    done = inside(*words, "--budget", "1USD", cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["data"]
    [result] = run["results"]
    told = result["environment"]["system"]
    assert told["host"] == {"name": "cloud:aws/c7i.large@eu-central-1"}
    assert told["instance"]["shape"] == "c7i.large" and told["instance"]["image"] == leased_machine.IMAGE
    assert told["instance"]["zone"].startswith("eu-central-1") and told["instance"]["id"].startswith("i-")
    assert result["details"]["price"]["amount"] == 0.1
    lease = result["details"]["lease"]
    assert lease["instance"] == told["instance"]["id"] and 0 < lease["cost"] < 0.1 and lease["currency"] == "USD"
    [entry] = CloudLedger().machines()
    assert entry.event is LedgerEvent.ENDED and entry.id == lease["instance"]
    assert entry.order.run == run["id"], "the machine's label names the run"
    assert (entry.cost(datetime.now(UTC)).amount or 0) >= 0
    shown = inside("show", "last", cwd=Path.cwd())
    assert f"1 machine was leased: {lease['cost']:.4g} USD until the last result" in shown.stdout
    [listed] = json.loads(inside("list", "--json", cwd=Path.cwd()).stdout)["data"]
    assert listed["leased"] == {"USD": entry.cost(datetime.now(UTC)).amount}, "in all, as the ledger has it"
    assert machines.alive() == []


def test_instances_share_the_rounds_out_and_each_result_names_its_own(machines: LeasedMachines) -> None:
    run = measure(machines.spec(), fleet=fleet_with(instances=3, run="r-1"), rounds=6, run="r-1")
    assert [result.status for result in run.results] == [Status.OK] * 6
    by_round = {result.round: instance(result)["id"] for result in run.results}
    assert len({*by_round.values()}) == 3
    assert all(by_round[number] == by_round[number % 3] for number in range(6))
    assert run.planned == 6 and run.id == "r-1"
    assert len({one.id for one in CloudLedger().machines()}) == 3


def test_a_kept_machine_is_used_again_until_somebody_ends_it(machines: LeasedMachines) -> None:
    fleet = fleet_with(keep="bench", seconds=1800.0)
    first = measure(machines.spec(), fleet=fleet, rounds=1)
    [(name, _)] = fleet.kept
    assert name == "bench" and len(machines.alive()) == 1
    with pytest.raises(OptionError, match="called bench is up already"):
        arguments.hosts(machines.spec(), fleet_with(keep="bench"))
    second = _measure_kept("bench")
    assert instance(first.results[0])["id"] == instance(second.results[0])["id"]
    assert first.results[0].environment.system["host"] == second.results[0].environment.system["host"]
    assert len(machines.alive()) == 1, "it still stays"
    ledger = CloudLedger()
    assert leases.end(ledger.find("bench"), provider=load_provider("aws"), ledger=ledger)
    with pytest.raises(OptionError, match="there no more"):
        arguments.hosts("cloud:bench")


def _measure_kept(name: str) -> Run:
    hosts = arguments.hosts(f"cloud:{name}")
    try:
        return execute(Plan(cases=[case()], hosts=hosts, rounds=1))
    finally:
        for host in hosts:
            arguments.close_host(host)


# ---- what a cloud does ----


class Faulty(aws.Aws):
    """Amazon's cloud with no room in some zones."""

    def __init__(self, *full: str) -> None:
        super().__init__()
        self.full = full
        self.asked: list[str] = []

    def create(self, order: Order) -> Instance:
        self.asked.append(order.zone)
        if order.zone in self.full:
            raise CloudError(f"no room in {order.zone or 'the region'}", kind="capacity")
        return super().create(order)


def test_no_capacity_leads_to_the_next_zone_and_none_anywhere_is_a_record_that_stops_nobody(
    machines: LeasedMachines,
) -> None:
    provider = Faulty("", "eu-central-1a", "eu-central-1c")
    full = machines.spec("c7i.xlarge", zone="eu-central-1c")
    free = machines.spec().removeprefix("cloud:")
    fleet = fleet_with(provider)
    hosts = arguments.hosts(f"{full}&python={sys.executable},{free}&python={sys.executable}", fleet)
    try:
        run = execute(Plan(cases=[case()], hosts=hosts, rounds=2))
    finally:
        for host in hosts:
            arguments.close_host(host)
    found: dict[str, list[Result]] = {}
    for result in run.results:
        named = result.environment.system["host"]
        assert isinstance(named, dict)
        found.setdefault(str(named["name"]), []).append(result)
    bad, good = found["cloud:aws/c7i.xlarge@eu-central-1"], found["cloud:aws/c7i.large@eu-central-1"]
    assert [result.status for result in good] == [Status.OK] * 2
    assert [zone for zone in provider.asked if zone != "eu-central-1c"] == ["", "eu-central-1a", "eu-central-1b"]
    assert {instance(result)["zone"] for result in good} == {"eu-central-1b"}
    assert [result.status for result in bad] == [Status.FAILED] * 2
    for result in bad:
        assert result.error is not None and result.error.kind == "capacity"
        assert "no room in eu-central-1c" in result.error.message and "?zone=A|B" in result.error.remedy


def test_a_spot_notice_kills_the_attempt_and_the_next_case_goes_elsewhere(
    machines: LeasedMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CloudHost, "looks_every", 0.1)
    told = threading.Event()
    with MetadataService() as metadata:
        monkeypatch.setattr(CloudHost, "service", metadata.address)

        def hear(event: Event) -> None:
            if isinstance(event, Reached) and event.phase.startswith(("running", "measuring")) and not told.is_set():
                told.set()
                metadata.notice = '{"action": "terminate", "time": "2026-11-17T18:00:00Z"}'

        def start_again(
            self: CloudHost, reason: str, leave: Callable[[CloudHost, str], None] = CloudHost._leave
        ) -> None:
            metadata.notice = ""
            leave(self, reason)

        monkeypatch.setattr(CloudHost, "_leave", start_again)
        run = measure(
            machines.spec(market="spot"), case("long", ms=50, samples=2000), case("next"), rounds=1, listener=hear
        )
    long, after = run.results
    assert long.status is Status.KILLED and long.error is not None
    assert long.error.kind == "taken" and "terminate at 2026-11-17T18:00:00Z" in long.error.message
    assert after.status is Status.OK
    assert instance(after)["id"] != instance(long)["id"] and instance(after)["zone"] != instance(long)["zone"]
    assert instance(after)["market"] == "spot"


@pytest.mark.soak
def test_a_machine_that_the_cloud_ends_is_told_apart_from_a_broken_line(machines: LeasedMachines) -> None:
    ended = threading.Event()

    def hear(event: Event) -> None:
        if isinstance(event, Reached) and event.phase.startswith(("running", "measuring")) and not ended.is_set():
            ended.set()
            [one] = machines.alive()
            aws.Aws().end(one["InstanceId"], REGION)
            machines.server.cut()

    run = measure(machines.spec(), case("long", ms=20, samples=5000), case("next"), rounds=1, listener=hear)
    gone, after = run.results
    assert gone.status is Status.KILLED and gone.error is not None and gone.error.kind == "taken"
    assert after.status is Status.OK and instance(after)["id"] != instance(gone)["id"]


def test_a_wait_for_a_machine_can_be_ended(machines: LeasedMachines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_SSH_OPTIONS", "-o ProxyCommand=false")
    [host] = arguments.hosts(machines.spec())
    assert isinstance(host, CloudHost)
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            host.environment()
        except BaseException as error:  # the border of this thread
            failures.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    deadline = time.monotonic() + 60
    while not machines.alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    host.cancel()
    waiting.join(60)
    assert not waiting.is_alive() and isinstance(failures[0], KeyboardInterrupt)
    host.close()
    assert machines.alive() == []


# ---- money ----


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_budget_holds_what_every_machine_may_still_cost() -> None:
    clock = Clock()
    budget = Budget(1.0, "USD", clock=clock)
    assert budget.hold("a", 0.5, 3600) and budget.hold("b", 0.25, 3600)
    assert not budget.hold("c", 0.5, 3600), "0.75 are held"
    assert budget.room("c", 0.5) == pytest.approx(1800)
    clock.now += 1800
    assert budget.spent == pytest.approx(0.375)
    assert budget.release("a") == pytest.approx(0.25), "what was held and not used is free again"
    assert budget.room("c", 0.5) == pytest.approx(3600)
    assert budget.hold("c", 0.5, 3600) and not budget.hold("d", 0.01, 3600)
    assert not budget.hold("b", 0.25, 7200), "nothing is prolonged beyond it either"


@pytest.mark.parametrize(
    ("shape", "budget", "lease", "said"),
    [
        ("c7i.large", "0.05USD", None, "--lease 30min fits"),
        ("c7i.large", "5EUR", None, "give the budget in USD"),
        ("c7i.large", "5", None, "has no currency"),
        ("c7i.4xlarge", "5USD", None, "prices.yaml"),
        ("c7i.large", "0.3USD", "4h", "--lease 180min fits"),
    ],
)
def test_a_budget_is_checked_before_anything_starts(
    machines: LeasedMachines, inside: Inside, shape: str, budget: str, lease: str | None, said: str
) -> None:
    words = ["--budget", budget, *(["--lease", lease] if lease else [])]
    done = inside("run", "fake:constant?ms=1", "--host", machines.spec(shape), *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert CloudLedger().machines() == []


def test_nothing_is_started_that_the_budget_does_not_allow(machines: LeasedMachines) -> None:
    budget = Budget(0.1, "USD")
    fleet = fleet_with(budget=budget, seconds=3600.0)
    hosts = arguments.hosts(f"{machines.spec()}&python={sys.executable}", fleet)
    budget.hold("somebody else", 0.1, 3300.0)
    try:
        run = execute(Plan(cases=[case()], hosts=hosts, rounds=1))
    finally:
        for host in hosts:
            arguments.close_host(host)
    [result] = run.results
    assert result.status is Status.SKIPPED and result.error is not None and result.error.kind == "budget"
    assert "--resume" in result.error.remedy and CloudLedger().machines() == []


@pytest.mark.soak
def test_a_lease_that_ends_is_followed_by_another_where_the_budget_allows_it(
    machines: LeasedMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter([3600.0, 5.0, *[3600.0] * 20])
    monkeypatch.setattr(cloud_rental.CloudRental, "seconds_left", property(lambda self: next(left)))
    run = measure(machines.spec(), rounds=3, fleet=fleet_with(budget=Budget(1.0, "USD")))
    first, second, third = (instance(result)["id"] for result in run.results)
    assert first == second != third
    assert [result.status for result in run.results] == [Status.OK] * 3


@pytest.mark.soak
def test_a_line_that_breaks_costs_no_machine(machines: LeasedMachines) -> None:
    cut = threading.Event()

    def hear(event: Event) -> None:
        if isinstance(event, Reached) and event.phase.startswith(("running", "measuring")) and not cut.is_set():
            cut.set()
            machines.server.cut()

    run = measure(machines.spec(), case("long", ms=20, samples=100), rounds=1, listener=hear)
    assert run.results[0].status is Status.OK and "retried" in {one.code for one in run.results[0].warnings}
    assert len(CloudLedger().machines()) == 1


def test_what_a_lease_has_no_time_for_is_skipped_and_what_was_measured_is_kept(
    machines: LeasedMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter([3600.0, *[5.0] * 20])
    monkeypatch.setattr(cloud_rental.CloudRental, "seconds_left", property(lambda self: next(left)))
    run = measure(machines.spec(), rounds=3)
    assert [result.status for result in run.results] == [Status.OK, Status.OK, Status.SKIPPED]
    error = run.results[-1].error
    assert error is not None and error.kind == "lease-over" and "--lease" in error.remedy


# ---- what is refused ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--budget", "5USD"], "--budget is for machines that are leased"),
        (["--instances", "3"], "--instances is for machines"),
        (["--keep", "a", "--host", "local"], "--keep is for machines"),
        (["--host", "cloud:aws/c7i.large:spto"], "no market"),
        (["--host", "cloud:nowhere/c7i.large"], "unknown cloud"),
        (["--host", "cloud:aws/c7i.lrge@eu-central-1?image=ami-12c6146b"], "c7i.large"),
        (["--host", f"cloud:aws/c7i.large@{REGION}", "--lease", "20s"], "over before a machine is up"),
        (["--host", "cloud:nobody"], "no machine 'nobody'"),
        (["--host", f"cloud:aws/c7i.large@{REGION}", "--keep", "Not A Name"], "cannot be the name"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_ordered(
    inside: Inside, words: list[str], said: str
) -> None:
    done = inside("run", "fake:constant?ms=1", *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert CloudLedger().machines() == []


def test_a_watch_leases_nothing(machines: LeasedMachines, inside: Inside) -> None:
    done = inside("watch", "bench.py", "--host", machines.spec())
    assert done.returncode == 2 and "neither would the bill" in done.stderr and "cloud up" in done.stderr
