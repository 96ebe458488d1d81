"""How often a gate is wrong on one machine, and what it finds: recorded times of equal processes, judged again.

Processes of the very same work were measured one after the other. Whatever a gate calls different in them is a false
alarm; and times that are made longer on one side by a known share tell what it finds. Both gates are replayed as they
judge: `ab` by `pairs`, whose sides a coin decides anew in each replay, and `compare` and `check` by `compare`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchwright.records import Better, Estimate, Verdict
from benchwright.stats.compare import compare
from benchwright.stats.distributions import normal_quantile

CHANGES = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)  # that are put in
SHARE = 0.9  # of the replays that must find a change
LEAST = 8  # comparisons below which nothing is said of what is found
_FEW = 10  # pairs of a first, cheap look
_CHANGED = (Verdict.WORSE, Verdict.BETTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A count out of a total, as a share with a 95 % interval."""

    count: int
    of: int

    @property
    def share(self) -> float:
        """The share that was seen."""
        return self.count / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies: Wilson (Journal of the American Statistical Association 22, 1927)."""
        z, n = normal_quantile(0.975), self.of
        middle = (self.share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * (self.share * (1 - self.share) / n + z * z / (4 * n * n)) ** 0.5
        low = 0.0 if self.count == 0 else middle - half  # rounding must not move an end that is known
        return low, 1.0 if self.count == n else middle + half


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDefaults:
    """The settings by which the gates judge unless they are told otherwise."""

    smallest: float = 0.01
    false_alarms: float = 0.01
    pairs: int = 40
    rounds: int = 5


def pairs_called(
    times: Sequence[float],
    change: float,
    usual: GateDefaults,
    *,
    replays: int,
    seed: int = 0,
    verify: bool = True,
    misses: int | None = None,
) -> Rate:
    """How often `ab` calls a change, when one side takes `change` more: rightly so unless it is zero.

    Each replay takes pairs that were measured one after the other, from anywhere in the record, and throws a coin for
    each. With `verify` a change counts when a second look, at other pairs, says the same. After more than `misses`
    replays without a call nothing more is replayed: the rest could not change what is asked.
    """
    from benchwright.stats.pairs import stop  # not before: it needs numpy, and words about a rate do not

    coin = random.Random(seed)
    recorded = list(zip(times[::2], times[1::2], strict=False))
    most = min(usual.pairs, len(recorded))

    def look() -> Verdict | None:
        start = coin.randrange(len(recorded) - most + 1)
        orders = [coin.random() < 0.5 for _ in range(most)]
        judged = [
            (first, second * (1 + change)) if control_first else (second, first * (1 + change))
            for control_first, (first, second) in zip(orders, recorded[start : start + most], strict=True)
        ]
        for count in (_FEW, most) if most > _FEW else (most,):  # most changes show early, and a short look is cheap
            _, verdict = stop(
                judged[:count],
                control_first=orders[:count],
                smallest=usual.smallest,
                false_alarms=usual.false_alarms,
                most=most,
                better=Better.LOWER,
            )
            if verdict is not None:
                return verdict
        return None

    wanted = (Verdict.WORSE,) if change else _CHANGED
    called = done = 0
    while done < replays and (misses is None or done - called <= misses):
        first = look()
        called += first in wanted and (not verify or look() is first)
        done += 1
    return Rate(count=called, of=done)


def rounds_called(rounds: Sequence[Estimate], change: float, usual: GateDefaults) -> Rate:
    """How often `compare` calls a change between two runs of equal processes, the second `change` slower.

    Runs are compared with the next one, and with one that lies half of the record away; each run is used once in
    either way, so that no comparison repeats another.
    """
    size = usual.rounds
    runs = [rounds[i : i + size] for i in range(0, len(rounds) - size + 1, size)]
    half = len(runs) // 2
    both = list(zip(runs[::2], runs[1::2], strict=False))
    if half > 1:
        both += zip(runs[:half], runs[half:], strict=False)
    wanted = (Verdict.WORSE,) if change else _CHANGED
    called = sum(
        compare(a, [slower(e, change) for e in b], better=Better.LOWER, smallest=usual.smallest).verdict in wanted
        for a, b in both
    )
    return Rate(count=called, of=len(both))


def smallest_found(called: Callable[[float], Rate]) -> float | None:
    """The smallest of `CHANGES` that is found in nine of ten, as are the larger ones; None where none is."""
    found: float | None = None
    low, high = 0, len(CHANGES)  # what is found grows with the change
    while low < high:
        middle = (low + high) // 2
        rate = called(CHANGES[middle])
        if rate.share >= SHARE and rate.of < LEAST:
            return None  # too few to say so
        if rate.share >= SHARE:
            found, high = CHANGES[middle], middle
        else:
            low = middle + 1
    return found


def slower(estimate: Estimate, change: float) -> Estimate:
    """Returns the time, longer by this share."""
    low, high = (None if end is None else end * (1 + change) for end in (estimate.low, estimate.high))
    return replace(estimate, point=estimate.point * (1 + change), low=low, high=high)
