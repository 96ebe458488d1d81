"""What pairs say about the culprit, held against plain sums over everything that may be."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.records import Estimate
from benchwright.stats import bisection
from benchwright.stats.bisection import Pair, Posterior, choose, following, information, learn, placed, uniform


def of(*told: tuple[int, float]) -> list[Pair]:
    return [Pair(commit=commit, ratio=ratio) for commit, ratio in told]


def oracle(prior: bisection.Prior, pairs: list[Pair]) -> list[float]:
    """Every culprit, effect, noise and build's own offset in turn; the last is that nothing changed."""
    effects, log_weights = bisection._effects(prior, pairs)
    measured = {pair.commit for pair in pairs}
    found = []
    for culprit in range(len(prior.commits) + 1):
        total = 0.0
        for effect, weight in zip(effects, np.exp(log_weights), strict=True):
            noises = np.exp(bisection._log_noises())
            for commit in measured:
                level = effect if commit >= culprit else 0.0
                over_offsets = np.zeros(len(noises))
                for node, share in zip(bisection._NODES, bisection._WEIGHTS, strict=True):
                    product = np.full(len(noises), share)
                    for pair in pairs:
                        if pair.commit == commit:
                            product *= density(math.log(pair.ratio) - level - node)
                    over_offsets += product
                noises = noises * over_offsets
            total += weight * noises.sum()
        share = prior.nothing if culprit == len(prior.commits) else prior.commits[culprit] * (1 - prior.nothing)
        found.append(share * total)
    return [each / sum(found) for each in found]


@cache
def density(off: float) -> np.ndarray:
    """Student's t of three degrees of freedom, in the middle or at three places."""

    def t(x: float) -> np.ndarray:
        return 2 / (math.pi * math.sqrt(3) * bisection._SCALES * (1 + (x / bisection._SCALES) ** 2 / 3) ** 2)

    shapes = [(0.0, 0.0), *((gap, share) for share in bisection._SHARES for gap in bisection._GAPS)]
    return np.concatenate([(1 - 2 * share) * t(off) + share * (t(off - gap) + t(off + gap)) for gap, share in shapes])


@pytest.mark.parametrize(
    "pairs",
    [
        of((4, 1.1), (4, 1.12), (4, 1.08), (2, 1.01)),
        of((4, 0.9), (1, 0.93), (1, 1.2), (0, 1.0), (3, 0.88)),
        of((2, 1.05)),
        [],
    ],
)
def test_it_is_what_plain_sums_say(pairs: list[Pair]) -> None:
    prior = bisection.Prior(commits=(0.1, 0.2, 0.3, 0.3, 0.1), nothing=0.07)
    found = learn(prior, pairs)
    assert [*found.commits, found.nothing] == pytest.approx(oracle(prior, pairs), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0.2, 5)), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_pairs_says_nothing_and_everything_adds_up(told: list[tuple[int, float]], order: object) -> None:
    prior = uniform(6)
    found = learn(prior, of(*told))
    assert sum(found.commits) + found.nothing == pytest.approx(1)
    order.shuffle(told)  # type: ignore[attr-defined]
    again = learn(prior, of(*told))
    assert again.commits == pytest.approx(found.commits, abs=1e-9)
    unknown = -sum(p * math.log2(p) for p in (*found.commits, found.nothing) if p > 0)
    assert (information(found) >= 0).all() and information(found).max() <= unknown + 1e-9


def test_a_clear_range_is_closed_in_on() -> None:
    found = learn(uniform(8), of((7, 1.2), (7, 1.21), (7, 1.19), (3, 1.2), (3, 1.21), (2, 1.0), (2, 1.01)))
    assert found.groups()[0] == bisection.Group(commits=(3,), probability=found.commits[3])
    assert found.commits[3] > 0.98 and found.nothing < 0.001
    assert found.effect.low is not None and found.effect.high is not None
    assert found.effect.low < 1.2 < found.effect.high


def test_an_improvement_is_a_change_too() -> None:
    found = learn(uniform(4), of((3, 0.8), (3, 0.81), (3, 0.79), (1, 0.8), (0, 1.0), (0, 0.99), (1, 0.8)))
    assert found.groups()[0].commits == (1,) and found.effect.point == pytest.approx(0.8, abs=0.02)


def test_one_disturbed_process_convinces_nobody() -> None:
    calm = of((7, 1.1), (7, 1.11), (7, 1.09), (3, 1.0), (3, 1.01), (3, 0.99), (5, 1.1), (5, 1.1))
    assert sum(learn(uniform(8), [*calm, *of((3, 1.6))]).commits[4:6]) > 0.95


def test_ends_that_are_alike_have_no_culprit() -> None:
    ratios = [1.002, 0.999, 1.001, 0.998, 1.0, 1.003, 0.997, 1.001, 0.999, 1.0]
    found = learn(uniform(16, nothing=0.2), of(*((15, ratio) for ratio in ratios)))
    assert found.nothing > 0.8 and max(found.commits) < 0.02


