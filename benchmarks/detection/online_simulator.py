"""A watch, run by run, on simulated histories: what people are told, how late, and what was taken back.

`follow` does what `detection.judge` does after each run, without a store; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from benchwright.records import Better, Verdict
from benchwright.stats import confirmation
from benchwright.stats.changepoint import Change, detect
from benchwright.stats.pairs import Sequential
from benchwright.stats.shares import exceeds_chance

Array = npt.NDArray[np.float64]
Make = Callable[[np.random.Generator, int, float], Array]  # logarithms of values, from a length and a noise
# What pairs say of two commits between which that effect is suspected; None: it is doubtful.
Pairs = Callable[[int, int, float], Verdict | None]

COMMITS = 110
FIRST = 12  # values, before which nothing is judged
SMALLEST = 0.01
PAIRS = 20
_SURE = 0.99  # the confidence from which on a change is suspected, of one series
_PROBABLE = 0.01  # a place below this is none
_NEAR = 4  # commits between two places of one change


@dataclass(slots=True)
class Told:
    """What was suspected, and perhaps told."""

    index: int
    verdict: Verdict
    before: float
    after: float
    told_at: int = 0  # values that there were; 0: nobody was told
    measured: tuple[int, int] = (0, 0)  # the commits that were measured again
    is_refuted: bool = False
    is_over: bool = False


@dataclass(slots=True)
class Followed:
    """What came of a series."""

    findings: list[Told] = field(default_factory=list)
    measured: int = 0  # times that two commits were measured again

    @property
    def told(self) -> list[Told]:
        """The findings that people heard of."""
        return [finding for finding in self.findings if finding.told_at]


def follow(values: Sequence[float], pairs: Pairs | None = None) -> Followed:
    """Judges after every value from the twelfth on; with `pairs`, suspicions are measured again at once."""
    followed = Followed()
    for count in range(FIRST, len(values) + 1):
        _look(values[:count], followed, pairs)
    return followed


def follow_failures(shares: Sequence[float]) -> Followed:
    """The same of the share of requests that fail, which no pairs measure again; 0.05 is 5 % of them."""
    values, followed = np.exp(np.asarray(shares)).tolist(), Followed()
    for count in range(FIRST, len(values) + 1):
        _look(values[:count], followed, None, is_share=True)
    return followed


def _look(values: Sequence[float], followed: Followed, pairs: Pairs | None, *, is_share: bool = False) -> None:
    standing = [finding.index for finding in followed.told if not finding.is_over]
    since = max(standing, default=0)
    left = 0 if len(standing) < len(followed.told) else None
    changes = list(detect(values, smallest=SMALLEST))
    shift = confirmation.newest(values, smallest=SMALLEST, since=since, seen=left)
    if shift is not None and all(abs(change.index - shift.index) > 3 for change in changes):
        changes.append(confirmation.as_change(values, shift, since))
    changes.sort(key=lambda change: change.index)
    for finding in followed.told:
        rest = values[finding.index :]
        finding.is_over = finding.is_over or confirmation.is_back(rest, before=finding.before, after=finding.after)
    for number, change in enumerate(changes):
        finding = _known(followed, change)
        if finding is None and change.confidence >= _SURE:
            verdict = Verdict.WORSE if change.effect > 1 else Verdict.BETTER
            finding = Told(index=change.index, verdict=verdict, before=change.before, after=change.after)
            followed.findings.append(finding)
            if pairs is not None:
                followed.measured += 1
                finding.measured = _ends(change)
                said = pairs(*finding.measured, change.effect)
                finding.told_at = len(values) if said is verdict else 0
                finding.is_refuted = said not in (verdict, Verdict.UNCLEAR)
        if finding is None or finding.told_at or finding.is_refuted:
            continue
        until = changes[number + 1].index if number + 1 < len(changes) else None
        from_ = since if since < change.index else 0
        shift = confirmation.judge(
            values, change.index, smallest=SMALLEST, since=from_, seen=left, until=until, steady=is_share
        )
        if is_share and not exceeds_chance(values[from_ : change.index], values[change.index : until]):
            continue
        if shift is not None and shift.confirmed:
            finding.index, finding.before, finding.after = change.index, change.before, change.after
            finding.told_at = len(values)


def _ends(change: Change) -> tuple[int, int]:
    """The last commit that was as before, and the first that is surely as after."""
    likely = [place for place, probability in change.position if probability >= _PROBABLE] or [change.index]
    return min(likely) - 1, max(likely)


def _known(followed: Followed, change: Change) -> Told | None:
    verdict = Verdict.WORSE if change.effect > 1 else Verdict.BETTER
    return next((f for f in followed.findings if f.verdict is verdict and _is_same(f, change)), None)


def _is_same(finding: Told, change: Change) -> bool:
    old, new = finding.measured
    if finding.is_refuted and not old <= change.index <= new:
        return False
    return abs(finding.index - change.index) <= _NEAR


def measured_again(truth: Array, noise: float, rng: np.random.Generator) -> Pairs:
    """Pairs of fresh processes: the machine does the same to both, but one process in ten is disturbed.

    `truth` are the logarithms of the code's own times.
    """

    def pairs(old: int, new: int, effect: float) -> Verdict | None:
        smallest = confirmation.question(effect, SMALLEST)
        sequential = Sequential(smallest=smallest, false_alarms=0.01, most=PAIRS, better=Better.LOWER)
        for _ in range(PAIRS):
            mood = 0.03 * rng.standard_normal()
            disturbed = rng.exponential(0.2, 2) * (rng.random(2) < 0.1)
            a, b = np.exp(truth[[old, new]] + mood + disturbed + noise * rng.standard_normal(2))
            look = sequential.add(float(a), float(b), control_first=bool(rng.random() < 0.5))
            if look.verdict is not None:
                break
        is_doubtful = look.verdict is Verdict.UNCLEAR and np.log(look.effect.point) / np.log(effect) < 0.5
        return None if is_doubtful else look.verdict

    return pairs


# ---- families in which nothing ever changes ----


def _independent(rng: np.random.Generator, count: int, noise: float) -> Array:
    return noise * rng.standard_normal(count)


def _modes(rng: np.random.Generator, count: int, noise: float) -> Array:
    """Two speeds 5 % apart, each for 10 to 100 commits on average."""
    switches = rng.random(count) < 1.0 / np.exp(rng.uniform(np.log(10.0), np.log(100.0)))
    return 0.05 * ((np.cumsum(switches) + rng.integers(2)) % 2) + noise * rng.standard_normal(count)


def _swing(rng: np.random.Generator, count: int, noise: float) -> Array:
    """Day and night, 3 % up and down, in 8 to 60 commits, as a wave or as two levels."""
    wave = np.sin(2 * np.pi * (np.arange(count) / rng.uniform(8.0, 60.0) + rng.random()))
    shape = np.sign(wave) / 2 if rng.random() < 0.3 else wave
    return 0.03 * shape + noise * rng.standard_normal(count)


def _walk(rng: np.random.Generator, count: int, noise: float) -> Array:
    return np.cumsum(0.002 * rng.standard_normal(count)) + noise * rng.standard_normal(count)


def _remembering(rng: np.random.Generator, count: int, noise: float) -> Array:
    values = noise * rng.standard_normal(count)
    for i in range(1, count):
        values[i] += 0.5 * values[i - 1]
    return values


def _outliers(rng: np.random.Generator, count: int, noise: float) -> Array:
    hit = rng.random(count) < 0.08
    return noise * rng.standard_normal(count) + hit * np.log1p(rng.exponential(0.2, count))


def _bursts(rng: np.random.Generator, count: int, noise: float) -> Array:
    """A busy machine: for 2 to 6 commits now and then everything takes longer, every time by another share."""
    values = noise * rng.standard_normal(count)
    for start in np.flatnonzero(rng.random(count) < 0.025):
        length = int(rng.integers(2, 7))
        busy = values[start : start + length]
        busy += np.log1p(rng.exponential(rng.uniform(0.05, 0.3), len(busy)))
    return values


def _plateaus(rng: np.random.Generator, count: int, noise: float) -> Array:
    """The same, but as steady as a change of code would be while it lasts: nothing in a history tells the two apart."""
    values = noise * rng.standard_normal(count)
    for start in np.flatnonzero(rng.random(count) < 0.02):
        values[start : start + int(rng.integers(3, 7))] += np.log1p(rng.uniform(0.05, 0.3))
    return values


def _rounded(rng: np.random.Generator, count: int, noise: float) -> Array:
    """Values of two digits."""
    return np.log(np.round(np.exp(noise * rng.standard_normal(count)), 2))


FAMILIES: dict[str, Make] = {
    "two sticky modes 5 % apart": _modes,
    "day and night, 3 %": _swing,
    "random walk, 0.2 % a commit": _walk,
    "AR 0.5": _remembering,
    "independent": _independent,
    "one-sided outliers": _outliers,
    "bursts of a busy machine": _bursts,
    "rounded to 1 %": _rounded,
    "bursts as steady as a change": _plateaus,
}


# ---- shares of failed requests in which nothing ever changes ----


def _few_requests(rng: np.random.Generator, count: int) -> Array:
    """Of 20 to 100 requests each fails with the same small probability: most runs show none, some show one."""
    return _failed(rng, int(rng.integers(20, 101)), np.full(count, rng.uniform(0.001, 0.03)))


def _many_requests(rng: np.random.Generator, count: int) -> Array:
    return _failed(rng, 1000, np.full(count, rng.uniform(0.001, 0.1)))


def _days(rng: np.random.Generator, count: int) -> Array:
    """Each run has a day of its own: the probability itself scatters, and by more than counts do."""
    return _failed(rng, 200, rng.beta(0.5, 0.5 * 49, count))


def _restarts(rng: np.random.Generator, count: int) -> Array:
    """Nothing fails, but in one run of ten a restart takes some requests with it."""
    return np.where(rng.random(count) < 0.1, rng.uniform(0.02, 0.5, count), 0.0)


def _outages(rng: np.random.Generator, count: int) -> Array:
    """Nothing fails, but now and then two to four runs in a row meet a server in trouble, each to another degree."""
    shares = np.zeros(count)
    for start in np.flatnonzero(rng.random(count) < 0.02):
        hit = shares[start : start + int(rng.integers(2, 5))]
        hit += rng.exponential(0.1, len(hit))
    return np.minimum(shares, 1.0)


def _failed(rng: np.random.Generator, requests: int, probability: Array) -> Array:
    return rng.binomial(requests, probability) / requests


FAILURES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "few requests": _few_requests,
    "many requests": _many_requests,
    "another probability in each run": _days,
    "a restart now and then": _restarts,
    "short outages": _outages,
}
