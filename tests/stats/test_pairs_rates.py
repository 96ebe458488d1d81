"""How often pairs are judged wrongly when the truth is known: some of the comparisons here, all in `make soak`. The
full figures come from benchmarks/pairs.py."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

from benchwright.records import Verdict
from benchwright.stats import signflips
from benchwright.stats.pairs import WINDOW_LEVEL, judge, stop

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Noise = Callable[[np.random.Generator, tuple[int, int]], Array]
COMPARISONS = pytest.mark.parametrize("comparisons", [30, pytest.param(300, marks=pytest.mark.soak)])
DIFFERENT = (Verdict.WORSE, Verdict.BETTER)
NOISES: dict[str, Noise] = {
    "normal": lambda rng, shape: 0.01 * rng.normal(size=shape),
    "heavy tails": lambda rng, shape: 0.01 * rng.standard_t(2, size=shape),
    "two speeds": lambda rng, shape: 0.03 * (rng.random(shape) < 0.5) + 0.001 * rng.normal(size=shape),
    "growing": lambda rng, shape: 0.01 * np.linspace(0.1, 3.0, shape[1]) * rng.normal(size=shape),
    "disturbed": lambda rng, shape: 0.01 * rng.normal(size=shape) + 0.3 * (rng.random(shape) < 0.1),
}


def verdicts(
    comparisons: int, noise: Noise, change: float, most: int, **asked: float
) -> list[tuple[int, Verdict | None]]:
    rng = np.random.default_rng(most)
    shape = (comparisons, most)
    ratios = noise(rng, shape) - noise(rng, shape) + math.log1p(change)
    orders = (rng.random(shape) < 0.5).tolist()
    return [
        stop([(1.0, math.exp(r)) for r in row], control_first=order, most=most, **asked)  # type: ignore[arg-type]
        for row, order in zip(ratios.tolist(), orders, strict=True)
    ]


@pytest.mark.parametrize("effect", [0.01, 0.03, 0.1])
def test_a_second_process_that_is_always_slower_is_no_change(effect: float) -> None:
    """In seven pairs, when nothing changed: the window alone decides, and one order alone would show a change."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(400):
        first, second = np.exp(0.003 * rng.normal(size=7)), np.exp(0.003 * rng.normal(size=7) + effect)
        order = rng.random(7) < 0.5
        pairs = np.stack((np.where(order, first, second), np.where(order, second, first)), axis=1)
        wrong += stop([(a, b) for a, b in pairs.tolist()], control_first=order.tolist(), most=7)[1] in DIFFERENT
    assert wrong <= 5


@COMPARISONS
@pytest.mark.parametrize("noise", NOISES)
def test_equal_programs_are_not_called_different(noise: str, comparisons: int) -> None:
    found = Counter(verdict for _, verdict in verdicts(comparisons, NOISES[noise], 0.0, 16, smallest=0.001))
    wrong = found[Verdict.WORSE] + found[Verdict.BETTER]
    assert scipy.stats.binomtest(wrong, comparisons, 0.01, alternative="greater").pvalue > 0.001


@COMPARISONS
@pytest.mark.parametrize("noise", ["normal", "two speeds", "disturbed"])
def test_programs_that_differ_are_not_called_the_same(noise: str, comparisons: int) -> None:
    found = Counter(verdict for _, verdict in verdicts(comparisons, NOISES[noise], 0.021, 16, smallest=0.02))
    assert scipy.stats.binomtest(found[Verdict.SAME], comparisons, 0.01, alternative="greater").pvalue > 0.001
    assert found[Verdict.BETTER] <= 3


@COMPARISONS
def test_a_large_change_ends_within_seven_pairs_and_none_at_all_well_before_the_last(comparisons: int) -> None:
    slower = verdicts(comparisons, NOISES["normal"], 0.10, 16)
    assert sum(used <= 7 and verdict is Verdict.WORSE for used, verdict in slower) / comparisons > 0.9
    quiet: Noise = lambda rng, shape: 0.003 * rng.standard_t(5, size=shape)  # noqa: E731
    clean = verdicts(comparisons, quiet, 0.0, 24, smallest=0.02)
    assert all(verdict is Verdict.SAME for _, verdict in clean)
    assert np.median([used for used, _ in clean]) <= 8


