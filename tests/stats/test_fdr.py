"""False-discovery control: agreement with scipy, and the rate itself, over comparisons that stopped early too."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from benchwright.stats.fdr import adjusted, benjamini_hochberg, level, verified

p_values = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=30)


@given(p_values, st.booleans())
def test_adjusted_agrees_with_scipy(given_values: list[float], dependent: bool) -> None:
    theirs = scipy.stats.false_discovery_control(given_values, method="by" if dependent else "bh")
    assert adjusted(given_values, dependent=dependent) == pytest.approx(list(theirs), abs=1e-12)


def test_what_is_called_at_a_rate_is_what_the_stepwise_rule_calls() -> None:
    given_values = [0.001, 0.8, 0.012, 0.039, 0.041, 0.2]
    assert benjamini_hochberg(given_values, 0.05) == [True, False, True, False, False, False]


def test_nothing_in_nothing_out_and_impossible_values_are_refused() -> None:
    assert adjusted([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted([0.5, 1.5])


def test_a_second_look_multiplies_and_one_that_finds_nothing_ends_it() -> None:
    assert verified(0.01, 0.004) == pytest.approx(0.00004)
    assert verified(0.01, 1.0) == 1.0
    # one of a hundred, called at 1 % and called again at 1 %, is a discovery at 5 %; called once it is not
    assert adjusted([verified(0.01, 0.01), *[1.0] * 99])[0] <= 0.05 < adjusted([0.01, *[1.0] * 99])[0]


@pytest.mark.parametrize("benchmarks", [1, 5, 6, 100])
def test_a_single_change_at_the_level_asked_for_is_a_discovery(benchmarks: int) -> None:
    alone = [level(benchmarks), *[1.0] * (benchmarks - 1)]
    assert adjusted(alone)[0] <= 0.05 + 1e-12
    assert level(benchmarks) <= 0.01


def test_no_benchmarks_have_no_level() -> None:
    with pytest.raises(ValueError, match="at least one"):
        level(0)


def test_the_share_of_false_discoveries_holds_when_second_looks_decide() -> None:
    """80 of 100 unchanged. Values as `pairs` gives them: 1, unless below the level at which it stops."""
    rng = np.random.default_rng(4)
    shares = []
    for _ in range(400):
        first, second = rng.random((2, 100))
        first[:20] /= 1000
        second[:20] /= 1000
        stopped = np.where(second <= 0.01, second, 1.0)
        final = [verified(0.01, p) if called else 1.0 for called, p in zip(first <= 0.01, stopped, strict=True)]
        called = np.array(adjusted(final)) <= 0.05
        shares.append(called[20:].sum() / max(1, called.sum()))
        assert called[:20].sum() >= 15
    assert np.mean(shares) <= 0.05


@given(
    st.lists(st.floats(allow_subnormal=False, min_value=0, max_value=1), max_size=40),
    st.floats(min_value=0.01, max_value=0.3),
)
def test_benjamini_hochberg_is_scipys(p_values: list[float], rate: float) -> None:
    ours = benjamini_hochberg(p_values, rate)
    if not p_values:
        assert ours == []
        return
    adjusted = scipy.stats.false_discovery_control(p_values)
    assert all(called == (a <= rate) for called, a in zip(ours, adjusted, strict=True) if abs(a - rate) > 1e-9)


def test_among_many_null_comparisons_hardly_any_is_called() -> None:
    rng = np.random.default_rng(2)
    families = [any(benjamini_hochberg(rng.random(50).tolist(), 0.05)) for _ in range(500)]
    assert np.mean(families) < 0.08
