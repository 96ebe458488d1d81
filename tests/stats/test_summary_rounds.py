"""The estimates of several processes become one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from benchwright.records import Estimate
from benchwright.stats import summary
from benchwright.units import limits
from intervals import holds


def estimate(point: float, half: float | None = None, confidence: float = 0.95) -> Estimate:
    if half is None:
        return Estimate(point=point, low=None, high=None)
    return Estimate(point=point, low=point - half, high=point + half, confidence=confidence)


@pytest.mark.parametrize("count", [2, *(pytest.param(n, marks=pytest.mark.soak) for n in (3, 5)), 10])
@pytest.mark.parametrize("spread", [0.0, pytest.param(0.01, marks=pytest.mark.soak), 0.05])
def test_rounds_cover_although_processes_differ(count: int, spread: float) -> None:
    rng = np.random.default_rng(5)
    truth = math.exp(spread**2 / 2)
    held = 0
    for _ in range(300):
        shifts = np.exp(spread * rng.normal(size=count))
        held += holds(
            summary.combine([summary.mean_interval(s * rng.lognormal(-0.005, 0.1, 50)) for s in shifts]), truth
        )
    assert held / 300 >= 0.93


def test_one_process_does_not_cover_when_processes_differ() -> None:
    rng = np.random.default_rng(5)
    alone = [
        summary.combine([summary.mean_interval(math.exp(0.05 * rng.normal()) * rng.lognormal(-0.005, 0.1, 50))])
        for _ in range(300)
    ]
    assert np.mean([holds(e, 1.0) for e in alone]) < 0.6
    assert all(e.method.endswith("within one process") for e in alone)


@given(st.lists(st.floats(min_value=1, max_value=100), min_size=2, max_size=12))
def test_without_intervals_of_their_own_rounds_give_students_interval(points: list[float]) -> None:
    combined = summary.combine([estimate(p) for p in points])
    error = scipy.stats.sem(points)
    half = scipy.stats.t.ppf(0.975, len(points) - 1) * error
    assert combined.point == pytest.approx(np.mean(points))
    if two := summary.groups([estimate(p) for p in points]):  # two speeds are both held
        assert combined.low <= two[0][0] and combined.high >= two[1][-1] and summary.TWO_SPEEDS in combined.method
        return
    if len(points) > summary.ENOUGH_ROUNDS and abs(np.median(points) - np.mean(points)) > 0.999 * error:
        assert combined.high >= combined.point + half - 1e-6  # the mean leans aside: the median is held as well
        return
    assert combined.high == pytest.approx(combined.point + half)
    by_ratio = len(points) < summary.ENOUGH_ROUNDS and combined.point - half <= 0 < min(points)
    low = combined.point**2 / combined.high if by_ratio else max(0.0, combined.point - half)
    assert combined.low == pytest.approx(low, abs=1e-6)


def test_rounds_that_agree_by_luck_are_not_narrower_than_they_know() -> None:
    combined = summary.combine([estimate(10.0, 1.0), estimate(10.0, 1.0), estimate(10.0, 1.0), estimate(10.0, 1.0)])
    assert (combined.low, combined.point, combined.high) == (9.5, 10.0, 10.5)
    at_99 = summary.combine([estimate(10.0, 2.5758293, 0.99)] * 4)
    assert at_99.high == pytest.approx(10 + 1.959964 / 2)


def test_one_round_that_caught_a_burst_does_not_decide_for_all() -> None:
    """The p99 of `make demo` on a busy machine, in µs: one round knows it to within a hundred times."""
    ends = {161: (148, 190), 154: (141, 181), 207: (150, 16_600), 136: (121, 160), 144: (130, 171)}
    rounds = [Estimate(point=p, low=low, high=high, method="order statistics") for p, (low, high) in ends.items()]
    combined = summary.combine(rounds)
    assert combined.point == pytest.approx(160.4)
    assert 121 <= combined.low < 136 and 180 < combined.high < 207  # type: ignore[operator]
    assert combined.method == "t over 5 processes"


def test_each_side_has_its_own_length_and_the_method_says_of_what() -> None:
    lopsided = [Estimate(point=p, low=p - 0.1, high=p + 4.0) for p in (10.0, 10.1, 9.9, 10.0)]
    combined = summary.combine(lopsided)
    assert combined.low == pytest.approx(10.0 - 3.182446 * 0.0408248)
    assert combined.high == pytest.approx(12.0)
    assert combined.method == "t over 4 processes, above their own intervals"
    assert summary.combine([estimate(10.0, 1.0)] * 4).method == "own intervals of 4 processes, which agree"


def test_five_rounds_reach_no_further_than_their_own_ends() -> None:
    points = (100.0, 101.0, 99.0, 100.0, 400.0)
    combined = summary.combine([estimate(p, 1.0) for p in points])
    assert combined.low == 98.0
    assert combined.high == 400.0  # one of two speeds; t alone ends at 326.6
    assert combined.method.startswith("t over 5 processes, within their own intervals; two speeds seen, 300 % apart")
    four = summary.combine([estimate(p, 1.0) for p in points[1:]])  # too few to say so
    assert four.low == pytest.approx(four.point**2 / four.high)  # type: ignore[operator]


def test_an_interval_ends_where_the_quantity_does() -> None:
    shares = [estimate(p) for p in (99.8, 100.0, 100.0, 99.9, 100.0)]
    assert summary.combine(shares, limits=limits("psi_cpu", "%")).high == 100.0
    assert summary.combine(shares, limits=limits("cpu", "%")).high > 100.0  # type: ignore[operator]
    assert summary.combine([estimate(1.0), estimate(2.0)], limits=limits("score", "")).low < 0  # type: ignore[operator]
    told = summary.within_limits(Estimate(point=5.0, low=-1.0, high=120.0), limits("accuracy", "%"))
    assert (told.low, told.high) == (0.0, 100.0)
    beyond = Estimate(point=-3.0, low=-4.0, high=-2.0)  # seen below zero: so it can be
    assert summary.within_limits(beyond, limits("shift", "s")) == beyond


@pytest.mark.parametrize("count", [2, pytest.param(5, marks=pytest.mark.soak)])
def test_rounds_cover_percentiles_whose_slow_calls_come_in_bursts(count: int) -> None:
    rng = np.random.default_rng(11)

    def calls() -> Any:
        values = np.exp(0.05 * rng.normal()) * rng.lognormal(0, 0.3, 3000)
        for start in rng.integers(0, 3000, rng.poisson(6)):
            values[start : start + 10] *= 20
        return values

    truth = 19.96  # of nine million such calls
    rounds = ([summary.quantile_interval(calls(), 0.99) for _ in range(count)] for _ in range(150))
    assert np.mean([holds(summary.combine(one), truth) for one in rounds]) >= 0.92


def test_a_time_has_no_negative_end_but_a_difference_may() -> None:
    assert 0.0 < (summary.combine([estimate(1.0), estimate(2.0)]).low or 0.0) < 1.0
    assert summary.combine([estimate(-1.0), estimate(2.0)]).low < 0.0  # type: ignore[operator]


def test_equal_rounds_give_exactly_their_value() -> None:
    for value in (0.1, 1 / 3, 1e-7 / 3):
        assert summary.combine([estimate(value)] * 7).point == value


def test_rounds_too_short_for_a_percentile_are_mentioned() -> None:
    assert "too few values" in summary.combine([estimate(1.0, 0.1), estimate(1.1, 0.1, 0.6)]).method
    with pytest.raises(ValueError, match="no rounds"):
        summary.combine([])


def test_scaling_changes_every_number_and_nothing_else() -> None:
    scaled = summary.scale_estimate(Estimate(point=2e6, low=1e6, high=3e6, confidence=0.9, method="m"), 1e-9)
    assert (scaled.point, scaled.low, scaled.high) == pytest.approx((2e-3, 1e-3, 3e-3))
    assert (scaled.confidence, scaled.method) == (0.9, "m")
    assert summary.scale_estimate(estimate(4.0), 0.5) == estimate(2.0)
