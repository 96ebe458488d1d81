"""Estimates against scipy and exact answers, and the coverage of their intervals in simulations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from benchwright.records import Estimate
from benchwright.stats import histogram, ranks, summary
from intervals import holds

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
finite = st.floats(allow_subnormal=False, min_value=0, max_value=1e9)

INDEPENDENT: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, shape: rng.normal(10, 1, shape), 10.0),
    "exponential": (lambda rng, shape: rng.exponential(1, shape), 1.0),
    "lognormal": (lambda rng, shape: rng.lognormal(0, 0.5, shape), math.exp(0.125)),
    "wide lognormal": (lambda rng, shape: rng.lognormal(0, 1.0, shape), math.exp(0.5)),
}


def autoregressive(rng: np.random.Generator, shape: tuple[int, int], rho: float = 0.5) -> np.ndarray:
    noise = rng.normal(size=(shape[0], shape[1] + 50))
    return scipy.signal.lfilter([math.sqrt(1 - rho * rho)], [1.0, -rho], noise, axis=1)[:, 50:]


MANY = pytest.param(10_000, marks=pytest.mark.soak)  # values of a round
MORE = pytest.param(100, marks=pytest.mark.soak)  # between those that differ most
SHARES = pytest.mark.parametrize("share", [0.2, pytest.param(1.0, marks=pytest.mark.soak)])


def further(*asked: tuple[int, float | None]) -> list[Any]:
    """Numbers of values and quantiles that `make soak` asks for beside the others."""
    return [pytest.param(*one, marks=pytest.mark.soak) for one in asked]


def is_covered(
    draw: Draw,
    count: int,
    estimate: Callable[[np.ndarray], Estimate],
    truth: float,
    share: float,
    low: float,
    high: float,
) -> bool:
    """Whether the interval holds the truth as often as stated. A share of a fifth is known to two points less."""
    allowance = 0.0 if share == 1.0 else 0.02
    return low - allowance <= coverage(draw, count, estimate, truth, share) <= high + allowance


def coverage(
    draw: Draw, count: int, estimate: Callable[[np.ndarray], Estimate], truth: float, share: float = 1.0
) -> float:
    """How often the interval holds the truth, known to within a point where all of the rows are drawn."""
    rng = np.random.default_rng(7)
    chunks = round(share * (30 if count < 1000 else 15))
    return float(np.mean([holds(estimate(row), truth) for _ in range(chunks) for row in draw(rng, (100, count))]))


# ---- means ----


@SHARES
@pytest.mark.parametrize("name", INDEPENDENT)
@pytest.mark.parametrize("count", [30, MORE, 1000, MANY])
def test_mean_intervals_cover_independent_values(name: str, count: int, share: float) -> None:
    draw, truth = INDEPENDENT[name]
    assert is_covered(draw, count, summary.mean_interval, truth, share, 0.93, 0.97)


@SHARES
@pytest.mark.parametrize("count", [30, MORE, 1000, MANY])
def test_mean_intervals_cover_autocorrelated_values(count: int, share: float) -> None:
    assert is_covered(autoregressive, count, summary.mean_interval, 0.0, share, 0.91, 0.98)


def test_the_plain_t_interval_would_not_do() -> None:
    """What the corrections are for: without them the same simulations fall short."""

    def plain(row: np.ndarray) -> Estimate:
        half = scipy.stats.t.ppf(0.975, row.size - 1) * row.std(ddof=1) / math.sqrt(row.size)
        return Estimate(point=row.mean(), low=row.mean() - half, high=row.mean() + half)

    draw, truth = INDEPENDENT["wide lognormal"]
    assert coverage(draw, 30, plain, truth) < 0.91
    assert coverage(autoregressive, 1000, plain, 0.0) < 0.8


def test_a_symmetric_independent_sample_gets_nearly_students_interval() -> None:
    values = scipy.stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    values = np.random.default_rng(8).permutation(values)
    ours = summary.mean_interval(values, 0.9)
    theirs = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert ours.low is not None and ours.high is not None
    assert ours.low <= theirs.low * 0.999 and ours.low == pytest.approx(theirs.low, rel=0.35)
    assert -ours.low == pytest.approx(ours.high, rel=1e-6)


def test_skewness_leans_the_interval_as_the_bootstrap_does() -> None:
    values = np.random.default_rng(11).exponential(size=60)
    ours = summary.mean_interval(values)
    drawn = scipy.stats.bootstrap((values,), np.mean, method="BCa", rng=np.random.default_rng(1)).confidence_interval
    assert ours.low is not None and ours.high is not None
    assert ours.high - ours.point > ours.point - ours.low
    assert drawn.high - ours.point > ours.point - drawn.low
    assert (ours.high - ours.low) == pytest.approx(drawn.high - drawn.low, rel=0.25)


@given(st.lists(finite, min_size=2, max_size=100), st.floats(min_value=0.5, max_value=0.99))
def test_a_mean_lies_in_its_interval(values: list[float], confidence: float) -> None:
    estimate = summary.mean_interval(values, confidence)
    assert estimate.low is not None and estimate.high is not None
    assert estimate.point == pytest.approx(math.fsum(values) / len(values))
    assert estimate.low <= estimate.point <= estimate.high
    assert estimate.confidence == confidence


def test_more_confidence_is_a_wider_interval() -> None:
    values = np.random.default_rng(0).lognormal(size=200)
    narrow, wide = summary.mean_interval(values, 0.8), summary.mean_interval(values, 0.99)
    assert wide.low < narrow.low < narrow.high < wide.high  # type: ignore[operator]


# ---- quantiles ----


@SHARES
@pytest.mark.parametrize("name", ["normal", "exponential", "lognormal"])
@pytest.mark.parametrize(
    ("count", "q"),
    [(30, 0.5), (100, 0.9), (1000, 0.99), *further((100, 0.5), (1000, 0.5), (10_000, 0.99))],
)
def test_quantile_intervals_cover_independent_values(name: str, count: int, q: float, share: float) -> None:
    truth = {
        "normal": scipy.stats.norm(10, 1),
        "exponential": scipy.stats.expon(),
        "lognormal": scipy.stats.lognorm(0.5),
    }[name].ppf(q)
    draw, _ = INDEPENDENT[name]
    assert is_covered(draw, count, lambda row: summary.quantile_interval(row, q), truth, share, 0.93, 0.97)


@SHARES
@pytest.mark.parametrize(
    ("count", "q"),
    [(30, 0.5), (100, 0.9), (2000, 0.99), *further((100, 0.5), (1000, 0.5), (10_000, 0.9))],
)
def test_quantile_intervals_cover_autocorrelated_values(count: int, q: float, share: float) -> None:
    truth = scipy.stats.norm.ppf(q)
    found = lambda row: summary.quantile_interval(row, q)  # noqa: E731
    assert is_covered(autoregressive, count, found, truth, share, 0.90, 0.98)


def test_one_process_in_five_that_is_slower_leaves_the_typical_one_in_the_interval() -> None:
    rng = np.random.default_rng(14)
    for count in (2, 3, 5, 10):
        found = []
        for _ in range(200):
            levels = np.where(rng.random(count) < 0.2, 1.1, 1.0)
            found.append(summary.combine([summary.mean_interval(v * rng.lognormal(0, 0.05, 50)) for v in levels]))
        assert np.mean([holds(e, 1.0) for e in found]) >= 0.95 - 0.03 - 0.03
    assert summary.unseen_share(5) == pytest.approx(0.451, abs=0.001)


def sticky_speeds(rng: np.random.Generator, count: int, noise: float) -> np.ndarray:
    """Two speeds 30 % apart, each of which lasts for 50 calls on average."""
    switches = rng.random(count) < 1 / 50
    slow = (np.cumsum(switches) + rng.integers(2)) % 2
    return (1.0 + 0.3 * slow) * rng.lognormal(0.0, noise, count)


@pytest.mark.parametrize("noise", [0.03, pytest.param(0.1, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("count", "q"), [(300, None), (300, 0.5), (300, 0.9), (2000, 0.5), (2000, 0.9)])
def test_intervals_hold_what_they_claim_where_two_speeds_take_turns(count: int, q: float | None, noise: float) -> None:
    rng = np.random.default_rng(13)
    many = np.concatenate([rng.lognormal(0.0, noise, 400_000), 1.3 * rng.lognormal(0.0, noise, 400_000)])
    truth = many.mean() if q is None else np.quantile(many, q)
    rows = [sticky_speeds(rng, count, noise) for _ in range(250)]
    found = [summary.mean_interval(row) if q is None else summary.quantile_interval(row, q) for row in rows]
    held = np.mean([e.low <= truth <= e.high for e in found if e.low is not None and e.high is not None])
    assert held >= np.mean([e.confidence for e in found]) - 0.03 - 0.03  # 250 measurements: two standard errors
    assert np.mean([e.confidence for e in found]) > 0.85


def burst_calls(rng: np.random.Generator, count: int, length: int = 20) -> np.ndarray:
    """Calls of which 5 % take twice as long, in bursts of 20 on average; some burst is among them."""
    is_slow = np.zeros(count + 200, dtype=bool)
    while not is_slow[200:].any():
        for start in rng.integers(0, is_slow.size, rng.poisson(is_slow.size * 0.05 / length)):
            is_slow[start : start + rng.geometric(1 / length)] = True
    return np.where(is_slow[200:], 2.0, 1.0) * rng.lognormal(0.0, 0.3, count)


@pytest.mark.parametrize("rows_count", [150, pytest.param(600, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("count", "q"), [(300, None), (2000, 0.99), *further((300, 0.9), (2000, None), (2000, 0.9))])
def test_intervals_hold_what_they_claim_where_a_few_bursts_were_seen(
    count: int, q: float | None, rows_count: int
) -> None:
    rng = np.random.default_rng(15)
    many = np.concatenate([burst_calls(rng, 100_000) for _ in range(10)])
    truth = many.mean() if q is None else np.quantile(many, q)
    rows = [burst_calls(rng, count) for _ in range(rows_count)]
    found = [summary.mean_interval(row) if q is None else summary.quantile_interval(row, q) for row in rows]
    held = np.mean([holds(e, truth) for e in found])
    standard_error = 0.01 * math.sqrt(600 / rows_count)
    assert held >= np.mean([e.confidence for e in found]) - 0.03 - standard_error


@given(st.lists(finite, min_size=1, max_size=300), st.floats(min_value=0.001, max_value=0.999))
def test_selecting_and_sorting_agree(values: list[float], q: float) -> None:
    fast, slow = summary.quantile_interval(values, q), ranks.quantile_estimate(values, q)
    assert (fast.point, fast.confidence, fast.method) == (slow.point, slow.confidence, slow.method)
    assert fast.low == pytest.approx(slow.low) and fast.high == pytest.approx(slow.high)


def test_a_percentile_of_too_few_values_says_so() -> None:
    estimate = summary.quantile_interval(np.random.default_rng(4).random(100), 0.99)
    assert estimate.confidence < 0.7
    assert estimate.method == "order statistics, too few values for 95 %"


# ---- histograms ----


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_a_histogram_gives_the_interval_of_its_values_rounded_outwards(q: float) -> None:
    values = (1e6 * np.random.default_rng(6).lognormal(size=20_000)).astype(np.int64)
    folded = histogram.fold(values.tolist())
    ordered = np.sort(values)
    low, high = ranks.quantile_ranks(20_000, q) or (0, 0)
    estimate = summary.from_histogram(folded, q)
    assert estimate.low is not None and estimate.high is not None
    assert estimate.low <= ordered[low] and ordered[high - 2] <= estimate.high
    assert estimate.low == pytest.approx(ordered[low - 1], rel=3e-3)
    assert estimate.high == pytest.approx(ordered[high - 1], rel=3e-3)
    assert estimate.point == pytest.approx(np.quantile(values, q, method="inverted_cdf"), rel=2**-10)
    assert "error below 0.098 %" in estimate.method
    wider = summary.from_histogram(folded, q, inflation=4.0)
    assert wider.high - wider.low > 1.5 * (estimate.high - estimate.low)  # type: ignore[operator]


def test_a_histograms_mean_is_exact_and_its_interval_that_of_the_values() -> None:
    values = (1e6 * np.random.default_rng(7).lognormal(0, 0.3, 5000)).astype(np.int64)
    folded = histogram.fold(values.tolist())
    estimate = summary.mean_from_histogram(folded)
    theirs = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert estimate.point == values.mean()
    assert (estimate.low, estimate.high) == pytest.approx((theirs.low, theirs.high), rel=1e-4)
    wider = summary.mean_from_histogram(folded, inflation=4.0)
    assert wider.high - wider.point == pytest.approx(2 * (estimate.high - estimate.point), rel=0.01)  # type: ignore[operator]


@pytest.mark.parametrize(
    "estimate",
    [
        summary.mean_interval([5.0]),
        summary.quantile_interval([5.0], 0.9),
        summary.from_histogram(histogram.fold([5]), 0.9),
        summary.mean_from_histogram(histogram.fold([5])),
    ],
)
def test_one_value_has_no_interval(estimate: Estimate) -> None:
    assert (estimate.point, estimate.low, estimate.high, estimate.method) == (5.0, None, None, "one value")


def test_equal_values_have_an_interval_of_no_width() -> None:
    for estimate in (summary.mean_interval([3.0] * 40), summary.quantile_interval([3.0] * 40, 0.5)):
        assert (estimate.low, estimate.point, estimate.high) == (3.0, 3.0, 3.0)


def test_what_is_not_a_row_of_values_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        summary.mean_interval([])
    with pytest.raises(ValueError, match="one row"):
        summary.mean_interval(np.ones((2, 2)))


def test_a_median_of_many_values_that_drift_is_no_range_from_minimum_to_maximum() -> None:
    """6,233 values that drift all the time: they amount to a few independent ones, and the interval is of those."""
    rng = np.random.default_rng(8)
    values = 1e-3 * (1 + np.linspace(0, 0.2, 6233) + 0.001 * rng.normal(size=6233))
    found = summary.quantile_interval(values, 0.5)
    independent = summary.worth(values)
    assert independent < 6
    assert f"6,233 values worth {independent} independent ones, too few values for 95 %" in found.method
    assert found.confidence == pytest.approx(1 - 2 * 0.5**independent)
    inside = np.mean((values > found.low) & (values < found.high))
    assert inside == pytest.approx(1 - 1 / max(2, independent), abs=0.01)


def test_two_speeds_are_told_from_one_with_a_tail() -> None:
    rng = np.random.default_rng(15)
    values = sticky_speeds(rng, 1000, 0.03) * np.where(rng.random(1000) < 0.08, 20.0, 1.0)  # and some disturbed calls
    two = summary.speeds(values)
    assert two is not None and (two.lower, two.higher) == pytest.approx((1.0, 1.3), rel=0.05)
    assert summary.TWO_SPEEDS in summary.quantile_interval(values, 0.5).method
    assert summary.speeds(rng.lognormal(0, 0.3, 1000)) is None
    assert summary.speeds(np.where(rng.random(1000) < 0.3, 1.3, 1.0) * rng.lognormal(0, 0.03, 1000)) is None  # no stays


@pytest.mark.parametrize("together", [2, 3, 4, 5])
def test_gaps_of_nothing_are_no_speed(together: int) -> None:
    """Events that arrive together, a fiftieth of all: too few for the lowest step, and all of the lower group."""
    values = 2e-3 * np.random.default_rng(16).lognormal(0, 0.02, 50 * together - 8)
    values[50 : 50 + together] = 0.0
    assert summary.speeds(values) is None
    found = summary.quantile_interval(values, 0.5)
    assert found.point == pytest.approx(2e-3, rel=0.01) and summary.TWO_SPEEDS not in found.method
