"""Order-statistic intervals against scipy, a slow oracle and simulated truth."""

from __future__ import annotations

import math
from array import array
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from benchwright.stats import ranks
from benchwright.stats.ranks import rank_sum_p_value

quantiles = st.floats(min_value=0.001, max_value=0.999)
confidences = st.floats(min_value=0.5, max_value=0.999)


def oracle(count: int, q: float, confidence: float) -> tuple[int, int] | None:
    """The definition, by looking at every rank."""
    tail = (1 - confidence) / 2
    lows = [r for r in range(1, count + 1) if scipy.stats.binom.cdf(r - 1, count, q) <= tail]
    highs = [r for r in range(1, count + 1) if scipy.stats.binom.sf(r - 1, count, q) <= tail]
    return (lows[-1], highs[0]) if lows and highs else None


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 29, 30, 31, 100, 367, 368, 1000])
@pytest.mark.parametrize("q", [0.01, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_ranks_are_those_of_the_definition(count: int, q: float, confidence: float) -> None:
    assert ranks.quantile_ranks(count, q, confidence) == oracle(count, q, confidence)


@given(st.integers(min_value=1, max_value=10**7), quantiles, confidences)
def test_ranks_cover_and_the_next_narrower_ones_do_not(count: int, q: float, confidence: float) -> None:
    found = ranks.quantile_ranks(count, q, confidence)
    if found is None:
        assert max(q, 1 - q) ** count > (1 - confidence) / 2 * (1 - 1e-9)
        return
    low, high = found
    tail = (1 - confidence) / 2
    binomial = scipy.stats.binom(count, q)
    assert 1 <= low < high <= count
    assert binomial.cdf(low - 1) <= tail * (1 + 1e-6) and binomial.sf(high - 1) <= tail * (1 + 1e-6)
    assert binomial.cdf(low) >= tail * (1 - 1e-6) and binomial.sf(high - 2) >= tail * (1 - 1e-6)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.95])
def test_the_interval_is_that_of_scipys_quantile_test(q: float) -> None:
    values = np.random.default_rng(5).lognormal(size=500)
    interval = scipy.stats.quantile_test(values, p=q).confidence_interval(confidence_level=0.95)
    low, high = ranks.quantile_ranks(500, q, 0.95) or (0, 0)
    ordered = np.sort(values)
    assert (ordered[low - 1], ordered[high - 1]) == (interval.low, interval.high)


@given(st.integers(min_value=2, max_value=5000), quantiles, confidences)
def test_interpolated_bounds_lie_between_exact_intervals(count: int, q: float, confidence: float) -> None:
    bounds = ranks.quantile_bounds(count, q, confidence)
    exact = ranks.quantile_ranks(count, q, confidence)
    assert 1 <= bounds.low <= bounds.high <= count
    if exact is None:
        assert bounds.confidence <= confidence
        return
    low, high = exact
    assert bounds.confidence == confidence
    assert low - 1e-6 <= bounds.low <= low + 1 + 1e-6
    assert high - 1 - 1e-6 <= bounds.high <= high + 1e-6


@given(st.integers(min_value=100, max_value=10**6), quantiles, st.floats(min_value=1.0, max_value=30.0))
def test_correlated_values_widen_the_bounds(count: int, q: float, inflation: float) -> None:
    plain, wide = ranks.quantile_bounds(count, q), ranks.quantile_bounds(count, q, inflation=inflation)
    assert 1 <= wide.low <= wide.high <= count
    wider = wide.high - wide.low > plain.high - plain.low
    assert wide.confidence <= plain.confidence or wider  # whole samples can cover a little more than parts of them
    if wide.confidence == 0.95 and inflation > 2:
        assert wider


@pytest.mark.parametrize(("count", "q"), [(3, 0.5), (5, 0.5), (30, 0.9), (100, 0.99), (20, 0.05), (200, 0.999)])
def test_an_interval_from_too_few_values_states_what_it_covers(count: int, q: float) -> None:
    bounds = ranks.quantile_bounds(count, q)
    rng = np.random.default_rng(count)
    ordered = np.sort(rng.random((6000, count)), axis=1)
    held = np.mean([ranks.interpolate(r, bounds.low) <= q <= ranks.interpolate(r, bounds.high) for r in ordered])
    assert bounds.confidence < 0.95
    assert held == pytest.approx(bounds.confidence, abs=0.025)


@given(st.lists(st.integers(min_value=0, max_value=50), min_size=1, max_size=200), quantiles)
def test_the_point_is_the_smallest_value_with_enough_below(values: list[int], q: float) -> None:
    point = ranks.quantile_estimate(values, q).point
    assert point == np.quantile(values, q, method="inverted_cdf")


