"""Kinds of noise that a history may have, and columns seen through them: what is left of a column is independent.

A kind is a slow part that remembers (a first-order autoregression, at its end a random walk) beside independent noise.
That covers independent noise, autocorrelation, two modes that take turns, and levels that wander. No kind is chosen:
what is judged is judged under each of them and weighed by how well each one fits, so a short series, in which chance
looks like any of them, is believed less than a long one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_DIFFUSE = 1e6  # variance of the level at which a random walk begins
_BLOCK = 31  # columns of a product that one thread computes
_INDEPENDENT_AT_LEAST = 0.02  # share of the variance that is no slow part: values are rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseKind:
    """One kind of noise, of variance 1: of the slow part and of what is independent beside it."""

    belief: float = 1.0  # before anything is seen, against the others
    memory: float  # the share of the slow part that the next point keeps; 1: a random walk
    slow: float  # variance of the slow part; of a random walk, of one of its steps
    independent: float

    @property
    def added_variance(self) -> float:
        """The variance that each point adds to the slow part."""
        return self.slow if self.memory == 1.0 else self.slow * (1.0 - self.memory**2)


def _kinds() -> tuple[NoiseKind, ...]:
    found = [NoiseKind(memory=0.0, slow=0.0, independent=1.0)]
    for memory, shares in ((0.4, (0.5, 1.0)), (0.65, (0.4, 1.0)), (0.85, (0.3, 0.6, 1.0)), (0.95, (0.3, 0.6, 0.9))):
        for share in shares:
            share = min(share, 1.0 - _INDEPENDENT_AT_LEAST)
            found.append(NoiseKind(memory=memory, slow=share, independent=1.0 - share))
    for walk, belief in (
        (0.03, 1.0),
        (0.1, 0.7),
        (0.25, 0.4),
        (0.6, 0.2),
    ):  # few histories wander as far as they scatter
        found.append(NoiseKind(memory=1.0, slow=walk**2, independent=1.0, belief=belief))
    return tuple(found)


KINDS = _kinds()
BELIEFS: Array = np.log([kind.belief for kind in KINDS])


def whiten(columns: Array) -> Array:
    """The columns (one row for each point) as each kind of noise leaves them: kinds, points, columns."""
    gains, scales = _filter(len(columns))
    memory = np.array([kind.memory for kind in KINDS])[:, None]
    seen = np.zeros((len(KINDS), columns.shape[1]))
    left = np.empty((len(columns), *seen.shape))
    for i, row in enumerate(columns):
        error = row - seen
        seen = memory * seen + gains[i] * error
        left[i] = error / scales[i]
    return np.ascontiguousarray(left.transpose(1, 0, 2))


def products(columns: Array) -> Array:
    """Each column times each, for every kind: kinds, columns, columns.

    In small blocks: larger ones are shared among threads, which on a busy machine wait for each other many times longer
    than the product takes.
    """
    kinds, _, count = columns.shape
    found = np.empty((kinds, count, count))
    blocks = [slice(begin, min(begin + _BLOCK, count)) for begin in range(0, count, _BLOCK)]
    parts = [np.ascontiguousarray(columns[:, :, block]) for block in blocks]
    for place, (block, part) in enumerate(zip(blocks, parts, strict=True)):
        turned = np.ascontiguousarray(part.transpose(0, 2, 1))
        for other, beside in zip(blocks[place:], parts[place:], strict=True):
            product = turned @ beside
            found[:, block, other] = product
            found[:, other, block] = product.transpose(0, 2, 1)
    return found


def log_determinants(count: int) -> Array:
    """The logarithm of the determinant of each kind's covariance over so many points."""
    _, scales = _filter(count)
    total: Array = 2.0 * np.log(scales[:, :, 0]).sum(axis=0)
    return total


@lru_cache(maxsize=8)
def _filter(count: int) -> tuple[Array, Array]:
    """Kalman's gains and the standard deviations of what they leave: points, kinds, 1."""
    memory, fed, rest, begin = (
        np.array(column)[:, None]
        for column in zip(
            *((k.memory, k.added_variance, k.independent, _DIFFUSE if k.memory == 1.0 else k.slow) for k in KINDS),
            strict=True,
        )
    )
    gains, scales = np.empty((2, count, len(KINDS), 1))
    unknown = begin
    for i in range(count):
        variance = unknown + rest
        gains[i], scales[i] = memory * unknown / variance, np.sqrt(variance)
        unknown = memory**2 * unknown + fed - gains[i] ** 2 * variance
    return gains, scales


def weights(scores: Array) -> Array:
    """Logarithms of evidence as shares that add up to one."""
    share: Array = np.exp(scores - scores.max())
    share /= share.sum()
    return share


def log_mean(scores: Array) -> float:
    """The logarithm of the mean of what these are logarithms of."""
    top = float(scores.max())
    return top + math.log(float(np.exp(scores - top).mean()))
