"""How to find the commit that changed a figure, step by step, from noisy pairs: a probabilistic bisection.

Pure functions. `culprit_posterior` says what is known, `culprit_choice` what to measure next. When a commit is sure
enough, it is measured against its own parent: those pairs say whether it is so, and how large its change is. They were
not chosen for being large, and whatever else changed in the range is not in them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchwright.records import Estimate
from benchwright.stats import pairs as judged
from benchwright.stats.culprit_choice import choose, information
from benchwright.stats.culprit_posterior import (
    GOOD,
    CommitPair,
    Group,
    Posterior,
    Prior,
    learn,
    prior_from_weights,
    uniform_prior,
)

__all__ = [
    "CONFIDENCE",
    "GOOD",
    "BisectionStep",
    "CommitPair",
    "Group",
    "Posterior",
    "Prior",
    "are_alike",
    "choose_next_step",
    "expected_pairs",
    "is_shown",
    "learn",
    "prior_from_weights",
    "size_of",
    "uniform_prior",
]

CONFIDENCE = 0.98  # enough to name a culprit
SMALLEST = 0.01  # a difference between the ends that matters, where none was seen before

_AT_THE_END = 3  # pairs with the last commit before anything else
_ALIKE_FROM = 8  # pairs with the last commit, before both ends are called alike
_CLOSING = (8, 16)  # pairs of a culprit with its parent, after which it is judged
_WRONG = 0.025  # probability at each of these that the interval does not hold the change: 5 % over both
_REST = 0.01  # expected change of all others that is not worth a search, once a culprit is named
_LITTLE = 0.01  # bits: what the next pair tells at least, for the sake of a forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionStep:
    """What is known, and what to measure next: a commit against a base.

    `commit` is None when there is nothing more to measure: a group is named, or the ends are alike.
    """

    posterior: Posterior
    commit: int | None
    base: int = GOOD
    group: Group | None = None  # what the search is sure of, to be measured against its parent
    size: Estimate | None = None  # of its own change, from pairs with its parent, as a ratio
    gain: float = 0.0  # bits about the place that the next pair is expected to tell
    unknown: float = 0.0  # bits that are missing


def choose_next_step(
    prior: Prior,
    pairs: Sequence[CommitPair],
    *,
    confidence: float = CONFIDENCE,
    skipped: Collection[int] = (),
    ready: Collection[int] = (),
    named: Collection[int] = (),
) -> BisectionStep:
    """The next step: the bad end, for the size of the change; whatever tells the most; then the culprit's parent.

    `skipped` commits cannot be measured; `ready` ones cost no build; `named` ones were found before: another is sought.
    """
    posterior = learn(prior, pairs)
    last = len(prior.commits) - 1
    if sum(pair.commit == last and pair.base == GOOD for pair in pairs) < _AT_THE_END:
        return BisectionStep(posterior=posterior, commit=last)
    if posterior.nothing >= confidence or are_alike(posterior, prior, pairs):
        return BisectionStep(posterior=posterior, commit=None)
    others = [group for group in posterior.groups(skipped) if not {*group.commits} & {*named}]
    if not others or (named and sum(group.size for group in others) < _REST):
        return BisectionStep(posterior=posterior, commit=None)
    best = others[0]
    if best.probability >= confidence:
        count, size = _count_edge_pairs(pairs, best), size_of(pairs, best)
        ended = count >= _CLOSING[-1] or (count == _CLOSING[0] and is_shown(size))
        base, commit = best.edge
        return BisectionStep(posterior=posterior, commit=None if ended else commit, base=base, group=best, size=size)
    measurable = [index for index in range(last + 1) if index not in skipped]
    told = information(posterior, measurable, named)
    commit = choose(told, pairs, ready)
    return BisectionStep(posterior=posterior, commit=commit, gain=max(told.gain.values()), unknown=told.unknown)


def are_alike(posterior: Posterior, prior: Prior, pairs: Sequence[CommitPair]) -> bool:
    """Whether both ends differ by nothing that matters: less than 1 %, or than half of what was seen before."""
    known = SMALLEST if prior.effect is None else min(SMALLEST, abs(math.log(prior.effect.point)) / 2)
    low, high = posterior.effect.low, posterior.effect.high
    if low is None or high is None:
        return False
    enough = sum(pair.base == GOOD for pair in pairs) >= _ALIKE_FROM
    return enough and -known < math.log(low) <= 0.0 <= math.log(high) < known


def size_of(pairs: Sequence[CommitPair], group: Group) -> Estimate | None:
    """The change with a group of commits, as a ratio, from its pairs with its parent alone; None: too few."""
    own = [pair for pair in pairs if (pair.base, pair.commit) == group.edge]
    if len(own) < _CLOSING[0]:
        return None
    known = [pair.control_first for pair in own]
    orders = [bool(first) for first in known] if None not in known else None
    told = [(pair.control, pair.figure) for pair in own]
    return judged.judge(told, control_first=orders, false_alarms=_WRONG, smallest=1e-3).effect


def is_shown(size: Estimate | None) -> bool:
    """Whether pairs of a commit and its parent alone show a change: their interval excludes none."""
    return size is not None and size.low is not None and size.high is not None and not size.low <= 1.0 <= size.high


def expected_pairs(step: BisectionStep, pairs: Sequence[CommitPair] = ()) -> int:
    """About how many more pairs it takes: what is not known over what the next one tells, and those with the parent."""
    closed = 0 if step.group is None else _count_edge_pairs(pairs, step.group)
    left = min((count - closed for count in _CLOSING if count > closed), default=0)
    return math.ceil(step.unknown / max(step.gain, _LITTLE)) + left


def _count_edge_pairs(pairs: Sequence[CommitPair], group: Group) -> int:
    return sum((pair.base, pair.commit) == group.edge for pair in pairs)
