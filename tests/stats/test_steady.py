"""Steady-state detection on series whose truth is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st

from benchwright.stats import steady
from benchwright.stats.steady import Steady, detect

X = np.arange(1000) / 1000
Draw = Callable[[np.random.Generator], np.ndarray]


def found(draw: Draw, repeats: int = 60, seed: int = 4) -> list[Steady]:
    rng = np.random.default_rng(seed)
    return [detect(draw(rng).tolist()) for _ in range(repeats)]


def noise(rng: np.random.Generator, sigma: float = 0.1) -> np.ndarray:
    return rng.lognormal(0, sigma, 1000)


@pytest.mark.parametrize("count", [20, 50, 150, 1000, 1999])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.lognormal(10, 0.3, n),
        lambda rng, n: 1000 * (1 + rng.pareto(1.5, n)),
        lambda rng, n: np.exp(0.1 * scipy.signal.lfilter([1.0], [1.0, -0.5], rng.normal(size=n + 50))[50:]),
        lambda rng, n: rng.integers(100, 110, n),
    ],
    ids=["lognormal", "pareto", "autocorrelated", "ties"],
)
def test_noise_is_called_steady(draw: Callable[[np.random.Generator, int], np.ndarray], count: int) -> None:
    verdicts = found(lambda rng: draw(rng, count), 300)
    assert np.mean([v.steady for v in verdicts]) > 0.95
    assert np.mean([v.cut == 0 for v in verdicts]) > 0.92


@pytest.mark.parametrize("at", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("factor", [1.2, 5.0, 0.8])
def test_a_step_is_cut_where_it_is(at: float, factor: float) -> None:
    verdicts = found(lambda rng: np.where(at > X, factor, 1.0) * noise(rng))
    assert np.mean([v.steady for v in verdicts]) > 0.95
    assert np.median([v.cut for v in verdicts]) == pytest.approx(1000 * at, abs=20)


@pytest.mark.parametrize("decay", [0.01, 0.05, 0.1])
def test_a_decay_is_cut_once_it_is_in_the_noise(decay: float) -> None:
    verdicts = found(lambda rng: (1 + 2 * np.exp(-X / decay)) * noise(rng, 0.03))
    assert np.mean([v.steady for v in verdicts]) > 0.9
    cut = float(np.median([v.cut for v in verdicts])) / 1000
    assert 2 * np.exp(-cut / decay) < 0.06
    assert cut < 8 * decay + 0.02


def test_a_warm_up_of_a_few_calls_is_cut() -> None:
    verdicts = found(lambda rng: np.where(np.arange(1000) < 5, 20.0, 1.0) * noise(rng))
    assert all(v.steady for v in verdicts)
    assert np.mean([v.cut == 5 for v in verdicts]) > 0.8  # the next value may be far out by chance


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: (1 + 0.2 * X) * noise(rng),
        lambda rng: (1 - 0.3 * X) * noise(rng),
        lambda rng: (1 + 0.1 * X) * noise(rng, 0.02),
        lambda rng: 1 + 0.5 * X,
        lambda rng: np.where(X < 0.85, 1.2, 1.0) * noise(rng),
        lambda rng: np.where(X < 0.85, 1.0, 1.5) * noise(rng),
        lambda rng: (1 + 0.5 * np.exp(-X)) * noise(rng, 0.02),
    ],
    ids=["up", "down", "slight", "noiseless", "late step down", "late step up", "slow decay"],
)
def test_what_has_not_settled_is_not_called_steady(draw: Draw) -> None:
    assert np.mean([v.steady for v in found(draw)]) < 0.05


def test_reasons_tell_the_cases_apart() -> None:
    rng = np.random.default_rng(0)
    assert detect([1.0] * 100).reason == "level from the start"
    assert detect(np.where(X < 0.3, 2.0, 1.0).tolist()).reason == "level since value 300"
    assert detect(np.where(X < 0.9, 2.0, 1.0).tolist()).reason == "the level still changed at value 900"
    assert detect([1.0] * 7).reason == f"7 values are too few to tell; {steady.FEWEST} are needed"
    reasons = {detect(((1 + 0.1 * X) * noise(rng)).tolist()).reason for _ in range(30)}
    assert "drifts: one straight line fits all of it" in reasons


def test_a_change_that_does_not_matter_is_let_pass() -> None:
    rng = np.random.default_rng(1)
    values = (np.where(X < 0.5, 1.005, 1.0) * noise(rng, 0.005)).tolist()
    assert detect(values).cut < 100
    assert detect(values, tolerance=0.001).cut == pytest.approx(500, abs=20)


@given(st.lists(st.floats(allow_subnormal=False, min_value=0, max_value=1e12), max_size=300))
def test_any_series_gets_an_answer(values: list[float]) -> None:
    verdict = detect(values)
    assert 0 <= verdict.cut <= len(values) and verdict.reason
    if verdict.steady:
        assert len(values) - verdict.cut >= 0.2 * len(values)


@given(st.lists(st.integers(1, 10**9), min_size=20, max_size=300), st.integers(2, 1000))
def test_the_unit_does_not_matter(values: list[int], factor: int) -> None:
    assert detect(values).cut == detect([v * factor for v in values]).cut