@given(st.lists(st.floats(allow_subnormal=False, min_value=0, max_value=1e9), min_size=2, max_size=300), quantiles)
def test_an_interval_holds_its_point_and_lies_among_the_values(values: list[float], q: float) -> None:
    estimate = ranks.quantile_estimate(values, q)
    assert estimate.low is not None and estimate.high is not None
    assert min(values) <= estimate.low <= estimate.point <= estimate.high <= max(values)


def test_rank_is_not_led_astray_by_rounding() -> None:
    assert ranks.rank(100, 0.07) == 7
    assert ranks.rank(1000, 0.999) == 999
    assert ranks.rank(3, 0.0001) == 1


def test_one_value_has_no_interval() -> None:
    estimate = ranks.quantile_estimate([7], 0.5)
    assert (estimate.point, estimate.low, estimate.high) == (7.0, None, None)


def test_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        ranks.quantile_estimate([], 0.5)


@pytest.mark.parametrize("q", [0.0, 1.0, 50])
def test_a_quantile_outside_its_range_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        ranks.quantile_ranks(100, q)


def test_the_stop_rule_narrows_with_more_values_and_is_silent_with_too_few() -> None:
    rng = np.random.default_rng(3)
    values = array("q", (1e6 * rng.lognormal(0, 0.2, 20_000)).astype(np.int64).tolist())
    assert ranks.relative_half_width(values[:5]) is None
    widths = [ranks.relative_half_width(values[:n]) or math.inf for n in (50, 500, 5000, 20_000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.005
    assert ranks.relative_half_width(values[:300], q=0.99) is None
    assert ranks.relative_half_width([0] * 100) is None


def test_repeating_each_value_does_not_narrow_the_interval() -> None:
    values = np.random.default_rng(9).lognormal(size=1000)
    once = ranks.relative_half_width(values.tolist())
    repeated = ranks.relative_half_width(np.repeat(values, 10).tolist())
    assert once is not None and repeated is not None
    assert repeated == pytest.approx(once, rel=0.25)


@given(st.floats(min_value=0.5, max_value=0.9999), st.floats(min_value=0.5, max_value=0.999))
def test_samples_for_quantile_is_where_ranks_begin_to_exist(q: float, confidence: float) -> None:
    needed = ranks.samples_for_quantile(q, confidence)
    assert ranks.quantile_ranks(needed + 1, q, confidence) is not None
    assert needed < 3 or ranks.quantile_ranks(needed - 2, q, confidence) is None


def test_samples_for_quantile_are_the_known_counts() -> None:
    assert [ranks.samples_for_quantile(q) for q in (0.5, 0.99, 0.999)] == [6, 368, 3688]
    assert ranks.samples_for_quantile(0.99, sides=1) == 299
    with pytest.raises(ValueError, match="one side or two"):
        ranks.samples_for_quantile(0.5, sides=3)


@pytest.mark.parametrize(("q", "published"), [(0.9, 23_886), (0.95, 50_425), (0.97, 85_811), (0.99, 262_742)])
def test_queries_for_percentile_are_those_of_the_mlperf_paper(q: float, published: int) -> None:
    assert abs(ranks.queries_for_percentile(q) - published) <= 1  # the paper rounds to the nearest


def _exactly(before: list[float], after: list[float]) -> float:
    """The share of all ways to choose as many values that rank at least as high."""
    ordered = sorted([*before, *after])
    ranks = sum(ordered.index(value) for value in after)
    ways = [sum(chosen) for chosen in combinations(range(len(ordered)), len(after))]
    return sum(way >= ranks for way in ways) / len(ways)


@pytest.mark.parametrize("shift", [-3.5, -0.5, 0.5, 2.5, 4.5, 9.5])
def test_it_is_near_the_exact_probability(shift: float) -> None:
    before, after = [float(i) for i in range(8)], [i + shift for i in range(6)]
    assert rank_sum_p_value(before, after) == pytest.approx(_exactly(before, after), abs=0.02)


def test_ties_say_nothing_and_neither_does_an_empty_group() -> None:
    assert rank_sum_p_value([1.0] * 9, [1.0] * 9) > 0.5
    assert rank_sum_p_value([], [1.0]) == rank_sum_p_value([1.0], []) == 1.0
    assert rank_sum_p_value([1.0] * 9, [2.0] * 9) < 1e-3 < 0.999 < rank_sum_p_value([2.0] * 9, [1.0] * 9)
