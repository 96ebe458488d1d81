"""Times until a goal: against published examples, against slow oracles, and what must hold of any runs."""

from __future__ import annotations

import math
import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.records import Estimate
from benchwright.stats.survival import (
    TimeToGoal,
    common_horizon,
    fisher_p_value,
    log_rank_p_value,
    log_rank_scores,
    median_time,
    ratio_of_means,
    restricted_mean,
    smallest_p_value,
    survival_curve,
)


def _runs(times: list[float], censored: set[int] = frozenset()) -> list[TimeToGoal]:  # type: ignore[assignment]
    """Runs of these times; those at the places of `censored` never got there."""
    return [TimeToGoal(at=float(at), reached=place not in censored) for place, at in enumerate(times)]


# Freireich et al. (Blood 21, 1963): weeks in remission with 6-mercaptopurine and with a placebo, as in every textbook.
TREATED = _runs(
    [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35],
    {3, 5, 7, 8, 11, 12, 13, 16, 17, 18, 19, 20},
)
PLACEBO = _runs([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23])
# Miller (Survival Analysis, 1997): acute myelogenous leukemia, as R's `survival::aml`.
MAINTAINED = _runs([9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161], {2, 5, 8, 10})
NOT_MAINTAINED = _runs([5, 5, 8, 8, 12, 16, 23, 27, 30, 33, 43, 45], {5})


def test_the_curve_of_a_published_example_is_the_published_one() -> None:
    found = {step.at: step for step in survival_curve(TREATED)}
    shares = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert {at: round(step.left, 3) for at, step in found.items()} == pytest.approx(shares, abs=6e-4)
    assert (found[6].low, found[6].high) == pytest.approx((0.620, 0.952), abs=1e-3)
    assert (found[23].low, found[23].high) == pytest.approx((0.188, 0.680), abs=1e-3)


def test_medians_of_published_examples_have_the_published_intervals() -> None:
    treated, placebo, maintained = map(median_time, (TREATED, PLACEBO, MAINTAINED))
    assert (treated.point, treated.low, treated.high) == (23, 13, None)
    assert (placebo.point, placebo.low, placebo.high) == (8, 4, 11)
    assert (maintained.point, maintained.low, maintained.high) == (31, 13, None)


def test_restricted_means_of_a_published_example_are_those_of_r() -> None:
    """`print(survfit(Surv(time, status) ~ x, aml), rmean = "individual")`: 52.6 (se 19.83) and 22.7 (se 4.18)."""
    for runs, horizon, mean, error in ((MAINTAINED, 161.0, 52.65, 19.83), (NOT_MAINTAINED, 45.0, 22.71, 4.18)):
        found = restricted_mean(runs, horizon)
        assert found.point == pytest.approx(mean, abs=0.01)
        assert found.low is not None
        count = len(runs)
        student = {11: 2.228, 12: 2.201}[count]
        assert (found.point - found.low) / student / math.sqrt(count / (count - 1)) == pytest.approx(error, abs=0.02)


def test_the_log_rank_test_agrees_with_published_p_values() -> None:
    assert log_rank_p_value(MAINTAINED, NOT_MAINTAINED) == pytest.approx(0.0653, abs=0.008)
    assert log_rank_p_value(TREATED, PLACEBO) < 0.001


def test_the_log_rank_test_is_the_share_of_relabellings() -> None:
    """An oracle that goes over every permutation of all runs, as slow as it is plain."""
    before, after = _runs([3, 5, 9], {2}), _runs([4, 8, 9, 9], {2, 3})
    scores = log_rank_scores([*before, *after])
    seen = abs(sum(scores[:3]))
    every = [abs(sum(order[:3])) >= seen - 1e-9 for order in permutations(scores)]
    assert log_rank_p_value(before, after) == pytest.approx(sum(every) / len(every))
    assert log_rank_p_value(after, before) == pytest.approx(log_rank_p_value(before, after))


