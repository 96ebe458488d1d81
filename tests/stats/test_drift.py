"""Drifts: slopes are found with their sizes, and nothing that only looks like one is."""

from __future__ import annotations

import numpy as np
import pytest

from benchwright.stats.changepoint import detect
from benchwright.stats.drift import Trend, examine


def sloping(
    begin: int, length: int, size: float, *, count: int = 200, noise: float = 0.02, seed: int = 1
) -> np.ndarray:
    """A level that grows by `size` over `length` points, in noise."""
    rng = np.random.default_rng(seed)
    way = np.clip((np.arange(count) - begin) / length, 0.0, 1.0)
    return 5.0 * np.exp(noise * rng.standard_normal(count) + np.log1p(size) * way)


def look(values: np.ndarray) -> Trend:
    return examine(values.tolist(), detect=detect)


@pytest.mark.parametrize(
    ("begin", "length", "size"), [(0, 200, 0.3), (50, 100, 0.3), (100, 100, 0.3), (80, 40, 0.2), (60, 80, -0.2)]
)
def test_a_slow_change_is_one_drift_and_no_step(begin: int, length: int, size: float) -> None:
    found = look(sloping(begin, length, size))
    (drift,) = found.drifts
    assert not found.changes
    assert drift.low <= 1 + size <= drift.high
    assert drift.slope_low <= (1 + size) ** (1 / length) - 1 <= drift.slope_high
    assert abs(drift.start - begin) <= 20 and abs(drift.end - (begin + length)) <= 20
    assert drift.earliest <= drift.start <= drift.latest
    assert drift.ongoing == (begin + length >= 200)
    assert drift.before == pytest.approx(5.0, rel=0.03)
    assert drift.after == pytest.approx(drift.before * drift.effect)
    assert drift.confidence > 0.99


def test_the_parts_of_a_drift_add_up_to_it() -> None:
    (drift,) = look(sloping(50, 100, 0.3, noise=0.005)).drifts
    assert len(drift.parts) > 1
    assert (drift.parts[0].start, drift.parts[-1].end) == (drift.start, drift.end)
    assert np.prod([part.effect for part in drift.parts]) == pytest.approx(drift.effect, rel=0.01)


@pytest.mark.parametrize(("place", "size"), [(100, 0.1), (140, -0.1), (20, 0.1)])
def test_a_step_on_a_slope_has_its_own_size(place: int, size: float) -> None:
    values = sloping(0, 200, 0.3)
    values[place:] *= 1 + size
    found = look(values)
    (drift,), (step,) = found.drifts, found.changes
    assert abs(step.index - place) <= 3
    assert step.low <= 1 + size <= step.high
    assert drift.low <= 1.3 <= drift.high
    assert step.after / step.before == pytest.approx(step.effect)


def test_a_slope_that_ends_in_a_step_has_a_size_and_so_has_the_step() -> None:
    way = np.clip(np.arange(800) / 400, 0.0, 1.0)
    for seed in (2, 5, 25):
        noise = 0.008 * np.random.default_rng((1, seed)).standard_normal(800)
        trend = examine(np.exp(0.25 * way + 0.1 * (np.arange(800) >= 400) + noise).tolist(), detect=detect)
        (drift,), (step,) = trend.drifts, trend.changes
        assert drift.effect == pytest.approx(np.exp(0.25), rel=0.02) and drift.low < drift.effect < drift.high
        assert step.effect == pytest.approx(np.exp(0.1), rel=0.02) and step.low < step.effect < step.high


def test_the_size_of_a_step_allows_for_a_slope_too_slight_to_tell() -> None:
    held = {"examine": 0, "detect": 0}
    for seed in range(12):
        values = sloping(0, 200, 0.04, noise=0.01, seed=seed)
        values[100:] *= 1.1
        for name, changes in (("examine", look(values).changes), ("detect", detect(values.tolist()))):
            near = [change for change in changes if abs(change.index - 100) <= 3]
            held[name] += bool(near) and near[0].low <= 1.1 <= near[0].high
    assert held["examine"] >= 10 > held["detect"]


@pytest.mark.parametrize("size", [0.03, 0.1, 0.3])
def test_a_step_is_no_drift(size: float) -> None:
    for seed in range(4):
        values = sloping(0, 1, 0.0, seed=seed)
        values[90 + 10 * seed :] *= 1 + size
        assert not look(values).drifts


def autoregressive(rng: np.random.Generator, count: int) -> np.ndarray:
    noise = rng.standard_normal(count)
    for i in range(1, count):
        noise[i] += 0.5 * noise[i - 1]
    return 0.02 * noise


def moded(rng: np.random.Generator, count: int) -> np.ndarray:
    switched = np.cumsum(rng.random(count) < 1 / 20) % 2
    return 0.05 * switched + 0.01 * rng.standard_normal(count)


def swinging(rng: np.random.Generator, count: int) -> np.ndarray:
    return 0.03 * np.sin(2 * np.pi * np.arange(count) / 24 + rng.random()) + 0.01 * rng.standard_normal(count)


def spiky(rng: np.random.Generator, count: int) -> np.ndarray:
    return 0.02 * rng.standard_normal(count) + (rng.random(count) < 0.08) * rng.exponential(0.3, count)


def coarse(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.log(np.round(1 + 0.02 * rng.standard_normal(count), 2))


@pytest.mark.parametrize("family", [autoregressive, moded, swinging, spiky, coarse], ids=lambda one: one.__name__)
@pytest.mark.parametrize("count", [60, 200, 400])
def test_what_does_not_change_has_no_drift(family, count: int) -> None:  # type: ignore[no-untyped-def]
    for seed in range(3):
        assert not look(np.exp(family(np.random.default_rng((seed, count)), count))).drifts


def test_a_long_series_shows_what_lies_in_its_newest_points() -> None:
    values = sloping(1900, 60, 0.2, count=2000)
    (drift,) = look(values).drifts
    assert abs(drift.start - 1900) < 40
    assert drift.low <= 1.2 <= drift.high


@pytest.mark.parametrize("values", [[], [1.0] * 5, [1.0] * 100, [-1.0, 0.0] * 50, [0.0, *[1.0] * 99]])
def test_series_that_show_nothing(values: list[float]) -> None:
    assert examine(values, detect=detect).drifts == ()
