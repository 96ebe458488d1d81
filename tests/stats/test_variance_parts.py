"""The parts of a spread between and within groups, against scipy and against draws whose parts are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from benchwright.stats.distributions import fisher_tail
from benchwright.stats.variance_parts import variance_parts


@pytest.mark.parametrize("x", [0.0, 0.1, 1.0, 3.5, 40.0, 1e6])
@pytest.mark.parametrize("df", [(1, 1), (2, 3), (2, 12), (9, 40)])
def test_the_tail_of_f_is_that_of_scipy(x: float, df: tuple[int, int]) -> None:
    assert fisher_tail(x, *df) == pytest.approx(float(stats.f.sf(x, *df)), rel=1e-9, abs=1e-300)
    assert fisher_tail(math.inf, *df) == 0.0


def test_the_test_is_the_analysis_of_variance_of_logarithms() -> None:
    draws = np.random.default_rng(3)
    groups = [draws.lognormal(mean, 0.02, count) for mean, count in ((0.0, 4), (0.01, 2), (0.05, 5))]
    found = variance_parts([list(group) for group in groups])
    assert found is not None and found.p_value is not None
    assert found.p_value == pytest.approx(float(stats.f_oneway(*map(np.log, groups)).pvalue), rel=1e-9)


def test_the_parts_are_those_that_were_drawn_from() -> None:
    draws = np.random.default_rng(11)
    between, within, calls = [], [], 0
    for _ in range(400):
        levels = draws.normal(0.0, 0.05, 6)
        found = variance_parts([list(np.exp(draws.normal(level, 0.02, 4))) for level in levels])
        assert found is not None and found.between is not None and found.within is not None
        between.append(found.between**2)
        within.append(found.within**2)
    assert math.sqrt(np.mean(between)) == pytest.approx(0.05, rel=0.06)
    assert math.sqrt(np.mean(within)) == pytest.approx(0.02, rel=0.03)
    for _ in range(1000):  # groups that do not differ
        same = variance_parts([list(np.exp(draws.normal(0.0, 0.02, 3))) for _ in range(3)])
        assert same is not None and same.p_value is not None
        calls += same.p_value < 0.05
    assert 30 <= calls <= 72, "5 % are called different"


def test_what_cannot_be_told_is_not_told() -> None:
    assert variance_parts([[1.0, 2.0]]) is None
    assert variance_parts([[1.0], [0.0]]) is None
    once = variance_parts([[1.0], [1.1], []])
    assert once is not None and once.range == pytest.approx(0.1)
    assert once.between is None and once.within is None and once.p_value is None
    equal = variance_parts([[1.0, 1.0], [1.0, 1.0]])
    assert equal is not None and equal.between == 0.0 and equal.p_value == 1.0
    apart = variance_parts([[1.0, 1.0], [2.0, 2.0]])
    assert apart is not None and apart.p_value == 0.0
