"""Simulated histories of a benchmark: kinds of noise, changes of known place and size. Everything is seeded.

A history is a level that changes at known points, times noise. Noise and sizes are shares of the level, so everything
is made on a logarithmic scale. What a series is like is drawn anew for each one, from the ranges of a `Profile`: no
single noise level, spacing or correlation could be tuned to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """From which ranges the properties of a series are drawn; noises and gaps are shares of the level."""

    name: str
    noise: Range  # standard deviation, log-uniform
    sizes: Range = (0.01, 0.2)  # of changes, log-uniform
    spacing: Range = (40.0, 400.0)  # points between changes on average, log-uniform
    nearest: int = 10  # points between two changes and to either end
    correlation: Range = (0.0, 0.3)  # of neighbours, in the independent family of every second series
    spikes: Range = (0.01, 0.06)  # share of disturbed points
    heights: Range = (0.03, 0.25)  # mean height of a disturbance
    gap: Range = (0.02, 0.1)  # between the two modes
    dwell: Range = (3.0, 30.0)  # points in one mode, log-uniform
    drift: Range = (0.005, 0.04)  # over the whole series
    ratio: Range = (2.0, 5.0)  # between the two noises that take turns
    wandering: Range = (0.4, 0.8)  # correlation of neighbours in the family of that name
    repair: Range = (20.0, 80.0)  # points until a regression is taken back, log-uniform
    grain: Range = (0.3, 1.5)  # distance between rounded values, over the noise
    wander: Range = (0.5, 1.2)  # what the level wanders over hundreds of points, over the noise
    families: tuple[str, ...] = ("independent", "outliers", "modes", "drift", "switching")


REFERENCE = Profile(name="reference", noise=(0.003, 0.02))
WIDE = Profile(
    name="wide",
    noise=(0.003, 0.05),
    spacing=(20.0, 800.0),
    nearest=8,
    correlation=(0.0, 0.6),
    spikes=(0.01, 0.1),
    heights=(0.02, 0.5),
    gap=(0.02, 0.15),
    dwell=(2.0, 50.0),
    drift=(0.005, 0.08),
    ratio=(2.0, 6.0),
    families=("independent", "outliers", "modes", "drift", "switching", "wandering"),
)
REAL = Profile(  # what histories of continuous integration are like that the others are not
    name="like CI",
    noise=(0.005, 0.03),
    sizes=(0.02, 0.2),
    spacing=(100.0, 600.0),
    families=("repairs", "rounded", "restless", "bursts"),
)
HELD_OUT = Profile(  # other ranges, to check what was tuned on the reference
    name="held out",
    noise=(0.002, 0.025),
    spacing=(30.0, 1000.0),
    nearest=9,
    correlation=(0.1, 0.45),
    spikes=(0.005, 0.08),
    heights=(0.05, 0.4),
    gap=(0.03, 0.13),
    dwell=(4.0, 40.0),
    drift=(0.002, 0.05),
    ratio=(1.5, 6.0),
)
LENGTHS = (50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Values in order, and the index of the first point after each change."""

    family: str
    values: Array
    changes: tuple[int, ...]


def draw(family: str, length: int, rng: np.random.Generator, profile: Profile, *, changes: bool = True) -> Series:
    """One series of a family."""
    noise = _log_uniform(rng, profile.noise)
    log = FAMILIES[family](length, rng, noise, profile)
    at = _places(length, rng, profile) if changes else ()
    for place in at:
        log[place:] += rng.choice((-1.0, 1.0)) * np.log1p(_log_uniform(rng, profile.sizes))
    if family == "repairs" and changes:
        at = (*at, *_repaired(log, at, rng, profile))
    values = np.exp(log)
    if family == "rounded":
        grain = noise * rng.uniform(*profile.grain)
        values = np.maximum(np.round(values / grain), 1.0) * grain
    return Series(family=family, values=values * np.exp(rng.uniform(-7.0, 3.0)), changes=tuple(sorted(at)))