def test_the_window_is_wrong_about_two_speeds_as_rarely_as_stated() -> None:
    """Worst case, counted: half of the ratios show no difference, a quarter each shows one of the two gaps. What the
    first six show alike, at least six of the seven do."""
    alike = sum(math.comb(7, hits) * 3 ** (7 - hits) for hits in (6, 7)) / 4**7
    assert 0.0026 < 2 * alike <= WINDOW_LEVEL
    wrong, orders = 0.0, [True, True, True, False, False, False, True]
    for speeds in itertools.product((0.0, 1.0, -1.0), repeat=7):
        weight = math.prod(0.5 if s == 0.0 else 0.25 for s in speeds)
        ratios = [0.03 * s + 1e-6 * i for i, s in enumerate(speeds)]
        wrong += weight * (judge([(1.0, math.exp(r)) for r in ratios], control_first=orders).verdict is Verdict.WORSE)
    assert 0.8 * alike < wrong <= alike


def test_sign_flips_are_exact_over_all_patterns_and_looks() -> None:
    """For any values, of all equally likely ways to label them at most the level is ever rejected: what was looked
    at to weigh the pairs is the same in every one."""
    rng = np.random.default_rng(2)
    busy = 0.01 * rng.normal(size=(10, 2)) + 0.3 * (rng.random((10, 2)) < 0.4) * rng.random((10, 2))
    for values in (rng.standard_t(2, size=(10, 2)) * np.linspace(1.0, 4.0, 10)[:, None], busy):
        spent = signflips.plan_spending(0.05, 10)
        swaps = [np.array([*p, False]) for p in itertools.product((True, False), repeat=9)]  # the last: by symmetry
        rejected = 0
        for swapped in swaps:
            controls = np.where(swapped, values[:, 1], values[:, 0])
            treatments = np.where(swapped, values[:, 0], values[:, 1])
            rejected += signflips.look_by_look(controls, treatments, spent).look is not None
        assert 0.02 < rejected / len(swaps) <= 0.05


def test_the_p_value_at_one_look_counts_the_patterns_that_are_as_extreme() -> None:
    once, nothing = [0.0] * 7 + [0.01], [0.0] * 8
    found = signflips.look_by_look(nothing, [1.0, 1.1, 0.9, 1.2, 0.8, 1.0, 1.3, 0.95], once)
    assert (found.look, found.positive, found.p_value) == (8, True, 2 / 2**8)
    assert signflips.look_by_look([0.0, 1.0] * 4, [1.0, 0.0] * 4, once).p_value == 1.0
    assert signflips.look_by_look(nothing, nothing, once).look is None


def test_the_flips_are_a_group_and_the_first_one_changes_nothing() -> None:
    flips = np.concatenate(signflips._flips(13, 40), axis=1)
    assert (flips[:, 0] == 1).all() and flips.shape == (40, 8192)
    known = {column.tobytes() for column in flips.T.astype(np.int8)}
    assert len(known) == 8192 and (-flips[:, 0]).astype(np.int8).tobytes() in known
    rng = np.random.default_rng(1)
    for one, other in rng.integers(8192, size=(200, 2)):
        assert (flips[:, one] * flips[:, other]).astype(np.int8).tobytes() in known


def test_levels_are_spent_without_a_step_back_and_in_full() -> None:
    for most in (1, 7, 8, 9, 20, 40, 200):
        spent = signflips.plan_spending(0.007, most)
        assert len(spent) == most and list(spent) == sorted(spent) and not any(spent[:7])
        assert spent[-1] == (0.007 if most >= 8 else 0.0)
    with pytest.raises(ValueError, match="levels for 8 looks"):
        signflips.look_by_look([0.1] * 9, [0.1] * 9, signflips.plan_spending(0.01, 8))
