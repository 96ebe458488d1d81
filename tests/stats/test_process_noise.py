"""What processes are off by, learnt from controls alone."""

from __future__ import annotations

import numpy as np
import pytest

from benchwright.stats.process_noise import against_controls, coarseness, learn_noises, width


def busy(count: int, seed: int) -> np.ndarray:
    """A tight core, a third of the processes slowed."""
    rng = np.random.default_rng(seed)
    slowed = rng.random(count) < 0.33
    found: np.ndarray = 0.003 * rng.normal(size=count) + slowed * 0.08 * rng.exponential(size=count)
    return found


def test_every_density_adds_up_to_one() -> None:
    noises = learn_noises([])
    seen = np.concatenate([-np.geomspace(20, 1e-7, 4000), np.geomspace(1e-7, 20, 4000)])
    total = np.trapezoid(noises.density(seen[:, None]), seen, axis=0)
    assert len(noises) > 20 and total == pytest.approx(1, abs=0.02)


def test_controls_without_labels_show_a_tight_core_and_a_rest_on_one_side() -> None:
    heard = against_controls([*busy(40, 1)], [*busy(40, 2)])
    noises = learn_noises([(heard.between, 1.0)])
    weights = np.exp(noises.weight - noises.weight.max())
    slower, faster = (float(weights @ each / weights.sum()) for each in (noises.slower, noises.faster))
    assert noises.spread() < 0.008 and slower > 2 * faster


def test_a_process_is_set_against_undisturbed_controls_where_the_machine_is_steady() -> None:
    x, y = busy(40, 1), busy(40, 2)
    assert np.mean(np.abs(against_controls([*x], [*y]).off) < 0.01) > 0.6 > np.mean(np.abs(y - x) < 0.01)


def test_a_process_is_set_against_its_own_partner_where_the_machine_drifts() -> None:
    rng = np.random.default_rng(4)
    drift = np.cumsum(0.05 * rng.normal(size=40))
    x, y = (drift + 0.004 * rng.normal(size=40) for _ in range(2))
    found = against_controls([*x], [*y], [0, 1, 2, 1] * 10)
    assert found.off == pytest.approx(y - x) and width(found.between) < 0.01


def test_figures_in_steps_are_not_taken_for_precise_ones() -> None:
    rng = np.random.default_rng(5)
    coarse = np.log(np.round(100 * np.exp(0.006 * rng.normal(size=30))) / 100)
    assert coarseness(coarse) == pytest.approx(0.005, rel=0.05)
    assert coarseness(rng.normal(size=30)) == 0.0
    between = against_controls([*coarse], [*coarse]).between
    assert learn_noises([(between, 1.0)], coarseness(coarse)).scale.min() >= 0.0045
    assert coarseness(np.zeros(6)) > 0  # six equal figures are not noiseless
