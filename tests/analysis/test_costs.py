from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchwright.analysis.costs import CostLine, Left, cost_line, first_band, load_from, summarise_costs
from benchwright.analysis.rows import Row, rows
from benchwright.execution.pricing import cost_of
from benchwright.execution.works import Work
from benchwright.records import Better, Estimate, Metric, Objective, Result, Status
from benchwright.records.prices import Market, Price
from benchwright.stats.summary import combine
from sample_runs import ENVIRONMENT, make_run, model_case

LARGE = Price(provider="aws", shape="large", amount=0.36, fetched_at="2026-11-01")
XLARGE = Price(provider="aws", shape="xlarge", amount=0.72, fetched_at="2026-11-01")


def _metric(name: str, point: float, unit: str = "/s", spread: float = 0.01) -> Metric:
    estimate = Estimate(point=point, low=point * (1 - spread), high=point * (1 + spread))
    return Metric(name=name, unit=unit, better=Better.HIGHER if unit == "/s" else Better.LOWER, estimate=estimate)


def _row(*rounds: dict[str, Metric]) -> Row:
    case = model_case("onnxruntime", 1)
    results = tuple(
        Result(
            id=f"r-{i}",
            case=case,
            round=i,
            status=Status.OK,
            metrics=tuple(found.values()),
            started_at="2026-11-17T12:00:00Z",
            duration=1.0,
            environment=ENVIRONMENT,
        )
        for i, found in enumerate(rounds)
    )
    (row,) = rows(replace(make_run(rounds=1), results=results))
    return row


def _rated(rate: float, latency: float = 0.01, spread: float = 0.005) -> Row:
    return _row(
        *(
            {"throughput": _metric("throughput", rate * f), "latency_p50": _metric("latency_p50", latency * f, "s")}
            for f in (1 - spread, 1.0, 1 + spread, 1.0, 1.0)
        )
    )


def _line(row: Row, price: Price, **more: Any) -> CostLine:
    found = cost_line("run-1", row, price, **more)
    assert isinstance(found, CostLine), found
    return found


def test_a_cost_is_the_price_over_the_rate_with_the_ends_of_the_interval_exchanged() -> None:
    line = _line(_rated(100.0), LARGE)
    rate = line.row.metrics["throughput"].estimate
    assert line.cost.point == pytest.approx(0.36 / 3600 / 100 * 1e6)
    assert rate.low and rate.high and line.cost.low == pytest.approx(0.36 / 3600 / rate.high * 1e6)
    assert line.cost.high == pytest.approx(0.36 / 3600 / rate.low * 1e6)
    half = _line(_rated(100.0), LARGE, utilisation=0.5, count=1000)
    assert half.cost.point == pytest.approx(2 * line.cost.point / 1000)
    assert half.work.words == "1,000 items"


def test_a_run_s_time_and_a_rate_under_objectives_are_work_too() -> None:
    timed = _row({"wall_time": _metric("wall_time", 7200.0, "s")})
    line = _line(timed, LARGE)
    assert (line.work.words, line.cost.point) == ("one run", pytest.approx(0.72))
    assert line.cost.low is not None and line.cost.low < line.cost.point
    found = {"max_rate": _metric("max_rate", 50.0), "throughput": _metric("throughput", 100.0)}
    assert _line(_row(found), LARGE).work.metric == "max_rate"
    nothing = _row({"accuracy": _metric("accuracy", 0.9, "")})
    left = cost_line("run-1", nothing, LARGE)
    assert isinstance(left, Left) and "it has: accuracy" in left.reason


def test_the_cheapest_is_named_and_what_cannot_be_told_from_it() -> None:
    lines = [_line(_rated(100.0), LARGE), _line(_rated(100.5, spread=0.05), LARGE), _line(_rated(150.0), XLARGE)]
    found = summarise_costs([*lines, Left(label="x", reason="y")])
    assert found.best is not None and len(found.best.ties) == 1
    assert {found.lines[i].price.shape for i in (found.best.place, *found.best.ties)} == {"large"}
    assert [line.cost.point for line in found.lines] == sorted(line.cost.point for line in lines)
    assert len(found.left) == 1


def test_other_currencies_broken_objectives_and_quarantine_are_not_compared() -> None:
    bound = Objective(metric="latency_p50", relation="<", bound=0.012)
    quick, slow = _rated(100.0), _rated(400.0, latency=0.02)
    euro = replace(LARGE, currency="EUR", amount=0.01)
    lines = [_line(one, LARGE, objectives=[bound]) for one in (quick, slow)]
    held = replace(_line(quick, replace(LARGE, amount=0.01)), row=replace(quick, is_held=True))
    found = summarise_costs([*lines, _line(quick, euro), held])
    assert found.best is not None and found.lines[found.best.place].row is quick and not found.best.ties
    assert [line.is_kept for line in found.lines if line.row is slow] == [False]


@pytest.mark.parametrize(
    ("rate", "amount", "load"),
    [
        (300.0, 0.70, 100.0),  # one large does what three small do, for less than two cost
        (300.0, 0.72, 100.0),  # for as much as two cost
        (220.0, 1.0, None),  # dearer than two and cheaper than three; but two of it are dearer than six
        (190.0, 0.72, None),  # twice the price for less than twice the work
    ],
)
def test_from_which_load_on_the_larger_machine_is_cheaper(rate: float, amount: float, load: float | None) -> None:
    small, large = _line(_rated(100.0), LARGE), _line(_rated(rate), replace(XLARGE, amount=amount))
    assert load_from(small, large) == (pytest.approx(load) if load else None)
    (found,) = summarise_costs([small, large]).break_evens
    assert found.small is small and found.large is large


