"""Scaled estimates, outliers, percentiles and speeds of single values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchwright.records import Estimate
from benchwright.schema import soundness
from benchwright.stats import summary
from benchwright.units import QuantityLimits


def test_outliers_are_counted_by_tukeys_fences() -> None:
    values = [*range(1, 101), 180, 190, 260, -60, -160]  # quartiles 25 and 77: fences at -53, 155 and -131, 233
    found = summary.outliers(values)
    assert (found.count, found.mild, found.severe) == (105, 3, 2)
    assert found.share == 5 / 105


def test_normal_values_have_the_known_share_of_outliers() -> None:
    found = summary.outliers(np.random.default_rng(1).normal(size=100_000))
    assert found.share == pytest.approx(0.00698, rel=0.15)
    assert found.severe <= 2


def test_percentiles_are_those_of_the_metrics() -> None:
    assert [f"latency_p{p:g}" for p in summary.PERCENTILES] == [
        "latency_p50",
        "latency_p90",
        "latency_p95",
        "latency_p99",
        "latency_p99.9",
    ]


def test_few_rounds_of_a_positive_quantity_never_reach_zero() -> None:
    rounds = [Estimate(point=point, low=None, high=None) for point in (16.2e-3, 24.2e-3, 7.8e-3)]
    found = summary.combine(rounds)
    assert found.low is not None and found.high is not None
    assert found.low == pytest.approx(found.point**2 / found.high) and 0 < found.low < 7.8e-3 * 1.2
    assert "low end by its ratio" in found.method
    mixed = summary.combine([replace(rounds[0], point=-0.1), *rounds[1:]], limits=QuantityLimits(low=None))
    assert mixed.low is not None and mixed.low < 0  # what can be negative stays so


def test_values_that_are_worth_a_single_one_can_be_kept_and_read_again() -> None:
    drifting = [0.001 * n for n in range(1, 21)]
    found = summary.quantile_interval(drifting, 0.5)
    assert summary.worth(drifting) == 1 and found.confidence == 0.0
    assert not soundness.estimate_flaw(found)