def test_two_modes_as_far_apart_as_the_change_are_not_believed_at_once() -> None:
    """A pair at the slow level is half as probable where nothing changed: two say little, five are needed."""
    rng = np.random.default_rng(3)
    modes = np.array([1.0, 1.06, 0.943, 1.0, 1.06, 1.0, 0.943, 1.0] * 2)
    slow, same = (modes * np.exp(0.006 * rng.normal(size=16)) for _ in range(2))
    known = of(*((3, 1.06 * ratio) for ratio in slow), *((0, ratio) for ratio in same))
    assert 0.5 < learn(uniform(4), [*known, *of((1, 1.062), (1, 1.057))]).commits[1] < 0.9
    assert learn(uniform(4), [*known, *of(*[(1, 1.062), (1, 1.057)] * 4)]).commits[1] > 0.95


def test_what_only_skipped_commits_would_tell_apart_is_one_group() -> None:
    found = learn(uniform(6), of((5, 1.3), (5, 1.3), (5, 1.31), (4, 1.3), (4, 1.3), (1, 1.0), (1, 1.0)))
    best = found.groups(skipped={2, 3})[0]
    assert best.commits == (2, 3, 4) and best.probability > 0.99
    assert [group.commits for group in sorted(found.groups({2, 3}), key=lambda g: g.commits)] == [
        (0,),
        (1,),
        (2, 3, 4),
        (5,),
    ]


def test_the_middle_of_what_is_probable_tells_the_most() -> None:
    ends = of((15, 1.1), (15, 1.11), (15, 1.09))
    assert choose(learn(uniform(16), ends), range(16)) in (7, 8)
    here = placed({12: 0.5, 13: 0.5}, 16)
    assert choose(learn(here, ends), range(16)) == 12
    assert choose(learn(here, ends), [0, 15, 13, 3]) in (3, 13)  # what cannot be measured is no choice


def test_a_commit_that_is_built_is_taken_when_it_tells_nearly_as_much() -> None:
    known = learn(uniform(32), of((31, 1.1), (31, 1.11), (31, 1.09)))
    best = choose(known, range(32))
    assert choose(known, range(32), ready={best - 1, 0}) == best - 1
    assert choose(known, range(32), ready={0, 31}) == best


def test_the_bad_end_comes_first_and_certainty_last() -> None:
    prior = uniform(4)
    assert [following(prior, of(*[(3, 1.2)] * count)).commit for count in range(3)] == [3, 3, 3]
    clear = of((3, 1.2), (3, 1.2), (3, 1.2), (1, 1.0), (1, 1.0), (2, 1.2), (2, 1.2))
    assert following(prior, clear).commit is None
    assert following(prior, clear[:-1], confidence=1 - 1e-9).commit is not None


def test_simulated_searches_name_the_right_commit_as_often_as_they_say() -> None:
    outcomes = [_search(seed) for seed in range(12)]
    right = sum(named == culprit for culprit, named, _ in outcomes)
    assert right >= 11  # 98 % are promised: fewer has a probability of 2 %
    assert np.mean([pairs for *_, pairs in outcomes]) < 25


def test_a_good_guess_saves_pairs_and_a_wrong_one_is_overcome() -> None:
    blind = np.mean([_search(seed)[2] for seed in range(4)])
    good = np.mean([_search(seed, around=0)[2] for seed in range(4)])
    wrong = [_search(seed, around=20) for seed in range(4)]
    assert good < blind
    assert sum(culprit == named for culprit, named, _ in wrong) >= 3


def _search(seed: int, around: int | None = None) -> tuple[int, int, int]:
    """A change of 8 % among 64 commits, with heavy tails."""
    rng = np.random.default_rng(seed)
    culprit = int(rng.integers(2, 42))
    prior = uniform(64)
    if around is not None:
        prior = placed({culprit + around + offset: 0.2 for offset in (-2, -1, 0, 1, 2)}, 64)
    pairs: list[Pair] = []
    while True:
        step = following(prior, pairs)
        if step.commit is None or len(pairs) == 60:
            return culprit, step.posterior.groups()[0].commits[0], len(pairs)
        level = 0.077 if step.commit >= culprit else 0.0
        pairs.append(Pair(commit=step.commit, ratio=math.exp(level + 0.012 * rng.standard_t(3))))


def test_an_effect_that_is_known_beforehand_counts() -> None:
    pairs = of((15, 1.02), (7, 1.03))
    known = Estimate(point=1.1, low=1.09, high=1.11)
    assert learn(uniform(16, effect=known), pairs).nothing > learn(uniform(16), pairs).nothing


def test_halving_costs_more_where_the_change_is_small() -> None:
    def cost(change: float, commits: int = 64) -> int:
        pairs = of(*((commits - 1, change * noise) for noise in (0.98, 1.0, 1.02, 1.01, 0.99)))
        return bisection.plain_runs(learn(uniform(commits), pairs))

    assert cost(1.03) > cost(1.1) > cost(2.0) == 2 * 7
    assert cost(2.0, commits=1024) == 2 * 11


def test_what_is_left_to_do_shrinks() -> None:
    def left(pairs: list[Pair]) -> int:
        return bisection.expected_pairs(learn(uniform(64), pairs))

    ends = of((63, 1.3), (63, 1.3), (63, 1.3))
    assert left(ends) > left([*ends, *of((31, 1.0), (47, 1.3))]) > 2


def test_records_are_plain() -> None:
    found = learn(uniform(2), of((1, 1.5)))
    assert isinstance(found, Posterior) and found.pairs == 1
    assert "grid" not in repr(found)
