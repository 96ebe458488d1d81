"""What pairs say about the culprit, and what to measure next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.records import Estimate
from benchwright.stats import bisection
from benchwright.stats.bisection import (
    BisectionStep,
    CommitPair,
    Group,
    Posterior,
    choose_next_step,
    is_shown,
    learn,
    prior_from_weights,
    uniform_prior,
)
from benchwright.stats.culprit_choice import ExpectedInformation, choose, information

Noise = Callable[[np.random.Generator], float]


def of(*told: tuple[int, float], noise: float = 0.004, seed: int = 1) -> list[CommitPair]:
    """Pairs of that true ratio, on a quiet machine."""
    rng = np.random.default_rng(seed)
    return [
        CommitPair(commit=commit, control=math.exp(noise * rng.normal()), figure=ratio * math.exp(noise * rng.normal()))
        for commit, ratio in told
    ]


def quiet(rng: np.random.Generator) -> float:
    return float(0.012 * rng.standard_t(3))


def busy(rng: np.random.Generator) -> float:
    """A tight core, a third of the processes slowed by anything."""
    return float(0.004 * rng.normal() + (rng.random() < 0.33) * 0.1 * rng.exponential())


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0.2, 5)), max_size=8))
def test_everything_is_a_probability_whatever_was_seen(told: list[tuple[int, float]]) -> None:
    found = learn(uniform_prior(6), of(*told))
    assert all(0 <= share <= 1 + 1e-9 for share in (*found.commits, found.nothing))
    assert found.nothing + sum(found.commits) >= 1 - 1e-9  # there is none, or at least one
    gain = information(found, range(6))
    assert all(0 <= bits <= 1 + 1e-9 for bits in gain.gain.values())


def test_before_anything_is_seen_it_is_as_it_was() -> None:
    found = learn(bisection.Prior(commits=(0.1, 0.2, 0.7), nothing=0.07), [])
    assert found.nothing == pytest.approx(0.07 / (0.07 + 0.93 * 0.8))  # several jumps need more than one stretch
    assert found.commits[2] / found.commits[0] == pytest.approx(7)


def test_a_clear_range_is_closed_in_on() -> None:
    found = learn(uniform_prior(8), of((7, 1.2), (7, 1.2), (7, 1.2), (3, 1.2), (3, 1.2), (2, 1.0), (2, 1.0)))
    assert found.groups()[0].commits == (3,) and found.commits[3] > 0.98 and found.nothing < 0.001
    assert found.effect.low is not None and found.effect.high is not None
    assert found.effect.low < 1.2 < found.effect.high


def test_an_improvement_is_a_change_too() -> None:
    found = learn(uniform_prior(4), of((3, 0.8), (3, 0.8), (3, 0.8), (1, 0.8), (0, 1.0), (0, 1.0), (1, 0.8)))
    assert found.groups()[0].commits == (1,) and found.effect.point == pytest.approx(0.8, abs=0.02)


def test_one_disturbed_process_convinces_nobody() -> None:
    calm = of((7, 1.1), (7, 1.1), (7, 1.1), (3, 1.0), (3, 1.0), (3, 1.0), (5, 1.1), (5, 1.1))
    assert sum(learn(uniform_prior(8), [*calm, *of((3, 1.6))]).commits[4:6]) > 0.9


def test_a_level_in_the_middle_is_a_second_culprit_and_no_puzzle() -> None:
    """With one size for all jumps, a commit half way between both ends took pair after pair."""
    levels = [
        (9, 1.35),
        (9, 1.35),
        (9, 1.35),
        (4, 1.16),
        (4, 1.16),
        (4, 1.16),
        (3, 1.0),
        (3, 1.0),
        (5, 1.16),
        (5, 1.16),
    ]
    found = learn(uniform_prior(10), of(*levels, (6, 1.35), (6, 1.35)))
    assert found.commits[4] > 0.98 and found.commits[6] > 0.98
    assert found.sizes[4] == pytest.approx(math.log(1.16), abs=0.02)


def test_ends_that_are_alike_end_the_search() -> None:
    step = choose_next_step(uniform_prior(16), of(*[(15, 1.0)] * 10))
    assert (
        step.commit is None
        and step.group is None
        and bisection.are_alike(step.posterior, uniform_prior(16), of(*[(15, 1.0)] * 10))
    )
    known = uniform_prior(16, effect=Estimate(point=1.006, low=1.004, high=1.008))
    assert not bisection.are_alike(learn(known, of(*[(15, 1.006)] * 10)), known, of(*[(15, 1.006)] * 10))


def test_what_only_skipped_commits_would_tell_apart_is_one_group() -> None:
    found = learn(uniform_prior(6), of((5, 1.3), (5, 1.3), (5, 1.3), (4, 1.3), (4, 1.3), (1, 1.0), (1, 1.0)))
    best = found.groups(skipped={2, 3})[0]
    assert best.commits == (2, 3, 4) and best.probability > 0.97 and best.edge == (1, 4)
    assert sorted(group.commits for group in found.groups({2, 3})) == [(0,), (1,), (2, 3, 4), (5,)]


def test_the_middle_of_what_is_probable_tells_the_most() -> None:
    ends = of((15, 1.1), (15, 1.1), (15, 1.1))
    assert choose(information(learn(uniform_prior(16), ends), range(16))) in (6, 7, 8)
    here = prior_from_weights({12: 0.5, 13: 0.5}, 16)
    assert choose(information(learn(here, ends), range(16))) == 12
    assert choose(information(learn(here, ends), [0, 15, 13, 3])) in (3, 13)  # what cannot be measured is no choice


def test_a_long_range_is_looked_at_in_places_only() -> None:
    told = information(learn(uniform_prior(1000), of((999, 1.1), (999, 1.1), (999, 1.1))), range(1000))
    assert len(told.gain) < 60 and 400 < choose(told) < 600


def test_a_commit_that_is_built_is_taken_when_it_tells_nearly_as_much() -> None:
    told = ExpectedInformation(gain={0: 0.1, 14: 0.76, 15: 0.8, 31: 0.3}, unknown=4.0)
    assert choose(told) == 15
    assert choose(told, ready={14, 0}) == 14
    assert choose(told, ready={0, 31}) == 15


def test_a_commit_does_not_get_pair_after_pair() -> None:
    told = ExpectedInformation(gain={14: 0.5, 15: 0.8, 31: 0.01}, unknown=4.0)
    assert choose(told, of(*[(15, 1.1)] * 3)) == 14
    assert choose(told, of(*[(15, 1.1)] * 2)) == 15
    assert (
        choose(ExpectedInformation(gain={15: 0.8, 31: 0.01}, unknown=4.0), of(*[(15, 1.1)] * 3)) == 15
    )  # nothing else tells


def test_the_bad_end_comes_first_and_the_parent_last() -> None:
    prior = uniform_prior(4)
    assert [choose_next_step(prior, of(*[(3, 1.2)] * count)).commit for count in range(3)] == [3, 3, 3]
    clear = of((3, 1.2), (3, 1.2), (3, 1.2), (1, 1.0), (1, 1.0), (2, 1.2), (2, 1.2))
    step = choose_next_step(prior, clear)
    assert (step.base, step.commit) == (1, 2) and step.group is not None and step.size is None
    closed = choose_next_step(prior, [*clear, *_closing(1, 2, 1.2, 8)])
    assert closed.commit is None and closed.size is not None and is_shown(closed.size)
    assert closed.size.point == pytest.approx(1.2, abs=0.02)


def test_a_parent_that_is_as_slow_refutes_the_culprit() -> None:
    clear = of((3, 1.2), (3, 1.2), (3, 1.2), (1, 1.0), (1, 1.0), (2, 1.2), (2, 1.2))
    step = choose_next_step(uniform_prior(4), [*clear, *_closing(1, 2, 1.0, 6)])
    assert step.posterior.commits[2] < 0.98 and step.group is None


def test_the_search_goes_on_to_the_next_culprit() -> None:
    levels = [(9, 1.35), (9, 1.35), (9, 1.35), (4, 1.2), (4, 1.2), (4, 1.2), (3, 1.0), (3, 1.0), (3, 1.0)]
    known = [*of(*levels), *_closing(3, 4, 1.2, 8)]
    first = choose_next_step(uniform_prior(10), known)
    assert first.commit is None and first.group == Group(
        commits=(4,), probability=first.posterior.commits[4], size=first.group.size if first.group else 0.0
    )
    second = choose_next_step(uniform_prior(10), known, named={4})
    assert second.commit is not None and second.commit > 4
    alone = [pair for pair in known if pair.commit != 9] + of((9, 1.2), (9, 1.2), (9, 1.2), (9, 1.2), (9, 1.2))
    assert choose_next_step(uniform_prior(10), alone, named={4}).commit is None  # nothing is left


@pytest.mark.parametrize(("noise", "runs"), [pytest.param(quiet, 60, marks=pytest.mark.soak), (busy, 75)])
@pytest.mark.parametrize("searches", [2, pytest.param(5, marks=pytest.mark.soak)])
def test_simulated_searches_name_the_right_commit(noise: Noise, runs: int, searches: int) -> None:
    """With a noise of Student's t alone, searches on the busy machine took all their runs and named nobody."""
    outcomes = [_search(seed, noise) for seed in range(searches)]
    named = [(culprit, step) for culprit, step, _ in outcomes if step.commit is None and step.group]
    assert len(named) >= searches - 1
    assert all(step.group and step.group.commits == (culprit,) for culprit, step in named)
    assert np.mean([2 * len(pairs) for *_, pairs in outcomes]) < runs
    assert max(Counter(pair.commit for pair in pairs).most_common(1)[0][1] for *_, pairs in outcomes) < 40


