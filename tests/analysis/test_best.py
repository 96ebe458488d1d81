"""The best of several, what cannot be told from it, and what is best in two respects."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from benchwright.analysis.best import (
    DOMINATED,
    FRONT,
    UNCLEAR,
    Alternative,
    Best,
    Respect,
    find_best,
    find_standings,
    pareto_front,
)
from benchwright.records import Better, Estimate

LATENCY = Respect(metric="latency_p50", better=Better.LOWER)
THROUGHPUT = Respect(metric="throughput", better=Better.HIGHER)


def _of(*rounds: float, is_doubted: bool = False) -> Alternative:
    estimates = [Estimate(point=value, low=None, high=None) for value in rounds]
    return Alternative(estimates, math.fsum(rounds) / len(rounds), is_doubted)


def _steady(centre: float) -> Alternative:
    return _of(centre * 0.999, centre, centre * 1.001, centre * 1.0005, centre * 0.9995)


def _noisy(centre: float) -> Alternative:
    return _of(centre * 0.9, centre * 1.1, centre * 1.05, centre * 0.95, centre)


def test_the_best_depends_on_the_direction_and_what_is_told_apart_is_no_tie() -> None:
    among = [_steady(2.0), _steady(1.0), _steady(3.0)]
    assert find_best(among, LATENCY) == Best(1, ())
    assert find_best(among, THROUGHPUT) == Best(2, ())
    assert find_best([], LATENCY) is None


def test_ties_are_the_nearest_first() -> None:
    among = [_noisy(1.0), _noisy(1.05), _steady(9.0), _noisy(1.02)]
    assert find_best(among, LATENCY) == Best(0, (3, 1))


def test_intervals_that_overlap_by_eye_are_told_apart_by_the_test() -> None:
    """Each is known to about ±4.5 %, and they lie 7 % apart: a reader of intervals would call that a tie."""
    spread = (0.96, 1.04, 0.98, 1.02, 1.0, 0.97, 1.03, 1.01)
    first, second = (_of(*(centre * factor for factor in spread)) for centre in (1.0, 1.07))
    assert find_best([first, second], LATENCY) == Best(0, ())


def test_a_doubted_side_ties_within_what_noise_explains() -> None:
    doubted = _of(*(1.15 * factor for factor in (0.999, 1.0, 1.001)), is_doubted=True)
    assert find_best([_steady(1.0), doubted], LATENCY) == Best(0, (1,))
    assert find_best([_steady(1.0), _steady(1.15)], LATENCY) == Best(0, ())


def test_single_values_without_an_interval_tie_below_a_factor_of_two() -> None:
    assert find_best([_of(1.0), _of(1.9), _of(2.1)], LATENCY) == Best(0, (1,))


@pytest.mark.parametrize("count", [2, 8])
def test_the_truly_best_is_among_those_that_are_left_in_95_of_100_choices(count: int) -> None:
    """All are equal, so any that is set aside is an error for that one; the first stands for the truly best."""
    rng = random.Random(count)
    kept = 0
    for _ in range(600):
        among = [_of(*(math.exp(rng.gauss(0, 0.05)) for _ in range(5))) for _ in range(count)]
        best = find_best(among, LATENCY)
        assert best is not None
        kept += best.place == 0 or 0 in best.ties
    assert kept >= 0.95 * 600


def _standings(x: Sequence[Alternative], y: Sequence[Alternative]) -> list[str]:
    return [one.state for one in find_standings(x, y, (LATENCY, THROUGHPUT))]


def test_a_front_and_what_it_dominates() -> None:
    x = [_steady(1.0), _steady(2.0), _steady(3.0), _noisy(1.02)]
    y = [_steady(10.0), _steady(30.0), _steady(20.0), _noisy(9.9)]
    assert _standings(x, y) == [FRONT, FRONT, DOMINATED, UNCLEAR]
    beaten = find_standings(x, y, (LATENCY, THROUGHPUT))
    assert [one.by for one in beaten] == [None, None, 1, 0]


def test_the_same_in_one_respect_and_better_in_the_other_dominates() -> None:
    assert _standings([_steady(1.0), _steady(1.0)], [_steady(10.0), _steady(8.0)]) == [FRONT, DOMINATED]


def test_directions_turn_the_front() -> None:
    memory = Respect(metric="rss_peak", better=Better.LOWER)
    points = [_steady(1.0), _steady(2.0)], [_steady(5.0), _steady(9.0)]
    states = [one.state for one in find_standings(*points, (LATENCY, memory))]
    assert states == [FRONT, DOMINATED]


def test_a_front_of_points() -> None:
    assert pareto_front([(2.0, 5.0), (1.0, 3.0), (3.0, 4.0), (1.0, 2.0)]) == [1, 0]
