"""The moments of values: at numpy's speed where there are many, without it where there are few.

Importing numpy takes longer than the smallest run, whose few calls need none of its speed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from benchwright.stats import correlation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Values = Sequence[int] | Sequence[float] | npt.NDArray[np.int64] | npt.NDArray[np.float64]
    _Floats = npt.NDArray[np.float64]
else:
    Values = Sequence  # whoever names it at run time has no numpy at hand

FEW = 50  # values: below, numpy is not asked, and two speeds are not looked for


class Moments(NamedTuple):
    """The count, the mean and the spread of values, from which an interval of the mean follows."""

    values: int  # how many
    mean: float
    variance: float  # of the sample; 0 for one value
    skewness: float
    batches: list[float]  # means of neighbours, less the mean of all
    smallest: float
    largest: float


def moments(values: Values) -> Moments:
    """Returns the moments of at least one value."""
    return _of_few(as_list(values)) if len(values) < FEW else _of_many(as_floats(values))


def _of_many(array: _Floats) -> Moments:
    import numpy as np

    count, mean = array.size, float(array.mean())
    centred = array - mean
    variance = float(np.dot(centred, centred)) / (count - 1)
    length = correlation.batch_length(count)
    batches = centred[: count - count % length].reshape(-1, length).mean(axis=1)
    units = centred / math.sqrt(variance) if variance else centred  # the cube of a tiny one would be nothing at all
    return Moments(
        values=count,
        mean=mean,
        variance=variance,
        skewness=_unbiased_skewness(count, float(np.dot(units * units, units))),
        batches=batches.tolist(),
        smallest=float(array.min()),
        largest=float(array.max()),
    )


def _of_few(row: list[float]) -> Moments:
    count, mean = len(row), math.fsum(row) / len(row)
    centred = [value - mean for value in row]
    variance = math.fsum(value * value for value in centred) / max(1, count - 1)
    length = correlation.batch_length(count)
    scale = math.sqrt(variance) or 1.0
    return Moments(
        values=count,
        mean=mean,
        variance=variance,
        skewness=_unbiased_skewness(count, math.fsum((value / scale) ** 3 for value in centred)),
        batches=[
            math.fsum(centred[start : start + length]) / length for start in range(0, count - count % length, length)
        ],
        smallest=min(row),
        largest=max(row),
    )


def as_list(values: Values) -> list[float]:
    """The values, which must form one row."""
    if getattr(values, "ndim", 1) != 1 or not len(values):
        raise ValueError("values must form one row" if len(values) else "no values")
    if hasattr(values, "tolist"):  # at numpy's speed
        return [*map(float, values.tolist())]
    return [float(value) for value in values]


def as_floats(values: Values) -> _Floats:
    """The values as numpy has them, which must form one row."""
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError("no values" if array.size == 0 else "values must form one row")
    return array


def _unbiased_skewness(count: int, cubes: float) -> float:
    """The sample skewness with its bias removed (G1), of the sum of cubes in units of the spread."""
    return count / (count - 1) / (count - 2) * cubes if count > 2 else 0.0
