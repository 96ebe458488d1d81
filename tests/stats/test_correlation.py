"""The variance inflation against what theory says of autoregressive series."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from benchwright.stats import correlation


def inflation_of(values: np.ndarray) -> float:
    length = correlation.batch_length(values.size)
    means = values[: values.size - values.size % length].reshape(-1, length).mean(axis=1)
    return correlation.inflation(means.tolist(), length, float(values.var(ddof=1)))


@pytest.mark.parametrize("count", [100, 1000, 20_000])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_the_mean_of_an_autoregressive_series_varies_as_estimated(count: int, rho: float) -> None:
    rng = np.random.default_rng(1)
    estimates = []
    for _ in range(100):
        noise = rng.normal(size=count + 100)
        estimates.append(inflation_of(scipy.signal.lfilter([1.0], [1.0, -rho], noise)[100:]))
    truth = (1 + rho) / (1 - rho)
    assert np.median(estimates) == pytest.approx(truth, rel=0.2)


def test_alternating_values_are_not_worth_more_than_independent_ones() -> None:
    assert correlation.inflation([1.0, -1.0] * 50, 1, 100 / 99) == 1.0


def test_a_drift_costs_a_lot_and_yet_is_finite() -> None:
    assert 20 < correlation.inflation([float(i) for i in range(200)], 1, 200**2 / 12) < 1000


@pytest.mark.parametrize("means", [[], [1.0, 2.0, 3.0], [4.0] * 50])
def test_too_little_to_tell_is_taken_as_independent(means: list[float]) -> None:
    assert correlation.inflation(means, 1, 1.0) == 1.0


def test_batches_grow_longer_and_more_numerous() -> None:
    lengths = [correlation.batch_length(count) for count in (1, 30, 100, 1000, 10_000, 1_000_000)]
    batches = [count // length for count, length in zip((1, 30, 100, 1000, 10_000, 1_000_000), lengths, strict=True)]
    assert lengths == [1, 1, 2, 9, 46, 999]
    assert batches == sorted(batches) and batches[2:5] == [50, 111, 217]


def test_a_mean_of_bursts_leans_more_than_that_of_the_same_values_in_any_order() -> None:
    rng = np.random.default_rng(2)
    values = np.where(np.arange(2000) // 50 % 20 == 7, 2.0, 1.0) * rng.lognormal(0.0, 0.1, 2000)  # two bursts of 50
    shuffled = rng.permutation(values)
    leans = [correlation.lean(each.reshape(-1, 15).mean(axis=1).tolist()) for each in (values[:1995], shuffled[:1995])]
    assert leans[0] > 2 * abs(leans[1]) and leans[0] > 0.3
    assert correlation.lean((-values[:1995].reshape(-1, 15).mean(axis=1)).tolist()) == pytest.approx(-leans[0])
    assert correlation.lean((1e-150 * values[:1995].reshape(-1, 15).mean(axis=1)).tolist()) == pytest.approx(leans[0])


@pytest.mark.parametrize("means", [[], [1.0, 2.0, 9.0], [4.0] * 50])
def test_too_little_to_tell_leans_nowhere(means: list[float]) -> None:
    assert correlation.lean(means) == 0.0
