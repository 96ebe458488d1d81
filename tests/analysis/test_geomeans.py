"""Geometric means of ratios: what goes into them, and how often their intervals hold the truth."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from benchwright.analysis.geomeans import EVERY_SUITE, RatioMember, geometric_means, is_averaged
from benchwright.records import Better, Verdict


def _member(
    before: Sequence[float], after: Sequence[float], *, suite: str = "s", metric: str = "latency_p50"
) -> RatioMember:
    return RatioMember(suite, metric, Better.LOWER, list(enumerate(before)), list(enumerate(after)), Verdict.UNCLEAR)


def test_a_mean_is_geometric_and_says_how_many_went_into_it() -> None:
    [mean] = geometric_means([_member([1.0, 1.0], [2.0, 2.0]), _member([10.0, 10.0], [5.0, 5.0])])
    assert mean.ratio is not None
    assert (mean.suite, mean.cases, mean.left_out) == (EVERY_SUITE, 2, 0)
    assert mean.ratio.point == pytest.approx(1.0)
    assert mean.ratio.method == "geometric mean of 2 cases, t on logarithms over 2 and 2 rounds"


def test_what_has_no_ratio_is_left_out_and_counted() -> None:
    members = [_member([1.0], [1.1]), _member([1.0], []), _member([0.0], [1.0]), _member([1.0], [-1.0])]
    [mean] = geometric_means(members)
    assert (mean.cases, mean.left_out, mean.counts) == (1, 3, {"unclear": 4})
    assert mean.ratio is not None and mean.ratio.point == pytest.approx(1.1)
    [none] = geometric_means(members[1:])
    assert (none.ratio, none.cases, none.left_out) == (None, 0, 3)


def test_one_round_on_each_side_has_no_interval() -> None:
    [mean] = geometric_means([_member([1.0], [1.1]), _member([1.0], [1.3])])
    assert mean.ratio is not None and mean.ratio.low is None and mean.ratio.high is None


def test_metrics_without_a_direction_and_totals_have_no_mean() -> None:
    undirected = _member([1.0], [2.0])._replace(better=None)
    total = _member([1.0], [2.0], metric="energy")
    assert geometric_means([undirected, total]) == []


@pytest.mark.parametrize(
    ("metric", "unit", "averaged"), [("errors", "%", False), ("errors", "1", True), ("ttft_p50", "s", True)]
)
def test_shares_of_failures_have_a_difference_and_no_mean_ratio(metric: str, unit: str, averaged: bool) -> None:
    assert is_averaged(metric, unit) is averaged


def test_suites_follow_where_there_are_several_and_the_metric_of_most_interest_is_first() -> None:
    members = [
        _member([1.0], [2.0], suite=suite, metric=m) for suite in ("b", "a") for m in ("rss_peak", "latency_p50")
    ]
    assert [(one.suite, one.metric) for one in geometric_means(members)] == [
        ("", "latency_p50"),
        ("", "rss_peak"),
        ("a", "latency_p50"),
        ("a", "rss_peak"),
        ("b", "latency_p50"),
        ("b", "rss_peak"),
    ]


def test_a_case_that_lacks_a_round_does_not_move_the_others() -> None:
    """A case a thousand times as slow is missing in one round: the means of rounds must not fall by that."""
    whole = [_member([1.0, 1.01, 0.99], [1.1, 1.11, 1.09]) for _ in range(4)]
    odd = RatioMember(
        "s", "latency_p50", Better.LOWER, [(0, 1000.0), (1, 1010.0)], [(0, 1100.0), (1, 1110.0)], Verdict.UNCLEAR
    )
    [mean] = geometric_means([*whole, odd])
    assert mean.ratio is not None and mean.ratio.low is not None and mean.ratio.high is not None
    assert mean.ratio.point == pytest.approx(1.1, rel=0.01)
    assert mean.ratio.high / mean.ratio.low < 1.1


@pytest.mark.parametrize("shared", [0.0, 0.03], ids=["cases apart", "rounds that disturb all cases"])
def test_intervals_hold_the_truth_although_rounds_disturb_all_cases_at_once(shared: float) -> None:
    """20 cases in 5 rounds, noise of 3 % in each: 95 % intervals of no change hold 1 in 95 of 100 comparisons."""
    rng = random.Random(15)
    held = 0
    for _ in range(400):
        rounds = [[rng.gauss(0, shared) for _ in range(5)] for _ in range(2)]
        members = [
            _member(*([math.exp(common + rng.gauss(0, 0.03)) for common in side] for side in rounds)) for _ in range(20)
        ]
        [mean] = geometric_means(members)
        assert mean.ratio is not None and mean.ratio.low is not None and mean.ratio.high is not None
        held += mean.ratio.low <= 1.0 <= mean.ratio.high
    assert 0.925 * 400 <= held <= 0.99 * 400
