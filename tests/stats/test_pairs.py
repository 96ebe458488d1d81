"""Interleaved pairs: the rules one by one, and that verdict, interval and the quick replay never disagree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchwright.records import Better, Verdict
from benchwright.stats.pairs import WINDOW_LEVEL, PairedEvidence, Sequential, hodges_lehmann, judge, stop

Pairs = list[tuple[float, float]]


def pairs_of(logarithms: Sequence[float]) -> Pairs:
    return [(1.0, math.exp(value)) for value in logarithms]


def simulated(seed: int, count: int, change: float, noise: float) -> Pairs:
    """Heavy tails, and one process in twenty disturbed."""
    rng = np.random.default_rng(seed)
    own = noise * rng.standard_t(3, size=(2, count)) + 0.2 * (rng.random((2, count)) < 0.05)
    return [(math.exp(a), math.exp(b + math.log1p(change))) for a, b in own.T.tolist()]


def in_turns(pairs: Pairs) -> list[bool]:
    """Which side ran first: the one, then the other."""
    return [number % 2 == 0 for number in range(len(pairs))]


def run(pairs: Pairs, **asked: object) -> list[PairedEvidence]:
    test = Sequential(**asked)  # type: ignore[arg-type]
    looks: list[PairedEvidence] = []
    for (control, treatment), order in zip(pairs, in_turns(pairs), strict=True):
        looks.append(test.add(control, treatment, control_first=order))
        if looks[-1].verdict is not None:
            break
    return looks


def test_a_clear_change_is_called_after_six_pairs() -> None:
    steady = pairs_of([0.10, 0.11, 0.09, 0.105, 0.095, 0.1])
    looks = run(steady)
    assert [look.verdict for look in looks] == [None] * 5 + [Verdict.WORSE]
    assert looks[4].effect.low is None and looks[4].why == "too few pairs for an interval"
    effect = looks[-1].effect
    assert effect.low is not None and effect.high is not None
    assert math.log(effect.low) == pytest.approx(0.07) and math.log(effect.high) == pytest.approx(0.13)
    assert looks[-1].p_value == WINDOW_LEVEL and effect.confidence == 0.99 and effect.method == "window over 6 pairs"


def test_one_disturbed_pair_of_seven_is_forgiven() -> None:
    looks = run(pairs_of([0.10, -0.3, 0.09, 0.105, 0.095, 0.1, 0.11]))
    assert (looks[-1].pairs, looks[-1].verdict) == (7, Verdict.WORSE)


@pytest.mark.parametrize(
    ("orders", "called"),
    [
        ([True] * 7, None),
        ([None] * 7, None),
        ([True] * 6 + [False], 7),
        ([True] * 5 + [False, True], 6),
        ([False] * 3 + [None, False, False, True], 7),
    ],
)
def test_before_the_eighth_pair_a_change_shows_in_both_orders_or_not_at_all(
    orders: list[bool | None], called: int | None
) -> None:
    test = Sequential()
    looks = [
        test.add(*pair, control_first=order)
        for pair, order in zip(pairs_of([0.10, 0.11, 0.09, 0.105, 0.095, 0.1, 0.1]), orders, strict=True)
    ]
    assert next((look.pairs for look in looks if look.verdict is not None), None) == called


def test_six_of_one_order_that_agree_are_not_six_of_seven() -> None:
    """The second process is slower by 3 %; the seventh pair ran the other way round."""
    slower_second = pairs_of([0.03, 0.031, 0.029, 0.03, 0.0305, 0.0295, -0.03])
    assert judge(slower_second, control_first=[True] * 6 + [False]).verdict is Verdict.UNCLEAR


@pytest.mark.parametrize(
    ("better", "change", "verdict"),
    [
        (Better.LOWER, 0.1, Verdict.WORSE),
        (Better.LOWER, -0.1, Verdict.BETTER),
        (Better.HIGHER, 0.1, Verdict.BETTER),
        (Better.HIGHER, -0.1, Verdict.WORSE),
        (None, 0.1, Verdict.UNCLEAR),
    ],
)
def test_the_direction_that_is_better_decides(better: Better | None, change: float, verdict: Verdict) -> None:
    look = run(pairs_of([change + d for d in (0, 0.01, -0.01, 0.005, 0.002, -0.004)]), better=better)[-1]
    assert look.verdict is verdict
    assert look.why.startswith("higher" if change > 0 else "lower")


def test_equal_values_are_the_same_and_a_constant_change_is_called() -> None:
    assert run([(5.0, 5.0)] * 6)[-1].verdict is Verdict.SAME
    assert run([(5.0, 5.0)] * 6, smallest=0.0)[-1].verdict is Verdict.SAME
    assert run([(100.0, 105.0)] * 6)[-1].verdict is Verdict.WORSE
    assert run([(1000.0, 1001.0)] * 6)[-1].verdict is Verdict.SAME  # a change, but far below what matters


def test_strict_levels_do_without_the_window() -> None:
    looks = run(simulated(2, 40, 0.10, 0.005), false_alarms=0.005)
    assert looks[-1].verdict is Verdict.WORSE and looks[-1].pairs >= 9
    assert all(look.effect.low is None for look in looks[:8])
    assert looks[-1].p_value <= 0.005


def test_the_last_pair_ends_it_and_no_more_are_taken() -> None:
    test = Sequential(most=9)
    looks = [test.add(*pair) for pair in simulated(3, 9, 0.0, 0.1)]
    assert [look.verdict for look in looks] == [None] * 8 + [Verdict.UNCLEAR]
    with pytest.raises(ValueError, match="all 9 pairs"):
        test.add(1.0, 1.0)


@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.inf)])
def test_values_without_a_ratio_are_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="only positive numbers"):
        Sequential().add(*pair)


@pytest.mark.parametrize("asked", [{"smallest": -0.1}, {"false_alarms": 0.0}, {"false_alarms": 1.0}, {"most": 0}])
def test_impossible_questions_are_refused(asked: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        Sequential(**asked)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one pair"):
        judge([])


@pytest.mark.parametrize(("change", "noise"), [(0.0, 0.003), (0.0, 0.02), (0.02, 0.006), (0.1, 0.01), (-0.04, 0.02)])
def test_interval_verdict_and_replay_agree_at_every_look(change: float, noise: float) -> None:
    pairs = simulated(round(1000 * abs(change + noise)), 24, change, noise)
    looks = run(pairs, most=24)

    def stopped(count: int) -> tuple[int, Verdict | None]:
        return stop(pairs[:count], control_first=in_turns(pairs)[:count], most=24)

    assert stopped(24) == (looks[-1].pairs, looks[-1].verdict)
    for before, look in itertools.pairwise(looks):
        assert before.verdict is None and stopped(before.pairs) == (before.pairs, None)
        if before.effect.low is not None and look.effect.low is not None:
            assert look.effect.low >= before.effect.low - 0.001  # what was excluded stays so, up to the search's step
    for look in looks:
        low, high = look.effect.low, look.effect.high
        if low is None or high is None:
            continue
        assert low <= look.effect.point <= high
        assert (look.p_value <= 0.01) == (not low <= 1.0 <= high)
        if look.verdict is Verdict.SAME:
            assert low > 1 / 1.01 and high < 1.01
        if look.verdict in (Verdict.WORSE, Verdict.BETTER):
            assert not low <= 1.0 <= high


def test_single_clean_processes_tell_of_a_change_that_ratios_hide() -> None:
    """Two processes in five are slowed by anything, so two ratios in three are not clean."""
    rng = np.random.default_rng(5)
    found = hidden = 0
    for _ in range(20):
        own = 0.01 * rng.normal(size=(2, 24)) + (rng.random((2, 24)) < 0.4) * rng.exponential(0.3, size=(2, 24))
        pairs = [(math.exp(a), 1.1 * math.exp(b)) for a, b in own.T.tolist()]
        found += judge(pairs, control_first=in_turns(pairs)).verdict is Verdict.WORSE
        hidden += scipy.stats.wilcoxon(own[1] - own[0] + math.log(1.1)).pvalue > 0.01
    assert found >= 18 and hidden >= 10


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(min_value=-1, max_value=1), min_size=1, max_size=16))
@example([0.5, 0.5, 1, 0, 1, 0.5, 0, 0, 0, -0.6391903180261111, 0, 0, 1, -0.5403778784623878])  # ties, but for rounding
def test_swapping_the_sides_mirrors_everything(ratios: list[float]) -> None:
    straight, mirrored = (
        judge(pairs, control_first=in_turns(pairs))
        for pairs in (pairs_of(ratios), [(b, a) for a, b in pairs_of(ratios)])
    )
    assert math.log(straight.effect.point) == pytest.approx(-math.log(mirrored.effect.point), abs=1e-9)
    assert straight.p_value == mirrored.p_value
    swapped = {Verdict.WORSE: Verdict.BETTER, Verdict.BETTER: Verdict.WORSE}
    assert straight.verdict == swapped.get(mirrored.verdict, mirrored.verdict)  # type: ignore[arg-type]


def test_a_settled_number_of_pairs_is_judged_more_sharply() -> None:
    pairs = simulated(11, 20, 0.02, 0.007)
    fixed = judge(pairs)
    test = Sequential(most=20)
    last = [test.add(*pair) for pair in pairs][-1]
    assert fixed.verdict is Verdict.WORSE and fixed.p_value <= 0.01
    assert fixed.effect.low is not None and last.effect.low is not None and fixed.effect.high is not None
    assert 1.0 < fixed.effect.low < 1.02 < fixed.effect.high
    assert judge(pairs[:5]).verdict is Verdict.UNCLEAR
    few = pairs_of([0.1, 0.11, 0.12, 0.1, 0.1, 0.11])
    assert judge(few, control_first=in_turns(few)).verdict is Verdict.WORSE
    assert judge(few).verdict is Verdict.UNCLEAR  # the second process may be slower because it is the second
    with pytest.raises(ValueError, match="the order of 2 pairs"):
        judge(few, control_first=[True, False])


def test_a_location_that_outliers_do_not_move() -> None:
    assert hodges_lehmann([1.0, 1.1, 0.9, 1.05, 0.95, 50.0]) == pytest.approx(1.05, abs=0.05)
    assert hodges_lehmann([3.0]) == 3.0
