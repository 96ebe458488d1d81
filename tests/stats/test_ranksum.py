"""The rank-sum test against every arrangement there is."""

from __future__ import annotations

from itertools import combinations

import pytest

from benchwright.stats.ranksum import larger


def _exactly(before: list[float], after: list[float]) -> float:
    """The share of all ways to choose as many values that rank at least as high."""
    ordered = sorted([*before, *after])
    ranks = sum(ordered.index(value) for value in after)
    ways = [sum(chosen) for chosen in combinations(range(len(ordered)), len(after))]
    return sum(way >= ranks for way in ways) / len(ways)


@pytest.mark.parametrize("shift", [-3.5, -0.5, 0.5, 2.5, 4.5, 9.5])
def test_it_is_near_the_exact_probability(shift: float) -> None:
    before, after = [float(i) for i in range(8)], [i + shift for i in range(6)]
    assert larger(before, after) == pytest.approx(_exactly(before, after), abs=0.02)


def test_ties_say_nothing_and_neither_does_an_empty_group() -> None:
    assert larger([1.0] * 9, [1.0] * 9) > 0.5
    assert larger([], [1.0]) == larger([1.0], []) == 1.0
    assert larger([1.0] * 9, [2.0] * 9) < 1e-3 < 0.999 < larger([2.0] * 9, [1.0] * 9)
