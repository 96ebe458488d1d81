"""Shares are compared by difference: zero has no ratio."""

from __future__ import annotations

import numpy as np
import pytest

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.shares import compare_shares

Z = 1.959964


def wilson(failed: int, made: int) -> Estimate:
    share = failed / made
    middle, half = share + Z**2 / (2 * made), Z * (share * (1 - share) / made + (Z / (2 * made)) ** 2) ** 0.5
    scale = 100 / (1 + Z**2 / made)
    return Estimate(
        point=100 * share, low=max(0.0, scale * (middle - half)), high=scale * (middle + half), method="Wilson"
    )


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((0, 1000), (0, 1000), Verdict.SAME),
        ((0, 1000), (30, 1000), Verdict.WORSE),
        ((30, 1000), (0, 1000), Verdict.BETTER),
        ((0, 20), (1, 20), Verdict.UNCLEAR),
        ((0, 100_000), (50, 100_000), Verdict.WORSE),  # half a thousandth, and sure
        ((500, 100_000), (503, 100_000), Verdict.SAME),
    ],
)
def test_a_share_is_judged_by_what_is_sure(before: tuple[int, int], after: tuple[int, int], verdict: Verdict) -> None:
    found = compare_shares(wilson(*before), wilson(*after), better=Better.LOWER)
    assert found.verdict is verdict and found.ratio is None
    assert 0.0 <= found.p_value <= 1.0


def test_newcombe_s_own_example() -> None:
    """56 of 70 against 48 of 80: a difference of 0.2 from 0.0524 to 0.3339, as the paper's table II has it."""
    found = compare_shares(wilson(48, 80), wilson(56, 70), better=Better.HIGHER)
    assert found.verdict is Verdict.BETTER and found.why == "20 points more [+5.2, +33]"


def test_shares_that_did_not_change_are_rarely_called_changed() -> None:
    draw = np.random.default_rng(18)
    pairs = draw.binomial(400, 0.03, size=(2000, 2))
    called = sum(
        compare_shares(wilson(int(a), 400), wilson(int(b), 400), better=Better.LOWER).verdict
        in (Verdict.BETTER, Verdict.WORSE)
        for a, b in pairs
    )
    assert called / 2000 < 0.065  # 5 %, and what 2,000 draws scatter


def test_what_has_no_interval_or_direction_is_not_judged() -> None:
    bare = Estimate(point=5.0, low=None, high=None)
    assert compare_shares(wilson(0, 100), bare, better=Better.LOWER).verdict is Verdict.UNCLEAR
    assert compare_shares(wilson(0, 100), wilson(50, 100), better=None).verdict is Verdict.UNCLEAR