@pytest.mark.soak
def test_a_good_guess_saves_pairs_and_a_wrong_one_is_overcome() -> None:
    blind = np.mean([len(_search(seed, quiet)[2]) for seed in range(2)])
    good = np.mean([len(_search(seed, quiet, around=0)[2]) for seed in range(2)])
    culprit, step, _ = _search(1, quiet, around=10)
    assert good < blind and step.group is not None and step.group.commits == (culprit,)


def _search(seed: int, noise: Noise, around: int | None = None) -> tuple[int, BisectionStep, list[CommitPair]]:
    """A change of 12 % among 32 commits."""
    rng = np.random.default_rng(seed)
    culprit = int(rng.integers(2, 18))
    prior = uniform_prior(32)
    if around is not None:
        prior = prior_from_weights({culprit + around + offset: 0.2 for offset in (-2, -1, 0, 1, 2)}, 32)
    pairs: list[CommitPair] = []
    while True:
        step = choose_next_step(prior, pairs)
        if step.commit is None or len(pairs) == 60:
            return culprit, step, pairs
        control, figure = (0.113 * (place >= culprit) + noise(rng) for place in (step.base, step.commit))
        pairs.append(CommitPair(commit=step.commit, base=step.base, control=math.exp(control), figure=math.exp(figure)))