def collection(profile: Profile, seed: int, points: int = 4000, lengths: tuple[int, ...] = LENGTHS) -> Iterator[Series]:
    """For every family and length series with changes and as many without, about `points` points of each."""
    for number, family in enumerate(families(profile)):
        for length in lengths:
            for repeat in range(max(4, points // length)):
                rng = np.random.default_rng((seed, number, length, repeat))
                yield draw(family, length, rng, profile)
                yield draw(family, length, rng, profile, changes=False)


def families(profile: Profile) -> list[str]:
    """The names of the families that the set has."""
    return list(profile.families)


def _places(length: int, rng: np.random.Generator, profile: Profile) -> tuple[int, ...]:
    wanted = max(1, rng.poisson(length / _log_uniform(rng, profile.spacing)))
    places: list[int] = []
    for _ in range(20 * wanted):
        place = int(rng.integers(profile.nearest, length - profile.nearest + 1))
        if len(places) < wanted and all(abs(place - other) >= profile.nearest for other in places):
            places.append(place)
    return tuple(sorted(places))


def _independent(length: int, rng: np.random.Generator, noise: float, profile: Profile) -> Array:
    return noise * _correlated(length, rng, rng.choice((0.0, rng.uniform(*profile.correlation))))


def _wandering(length: int, rng: np.random.Generator, noise: float, profile: Profile) -> Array:
    """Every point remembers those before it: a machine that warms and cools, a cache that fills."""
    return noise * _correlated(length, rng, rng.uniform(*profile.wandering))


def _outliers(length: int, rng: np.random.Generator, noise: float, profile: Profile) -> Array:
    """Some points are slow, none is fast."""
    values = noise * rng.standard_normal(length)
    hit = rng.random(length) < rng.uniform(*profile.spikes)
    values[hit] += np.log1p(np.minimum(rng.exponential(rng.uniform(*profile.heights), hit.sum()), 1.0))
    return values


def _modes(length: int, rng: np.random.Generator, noise: float, profile: Profile) -> Array:
    """Two levels that take turns: placement of memory, a neighbour, a clock."""
    upper, dwell = rng.uniform(0.2, 0.5), _log_uniform(rng, profile.dwell)
    state, states = rng.random() < upper, np.zeros(length)
    for i in range(length):
        if rng.random() < 1.0 / dwell:
            state = rng.random() < upper
        states[i] = state
    return 0.5 * noise * rng.standard_normal(length) + rng.uniform(*profile.gap) * states


def _drift(length: int, rng: np.random.Generator, noise: float, profile: Profile) -> Array:
    """A slope, a wave or a random walk."""
    time, reach = np.arange(length) / max(length, 200), rng.uniform(*profile.drift)
    values = noise * rng.standard_normal(length)
    match rng.integers(3):
        case 0:
            return values + rng.choice((-1.0, 1.0)) * reach * time
        case 1:
            return values + reach / 2 * np.sin(2 * np.pi * (time * rng.uniform(0.5, 4.0) + rng.random()))
        case _:
            return values + reach / 2 * np.cumsum(rng.standard_normal(length)) / np.sqrt(max(length, 200))


def _switching(length: int, rng: np.random.Generator, noise: float, profile: Profile) -> Array:
    """Quiet and noisy times."""
    loud = np.cumsum(rng.random(length) < 1.0 / _log_uniform(rng, (30.0, 200.0))) % 2 == 1
    return noise * np.where(loud, rng.uniform(*profile.ratio), 1.0) * rng.standard_normal(length)


def _restless(length: int, rng: np.random.Generator, noise: float, profile: Profile) -> Array:
    """The level is never quite at rest: three processes that remember 30, 100 and 300 points."""
    values, share = noise * rng.standard_normal(length), rng.uniform(*profile.wander) / np.sqrt(3.0)
    for memory in (30.0, 100.0, 300.0):
        values += share * noise * _correlated(length, rng, float(np.exp(-1.0 / memory)))
    return values


def _bursts(length: int, rng: np.random.Generator, noise: float, profile: Profile) -> Array:
    """A busy neighbour now and then: for 3 to 9 points everything is slower, and scatters."""
    values = noise * rng.standard_normal(length)
    for begin in np.flatnonzero(rng.random(length) < 0.01):
        end = begin + int(rng.integers(3, 10))
        values[begin:end] += rng.uniform(*profile.heights) + 2.0 * noise * rng.standard_normal(len(values[begin:end]))
    return values


def _repaired(log: Array, at: tuple[int, ...], rng: np.random.Generator, profile: Profile) -> list[int]:
    """Puts in regressions that are taken back, away from the other changes; the places where they begin and end."""
    ends: list[int] = []
    for _ in range(max(1, len(log) // 400)):
        begin = int(rng.integers(profile.nearest, max(profile.nearest + 1, len(log) - 30)))
        end = begin + int(_log_uniform(rng, profile.repair))
        near = any(begin - profile.nearest < other < end + profile.nearest for other in (*at, *ends))
        if near or end > len(log) - profile.nearest:
            continue
        log[begin:end] += np.log1p(_log_uniform(rng, profile.sizes))
        ends += [begin, end]
    return ends


def _correlated(length: int, rng: np.random.Generator, correlation: float) -> Array:
    values = rng.standard_normal(length)
    for i in range(1, length):
        values[i] = correlation * values[i - 1] + np.sqrt(1.0 - correlation**2) * values[i]
    return values


def _log_uniform(rng: np.random.Generator, limits: Range) -> float:
    return float(np.exp(rng.uniform(*np.log(limits))))


FAMILIES: dict[str, Callable[[int, np.random.Generator, float, Profile], Array]] = {
    "independent": _independent,
    "outliers": _outliers,
    "modes": _modes,
    "drift": _drift,
    "switching": _switching,
    "wandering": _wandering,
    "repairs": _independent,
    "rounded": _independent,
    "restless": _restless,
    "bursts": _bursts,
}
