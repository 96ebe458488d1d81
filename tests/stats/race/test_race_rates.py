"""How often a race is right when the truth is known: a few races here, more in `make soak`. The full figures come from
benchmarks/tuning.py."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchwright.stats.race import Dimension, Goal, Race, RaceOutcome, RaceRules
from benchwright.stats.race.conditions import Measured
from benchwright.stats.race.levels import fit_levels
from benchwright.stats.race.space import Space
from benchwright.stats.race.surface import SurfaceFit, begin
from race_space import CELLS, SPACE

FASTER = (Goal(metric="throughput", higher=True),)
SURFACES = ("saturating", "cliff", "two equal peaks", "flat", "infeasible best")
PROFILES = ("CLOUD", "QUIET")
LEAST_STATED = {"CLOUD": 0.98, "QUIET": 0.99}  # some races end undecided at a fifth of the matrix: docs/statistics.md


@pytest.fixture
def simulator(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    names = {
        "noise": "detection.pairs_simulator",
        "machines": "race.machines",
        "searches": "race.searches",
        "surfaces": "race.surfaces",
    }
    yield SimpleNamespace(**{short: importlib.import_module(name) for short, name in names.items()})


def _search(simulator: SimpleNamespace, surface: str, profile: str, races: int) -> list[Any]:
    make, noise = simulator.surfaces.SURFACES[surface], getattr(simulator.noise, profile)
    run = simulator.machines.machines(make, noise, races, 77)
    chosen = [simulator.searches.ours(machine, at) for at, machine in enumerate(run)]
    assert sum(one.processes for one in chosen) <= races * simulator.machines.FULL / 5
    assert max(one.processes for one in chosen) <= simulator.machines.FULL
    return chosen


def test_races_are_right_and_cost_a_fifth_of_the_matrix(simulator: SimpleNamespace) -> None:
    """One on each: of eight more on the flat surface of the noisy machine, one is wrong by 2.01 %."""
    chosen = [one for each in SURFACES for profile in PROFILES for one in _search(simulator, each, profile, 1)]
    assert sum(one.is_right for one in chosen) >= 9 and max(one.loss for one in chosen) < 0.03
    assert sum(one.stated for one in chosen) >= 0.99 * len(chosen)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("surface", SURFACES)
def test_races_of_each_surface_are_right(surface: str, profile: str, simulator: SimpleNamespace) -> None:
    chosen = _search(simulator, surface, profile, 60)
    right, stated = (sum(values) / 60 for values in zip(*((one.is_right, one.stated) for one in chosen), strict=True))
    assert right >= 0.96 and stated >= LEAST_STATED[profile]


def test_the_surfaces_named_here_are_those_of_the_benchmark(simulator: SimpleNamespace) -> None:
    assert tuple(simulator.surfaces.SURFACES) == SURFACES


def test_what_a_race_says_when_it_is_stopped_early_is_modest(simulator: SimpleNamespace) -> None:
    """After 30 processes of 288 cases hardly anything is known, and none of the races says otherwise."""
    make, noise = simulator.surfaces.SURFACES["saturating"], simulator.noise.CLOUD
    run = simulator.machines.machines(make, noise, 4, 78)
    chosen = [simulator.searches.ours(machine, at, 30) for at, machine in enumerate(run)]
    assert all(one.processes == 30 and one.stated < 0.6 for one in chosen)


def test_a_large_space_takes_a_fifth_of_the_matrix_at_most_unless_more_was_asked_for() -> None:
    cells = [(float(value),) for value in range(1, 301)]
    dimensions = (Dimension(name="batch", values=tuple(value for (value,) in cells)),)
    race, rng = Race(dimensions, cells, RaceRules(goals=FASTER)), np.random.default_rng(3)
    while block := race.propose():
        for cell in block:  # all alike, and far too noisy to tell
            race.record(cell, RaceOutcome(goals=(math.exp(rng.normal(0.0, 0.3)),)))
    standing = race.standing()
    assert standing.processes == standing.most == 300 and standing.overall < 0.9
    assert Race(dimensions, cells, RaceRules(goals=FASTER, most=900)).most == 900
    assert Race(dimensions, cells, RaceRules(goals=FASTER, most=9000)).most == 1500


def test_what_a_few_noisy_processes_scatter_by_is_not_taken_for_less() -> None:
    """Twice each of four cells: a thought from before that weighed as much as these would halve the variance."""
    rng = np.random.default_rng(5)
    cells, blocks = np.tile(np.arange(4, dtype=np.intp), 2), np.repeat(np.arange(2, dtype=np.intp), 4)
    scales = [
        fit_levels(Measured(cells=cells, blocks=blocks, values=0.1 * rng.normal(size=8))).scale for _ in range(60)
    ]
    assert np.mean(np.square(scales)) > 0.2 * 0.1**2  # the machine is thought to have done the rest; it was 0.07


def test_what_cells_have_alone_is_not_taken_for_noise() -> None:
    """Cells that differ by 1 % on their own, with hardly any noise: cells not measured may differ by as much."""
    rng = np.random.default_rng(8)
    own = 0.01 * rng.normal(size=len(CELLS))
    cells = np.concatenate([np.arange(0, len(CELLS), 2)] + [np.arange(0, 8)] * 2).astype(np.intp)
    blocks = np.arange(len(cells), dtype=np.intp) // 8
    measured = Measured(cells=cells, blocks=blocks, values=own[cells] + 0.001 * rng.normal(size=len(cells)))
    space = Space(SPACE, CELLS)
    levels, fitted = fit_levels(measured), begin(space)
    for _ in range(6):
        fit = SurfaceFit(space, measured, fitted, levels)
        fitted = fit.improve()
    surface = fit.draw()
    left_out = np.setdiff1d(np.arange(len(CELLS)), cells)
    assert 0.005 < math.sqrt(surface.stretch * np.mean(surface.variances[left_out])) < 0.02
