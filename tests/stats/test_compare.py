"""Verdicts: false alarms and power in simulations, agreement with scipy, and the rules one by one."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.compare import ALLOWANCE, compare

points = st.lists(st.floats(min_value=0.1, max_value=100), min_size=2, max_size=10)


def bare(*values: float) -> list[Estimate]:
    return [Estimate(point=v, low=None, high=None) for v in values]


def sharp(*values: float, width: float = 0.001) -> list[Estimate]:
    return [Estimate(point=v, low=v * (1 - width), high=v * (1 + width)) for v in values]


def rounds(rng: np.random.Generator, count: int, spread: float, level: float = 1.0) -> list[Estimate]:
    """Processes whose levels differ by `spread`, each known to within 1.5 %."""
    levels = level * np.exp(spread * rng.normal(size=count))
    return sharp(*(levels * np.exp(0.015 * rng.normal(size=count))), width=1.96 * 0.015)


def verdicts(count_a: int, count_b: int, spread: float, level: float, repeats: int = 1000) -> Counter[Verdict]:
    rng = np.random.default_rng(count_a * 100 + count_b)
    return Counter(
        compare(rounds(rng, count_a, spread), rounds(rng, count_b, spread, level), better=Better.LOWER).verdict
        for _ in range(repeats)
    )


@pytest.mark.parametrize("counts", [(1, 5), (5, 1), (2, 2), (3, 3), (5, 5), (2, 10)])
@pytest.mark.parametrize("spread", [0.0, 0.01, 0.03, 0.1])
def test_equal_programs_are_not_called_different(counts: tuple[int, int], spread: float) -> None:
    found = verdicts(*counts, spread, 1.0)
    assert (found[Verdict.WORSE] + found[Verdict.BETTER]) / found.total() <= 0.05 + 0.01  # nominal, plus chance


@pytest.mark.parametrize("spread", [0.0, 0.01, 0.03])
def test_single_processes_are_not_called_different_within_the_allowance(spread: float) -> None:
    found = verdicts(1, 1, spread, 1.0)
    assert (found[Verdict.WORSE] + found[Verdict.BETTER]) / found.total() <= 0.05


@pytest.mark.parametrize(("count", "level"), [(3, 1.2), (5, 1.1), (10, 1.05)])
def test_a_slower_program_is_found_out(count: int, level: float) -> None:
    found = verdicts(count, count, 0.01, level, 150)
    assert found[Verdict.WORSE] / found.total() > 0.9
    assert found[Verdict.BETTER] == 0


def test_equal_programs_are_called_the_same_once_that_is_known() -> None:
    rng = np.random.default_rng(1)
    a, b = (sharp(*np.exp(0.002 * rng.normal(size=10))) for _ in range(2))
    judged = compare(a, b, better=Better.LOWER)
    assert judged.verdict is Verdict.SAME and judged.why == "the whole interval lies within ±1 %"


@given(points, points)
def test_the_interval_is_the_wider_of_welchs_and_the_pooled_one(a: list[float], b: list[float]) -> None:
    judged = compare(bare(*a), bare(*b), better=None)
    assume(min(np.ptp(np.log(a)), np.ptp(np.log(b))) > 1e-6)  # scipy warns of nearly equal values
    theirs = [scipy.stats.ttest_ind(np.log(b), np.log(a), equal_var=equal) for equal in (False, True)]
    assert judged.ratio is not None and judged.ratio.low is not None and judged.ratio.high is not None
    assert judged.p_value == pytest.approx(max(t.pvalue for t in theirs), rel=1e-4, abs=1e-9)
    low = min(t.confidence_interval(0.95).low for t in theirs)
    high = max(t.confidence_interval(0.95).high for t in theirs)
    assert math.log(judged.ratio.low) == pytest.approx(low, rel=1e-4, abs=1e-6)
    assert math.log(judged.ratio.high) == pytest.approx(high, rel=1e-4, abs=1e-6)


@given(points, points, st.sampled_from(list(Better)))
def test_a_verdict_follows_from_the_interval(a: list[float], b: list[float], better: Better) -> None:
    judged = compare(bare(*a), bare(*b), better=better)
    assert judged.ratio is not None and judged.ratio.low is not None and judged.ratio.high is not None
    assert judged.ratio.low <= judged.ratio.point <= judged.ratio.high
    if judged.verdict in (Verdict.BETTER, Verdict.WORSE):
        assert judged.ratio.low > 1 or judged.ratio.high < 1
        assert abs(math.log(judged.ratio.point)) >= math.log(1.01)
        assert (judged.verdict is Verdict.BETTER) == ((judged.ratio.point > 1) == (better is Better.HIGHER))
        assert judged.p_value < 0.05 + 1e-9
    if judged.verdict is Verdict.SAME:
        assert judged.ratio.low >= 1 / 1.01 - 1e-9 and judged.ratio.high <= 1.01 + 1e-9


@given(points, points)
def test_swapping_the_sides_mirrors_the_verdict(a: list[float], b: list[float]) -> None:
    there, back = (compare(bare(*x), bare(*y), better=Better.LOWER) for x, y in ((a, b), (b, a)))
    mirrored = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    assert back.verdict is mirrored.get(there.verdict, there.verdict)
    assert there.ratio is not None and back.ratio is not None
    assert there.ratio.point * back.ratio.point == pytest.approx(1)


def test_one_process_each_is_unclear_but_for_a_factor_that_no_process_explains() -> None:
    within = compare(sharp(1.0), sharp(1.5), better=Better.LOWER)
    assert within.verdict is Verdict.UNCLEAR
    assert "one process each cannot show how processes differ; 100 % are allowed for it, no rate" in within.why
    beyond = compare(sharp(1.0), sharp(2.5), better=Better.LOWER)
    assert beyond.verdict is Verdict.WORSE and "one process each" in beyond.why
    assert beyond.ratio is not None and beyond.ratio.low is not None
    assert beyond.ratio.low == pytest.approx(2.5 / (1 + ALLOWANCE), rel=0.01)
    assert compare(sharp(1.0), sharp(1.0), better=Better.LOWER).verdict is Verdict.UNCLEAR
    assert compare(sharp(1.0), sharp(1.08), better=Better.LOWER, allowance=0.02).verdict is Verdict.WORSE


def test_single_values_cannot_be_judged() -> None:
    judged = compare(bare(1.0), bare(3.0), better=Better.LOWER)
    assert (judged.verdict, judged.p_value) == (Verdict.UNCLEAR, 1.0)
    assert judged.ratio is not None and judged.ratio.point == pytest.approx(3.0) and judged.ratio.low is None
    guess = [Estimate(point=3.0, low=2.9, high=3.1, confidence=0.3)]  # a percentile of too few calls
    assert compare(sharp(1.0), guess, better=Better.LOWER).verdict is Verdict.UNCLEAR


def test_one_sides_spread_stands_for_both() -> None:
    judged = compare(sharp(1.0, 1.05, 0.95, 1.02), sharp(1.1), better=Better.LOWER)
    assert judged.verdict is Verdict.UNCLEAR and "the other side's spread stands for both" in judged.why
    logs = np.log([1.0, 1.05, 0.95, 1.02])
    half = scipy.stats.t.ppf(0.975, 3) * logs.std(ddof=1) * math.sqrt(1 / 4 + 1)
    assert judged.ratio is not None and judged.ratio.high is not None
    assert math.log(judged.ratio.high / judged.ratio.point) == pytest.approx(half, rel=0.01)


def test_rounds_that_agree_by_luck_are_not_sharper_than_they_know() -> None:
    judged = compare(sharp(1.0, 1.0, 1.0, width=0.1), sharp(1.05, 1.05, 1.05, width=0.1), better=Better.LOWER)
    assert judged.verdict is Verdict.UNCLEAR


def test_exact_values_are_judged_exactly() -> None:
    assert compare(bare(2.0, 2.0), bare(2.0, 2.0), better=Better.LOWER).verdict is Verdict.SAME
    slower = compare(bare(2.0, 2.0), bare(2.5, 2.5), better=Better.LOWER)
    assert (slower.verdict, slower.p_value) == (Verdict.WORSE, 0.0)
    assert compare(bare(2.0, 2.0), bare(2.5, 2.5), better=Better.HIGHER).verdict is Verdict.BETTER


def test_a_change_too_small_to_count_is_not_called_one() -> None:
    a, b = sharp(1.0, 1.0002, 0.9998), sharp(1.008, 1.0082, 1.0078)
    assert compare(a, b, better=Better.LOWER, smallest=0.01).verdict is Verdict.SAME
    assert compare(a, b, better=Better.LOWER, smallest=0.005).verdict is Verdict.WORSE
    unsure = compare(a, b, better=Better.LOWER, smallest=0.00805)
    assert (unsure.verdict, unsure.why) == (Verdict.UNCLEAR, "a change, but perhaps one within ±0.805 %")


def test_without_a_better_direction_a_change_is_stated_but_not_judged() -> None:
    judged = compare(sharp(1.0, 1.0), sharp(2.0, 2.0), better=None)
    assert judged.verdict is Verdict.UNCLEAR and judged.why == "higher, and neither direction is better"


def test_zeros_have_no_ratio() -> None:
    nothing = compare(bare(0.0, 0.0), bare(0.0), better=Better.LOWER)
    assert (nothing.ratio, nothing.verdict) == (None, Verdict.SAME)
    something = compare(bare(0.0, 0.0), bare(3.0), better=Better.LOWER)
    assert (something.ratio, something.verdict) == (None, Verdict.UNCLEAR)


def test_an_interval_that_claims_certainty_counts_as_nearly_sure() -> None:
    """Other tools write 100 %; no quantile belongs to that."""
    certain = [Estimate(point=1.0, low=0.99, high=1.01, confidence=1.0)] * 2
    nearly = [Estimate(point=1.0, low=0.99, high=1.01, confidence=1 - 1e-9)] * 2
    ours, theirs = (compare(bare(1.0, 1.001), side, better=Better.LOWER) for side in (certain, nearly))
    assert ours.verdict is theirs.verdict
    assert ours.ratio is not None and theirs.ratio is not None
    assert ours.ratio.high == pytest.approx(theirs.ratio.high, rel=0.01)


def test_a_missing_side_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one round"):
        compare([], bare(1.0), better=None)
