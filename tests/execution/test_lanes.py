"""Several machines in one run: each in a lane of its own, kept by one thread."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright import schema
from benchwright.analysis.rows import rows
from benchwright.execution import lanes, resume
from benchwright.execution.outposts.here import HereHost
from benchwright.execution.pricing import price_of_result
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Result, Run, Status, Target
from benchwright.records.prices import Market, Price


class NamedHost(HereHost):
    """This machine under another name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    @property
    def system(self) -> dict[str, object]:  # type: ignore[override]
        return {"host": {"name": self.name}}


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[NamedHost]]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    made = [NamedHost("a"), NamedHost("b")]
    yield made
    for one in made:
        one.close()


def case(name: str, ms: int = 1, samples: int = 5) -> Case:
    target = Target(runtime="fake", uri=f"fake:constant?ms={ms}")
    return Case(name=name, target=target, load=Load(samples=samples, warmup=0.0))


class Sink:
    """Keeps what it is given, and whether more than one thread gave it."""

    def __init__(self) -> None:
        self.kept: list[Result] = []
        self.threads: set[int] = set()

    def begin(self, run: Run) -> None:
        self.threads.add(threading.get_ident())

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        self.threads.add(threading.get_ident())
        self.kept.append(result)

    def close(self) -> None:
        pass


def test_every_machine_measures_every_case_and_one_thread_keeps_it(hosts: list[NamedHost]) -> None:
    sink = Sink()
    of_all, of_b = (
        Price(provider="own", shape=name, market=Market.OWN, amount=amount, currency=currency)
        for name, amount, currency in (("desk", 0.36, "EUR"), ("rack", 0.72, "USD"))
    )
    plan = Plan(cases=[case("x"), case("y")], rounds=2, hosts=hosts, price=of_all, prices={"b": of_b})
    run = execute(plan, lambda: sink)
    paid = {row.machine: (row.metrics["cost_per_million"].unit, price_of_result(row.ok[0])) for row in rows(run)}
    assert paid == {"a": ("EUR", of_all), "b": ("USD", of_b)}  # each machine has a price of its own
    assert resume.prices_of(run) == {"a": of_all, "b": of_b}
    assert len(run.results) == len(sink.kept) == run.planned == 8
    assert {result.status for result in run.results} == {Status.OK}
    assert len({result.id for result in run.results}) == 8
    assert sink.threads == {threading.get_ident()}
    found = {(row.name, row.params["host"]): row.rounds for row in rows(run)}
    assert found == {("x", "a"): 2, ("x", "b"): 2, ("y", "a"): 2, ("y", "b"): 2}


def test_one_machine_of_several_may_fail(hosts: list[NamedHost], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts[0], "_lost", "a cannot be reached any more")
    hosts[0].close()
    run = execute(Plan(cases=[case("x")], rounds=2, hosts=hosts))
    by_host = {(lanes.host_name(result) or "a"): result.status for result in run.results}
    assert by_host == {"a": Status.FAILED, "b": Status.OK}


def test_ctrl_c_ends_all_lanes(hosts: list[NamedHost]) -> None:
    threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    run = execute(Plan(cases=[case("x", ms=200, samples=500)], rounds=2, hosts=hosts))
    assert sorted(result.status for result in run.results) == [Status.KILLED] * 2 + [Status.SKIPPED] * 2


def test_spread_measures_each_case_once_a_round(hosts: list[NamedHost]) -> None:
    run = execute(Plan(cases=[case(name) for name in "vwxy"], rounds=2, hosts=hosts, spread=True))
    assert len(run.results) == run.planned == 8
    assert all(row.rounds == 2 for row in rows(run))
    assert {row.params["host"] for row in rows(run)} == {"a", "b"}


class PooledHost(HereHost):
    """One of several equal nodes. The second waits until the first has given its own back."""

    def __init__(self, pool: list[PooledHost], lane: int) -> None:
        super().__init__()
        self.name, self.pool, self.lane = "nodes", pool, lane
        self._link_at_first, self._link = self._link, None
        pool.append(self)
        self.is_free = threading.Event()
        if not lane:
            self.is_free.set()

    def _reach(self, tell: Callable[[str], None]) -> Any:
        self.is_free.wait(30)
        if self._link is None:
            self._link, self._link_at_first = self._link_at_first, None
        return super()._reach(tell)

    def close(self) -> None:
        super().close()
        for other in self.pool:
            other.is_free.set()


@pytest.mark.soak
def test_who_has_done_its_share_takes_over_from_who_still_waits(hosts: list[NamedHost]) -> None:
    pool: list[PooledHost] = []
    pooled = [PooledHost(pool, lane) for lane in range(2)]
    try:
        run = execute(Plan(cases=[case(f"case {number}") for number in range(5)], rounds=1, hosts=pooled))
    finally:
        for one in pooled:
            one.close()
    assert len(run.results) == run.planned == 5
    assert len({result.id for result in run.results}) == 5
    assert len({result.case.name for result in run.results}) == 5
    second = [result for result in run.results if "-h1-" in result.id]
    assert {result.status for result in run.results} == {Status.OK}
    assert len({result.case.name for result in second}) == 1  # the one that it waited with


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


@given(st.integers(1, 40), st.integers(1, 5))
def test_shares_are_fair_whole_and_steady(count: int, machines: int) -> None:
    cases = [case(f"case {number}") for number in range(count)]
    hosts = [Named(f"host {number}") for number in range(machines)]
    shares = lanes.share_out(cases, hosts)  # type: ignore[arg-type]
    assert sorted(one.name for share in shares for one in share) == sorted(one.name for one in cases)
    assert max(map(len, shares)) <= -(-count // machines)
    known = {schema.case_key(one): "host 0" for one in cases[: count // 2]}
    kept = lanes.share_out(cases, hosts, known)  # type: ignore[arg-type]
    assert {one.name for one in cases[: count // 2]} <= {one.name for one in kept[0]}
    assert sorted(one.name for share in kept for one in share) == sorted(one.name for one in cases)
    again = lanes.share_out([replace(one) for one in cases], hosts)  # type: ignore[arg-type]
    assert [[one.name for one in share] for share in again] == [[one.name for one in share] for share in shares]
