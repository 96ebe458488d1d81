"""The parts of a race, each beside a slow oracle: levels, the machine's conditions, tails, the model of the space."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from benchwright.stats.race.conditions import Course, Measured
from benchwright.stats.race.judgement import tail
from benchwright.stats.race.levels import fit_levels
from benchwright.stats.race.space import Space
from benchwright.stats.race.surface import SurfaceFit, begin
from race_space import CELLS, SPACE, speed


def test_levels_of_complete_blocks_are_the_means_over_them() -> None:
    """Without outliers and with every cell in every block, differences of levels are those of plain means."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(12, 1)) + np.array([0.0, 0.1, 0.5]) + 0.001 * rng.uniform(-1.0, 1.0, size=(12, 3))
    blocks, cells = (part.ravel() for part in np.indices(table.shape))
    levels = fit_levels(Measured(cells=cells, blocks=blocks, values=table.ravel()))
    assert np.diff(levels.means) == pytest.approx(np.diff(table.mean(axis=0)), abs=1e-3)


def test_a_disturbed_process_moves_its_cell_by_little() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=(6, 1)) + 0.004 * rng.normal(size=(6, 4))
    table[2, 1] += 0.4
    blocks, cells = (part.ravel() for part in np.indices(table.shape))
    levels = fit_levels(Measured(cells=cells, blocks=blocks, values=table.ravel()))
    assert abs(levels.means[1] - levels.means[[0, 2, 3]].mean()) < 0.015


def test_conditions_are_taken_out_as_a_random_walk_with_a_free_beginning() -> None:
    """Beside the dense formula of generalized least squares: the walk has the covariance min(i, j), and any start."""
    rng = np.random.default_rng(5)
    cells, values = rng.integers(0, 6, size=24).astype(np.intp), rng.normal(size=24)
    course = Course(Measured(cells=cells, blocks=np.arange(24) // 8, values=values))
    reduced = course.reduce(np.full((1, 24), 1.0 / 0.3), np.full((1, 23), 1.0 / 0.2))
    order = np.arange(24)
    precision = np.linalg.inv(0.3 * np.eye(24) + 0.2 * np.minimum(order[:, None], order[None, :]))
    ones = precision.sum(axis=1)
    precision -= np.outer(ones, ones) / ones.sum()
    which = (cells[:, None] == course.cells[None, :]).astype(float)
    assert reduced.told == pytest.approx(which.T @ precision @ which, abs=1e-6)
    assert reduced.pull == pytest.approx(which.T @ precision @ (values - np.median(values)), abs=1e-6)
    assert reduced.usual().sum() == pytest.approx(1.0, abs=1e-6)


def _rounds_of(levels: npt.NDArray[np.float64], rounds: int, scatter: float, seed: int) -> Measured:
    rng = np.random.default_rng(seed)
    cells = np.concatenate([rng.permutation(len(levels)) for _ in range(rounds)])
    values = levels[cells] + scatter * rng.normal(size=len(cells))
    return Measured(cells=cells, blocks=np.arange(len(cells)) // 8, values=values)


def test_where_all_are_alike_the_luckiest_is_not_overestimated() -> None:
    """And one that is truly far better keeps its level."""
    alike = np.zeros(60)
    levels = fit_levels(_rounds_of(alike, 2, 0.01, 6))
    assert levels.likeness < 0.006 and np.ptp(levels.means) < 0.02  # of plain means: some 0.033
    alike[7] = 0.1
    levels = fit_levels(_rounds_of(alike, 2, 0.01, 6))
    assert levels.means[7] - np.median(levels.means) == pytest.approx(0.1, abs=0.015)


def test_levels_that_differ_are_not_drawn_together() -> None:
    truth = np.linspace(0.0, 1.0, 40)
    levels = fit_levels(_rounds_of(truth, 4, 0.005, 7))
    assert levels.likeness > 0.2
    assert np.abs((levels.means - levels.means.mean()) - (truth - truth.mean())).max() < 0.02


@pytest.mark.parametrize("freedom", [3.0, 6.0, 40.0])
def test_tails_are_those_of_student(freedom: float) -> None:
    ratios = np.linspace(-6.0, 6.0, 25)
    expected = scipy.stats.t.sf(ratios, freedom)
    assert tail(ratios, freedom) == pytest.approx(expected, rel=0.12, abs=2e-4)


def test_the_surface_is_the_gaussian_process_of_the_textbook() -> None:
    """With one block for each process left out: means beside the dense formula with a free level."""
    space = Space(SPACE, CELLS)
    rng = np.random.default_rng(4)
    cells = rng.permutation(len(CELLS))[:20]
    values = np.log([speed(CELLS[cell]) for cell in cells]) + 0.003 * rng.normal(size=20)
    measured = Measured(cells=cells, blocks=np.zeros(20, dtype=np.intp), values=values)
    surface = SurfaceFit(space, measured, begin(space), fit_levels(measured)).draw()
    everything = np.arange(len(CELLS))
    common = space.common(surface.parts, everything, cells)
    dense = common[cells] + surface.scale**2 * np.eye(20) + 1e3  # a level that may be anywhere
    expected = (common + 1e3) @ np.linalg.solve(dense, values)
    assert surface.means - surface.means[0] == pytest.approx(expected - expected[0], abs=0.02)
    assert np.sqrt(np.mean((surface.means - np.log([speed(cell) for cell in CELLS])) ** 2)) < 0.1
