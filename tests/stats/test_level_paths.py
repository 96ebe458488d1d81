"""Sums over all paths of a level, held against walking each of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from benchwright.stats.level_paths import LevelPaths, PathModel, draw_paths, sum_paths


def terrain(seed: int, *, between: bool) -> PathModel:
    """Three stops, two noises, three levels, everything by chance."""
    rng = np.random.default_rng(seed)
    jumps = rng.random((3, 3))
    np.fill_diagonal(jumps, 0.0)
    return PathModel(
        levels=np.array([-0.1, 0.0, 0.2]),
        start=1,
        jumps=jumps / jumps.sum(axis=1, keepdims=True),
        places=np.array([0.2, 0.5, 0.3]),
        counts=np.array([0.1, 0.6, 0.3]),
        noises=rng.random(2),
        seen=rng.random((3, 2, 3)),
        between={1: rng.random((2, 3, 3))} if between else {},
    )


def walked(given: PathModel) -> tuple[np.ndarray, float, np.ndarray]:
    """Every path in turn: how probable a jump before each stop is, none at all, and each last level."""
    jumped, last, total, none = np.zeros(3), np.zeros(3), 0.0, 0.0
    for noise, path in itertools.product(range(2), itertools.product(range(3), repeat=3)):
        weight, levels = given.noises[noise], (given.start, *path)
        count = sum(a != b for a, b in itertools.pairwise(levels))
        if count >= len(given.counts):
            continue
        weight *= given.counts[count] * math.factorial(count)
        for stop, (a, b) in enumerate(itertools.pairwise(levels)):
            weight *= given.seen[stop, noise, b]
            weight *= 1.0 if a == b else given.jumps[a, b] * given.places[stop]
            weight *= given.between[stop][noise, a, b] if stop in given.between else 1.0
        total += weight
        none += weight * (count == 0)
        last[path[-1]] += weight
        jumped += weight * np.array([a != b for a, b in itertools.pairwise(levels)])
    return jumped / total, none / total, last / total


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_sums_are_those_of_every_path_in_turn(seed: int, between: bool) -> None:
    given = terrain(seed, between=between)
    found = sum_paths(given)
    jumped, none, last = walked(given)
    assert found.jumped == pytest.approx(jumped, rel=1e-9)
    assert found.none == pytest.approx(none, rel=1e-9)
    assert found.last == pytest.approx(last, rel=1e-9)


@pytest.mark.parametrize("between", [False, True])
def test_paths_are_drawn_as_often_as_they_are_probable(between: bool) -> None:
    found: LevelPaths = sum_paths(terrain(3, between=between))
    _, drawn = draw_paths(found, 4000, np.random.default_rng(1))
    shares = (np.diff(drawn, axis=1) != 0).mean(axis=0)
    assert shares == pytest.approx(found.jumped, abs=0.03)
    assert float((drawn == 1).all(axis=1).mean()) == pytest.approx(found.none, abs=0.03)
