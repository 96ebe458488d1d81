"""Where cells fail: the chance that a process of a cell works, learnt from those that did and those that did not.

Memory ends somewhere, and what lies beyond fails as well. A logistic regression on the numbers' logarithms and the
choices, with normal priors, tells on which side of that a cell lies; it is fitted by Newton's method, and its
predictions are drawn towards one half as far as they are uncertain (MacKay, "The evidence framework applied to
classification networks", 1992). Until something fails, everything is taken to work.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchwright.stats.race.conditions import Array
from benchwright.stats.race.space import Space

Counts = npt.NDArray[np.int_]

_STEPS = 12
_SLOPE, _LEVEL = 6.0, 3.0  # standard deviations of the priors
_BEYOND = 0.1  # what one failed cell at or below a cell leaves of its chance
_FLOOR = 1e-6


def find_chances(space: Space, works: Counts, fails: Counts) -> Array:
    """The chance that a process of each cell works."""
    if not fails.any():
        return np.ones(space.count)
    tried = np.flatnonzero(works + fails)
    features = _features(space)
    seen, truth = features[tried], (works[tried] > 0).astype(float)
    prior = np.diag([1.0 / _LEVEL**2, *[1.0 / _SLOPE**2] * (features.shape[1] - 1)])
    slopes = np.zeros(features.shape[1])
    for _ in range(_STEPS):
        chances = _logistic(seen @ slopes)
        curved = (seen * (chances * (1.0 - chances))[:, None]).T @ seen + prior
        slopes = slopes + np.linalg.solve(curved, seen.T @ (truth - chances) - prior @ slopes)
        slopes = np.clip(slopes, -50.0, 50.0)
    doubt = np.sum(features * np.linalg.solve(curved, features.T).T, axis=1)
    found = _logistic(features @ slopes / np.sqrt(1.0 + np.pi * doubt / 8.0))
    found = np.maximum(found * _BEYOND ** _count_walls(space, works, fails), _FLOOR)
    found[works > 0] = 1.0
    return np.asarray(found)


def _count_walls(space: Space, works: Counts, fails: Counts) -> Counts:
    """For each cell how many that only failed lie at or below it in every number, with the same choices.

    A failed cell below one that worked tells nothing of this kind: there it was not a matter of size.
    """
    is_number = np.array([axis is not None for axis in space.axes], dtype=np.bool_)
    places = np.column_stack(
        [axis[space.index[:, at]] for at, axis in enumerate(space.axes) if axis is not None] or [np.zeros(space.count)]
    )
    choices, worked = space.index[:, ~is_number], works > 0
    walls = np.zeros(space.count, dtype=np.int_)
    for cell in np.flatnonzero((fails > 0) & ~worked):
        above = np.all(choices == choices[cell], axis=1) & np.all(places >= places[cell], axis=1)
        above[cell] = False
        if is_number.any() and not np.any(above & worked):
            walls += above
    return walls


def _features(space: Space) -> Array:
    """A one, the place of each number on its axis, and a column for each choice but the first."""
    columns: list[Array] = [np.ones(space.count)]
    for at, axis in enumerate(space.axes):
        index = space.index[:, at]
        if axis is None:
            columns += [np.where(index == value, 1.0, 0.0) / 2.0 for value in range(1, int(index.max(initial=0)) + 1)]
        else:
            columns.append(axis[index] - 0.5)
    return np.column_stack(columns)


def _logistic(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -40.0, 40.0))))
