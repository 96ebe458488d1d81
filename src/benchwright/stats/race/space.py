"""The space of a race: how much any two of its cells have in common before anything was measured.

The logarithm of a metric is a sum of smooth functions of one dimension, of two together, of all together, and a part
that each cell has alone. Numbers act on a logarithmic axis, so that doubling a batch is one step wherever it happens
and saturation is a curve that flattens; two numbers together may also bend sharply, as where threads times copies are
more than there are cores. Choices have a surface of their own that resembles the others' as far as
the data say so. Each part is a Gaussian process (Rasmussen and Williams 2006; additive ones after Duvenaud, Nickisch
and Rasmussen 2011). What two values of a dimension have in common is a small table; it is kept as the few columns
whose products give it, so that the covariance of many cells is one product of matrices.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchwright.stats.race.conditions import Array, Indices
from benchwright.stats.race.records import Cell, Dimension

_LONG, _MIDDLE, _SHORT = 1.5, 0.7, 0.35  # of a dimension's whole length: a trend, what two do together, and a bend
_MAIN, _PAIR, _ALL, _ALONE = 0.05, 0.01, 0.005, 2e-4  # variances to begin with
_MOST_PAIRS = 10
_APART = 0.5  # squared distance of two choices
_NOTHING = 1e-7  # of a table's largest direction: what is left out


class Space:
    """The parts of the response over a space. The last two are what all dimensions do together, and a cell alone."""

    def __init__(self, dimensions: Sequence[Dimension], cells: Sequence[Cell]) -> None:
        self.count = len(cells)
        places = [{value: at for at, value in enumerate(each.values)} for each in dimensions]
        self.index = np.array(
            [[place[v] for place, v in zip(places, cell, strict=True)] for cell in cells], dtype=np.intp
        )
        self.index = self.index.reshape(self.count, len(dimensions))
        self.is_number = np.array([not isinstance(each.values[0], str) for each in dimensions], dtype=bool)
        self.axes = [_axis(each) for each in dimensions]
        varies = [at for at in range(len(dimensions)) if len(set(self.index[:, at].tolist())) > 1]
        counts = [len(each.values) for each in dimensions]
        numbers = [at for at in varies if self.is_number[at]]
        middle = {at: _resemblance(self.axes[at], counts[at], _MIDDLE) for at in varies}
        single = {at: _columns(table)[self.index[:, at]] for at, table in middle.items()}
        long, short = (
            {at: _columns(_resemblance(self.axes[at], counts[at], length))[self.index[:, at]] for at in some}
            for length, some in ((_LONG, varies), (_SHORT, numbers))
        )
        pairs = [_multiply(single[one], single[other]) for one, other in itertools.combinations(varies, 2)]
        bends = [_multiply(short[one], short[other]) for one, other in itertools.combinations(numbers, 2)]
        if len(pairs) > _MOST_PAIRS:
            pairs = [np.concatenate(pairs, axis=1) / np.sqrt(len(pairs))]
            bends = [np.concatenate(bends, axis=1) / np.sqrt(len(bends))] if bends else []
        main = [*long.values(), *short.values()]
        pairs += bends
        parts = [*main, *pairs]
        self._columns = np.concatenate([np.zeros((self.count, 0)), *parts], axis=1)
        self._part = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts]).astype(np.intp)
        self._middle = middle
        self.start = np.array(
            [_MAIN] * len(varies)
            + [_MAIN / 5] * (len(main) - len(varies))
            + [_PAIR] * (len(pairs) - len(bends))
            + [_PAIR / 5] * len(bends)
            + [_ALL, _ALONE]
        )

    def distances(self, cell: int) -> Array:
        """How far every cell is from one: dimensions by which they differ, numbers by the share of the whole length."""
        far = np.zeros(self.count)
        for at, axis in enumerate(self.axes):
            other = self.index[:, at] != self.index[cell, at]
            far += _APART * other if axis is None else (axis[self.index[:, at]] - axis[self.index[cell, at]]) ** 2
        return far

    def together(self, rows: Indices, columns: Indices) -> Array:
        """What each of `rows` has in common with each of `columns` in the part of all dimensions together."""
        found = np.ones((len(rows), len(columns)))
        for at, table in self._middle.items():
            found *= table[self.index[rows, at]][:, self.index[columns, at]]
        return found

    def common(self, parts: Parts, rows: Indices, columns: Indices, together: Array | None = None) -> Array:
        """The covariance of cells when the parts have these variances; `together` where it is known already."""
        sizes = parts.sizes
        found = (self._columns[rows] * sizes[self._part]) @ self._columns[columns].T
        found += sizes[-2] * (self.together(rows, columns) if together is None else together)
        found += sizes[-1] * np.where(rows[:, None] == columns[None, :], parts.alone[rows][:, None], 0.0)
        return np.asarray(found)

    def own(self, parts: Parts) -> Array:
        """The variance of each cell when the parts have these variances."""
        all_together = np.prod(
            [np.ones(self.count), *(np.diag(table)[self.index[:, at]] for at, table in self._middle.items())], axis=0
        )
        sizes = parts.sizes
        return np.asarray(self._columns**2 @ sizes[self._part] + sizes[-2] * all_together + sizes[-1] * parts.alone)

    def smooth(self, parts: Parts, cells: Indices, drawn: Array) -> Array:
        """What the parts of one dimension and of two say of every cell, when `drawn` is what pulls at `cells`."""
        return np.asarray(self._columns @ (parts.sizes[self._part] * (drawn @ self._columns[cells])))

    def weigh_parts(self, cells: Indices, drawn: Array, known: Array, together: Array) -> tuple[Array, Array]:
        """For the covariance K of each part but the last over `cells`: drawn' K drawn, and the trace of K times
        `known`."""
        columns, parts = self._columns[cells], len(self.start) - 2
        pulled = np.bincount(self._part, (drawn @ columns) ** 2, parts)
        traces = np.bincount(self._part, np.sum((known @ columns) * columns, axis=0), parts)
        return np.array([*pulled, drawn @ together @ drawn]), np.array([*traces, np.sum(together * known)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """How large the parts of a response are."""

    sizes: Array  # variances, in the order of the space's parts
    alone: Array  # times this: the last part's variance of each cell


@lru_cache(maxsize=4)
def space_of(dimensions: tuple[Dimension, ...], cells: tuple[Cell, ...]) -> Space:
    """The parts of a space; races over the same one share them."""
    return Space(dimensions, cells)


def _axis(dimension: Dimension) -> Array | None:
    """Places of a dimension's numbers from 0 to 1, on a logarithmic axis where they can be; None for choices."""
    if isinstance(dimension.values[0], str):
        return None
    values = np.array(dimension.values, dtype=float)
    if np.all(values > 0) and values.max() > 2.0 * values.min():
        values = np.log(values)
    return np.asarray((values - values.min()) / max(float(np.ptp(values)), 1e-12))


def _resemblance(axis: Array | None, count: int, length: float) -> Array:
    """Matérn's function of smoothness 5/2 for numbers; choices stand alone. What all values share is taken out.

    Without it (Durrande and others, "ANOVA kernels", 2013) each part is the dimension's own and none holds the level.
    """
    table = np.eye(count)
    if axis is not None:
        far = np.sqrt(5.0) * np.abs(axis[:, None] - axis[None, :]) / length
        table = (1.0 + far + far**2 / 3.0) * np.exp(-far)
    table = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    return np.asarray(table / np.trace(table) * count)


def _multiply(one: Array, other: Array) -> Array:
    """The columns of the product of two tables from those of each."""
    return np.asarray(np.einsum("ci,cj->cij", one, other).reshape(len(one), -1))


def _columns(table: Array) -> Array:
    """Columns whose products with each other give a table, without those that are next to nothing."""
    sizes, directions = np.linalg.eigh(table)
    kept = sizes > _NOTHING * sizes[-1]
    return np.asarray(directions[:, kept] * np.sqrt(sizes[kept]))
