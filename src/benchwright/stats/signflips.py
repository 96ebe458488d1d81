"""An exact test of "no change" over pairs, looked at after every pair.

When nothing changed, control and treatment of a pair are exchangeable: a coin decided which of them ran first. So each
difference is as likely to have the other sign, whatever the noise, its drift or its outliers. Flipping signs gives data
that might as well have been seen, and the observed path of the statistic is one among equals.

At each look the paths with the most extreme statistic are taken out, as many as the level spent so far allows (Lan and
DeMets, Biometrika 70, 1983); the test rejects when the observed path is among them. Ties are never split. At most
`level` of the equally likely paths are ever taken out, so the false-alarm rate holds over all looks together, exactly
and for any number of pairs. The flips form a group of at least 8,192 that contains every pattern of the first 13 signs;
a group, unlike a random sample, keeps the test exact (Hemerik and Goeman, TEST 27, 2018; Koning and Hemerik,
Biometrika 111, 2024).

The statistic is the sum of what the pairs weigh (`pairs_weights`), which does not depend on the labels but for its
signs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from benchwright.stats.pairs_weights import signed_weights

Floats = npt.NDArray[np.float64]

FIRST = 8  # pairs before which 2 / 2**pairs exceeds the usual levels
_SOON, _SHARE = 12, 0.15  # by this many pairs this share of the level may be spent
_STEPS = 4096  # weights are whole numbers up to this, so that equal sums are equal
_PIECE = 128  # flips that are multiplied at once
_BITS = (13, 16)  # two to these: the fewest and the most flips


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlipResult:
    """Whether zero was rejected: at which look (counted in pairs), on which side, and how rare that is."""

    look: int | None  # None: never so far
    positive: bool  # on the side of the statistic
    p_value: float  # valid however many looks there were; at a single look the ordinary one


def plan_spending(level: float, most: int) -> tuple[float, ...]:
    """The level spent after each of `most` looks: most of it late, where power is; a share early, for clear cases."""
    early = [min(1.0, look / _SOON) ** 3 for look in range(1, most + 1)]
    late = [(look / most) ** 3 for look in range(1, most + 1)]
    spent = [level * (_SHARE * e + (1.0 - _SHARE) * f) for e, f in zip(early, late, strict=True)]
    return (*([0.0] * min(most, FIRST - 1)), *spent[FIRST - 1 : -1], *([level] if most >= FIRST else []))


def look_by_look(
    controls: Sequence[float] | Floats, treatments: Sequence[float] | Floats, spent: Sequence[float]
) -> SignFlipResult:
    """Tests whether both sides are alike; `spent[k]` is the level spent after k + 1 pairs. Takes logarithms."""
    ours, theirs = np.asarray(controls, dtype=np.float64), np.asarray(treatments, dtype=np.float64)
    if len(ours) > len(spent):
        raise ValueError(f"{len(ours)} pairs, but levels for {len(spent)} looks")
    looks = [look for look in range(1, len(ours) + 1) if spent[look - 1] > 0.0]
    if not looks:
        return SignFlipResult(look=None, positive=False, p_value=1.0)
    flips = _flips(_bits(spent[-1]), len(spent))
    weights = _in_steps(signed_weights(ours, theirs, looks))
    statistics = np.concatenate(weights @ flips[:, : len(ours)], axis=1)
    return _walk(statistics, looks, [int(spent[look - 1] * statistics.shape[1] + 1e-9) for look in looks])


def _walk(statistics: npt.NDArray[np.float32], looks: Sequence[int], quotas: Sequence[int]) -> SignFlipResult:
    """Takes out paths look by look: a row is a look, a column a path, and path 0 is what was observed."""
    sizes = np.abs(statistics)
    count, gone = sizes.shape[1], 0
    out_of_play = np.zeros(count, dtype=np.bool_)
    for row, (look, quota) in enumerate(zip(looks, quotas, strict=True)):
        now = sizes[row]
        now[out_of_play] = -1.0
        out = now > _find_threshold(now, quota - gone)
        if out[0]:
            rank = gone + int(np.count_nonzero(now >= now[0]))
            return SignFlipResult(look=look, positive=bool(statistics[row, 0] > 0.0), p_value=rank / count)
        out_of_play |= out
        gone = int(np.count_nonzero(out_of_play))
    single = len(looks) == 1
    rank = int(np.count_nonzero(sizes[-1] >= sizes[-1, 0]))
    return SignFlipResult(look=None, positive=bool(statistics[-1, 0] > 0.0), p_value=rank / count if single else 1.0)


def _find_threshold(values: npt.NDArray[np.float32], room: int) -> float:
    """The smallest value that at most `room` of the values exceed."""
    place = len(values) - 1 - room
    return math.inf if room <= 0 else float(np.partition(values, place)[place])


def _in_steps(weights: Floats) -> npt.NDArray[np.float32]:
    """Returns the values as whole numbers, look by look, so that sums that should be equal are."""
    largest = np.abs(weights).max(axis=1, keepdims=True)
    return np.rint(weights * (_STEPS / np.where(largest > 0.0, largest, 1.0))).astype(np.float32)


def _bits(level: float) -> int:
    """How many signs are drawn in all patterns, so that about 50 paths lie within the level."""
    fewest, most = _BITS
    return min(most, max(fewest, math.ceil(math.log2(50.0 / level)))) if level > 0.0 else fewest


@lru_cache(maxsize=4)
def _flips(bits: int, pairs: int) -> npt.NDArray[np.float32]:
    """A group of 2**bits sign patterns: all patterns of the first `bits` signs; each further sign is the product of an
    odd number of those, so that flipping all signs at once belongs to the group as well.

    The first axis splits them into pieces so small that BLAS starts no threads, which would disturb what is measured.
    """
    rng = random.Random(bits)
    masks = [1 << bit for bit in range(bits)]
    known = set(masks)
    while len(masks) < pairs:
        mask = rng.getrandbits(bits)
        if mask.bit_count() % 2 and (mask not in known or len(known) >= 1 << (bits - 1)):
            masks.append(mask)
            known.add(mask)
    members = np.arange(1 << bits, dtype=np.uint32)
    rows = [_parity(members & np.uint32(mask)) for mask in masks[:pairs]]
    signs = (1.0 - 2.0 * np.stack(rows)).astype(np.float32)
    return np.stack(np.split(signs, len(members) // _PIECE, axis=1))


def _parity(values: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    for shift in (16, 8, 4, 2, 1):
        values = values ^ (values >> np.uint32(shift))
    return values & np.uint32(1)
