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

The statistic is the sum of the differences, each weighing no more than one and a half times their median size, and the
less the farther it lies beyond three times that (a redescending score after Hampel, JASA 69, 1974): a pair in which one
process was disturbed says little about the programs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FIRST = 8  # pairs before which 2 / 2**pairs exceeds the usual levels
_CUT = 1.5  # times the median size: the most that a single difference can weigh
_FAR = 3.0  # times the median size: beyond, it weighs less and less
_STEPS = 4096  # weights are whole numbers up to this, so that equal sums are equal
_BITS = (13, 16)  # two to these: the fewest and the most flips


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Whether zero was rejected: at which look (counted in pairs), on which side, and how rare that is."""

    look: int | None  # None: never so far
    positive: bool  # on the side of the statistic
    p_value: float  # valid however many looks there were; at a single look the ordinary one


def spending(level: float, most: int) -> tuple[float, ...]:
    """The level spent after each of `most` looks: in proportion to the pairs, nothing before the eighth."""
    return tuple(0.0 if look < FIRST else level * look / most for look in range(1, most + 1))


def test(differences: Sequence[float] | Floats, spent: Sequence[float]) -> Outcome:
    """Tests whether the differences are symmetric about zero; `spent[k]` is the level spent after k + 1 of them."""
    given = np.asarray(differences, dtype=np.float64)
    if len(given) > len(spent):
        raise ValueError(f"{len(given)} differences, but levels for {len(spent)} looks")
    flips = _flips(_bits(spent[-1]), len(spent))
    looks = [look for look in range(1, len(given) + 1) if spent[look - 1] > 0.0]
    if not looks:
        return Outcome(look=None, positive=bool(given.sum() > 0.0), p_value=1.0)
    weights = np.stack([_weights(given, look) for look in looks], axis=1)
    return _walk(flips[:, : len(given)] @ weights, looks, [int(spent[look - 1] * len(flips) + 1e-9) for look in looks])


def _walk(statistics: npt.NDArray[np.float32], looks: Sequence[int], allowed: Sequence[int]) -> Outcome:
    """Takes out paths look by look. Row 0 is the identity: what was observed."""
    count = len(statistics)
    sizes = np.abs(statistics)
    gone = 0
    for column, (look, quota) in enumerate(zip(looks, allowed, strict=True)):
        now = sizes[:, column]
        room = quota - gone
        last = column == len(looks) - 1
        if room > 0:
            bound = np.partition(now, count - 1 - room)[count - 1 - room]
            out = now > bound
            if out[0]:
                rank = int(np.count_nonzero(now >= now[0]))
                positive = bool(statistics[0, column] > 0)
                return Outcome(look=look, positive=positive, p_value=(gone + rank) / count)
            if not last:
                gone += int(np.count_nonzero(out))
                sizes[out] = -1.0
    rank = int(np.count_nonzero(sizes[:, -1] >= sizes[0, -1]))
    p_value = (gone + rank) / count if len(looks) == 1 else 1.0
    return Outcome(look=None, positive=bool(statistics[0, -1] > 0), p_value=p_value)


def _weights(differences: Floats, look: int) -> npt.NDArray[np.float32]:
    """The scores of the first `look` pairs, signed. Sizes alone decide how much each weighs, so flips change no weight."""
    weights = np.zeros(len(differences), dtype=np.float32)
    sizes = np.abs(differences[:look])
    unit = float(np.median(sizes)) or float(sizes.max())
    if unit > 0.0:
        scores = np.minimum(sizes, _CUT * unit) * np.minimum(1.0, _FAR * unit / np.maximum(sizes, unit)) / (_CUT * unit)
        weights[:look] = np.copysign(np.rint(scores * _STEPS), differences[:look])
    return weights


def _bits(level: float) -> int:
    """So many that the level holds about 50 paths."""
    fewest, most = _BITS
    return min(most, max(fewest, math.ceil(math.log2(50.0 / level)))) if level > 0.0 else fewest


@lru_cache(maxsize=4)
def _flips(bits: int, pairs: int) -> npt.NDArray[np.float32]:
    """A group of 2**bits sign patterns: all patterns of the first `bits` signs; each further sign is the product of an
    odd number of those, so that flipping all signs at once belongs to the group as well."""
    rng = random.Random(bits)
    masks = [1 << bit for bit in range(bits)]
    known = set(masks)
    while len(masks) < pairs:
        mask = rng.getrandbits(bits)
        if mask.bit_count() % 2 and (mask not in known or len(known) >= 1 << (bits - 1)):
            masks.append(mask)
            known.add(mask)
    members = np.arange(1 << bits, dtype=np.uint32)
    columns = [_parity(members & np.uint32(mask)) for mask in masks[:pairs]]
    return np.ascontiguousarray(1.0 - 2.0 * np.stack(columns, axis=1), dtype=np.float32)


def _parity(values: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    for shift in (16, 8, 4, 2, 1):
        values = values ^ (values >> np.uint32(shift))
    return values & np.uint32(1)
