"""Simulated response surfaces of known truth: 288 cases of two runtimes, batch sizes, threads, copies and precisions.

Throughput follows what limits it: a fixed cost per batch, Amdahl's law over threads, cores that copies share, and the
bandwidth of the memory, each drawn anew for every race. On top of it each case has a share of its own that nothing
smooth explains (`rough`): alignment, caches, kernels for certain sizes. Logarithms throughout.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchwright.stats.race import Bound, Cell, Dimension

Array = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

DIMENSIONS = (
    Dimension(name="runtime", values=("a", "b")),
    Dimension(name="batch", values=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0)),
    Dimension(name="threads", values=(1.0, 2.0, 4.0, 8.0)),
    Dimension(name="copies", values=(1.0, 2.0, 4.0)),
    Dimension(name="precision", values=("float", "int8")),
)
CELLS: tuple[Cell, ...] = tuple(itertools.product(*(dimension.values for dimension in DIMENSIONS)))
ROUGH = (0.002, 0.01)  # standard deviation of what a case has alone, drawn from here


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A surface: the logarithm of each case's throughput, what fails, and the bounded metric if there is one."""

    goal: Array
    fails: Truths
    bounded: Array | None = None  # logarithms
    bounds: tuple[Bound, ...] = ()

    def loss(self, cell: int | None, tolerance: float) -> float:
        """By what share a case is worse than the best that works and keeps the bound, which is known no better than
        `tolerance`; infinite for one that does not."""
        keeps, surely = ~self.fails, ~self.fails
        if self.bounded is not None:
            over = self.bounded - np.log(self.bounds[0].limit)
            keeps, surely = keeps & (over <= np.log1p(tolerance)), surely & (over <= -np.log1p(tolerance))
        if cell is None or not keeps[cell]:
            return float("inf")
        return float(-np.expm1(min(0.0, self.goal[cell] - self.goal[surely].max())))


def saturating(rng: np.random.Generator) -> Truth:
    """Every dimension helps until something else limits."""
    goal, _ = _throughput(rng)
    return Truth(goal=goal, fails=np.zeros(len(goal), dtype=np.bool_))


def cliff(rng: np.random.Generator) -> Truth:
    """The same, and where memory ends cases fail; the more of it a case uses, the faster it is."""
    goal, needed = _throughput(rng)
    limit = np.quantile(needed, rng.uniform(0.6, 0.9))
    return Truth(goal=goal, fails=needed > limit)


def two_peaks(rng: np.random.Generator) -> Truth:
    """Two runtimes that are at their best, equally, at different places."""
    axes = _axes()
    goal = np.where(axes["precision"] == 1.0, rng.uniform(-0.3, 0.3), 0.0)
    for runtime in (0, 1):
        peak = {name: rng.uniform(*((0.1, 0.6) if runtime else (0.4, 0.9))) for name in ("batch", "threads", "copies")}
        fall = sum(rng.uniform(0.5, 2.0) * (axes[name] - place) ** 2 for name, place in peak.items())
        goal = np.where(axes["runtime"] == runtime, goal - fall, goal)
    top = [goal[axes["runtime"] == runtime].max() for runtime in (0, 1)]
    goal = goal - np.where(axes["runtime"] == 1.0, top[1] - top[0], 0.0)
    return Truth(goal=goal + _rough(rng), fails=np.zeros(len(goal), dtype=np.bool_))


def flat(rng: np.random.Generator) -> Truth:
    """Nothing matters but what each case has alone."""
    return Truth(goal=_rough(rng), fails=np.zeros(len(CELLS), dtype=np.bool_))


def infeasible_best(rng: np.random.Generator, *, near: bool = False) -> Truth:
    """The fastest cases take too long per batch. The limit lies in a gap, 5 % from the next case, unless `near`."""
    goal, _ = _throughput(rng)
    axes = _axes()
    bounded = np.log(axes["batch size"] * axes["copies count"]) - goal + np.log(1.2)
    order = np.sort(bounded)
    middle = rng.uniform(0.35, 0.7)
    limit = np.quantile(bounded, middle)
    if not near:
        gaps = np.flatnonzero(np.diff(order) > 2.0 * np.log(1.05))
        place = gaps[np.argmin(np.abs(gaps - middle * len(order)))]
        limit = (order[place] + order[place + 1]) / 2.0
    bound = Bound(metric="latency", limit=float(np.exp(limit)), upper=True)
    return Truth(goal=goal, fails=np.zeros(len(goal), dtype=np.bool_), bounded=bounded, bounds=(bound,))


def bound_anywhere(rng: np.random.Generator) -> Truth:
    """The same with a limit that cases may lie at."""
    return infeasible_best(rng, near=True)


Make = Callable[[np.random.Generator], Truth]
SURFACES: dict[str, Make] = {
    "saturating": saturating,
    "cliff": cliff,
    "two equal peaks": two_peaks,
    "flat": flat,
    "infeasible best": infeasible_best,
}


def _throughput(rng: np.random.Generator) -> tuple[Array, Array]:
    """Logarithms of throughput, and the memory that each case needs."""
    axes = _axes()
    batch, threads, copies = axes["batch size"], axes["threads count"], axes["copies count"]
    cores = rng.choice([4.0, 8.0, 16.0])
    speed, fixed, serial = (_per_runtime(rng, axes, *between) for between in ((0.8, 1.25), (0.3, 6.0), (0.02, 0.3)))
    precision = np.where(axes["precision"] == 1.0, rng.uniform(0.8, 2.0), 1.0)
    one = 1.0 / (serial + (1.0 - serial) / threads)
    wanted = copies * one
    share = np.minimum(1.0, cores / (threads * copies))
    crowded = np.where(threads * copies > cores, rng.uniform(0.75, 1.0), 1.0)
    computed = speed * precision * batch / (batch + fixed) * wanted * share * crowded
    bandwidth = rng.uniform(0.3, 1.5) * np.max(computed)
    total = computed / (1.0 + (computed / bandwidth) ** 3) ** (1.0 / 3.0)
    total = total * np.where(batch > 16.0, rng.uniform(0.85, 1.02), 1.0)
    needed = copies * (1.0 + rng.uniform(0.05, 0.4) * batch) * np.where(axes["precision"] == 1.0, 0.5, 1.0)
    return np.log(total) + _rough(rng), needed * np.exp(0.01 * rng.standard_normal(len(CELLS)))


def _rough(rng: np.random.Generator) -> Array:
    return rng.uniform(*ROUGH) * rng.standard_normal(len(CELLS))


def _per_runtime(rng: np.random.Generator, axes: dict[str, Array], low: float, high: float) -> Array:
    a, b = np.exp(rng.uniform(np.log(low), np.log(high), size=2))
    return np.where(axes["runtime"] == 0.0, a, b)


def _axes() -> dict[str, Array]:
    """Of each dimension the place of every case from 0 to 1, and the number itself."""
    axes: dict[str, Array] = {}
    for at, dimension in enumerate(DIMENSIONS):
        places = {value: place for place, value in enumerate(dimension.values)}
        index = np.array([places[cell[at]] for cell in CELLS], dtype=float)
        axes[dimension.name] = index / (len(dimension.values) - 1)
        if not isinstance(dimension.values[0], str):
            axes[f"{dimension.name} size"] = axes[f"{dimension.name} count"] = np.array(
                [cell[at] for cell in CELLS], dtype=float
            )
    return axes