@given(rate=st.floats(1.05, 9.0), price=st.floats(1.01, 9.0))
@example(rate=4.0, price=3.5)  # cheaper above 3, and dearer again above 4, where a second one is needed
@example(rate=2.2, price=1.0 / 0.36)
def test_above_that_load_the_larger_machine_never_costs_more_and_below_it_sometimes_does(
    rate: float, price: float
) -> None:
    small, large = _line(_rated(100.0), LARGE), _line(_rated(100.0 * rate), replace(XLARGE, amount=0.36 * price))
    load, band = load_from(small, large), first_band(small, large)

    def dearer(at: float) -> float:
        return math.ceil(at / large.rate) * price - math.ceil(at / small.rate)

    steps = [n * one.rate for one in (small, large) for n in range(60)]
    loads = sorted(step + 1e-6 * small.rate for step in steps)
    if load is not None:
        assert all(dearer(at) < 1e-6 for at in loads if at > load)
        assert load == 0.0 or any(dearer(at) > 0 for at in (*loads, load * (1 - 1e-7)) if at <= load)
    if band is not None and band[0] < 50 * small.rate:
        assert dearer((band[0] + band[1]) / 2) < 0 and all(dearer(at) > -1e-6 for at in loads if at < band[0])
    if load is None and band is None:
        assert all(dearer(at) > -1e-6 for at in loads)


def test_one_measurement_at_two_prices_is_told_apart_by_the_prices_alone() -> None:
    noisy, other = _rated(100.0, spread=0.6), _rated(101.0, spread=0.6)
    spot = replace(LARGE, market=Market.SPOT, amount=0.14)
    found = summarise_costs([_line(noisy, LARGE), _line(noisy, spot), _line(other, LARGE)])
    assert found.best is not None
    chosen = [found.lines[i] for i in (found.best.place, *found.best.ties)]
    assert any(line.row is noisy and line.price is spot for line in chosen)
    assert not any(line.row is noisy and line.price is LARGE for line in chosen), "the same rounds, and dearer"
    (state,) = [
        one.state
        for line, one in zip(found.lines, found.standings, strict=True)
        if one and line.row is noisy and line.price is LARGE
    ]
    assert state == "dominated"


def test_a_shape_whose_name_begins_as_the_measured_one_is_another() -> None:
    row = _rated(100.0)
    there = replace(ENVIRONMENT, system={**ENVIRONMENT.system, "instance": {"shape": "c3-standard-4"}})
    row = replace(row, results=tuple(replace(one, environment=there) for one in row.results))
    assert not _line(row, replace(LARGE, shape="c3-standard-4")).is_what_if
    assert not _line(row, replace(LARGE, shape="C3-standard-4.2.16")).is_what_if, "a flexible one, with its size"
    assert _line(row, replace(LARGE, shape="c3-standard-44")).is_what_if


def test_several_instances_are_the_repetitions_and_not_their_rounds() -> None:
    row = _rated(100.0)
    on = [
        replace(ENVIRONMENT, system={**ENVIRONMENT.system, "instance": {"id": f"i-{n % 2}", "shape": "large"}})
        for n in range(5)
    ]
    shared = tuple(replace(one, environment=where) for one, where in zip(row.results, on, strict=True))
    (together,) = rows(replace(make_run(rounds=1), results=shared))
    line = _line(together, LARGE)
    assert len(line.rounds) == 2 and len(line.times("latency_p50")) == 3


def test_lines_of_another_currency_are_said_to_stand_apart() -> None:
    euro = replace(LARGE, currency="EUR")
    found = summarise_costs([_line(_rated(100.0), LARGE), _line(_rated(90.0), euro), _line(_rated(80.0), LARGE)])
    assert [found.lines[i].price.currency for i in found.apart] == ["EUR"]
    alone = summarise_costs([_line(_rated(100.0), LARGE), _line(_rated(90.0), euro)])
    assert alone.best is None, "nothing stands beside it in its currency"


def test_in_cost_and_latency_together_several_may_stand_in_front() -> None:
    cheap, quick, bad = (
        _line(_rated(100.0, latency=0.02), LARGE),
        _line(_rated(100.0, latency=0.01), XLARGE),
        _line(_rated(90.0, latency=0.03), replace(XLARGE, market=Market.RESERVED_1Y)),
    )
    found = summarise_costs([cheap, quick, bad])
    states = {line.price.market: one.state for line, one in zip(found.lines, found.standings, strict=True) if one}
    assert [one.state for one in found.standings if one].count("front") == 2
    assert states[Market.RESERVED_1Y] == "dominated"


def test_intervals_of_costs_hold_the_true_cost_as_often_as_they_say() -> None:
    """Throughputs of processes that differ by 3 % around a known mean; noise within a process of 1 %."""
    drawn = random.Random(20261117)
    work = Work(metric="throughput", is_rate=True, count=1e6)
    true, inside, tries = 1e6 * 0.36 / 3600 / 100, 0, 2000
    for _ in range(tries):
        rounds = []
        for _ in range(5):
            seen = 100 * (1 + drawn.gauss(0, 0.03) + drawn.gauss(0, 0.01))
            rounds.append(Estimate(point=seen, low=seen * 0.98, high=seen * 1.02))
        rate = Metric(name="throughput", unit="/s", better=Better.HIGHER, estimate=combine(rounds))
        cost = cost_of(rate, LARGE, work)
        assert cost is not None and cost.low is not None and cost.high is not None
        inside += cost.low <= true <= cost.high
    assert 0.93 <= inside / tries <= 0.97
