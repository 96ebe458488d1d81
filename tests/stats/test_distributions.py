"""Normal and t against scipy."""

from __future__ import annotations

import math

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from benchwright.stats.distributions import normal_cdf, normal_quantile, student_cdf, student_quantile

probabilities = st.floats(min_value=1e-9, max_value=1 - 1e-9)
degrees = st.floats(min_value=0.5, max_value=1e6)


@given(probabilities)
def test_normal_quantile_is_scipys(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(scipy.stats.norm.ppf(p), rel=1e-7, abs=1e-9)


@given(st.floats(allow_subnormal=False, min_value=-30, max_value=30))
def test_normal_cdf_is_scipys_in_both_tails(x: float) -> None:
    assert normal_cdf(x) == pytest.approx(scipy.stats.norm.cdf(x), rel=1e-10, abs=0)


@given(st.floats(allow_subnormal=False, min_value=-1e3, max_value=1e3), degrees)
def test_student_cdf_is_scipys(x: float, df: float) -> None:
    assert student_cdf(x, df) == pytest.approx(scipy.stats.t.cdf(x, df), rel=1e-7, abs=1e-15)


@given(st.floats(min_value=1e-4, max_value=1 - 1e-4), degrees)
def test_student_quantile_is_scipys(p: float, df: float) -> None:
    assert student_quantile(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=1e-7, abs=1e-9)


def test_student_becomes_normal() -> None:
    assert student_quantile(0.975, 1e9) == normal_quantile(0.975)
    assert student_quantile(0.975, 9.9e6) == pytest.approx(normal_quantile(0.975), rel=1e-6)


def test_the_far_tail_is_not_a_number_that_breaks() -> None:
    assert student_cdf(1e200, 3) == 1.0
    assert student_cdf(-1e200, 3) == 0.0


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_impossible_probabilities_are_refused(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        normal_quantile(p)


def test_impossible_degrees_of_freedom_are_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        student_cdf(1.0, 0.0)
