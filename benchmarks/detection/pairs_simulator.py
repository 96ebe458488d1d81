"""Simulated processes of two programs on machines whose noise is known, seeded.

A process is known by the logarithm of its latency. Processes run one after another. Some of what slows them belongs to
the machine and stays for a while: its condition drifts, and at times a neighbour is there. The rest is the own of a
process: a heavy-tailed scatter, one of two speeds (where memory was placed), and now and then a disturbance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A machine. Sizes are relative: 0.01 is 1 %; durations are counted in processes."""

    drift: float  # standard deviation of the machine's condition
    memory: float  # how long a condition lasts
    neighbour: float  # how much a neighbour slows
    comes: float  # the chance that one comes, or goes, before the next process
    goes: float
    scatter: float  # of a process, times Student's t
    tails: float  # its degrees of freedom
    gap: float  # between a process's two speeds
    slow: float  # the share of slow ones
    disturbed: float  # the share of processes that are disturbed
    disturbance: tuple[float, float]  # by how much, from and to


CLOUD = Profile(
    drift=0.035,
    memory=60.0,
    neighbour=0.06,
    comes=0.01,
    goes=0.03,
    scatter=0.0048,
    tails=3.0,
    gap=0.006,
    slow=0.3,
    disturbed=0.015,
    disturbance=(0.05, 0.4),
)
QUIET = Profile(
    drift=0.003,
    memory=60.0,
    neighbour=0.0,
    comes=0.0,
    goes=1.0,
    scatter=0.0020,
    tails=5.0,
    gap=0.001,
    slow=0.3,
    disturbed=0.005,
    disturbance=(0.01, 0.1),
)


def processes(profile: Profile, rng: np.random.Generator, series: int, count: int) -> Array:
    """Logarithms of latencies: `series` rows of `count` processes of one program, in the order they ran."""
    shape = (series, count)
    own = profile.scatter * rng.standard_t(profile.tails, size=shape)
    own += profile.gap * (rng.random(shape) < profile.slow)
    own += (rng.random(shape) < profile.disturbed) * np.log1p(rng.uniform(*profile.disturbance, size=shape))
    return own + _condition(profile, rng, shape) + _neighbours(profile, rng, shape)


def paired(
    profile: Profile, rng: np.random.Generator, series: int, pairs: int, change: float, *, second: float = 0.0
) -> tuple[Array, Array, Truths]:
    """Control and treatment, run in pairs, and whether the control ran first, which a coin decides. The treatment is
    slower by `change`, and so is the second process of a pair by `second`, whichever it is."""
    ran = processes(profile, rng, series, 2 * pairs)
    early, late = ran[:, 0::2], ran[:, 1::2] + np.log1p(second)
    in_order = rng.random(early.shape) < 0.5
    return np.where(in_order, early, late), np.where(in_order, late, early) + np.log1p(change), in_order


def in_turn(profile: Profile, rng: np.random.Generator, series: int, each: int, change: float) -> tuple[Array, Array]:
    """Control and treatment, all of one before all of the other."""
    ran = processes(profile, rng, series, 2 * each)
    return ran[:, :each], ran[:, each:] + np.log1p(change)


def _condition(profile: Profile, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """A stationary first-order autoregression."""
    kept = np.exp(-1.0 / profile.memory)
    steps = rng.normal(size=shape)
    steps[:, 1:] *= np.sqrt(1.0 - kept**2)
    for place in range(1, shape[1]):
        steps[:, place] += kept * steps[:, place - 1]
    return profile.drift * steps


def _neighbours(profile: Profile, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """A chain of two states, begun at random."""
    chances = rng.random(shape)
    present = np.empty(shape, dtype=np.bool_)
    present[:, 0] = chances[:, 0] * (profile.comes + profile.goes) < profile.comes
    for place in range(1, shape[1]):
        present[:, place] = chances[:, place] < np.where(present[:, place - 1], 1.0 - profile.goes, profile.comes)
    return np.log1p(profile.neighbour) * present
