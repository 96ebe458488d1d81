"""Metrics of requests, where a whole run would be too much to show them."""

from __future__ import annotations

import numpy as np
import pytest

from benchwright.execution.endpoint_metrics import MOST_GAPS, _thin


@pytest.mark.parametrize("period", [2, 4, 8])
def test_gaps_are_chosen_from_every_place_of_an_answer(period: int) -> None:
    """The first gap of each answer is long: every n-th gap would be always that one, or never."""
    gaps = np.tile([10.0] + [1.0] * (period - 1), period * MOST_GAPS // period)
    chosen = _thin(gaps)
    assert chosen.size == MOST_GAPS
    assert chosen.mean() == pytest.approx(gaps.mean(), rel=0.03)


def test_few_gaps_are_all_used() -> None:
    gaps = np.arange(10.0)
    assert _thin(gaps) is gaps
