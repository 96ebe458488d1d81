"""How a figure goes through a range of commits: a level that jumps at a few of them, seen through noise.

Pure functions. Commits that were measured are *stops*, in the order of history; between two stops the level stays, or
jumps once to another one. The number of jumps is small and not known. All paths are summed over exactly by passing
forward and backward along the stops, as in a hidden Markov model (Rabiner, "A tutorial on hidden Markov models", 1989;
for change points Fearnhead, "Exact and efficient Bayesian inference for multiple changepoint problems", 2006), for each
kind of noise in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathModel:
    """The prior and the likelihood of paths of levels. Axes: stops, noises, levels."""

    levels: Floats
    start: int  # the level of the good revision, by its place
    jumps: Floats  # (levels, levels): how probable the second is after a jump from the first
    places: Floats  # probability beforehand of a jump between a stop and the one before
    counts: Floats  # probability beforehand of no jump, of one, of two, ...
    noises: Floats  # probability of each
    seen: Floats  # (stops, noises, levels): likelihood
    between: dict[int, Floats]  # stop -> (noises, levels, levels): of pairs with the one before


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelPaths:
    """All paths, with what is needed to draw some of them."""

    terrain: PathModel
    forward: Floats  # (1 + stops, counts, noises, levels)
    jumped: Floats  # for each stop, the probability of a jump since the one before
    sizes: Floats  # (stops, levels, levels): of such a jump, from which level to which
    none: float  # probability of no jump at all
    last: Floats  # distribution of the level at the last stop
    noises: Floats  # probability of each


def sum_paths(terrain: PathModel) -> LevelPaths:
    """Sums over all paths."""
    stops, noises, levels = terrain.seen.shape
    forward = np.zeros((1 + stops, len(terrain.counts), noises, levels))
    forward[0, 0, :, terrain.start] = terrain.noises
    for stop in range(stops):
        moved = _weigh_staying(terrain, stop, forward[stop])
        moved[1:] += _weigh_jumping(terrain, stop, forward[stop, :-1])
        moved *= terrain.seen[stop]
        forward[1 + stop] = moved / max(float(moved.max()), 1e-300)
    backward = np.empty_like(forward[0])
    backward[:] = terrain.counts[:, None, None]
    jumped, sizes = np.zeros(stops), np.zeros((stops, levels, levels))
    ends = forward[-1] * backward
    total = float(ends.sum())
    for stop in reversed(range(stops)):
        onward = backward * terrain.seen[stop]
        before = forward[stop]
        stayed = float((_weigh_staying(terrain, stop, before) * onward).sum())
        each = _jumps_at(terrain, stop, before, onward)
        whole = stayed + float(each.sum())
        jumped[stop], sizes[stop] = each.sum() / max(whole, 1e-300), each / max(float(each.sum()), 1e-300)
        backward = _back(terrain, stop, onward)
        backward /= max(float(backward.max()), 1e-300)
    return LevelPaths(
        terrain=terrain,
        forward=forward,
        jumped=jumped,
        sizes=sizes,
        none=float(ends[0].sum()) / total,
        last=ends.sum(axis=(0, 1)) / total,
        noises=ends.sum(axis=(0, 2)) / total,
    )


def draw_paths(paths: LevelPaths, count: int, rng: np.random.Generator) -> tuple[Places, Places]:
    """Draws paths by their probability: the noise of each, and its level at the good revision and at every stop."""
    terrain = paths.terrain
    ends = (paths.forward[-1] * terrain.counts[:, None, None]).ravel()
    marks = (np.arange(count) + rng.random()) / count  # evenly: fewer are needed than of independent ones
    drawn = np.searchsorted(np.cumsum(ends) / ends.sum(), marks).clip(max=len(ends) - 1)
    jumps, noise, level = np.unravel_index(drawn, paths.forward[-1].shape)
    found = np.empty((count, len(terrain.seen) + 1), dtype=np.intp)
    found[:, -1] = level
    everyone = np.arange(count)
    for stop in reversed(range(len(terrain.seen))):
        before, between = paths.forward[stop], terrain.between.get(stop)
        stay = before[jumps, noise, level]
        come = terrain.jumps[:, level].T * before[np.maximum(jumps - 1, 0), noise]
        come *= (terrain.places[stop] * jumps)[:, None]
        if between is not None:
            stay = stay * between[noise, level, level]
            come *= between[noise, :, level]
        chances = np.cumsum(np.concatenate([stay[:, None], come], axis=1), axis=1)
        pick = (chances < (rng.random(count) * chances[:, -1])[:, None]).sum(axis=1).clip(max=chances.shape[1] - 1)
        level = np.where(pick == 0, level, pick - 1)
        jumps = jumps - (pick > 0)
        found[everyone, stop] = level
    return noise, found


def _weigh_staying(terrain: PathModel, stop: int, before: Floats) -> Floats:
    between = terrain.between.get(stop)
    found: Floats = before.copy() if between is None else before * np.diagonal(between, axis1=1, axis2=2)
    return found


def _weigh_jumping(terrain: PathModel, stop: int, before: Floats) -> Floats:
    """What comes by a jump, by the number of jumps before; the order of several jumps is no matter of chance."""
    between = terrain.between.get(stop)
    if between is None:
        come = before @ terrain.jumps
    else:
        come = np.einsum("cng,gh,ngh->cnh", before, terrain.jumps, between, optimize=True)
    found: Floats = come * terrain.places[stop] * _orders(before)
    return found


def _jumps_at(terrain: PathModel, stop: int, before: Floats, onward: Floats) -> Floats:
    """The weight of a jump here, by the level before and after."""
    between = terrain.between.get(stop)
    start, end = before[:-1] * _orders(before[:-1]), onward[1:]
    if between is None:
        each = np.tensordot(start, end, axes=([0, 1], [0, 1]))
    else:
        each = np.einsum("cng,cnh,ngh->gh", start, end, between, optimize=True)
    found: Floats = each * terrain.jumps * terrain.places[stop]
    return found


def _back(terrain: PathModel, stop: int, onward: Floats) -> Floats:
    between = terrain.between.get(stop)
    found = _weigh_staying(terrain, stop, onward)
    if between is None:
        come = onward[1:] @ terrain.jumps.T
    else:
        come = np.einsum("cnh,gh,ngh->cng", onward[1:], terrain.jumps, between, optimize=True)
    found[:-1] += come * terrain.places[stop] * _orders(onward[1:])
    return found


def _orders(table: Floats) -> Floats:
    """1, 2, 3, ...: the factor by which another jump adds orders, for each number of jumps before."""
    found: Floats = np.arange(1.0, 1 + len(table))[:, None, None]
    return found
