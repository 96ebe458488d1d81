"""The search for the highest rate that meets an objective: alone, and through the engine against a queue."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import OptionError
from benchwright.records import Arrivals, Load, Mode, Objective
from benchwright.worker.engine.clock import FakeClock
from benchwright.worker.engine.engine import prepare
from benchwright.worker.engine.rate_search import CLOSE, LOWEST, MOST_PROBES, best, find_rate
from benchwright.worker.engine.subject import Subject

MS = 1_000_000
Scripted = Callable[..., Subject]


@given(ceiling=st.floats(1, 1e6), share=st.floats(LOWEST, 1.0))
def test_the_answer_is_within_three_percent_of_the_true_limit(ceiling: float, share: float) -> None:
    limit = ceiling * share
    probes = find_rate(lambda rate: (rate <= limit, rate), ceiling=ceiling)
    found = best(probes)
    assert found is not None
    assert found.rate <= limit
    assert found.rate >= limit * (1 - CLOSE) * 0.999
    assert len(probes) <= MOST_PROBES
    assert all(probe.outcome == probe.rate for probe in probes)


def test_when_nothing_meets_there_is_no_answer() -> None:
    probes = find_rate(lambda rate: (False, None), ceiling=1000)
    assert best(probes) is None
    assert [probe.rate for probe in probes] == [1000 / 2**i for i in range(1, 7)]  # down to a 64th: nobody waits there


def test_the_search_ends_when_no_rate_can_meet() -> None:
    probes = find_rate(lambda rate: (False, rate), ceiling=1000, hopeless=lambda outcome: True)
    assert [probe.rate for probe in probes] == [500, 250]  # at half the ceiling calls may hinder each other


def test_a_ceiling_that_is_none_is_passed() -> None:
    found = best(find_rate(lambda rate: (rate < 5000, None), ceiling=1000))
    assert found is not None
    assert found.rate == pytest.approx(5000, rel=0.06)


def _p99(quantile: float = 0.99, bound: float = 0.02) -> Objective:
    return Objective(metric=f"latency_p{quantile * 100:g}", relation="<", bound=bound)


def _queue(rate: float, service: int, count: int) -> list[int]:
    """Latencies of evenly spaced arrivals at one server, by the definition of a queue."""
    free, latencies = 0, []
    for i in range(count):
        arrival = int(i * 1e9 / rate)
        free = max(free, arrival) + service
        latencies.append(free - arrival)
    return latencies


def test_the_engine_finds_what_one_server_can_take(clock: FakeClock, scripted: Scripted) -> None:
    """5 ms a call: up to 200 evenly spaced arrivals a second nobody waits; beyond, the queue grows without end."""
    load = Load(
        mode=Mode.OPEN, arrivals=Arrivals.CONSTANT, find_rate=True, duration=10.0, warmup=0.5, objectives=(_p99(),)
    )
    measured = prepare(scripted(5 * MS), load, clock=clock).run(clock.now())
    assert measured.rate is not None
    assert 200 * (1 - CLOSE) <= measured.rate < 201
    latencies = list(measured.samples.columns["latency"])
    assert latencies == _queue(measured.rate, 5 * MS, len(latencies))
    assert {probe.meets for probe in measured.probes} == {True, False}
    for probe in measured.probes:
        ordered = sorted(_queue(probe.rate, 5 * MS, int(probe.rate * 10)))
        assert probe.meets == (ordered[ceil(0.99 * len(ordered)) - 1] <= 20 * MS), probe


def test_an_objective_out_of_reach_is_said_to_be_that(clock: FakeClock, scripted: Scripted) -> None:
    load = Load(mode=Mode.OPEN, find_rate=True, duration=5.0, warmup=0.1, objectives=(_p99(bound=0.001),))
    measured = prepare(scripted(5 * MS), load, clock=clock).run(clock.now())
    assert measured.rate is None
    assert not any(probe.meets for probe in measured.probes)
    assert measured.samples.calls > 0


@pytest.mark.parametrize(
    "service", [1, *(pytest.param(each, marks=pytest.mark.soak) for each in (20, 200))], ids="{}ms".format
)
def test_a_probe_lasts_as_long_as_its_claim_needs(service: int, clock: FakeClock, scripted: Scripted) -> None:
    """A second of five arrivals could never bound p99 at 95 %, which takes 299 calls; twice as many are made."""
    load = Load(
        mode=Mode.OPEN,
        arrivals=Arrivals.CONSTANT,
        find_rate=True,
        samples=10,
        warmup=0,
        objectives=(_p99(bound=service / 1000),),
    )
    measured = prepare(scripted(service * MS), load, clock=clock).run(clock.now())
    assert measured.samples.calls == 598
    assert measured.rate is not None
    assert measured.rate >= 1000 / service * (1 - CLOSE)


def test_every_objective_must_hold(clock: FakeClock, scripted: Scripted) -> None:
    objectives = (_p99(), _p99(0.5, bound=0.0001))
    load = Load(mode=Mode.OPEN, find_rate=True, warmup=0, objectives=objectives)
    assert prepare(scripted(MS), load, clock=clock).run(clock.now()).rate is None


def test_without_an_objective_there_is_nothing_to_search(clock: FakeClock, scripted: Scripted) -> None:
    prepared = prepare(scripted(MS), Load(mode=Mode.OPEN, find_rate=True, warmup=0), clock=clock)
    with pytest.raises(OptionError, match="--objective"):
        prepared.run(clock.now())