def _closing(base: int, commit: int, ratio: float, count: int) -> list[CommitPair]:
    rng = np.random.default_rng(base)
    return [
        CommitPair(
            commit=commit,
            base=base,
            control=math.exp(0.004 * rng.normal()),
            figure=ratio * math.exp(0.004 * rng.normal()),
            control_first=bool(number % 2),
        )
        for number in range(count)
    ]


def test_longer_processes_count_for_more() -> None:
    known = of((7, 1.1), (7, 1.1), (7, 1.1), (3, 1.1), (3, 1.0), *[(7, 1.1)] * 6, noise=0.06)
    longer = [CommitPair(commit=3, control=1.0 + 0.001 * n, figure=1.1 + 0.001 * n, length=9.0) for n in range(3)]
    usual = [CommitPair(commit=each.commit, control=each.control, figure=each.figure) for each in longer]
    assert sum(learn(uniform_prior(8), [*known, *longer]).commits[:4]) > sum(
        learn(uniform_prior(8), [*known, *usual]).commits[:4]
    )


def test_what_is_left_to_do_shrinks() -> None:
    def left(pairs: list[CommitPair]) -> int:
        return bisection.expected_pairs(choose_next_step(uniform_prior(64), pairs), pairs)

    ends = of((63, 1.3), (63, 1.3), (63, 1.3))
    assert left(ends) > left([*ends, *of((31, 1.0), (47, 1.3))]) > 2


def test_records_are_plain() -> None:
    found = learn(uniform_prior(2), of((1, 1.5)))
    assert isinstance(found, Posterior) and found.pairs == 1
    assert "paths" not in repr(found) and "noises" not in repr(found)
