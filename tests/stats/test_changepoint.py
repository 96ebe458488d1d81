"""Change points: found where they are, sized, dated, and not seen where there are none."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.stats.changepoint import FEWEST, SPAN, Change, Detector, detect
from benchwright.stats.changepoint_contrast import find_outstanding


def noisy(*levels: tuple[int, float], noise: float = 0.01, seed: int = 1) -> list[float]:
    """Levels, each with its count of points."""
    rng = np.random.default_rng(seed)
    return [level * math.exp(noise * rng.standard_normal()) for count, level in levels for _ in range(count)]


def places(changes: Sequence[Change]) -> list[int]:
    return [change.index for change in changes]


def test_a_change_is_dated_sized_and_sure() -> None:
    (change,) = detect(noisy((60, 20.0), (60, 21.0)))
    assert abs(change.index - 60) <= 1
    assert change.low < 1.05 < change.high and change.high - change.low < 0.02
    assert change.before == pytest.approx(20.0, rel=0.01) and change.after == pytest.approx(21.0, rel=0.01)
    assert change.effect == pytest.approx(change.after / change.before)
    assert 0.99 < change.confidence <= 1.0
    assert sum(probability for _, probability in change.position) == pytest.approx(1.0, abs=0.01)
    assert change.position[0][0] == change.index and 60 in dict(change.position)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    found = [detect(noisy((50, 1.0), (50, 1.04), seed=seed)) for seed in range(60)]
    held = [change.low <= 1.04 <= change.high for changes in found for change in changes]
    assert len(held) == 60 and sum(held) >= 51


def test_a_faint_change_has_a_wide_position_and_a_clear_one_has_not() -> None:
    (faint,) = detect(noisy((100, 1.0), (100, 1.02), noise=0.015))
    (clear,) = detect(noisy((100, 1.0), (100, 1.2), noise=0.015))
    assert len(faint.position) > 3 > len(clear.position)


@pytest.mark.parametrize("place", [27, 29, 31, *(pytest.param(each, marks=pytest.mark.soak) for each in (26, 28, 32))])
def test_an_outlier_beside_a_change_does_not_move_its_date(place: int) -> None:
    values = noisy((30, 100.0), (30, 130.0), noise=0.005)
    values[place] *= 2.0 if place < 30 else 0.5
    (change,) = detect(values)
    assert 30 in dict(change.position) and dict(change.position)[30] > 0.45
    assert change.index == 30 or place == 29  # an outlier right before it may as well be the first point after


@pytest.mark.parametrize("share", [0.03, 0.12])
@pytest.mark.parametrize("size", [0.05, 0.3])
def test_the_positions_hold_the_true_one(size: float, share: float) -> None:
    rng = np.random.default_rng(round(1000 * (size + share)))
    held, found = 0, 0
    for _ in range(80):
        slow = np.where(rng.random(80) < share, rng.uniform(1.05, 1.5, 80), 1.0)
        values = slow * np.exp(0.01 * rng.standard_normal(80)) * np.where(np.arange(80) < 40, 1.0, 1.0 + size)
        near = [change for change in detect(values) if abs(change.index - 40) <= 6]
        found += len(near)
        held += any(40 in dict(change.position) for change in near)
    assert found >= 70 and held / found >= 0.95


def test_two_changes_within_thirty_points_are_both_found() -> None:
    assert places(detect(noisy((10, 1.0), (10, 1.1), (10, 1.0), noise=0.005))) == [10, 20]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_the_unit_does_not_matter(scale: float) -> None:
    values = noisy((80, 1.0), (40, 0.9), (80, 1.1))
    found, scaled = detect(values), detect([scale * value for value in values])
    assert places(found) == places(scaled)
    assert [c.effect for c in scaled] == pytest.approx([c.effect for c in found])
    assert [c.before for c in scaled] == pytest.approx([scale * c.before for c in found])


def test_time_runs_both_ways() -> None:
    values = noisy((80, 1.0), (40, 0.9), (80, 1.1))
    assert [200 - place for place in places(detect(values[::-1]))] == places(detect(values))[::-1]


def test_changes_too_small_to_matter_are_left_out() -> None:
    values = noisy((200, 1.0), (200, 1.03), noise=0.005)
    assert places(detect(values, smallest=0.01)) == places(detect(values)) == [200]
    assert detect(values, smallest=0.1) == []


def _outliers(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    hit = rng.random(600) < 0.06
    return np.exp(0.01 * rng.standard_normal(600) + hit * rng.exponential(0.3, 600))


def _modes(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    states = np.repeat(np.arange(120) % 2, rng.integers(3, 20, 120))[:600]
    return np.exp(0.006 * rng.standard_normal(600) + 0.06 * states)


def _slope(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.exp(0.01 * rng.standard_normal(600) + 0.08 * np.arange(600) / 600)


def _wave(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.exp(0.004 * rng.standard_normal(600) + 0.02 * np.sin(np.arange(600) / 60))


def _switching(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.exp(np.where(np.arange(600) // 75 % 2, 0.03, 0.006) * rng.standard_normal(600))


def _correlated(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = rng.standard_normal(600)
    for i in range(1, 600):
        values[i] = 0.5 * values[i - 1] + 0.87 * values[i]
    return np.exp(0.01 * values)


NOISES = (_outliers, _modes, _slope, _wave, _switching, _correlated)


@pytest.mark.parametrize("make", NOISES)
def test_noise_of_every_kind_hides_no_large_change_and_makes_none(make: object) -> None:
    assert callable(make)
    false, hit = 0, 0
    for seed in range(6):
        values = make(np.random.default_rng(seed))
        false += len(detect(values))
        changed = places(detect(np.concatenate((values[:300], 1.15 * values[300:]))))
        hit += any(abs(place - 300) <= 5 for place in changed)
    assert hit >= 5
    assert false <= 1  # of 3,600 points


def test_noise_that_remembers_is_seldom_a_sure_change_however_often_one_looks() -> None:
    rng = np.random.default_rng(9)
    fooled = 0
    for _ in range(30):
        noise = rng.standard_normal(180)
        for i in range(1, 180):
            noise[i] = 0.5 * noise[i - 1] + noise[i]
        values = np.exp(0.01 * noise[30:])
        fooled += any(change.confidence > 0.99 for count in range(12, 151, 6) for change in detect(values[:count]))
    assert fooled <= 6


COMMITS = (
    *(3.6, 3.3, 2.79, 2.81, 3.1, 3.5, 2.92, 3.4, 2.97, 3.7),
    *(3.76, 4.7, 5.1, 5.7, 4.6, 4.4, 4.6, 3.78, 4.2, 4.03, 3.82),
)


def test_levels_without_a_common_value_are_two_in_a_short_real_series() -> None:
    (change,) = detect(COMMITS)
    assert abs(change.index - 10) <= 1 and dict(change.position)[10] > 0.2
    assert change.low < 1.35 < change.high


def test_a_step_is_not_taken_for_correlation_and_further_points_only_help() -> None:
    shares = []
    for after in (8, 10, 12, 16, 24):
        found = [places(detect(noisy((10, 1.0), (after, 1.08), noise=0.02, seed=seed))) for seed in range(60)]
        shares.append(sum(any(abs(place - 10) <= 3 for place in one) for one in found) / len(found))
    assert min(shares) >= 0.8
    assert all(later >= sooner - 0.05 for sooner, later in itertools.pairwise(shares))


@pytest.mark.parametrize(("correlation", "most"), [(0.3, 4), (0.5, 6), (0.8, 14)])
def test_noise_that_remembers_is_seldom_a_change_in_short_series(correlation: float, most: int) -> None:
    rng = np.random.default_rng(11)
    fooled = 0
    for number in range(120):
        noise = rng.standard_normal(130)
        for i in range(1, 130):
            noise[i] = correlation * noise[i - 1] + noise[i]
        fooled += bool(detect(np.exp(0.02 * noise[-(16, 24, 40, 80)[number % 4] :])))
    assert fooled <= most


def test_a_regression_that_is_repaired_is_two_changes_however_often_it_happens() -> None:
    levels = [(150, 1.0), (45, 1.04), (160, 1.0), (60, 1.04), (170, 1.0), (50, 1.04), (165, 1.0)]
    found = places(detect(noisy(*levels, noise=0.008)))
    real = list(itertools.accumulate(count for count, _ in levels))[:-1]
    assert len(found) == 6 and all(abs(a - b) <= 3 for a, b in zip(found, real, strict=True))


def test_a_visit_of_a_dozen_points_in_a_long_history_is_none() -> None:
    assert detect(noisy((100, 1.0), (9, 1.1), (100, 1.0))) == []
    assert len(detect(noisy((20, 1.0), (9, 1.1), (20, 1.0), noise=0.005))) == 2  # in a short one it may be news


def test_a_series_that_wanders_must_show_a_change_beside_it() -> None:
    rng = np.random.default_rng(4)
    wander = 0.012 * np.cumsum(rng.standard_normal(1500)) / math.sqrt(60.0)
    wander -= np.convolve(wander, np.ones(401) / 401, mode="same")
    values = np.exp(wander + 0.012 * rng.standard_normal(1500))
    assert len(detect(values)) <= 2
    values[700:] *= 1.06
    assert any(abs(place - 700) <= 3 for place in places(detect(values)))


def test_a_faint_change_that_shows_nowhere_is_no_step() -> None:
    way = np.clip((np.arange(700) - 300) / 100, 0.0, 1.0)  # the level creeps up by one standard deviation
    noises = (np.random.default_rng((seed, 7)).standard_normal(700) for seed in range(20))
    assert sum(bool(detect(np.exp(0.012 * way + 0.01 * noise))) for noise in noises) <= 6


@pytest.mark.parametrize(("height", "is_told"), [(0.03, False), (0.08, True)])
def test_a_short_level_in_a_series_that_wanders_convinces_if_it_is_far_off(height: float, is_told: bool) -> None:
    wander = 0.05 * np.sin(np.arange(600) / 60.0) + 0.01 * np.random.default_rng(6).standard_normal(600)
    wander[300:307] += height
    wander[307:] += height / 2.5
    assert find_outstanding(wander, np.full(600, 0.01), [300, 307])[0] is is_told


@pytest.mark.parametrize(
    "noise", [0.002, 0.005, 0.01, *(pytest.param(each, marks=pytest.mark.soak) for each in (0.004, 0.007))]
)
def test_values_rounded_to_a_hundredth_do_not_change(noise: float) -> None:
    rng = np.random.default_rng(8)
    lengths = (20, 40, 100, 200, 400)
    made = (np.round(np.exp(noise * rng.standard_normal(lengths[n % 5])), 2) for n in range(60))
    assert sum(bool(detect(values)) for values in made) <= 1  # type: ignore[arg-type]


def test_a_change_of_rounded_values_is_found() -> None:
    (change,) = detect([round(value, 2) for value in noisy((60, 1.0), (60, 1.03), noise=0.005)])
    assert abs(change.index - 60) <= 1


def test_a_lone_spike_is_no_change() -> None:
    values = noisy((100, 1.0))
    values[50:52] = [9.0, 7.0]
    assert detect(values) == []


@pytest.mark.parametrize("values", [[], [3.0], [1.0, 2.0] * 5, [7.0] * 500, [0.0] * 100, [-1.0] * 40])
def test_nothing_is_found_where_there_is_nothing(values: list[float]) -> None:
    assert detect(values) == []


def test_counts_that_never_scatter_change_at_once() -> None:
    (change,) = detect([4096] * 40 + [4160] * 40)
    assert (
        change.index == 40
        and change.effect == pytest.approx(4160 / 4096)
        and change.position[0] == (40, pytest.approx(1.0, abs=0.005))
    )


@pytest.mark.parametrize(
    ("before", "after"), [(1e-300, 1e300), (1e308, 1.5e308), (5e-324, 1.0), (0.0, 1e-300), (-1e308, 1.7e308)]
)
def test_the_smallest_and_the_largest_numbers_are_numbers(before: float, after: float) -> None:
    (change,) = detect([before] * 20 + [after] * 20)
    assert change.index == 20
    assert all(math.isfinite(n) for n in (change.before, change.after, change.effect, change.low, change.high))
    assert change.after == pytest.approx(after, rel=1e-9, abs=sys.float_info.min)


def test_rounded_values_are_not_taken_for_levels() -> None:
    rng = np.random.default_rng(2)
    assert detect(np.round(rng.normal(100.0, 0.4, 500))) == []
    assert detect(np.round(rng.normal(3.0, 0.5, 500))) == []


def test_without_ratios_a_change_is_a_share_of_the_typical_size() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate((rng.normal(-1.0, 0.2, 100), rng.normal(1.0, 0.2, 100)))
    (change,) = detect(values)
    assert change.index == 100
    assert change.before == pytest.approx(-1.0, abs=0.1) and change.after == pytest.approx(1.0, abs=0.1)
    assert change.effect == pytest.approx(3.0, abs=0.2)  # two typical sizes up


@pytest.mark.parametrize("values", [[1.0, math.nan] * 20, [1.0, math.inf] * 20])
def test_what_is_no_number_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        detect(values)
    with pytest.raises(ValueError, match="finite"):
        Detector().append(values[1])


def test_no_change_can_be_too_small_for_everything() -> None:
    with pytest.raises(ValueError, match="positive share"):
        detect([1.0] * 20, smallest=0.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), max_size=60))
def test_any_series_has_an_answer_in_order(values: list[float]) -> None:
    found = detect(values)
    assert places(found) == sorted(set(places(found)))
    for change in found:
        assert 0 < change.index < len(values) and 0.0 <= change.confidence <= 1.0
        assert change.low <= change.effect <= change.high
        assert all(math.isfinite(number) for number in (change.before, change.after, change.low, change.high))


def test_appending_says_what_looking_at_everything_says() -> None:
    values = noisy((40, 1.0), (30, 1.1), (35, 1.02), noise=0.015)
    detector = Detector()
    for count, value in enumerate(values, start=1):
        found = detector.append(value)
        if count >= FEWEST:
            assert found == detect(values[:count])
    assert len(found) == 2


def test_a_long_history_is_settled_and_new_changes_are_still_found() -> None:
    values = noisy((700, 1.0), (700, 1.05), (500, 1.0))
    detector = Detector(values)
    before = detector.changes
    assert places(before) == places(detect(values))
    for value in noisy((30, 1.08), seed=9):
        found = detector.append(value)
    assert found[: len(before)] == before
    assert [change.index for change in found[len(before) :]] == [1900]
    assert found[-1].effect == pytest.approx(1.08, abs=0.01)


def test_appending_looks_at_a_bounded_number_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    detector = Detector(noisy((3000, 1.0)))
    seen: list[int] = []

    def counting(values: Sequence[float], *, smallest: float) -> list[Change]:
        seen.append(len(values))
        return detect(values, smallest=smallest)

    monkeypatch.setattr("benchwright.stats.changepoint.detect", counting)
    for value in noisy((20, 1.0), seed=5):
        detector.append(value)
    assert len(seen) == 20 and max(seen) <= 2 * SPAN + 1