def test_runs_that_never_got_there_are_told_from_runs_that_did() -> None:
    fast, never = _runs([5, 6, 7, 8, 9]), _runs([60] * 5, {0, 1, 2, 3, 4})
    assert log_rank_p_value(fast, never) == pytest.approx(smallest_p_value(5, 5)) == pytest.approx(2 / 252)
    assert median_time(never).point is None
    assert restricted_mean(never, 60.0) == Estimate(
        point=60.0, low=None, high=None, method="mean within 60 of 5 rounds (restricted mean of Kaplan and Meier)"
    )
    assert common_horizon(fast, never) == 60.0  # of the fast ones nobody is left after 9: their curve is known for ever
    assert common_horizon(_runs([5, 8, 9], {1}), _runs([4, 30], {1})) == 30.0
    assert common_horizon(_runs([5, 8, 20], {2}), _runs([4, 30], {1})) == 20.0
    assert common_horizon(fast, _runs([3, 4])) == 9.0
    assert log_rank_p_value(never, never) == 1.0


def test_fishers_test_agrees_with_scipy() -> None:
    from scipy.stats import fisher_exact

    for a, b in ((5, 0), (4, 1), (3, 3), (0, 2)):
        assert fisher_p_value(a, 5, b, 4) == pytest.approx(fisher_exact([[a, 5 - a], [b, 4 - b]]).pvalue)


def test_the_log_rank_test_keeps_its_level() -> None:
    """Of runs that differ by chance alone, no more than the level are called different."""
    draw = random.Random(1)

    def side() -> list[TimeToGoal]:
        times = [draw.lognormvariate(0.0, 0.5) for _ in range(5)]
        return [TimeToGoal(at=min(at, 1.4), reached=at < 1.4) for at in times]

    called = sum(log_rank_p_value(side(), side()) <= 0.05 for _ in range(600))
    assert called / 600 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)


RUNS = st.lists(st.builds(TimeToGoal, at=st.integers(1, 50).map(float), reached=st.booleans()), min_size=2, max_size=9)


@settings(max_examples=60, deadline=None)
@given(RUNS)
def test_a_curve_only_falls_and_its_band_holds_it(runs: list[TimeToGoal]) -> None:
    steps = survival_curve(runs)
    assert [step.left for step in steps] == sorted((step.left for step in steps), reverse=True)
    for step in steps:
        assert 0.0 <= step.left <= 1.0
        if step.low is not None and step.high is not None:
            assert 0.0 <= step.low <= step.left <= step.high <= 1.0
    horizon = max(run.at for run in runs)
    mean = restricted_mean(runs, horizon)
    assert 0.0 < mean.point <= horizon + 1e-9


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 50).map(float), min_size=2, max_size=9))
def test_without_runs_that_never_got_there_it_is_the_usual_mean_and_median(times: list[float]) -> None:
    runs = _runs(times)
    assert restricted_mean(runs, max(times)).point == pytest.approx(sum(times) / len(times))
    assert median_time(runs).point == sorted(times)[(len(times) - 1) // 2]


@settings(max_examples=40, deadline=None)
@given(RUNS, RUNS)
def test_scores_add_up_to_nothing_and_p_values_are_probabilities(a: list[TimeToGoal], b: list[TimeToGoal]) -> None:
    assert sum(log_rank_scores([*a, *b])) == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < log_rank_p_value(a, b) <= 1.0


def test_a_ratio_of_means_has_an_interval_where_one_side_has() -> None:
    fast, slow = restricted_mean(_runs([5, 6, 7]), 9.0), restricted_mean(_runs([9, 9, 9], {0, 1, 2}), 9.0)
    ratio = ratio_of_means(fast, slow, 6)
    assert ratio is not None and ratio.low is not None and ratio.high is not None
    assert ratio.point == pytest.approx(1.5) and ratio.low < 1.5 < ratio.high
    assert ratio_of_means(slow, slow, 6) == Estimate(
        point=1.0, low=None, high=None, method="ratio of restricted means of 6 rounds"
    )
