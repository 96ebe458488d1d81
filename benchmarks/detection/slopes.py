"""Simulated histories with a slope, and those that only look as if they had one. Everything is seeded by the caller."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
NOISES = (0.01, 0.02, 0.03)
LENGTHS = (60, 110, 200, 400)


def sloping(rng: np.random.Generator, *, count: int, begin: int, length: int, size: float, noise: float) -> Array:
    """A level that grows by `size`, little by little over `length` points from `begin` on, in independent noise."""
    way = np.clip((np.arange(count) - begin) / length, 0.0, 1.0)
    return np.exp(noise * rng.standard_normal(count) + np.log1p(size) * way)


def unchanged(family: str, rng: np.random.Generator, count: int) -> Array:
    """A series of a family in which nothing ever changes."""
    return np.exp(FAMILIES[family](rng, count))


def stepping(rng: np.random.Generator, count: int, steps: int = 1) -> Array:
    """Levels that change at once, by 3 to 20 %, ten points from each other and from the ends at least."""
    values = _independent(rng, count)
    for place in rng.choice(np.arange(10, count - 10, 10), steps, replace=False):
        values[place:] += rng.choice((-1.0, 1.0)) * np.log1p(rng.choice((0.03, 0.05, 0.1, 0.2)))
    return np.exp(values)


def _independent(rng: np.random.Generator, count: int) -> Array:
    return rng.choice(NOISES) * rng.standard_normal(count)


def _correlated(rng: np.random.Generator, count: int) -> Array:
    values = rng.standard_normal(count)
    for i in range(1, count):
        values[i] = 0.5 * values[i - 1] + np.sqrt(0.75) * values[i]
    return rng.choice(NOISES) * values


def _modes(rng: np.random.Generator, count: int) -> Array:
    """Two modes 5 % apart, each of which lasts 5 to 40 points on average."""
    switched = np.cumsum(rng.random(count) < 1.0 / rng.choice((5, 10, 20, 40))) % 2
    return 0.05 * (switched != (rng.random() < 0.5)) + rng.choice((0.003, 0.01, 0.02)) * rng.standard_normal(count)


def _swing(rng: np.random.Generator, count: int) -> Array:
    """Day and night: a swing of 3 % over 8 to 48 points, from its middle or from one end to the other."""
    turns = np.arange(count) / rng.choice((8, 12, 24, 48)) + rng.random()
    return rng.choice((0.015, 0.03)) * np.sin(2 * np.pi * turns) + rng.choice((0.005, 0.02)) * rng.standard_normal(
        count
    )


def _outliers(rng: np.random.Generator, count: int) -> Array:
    hit = rng.random(count) < rng.uniform(0.01, 0.1)
    return _independent(rng, count) + hit * rng.exponential(0.2, count)


def _rounded(rng: np.random.Generator, count: int) -> Array:
    unit = rng.choice((0.005, 0.01, 0.03))
    return np.log(np.round(np.exp(_independent(rng, count)) / unit) * unit)


def _walk(rng: np.random.Generator, count: int) -> Array:
    """A level that wanders by 0.2 % a point, in noise of 1 %."""
    return 0.01 * rng.standard_normal(count) + 0.002 * np.cumsum(rng.standard_normal(count))


FAMILIES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "independent": _independent,
    "AR 0.5": _correlated,
    "two sticky modes, 5 % apart": _modes,
    "day and night, 3 %": _swing,
    "slow outliers": _outliers,
    "rounded": _rounded,
    "random walk, 0.2 % a point": _walk,
}
