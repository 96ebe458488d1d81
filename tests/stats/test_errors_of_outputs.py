"""Errors between arrays: against a slow oracle, and at the edges of what arrays can be."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from benchwright.stats import errors
from benchwright.stats.errors import ShapeError, agreement, compare, scale

_NUMBERS = st.floats(width=32, allow_nan=True, allow_infinity=True)
_PAIRS = st.lists(st.tuples(_NUMBERS, _NUMBERS), max_size=12)


def _oracle(pairs: list[tuple[float, float]], absolute: float, relative: float) -> dict[str, float]:
    """Element by element, as one would do it by hand."""
    found: dict[str, Any] = {"abs": [], "rel": [], "off": 0, "unlike": 0}
    for mine, theirs in pairs:
        if not (math.isfinite(mine) and math.isfinite(theirs)):
            same = mine == theirs or (math.isnan(mine) and math.isnan(theirs))
            found["off"] += not same
            found["unlike"] += not same
            continue
        difference = abs(mine - theirs)
        found["abs"].append(difference)
        found["rel"] += [difference / abs(theirs)] if theirs else []
        found["off"] += difference > absolute + relative * abs(theirs)
    return {
        "max_abs": max(found["abs"], default=0.0),
        "mean_abs": sum(found["abs"]) / max(1, len(found["abs"])),
        "rms": math.sqrt(sum(d * d for d in found["abs"]) / max(1, len(found["abs"]))),
        "max_rel": max(found["rel"], default=0.0),
        "mean_rel": sum(found["rel"]) / max(1, len(found["rel"])),
        "off": found["off"],
        "unlike": found["unlike"],
    }


@given(pairs=_PAIRS, absolute=st.sampled_from([0.0, 0.5, 100.0]), relative=st.sampled_from([0.0, 0.1]))
@limits(max_examples=60)
def test_errors_agree_with_comparing_by_hand(
    pairs: list[tuple[float, float]], absolute: float, relative: float
) -> None:
    mine = np.array([pair[0] for pair in pairs], dtype=np.float32)
    theirs = np.array([pair[1] for pair in pairs], dtype=np.float32)
    result = compare(mine, theirs, absolute=absolute, relative=relative)
    for name, value in _oracle(pairs, absolute, relative).items():
        assert getattr(result, name) == pytest.approx(value, rel=1e-9), name
    assert all(math.isfinite(getattr(result, name)) for name in ("rms", "max_rel", "mean_rel"))
    pairable = any(map(math.isfinite, mine[np.isfinite(theirs)]))
    assert (result.cosine is None) == (not pairable and result.size > 0)
    assert result.cosine is None or abs(result.cosine) <= 1


def test_the_worst_element_is_the_one_that_exceeds_its_tolerance_most() -> None:
    expected = np.array([[1000.0, 1.0], [0.0, 5.0]])
    found = np.array([[1050.0, 1.0], [0.9, 5.0]])
    assert compare(found, expected).worst == (0, 0)  # the largest difference
    judged = compare(found, expected, absolute=0.1, relative=0.1)
    assert (judged.worst, judged.off) == ((1, 0), 1)
    assert compare(expected, expected).worst is None


def test_equal_nans_and_infinities_agree_and_others_are_out_of_any_tolerance() -> None:
    expected = np.array([np.nan, np.inf, -np.inf, 1.0, 2.0])
    assert compare(expected, expected).off == 0
    found = np.array([np.nan, np.inf, np.inf, np.nan, 2.5])
    result = compare(found, expected, absolute=1e9)
    assert (result.off, result.unlike, result.worst) == (2, 2, (2,))
    assert result.max_abs == 0.5  # of what is finite


@pytest.mark.parametrize(
    ("found", "expected"), [((1, 3), (3,)), ((3,), (1, 3)), ((2,), (3,)), ((), (1,)), ((0,), (1,)), ((3, 1), (1, 3))]
)
def test_other_shapes_are_an_error_and_never_broadcast(found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="expected"):
        compare(np.zeros(found), np.zeros(expected))
    with pytest.raises(ShapeError):
        agreement(np.zeros(found), np.zeros(expected), 1)


def test_what_is_no_number_is_an_error() -> None:
    with pytest.raises(ShapeError, match="are not numbers"):
        compare(np.array(["a"]), np.array(["a"]))
    with pytest.raises(ShapeError, match="are not numbers"):
        compare(np.array([None]), np.array([None]))


def test_whole_numbers_are_compared_exactly() -> None:
    big = 2**62
    one_off = compare(np.array([big + 1, 7]), np.array([big, 7]))
    assert (one_off.off, one_off.max_abs) == (1, 1.0)
    ends = compare(np.array([-(2**63)]), np.array([2**63 - 1]))
    assert ends.max_abs == pytest.approx(2.0**64)
    assert compare(np.array([255], np.uint8), np.array([-1], np.int8)).max_abs == 256
    assert compare(np.array([2**64 - 1], np.uint64), np.array([2**64 - 2], np.uint64)).max_abs == 1
    truth = compare(np.array([True, False]), np.array([True, True]))
    assert (truth.off, truth.max_abs, truth.worst) == (1, 1.0, (1,))


def test_short_floats_are_compared_with_room() -> None:
    half = compare(np.array([60000.0], np.float16), np.array([-60000.0], np.float16))
    assert half.max_abs == pytest.approx(120000, rel=1e-3)  # beyond what the type itself can hold
    brain = np.array([1.0, 2.0]).astype(ml_dtypes.bfloat16)
    result = compare(brain, np.array([1.0, 2.5], np.float32))
    assert (result.max_abs, result.max_rel) == (0.5, 0.2)


def test_complex_numbers_are_compared_by_their_distance() -> None:
    assert compare(np.array([3 + 4j]), np.array([0j])).max_abs == 5


def test_empty_arrays_and_scalars() -> None:
    empty = compare(np.zeros((0, 3)), np.zeros((0, 3)))
    assert (empty.size, empty.off, empty.max_abs, empty.cosine, empty.worst) == (0, 0, 0.0, 1.0, None)
    scalar = compare(np.array(2.0), np.array(4.0))
    assert (scalar.max_abs, scalar.max_rel, scalar.worst) == (2.0, 0.5, ())
    assert agreement(np.zeros((0, 3)), np.zeros((0, 3)), 1) == 1.0
    assert agreement(np.array(1.0), np.array(9.0), 1) == 1.0


@pytest.mark.parametrize(
    ("found", "expected", "cosine"),
    [([1, 0], [0, 1], 0), ([2, 2], [1, 1], 1), ([-1, 0], [3, 0], -1), ([0, 0], [0, 0], 1), ([0, 0], [1, 0], 0)],
)
def test_cosine(found: list[float], expected: list[float], cosine: float) -> None:
    assert compare(np.array(found), np.array(expected)).cosine == pytest.approx(cosine)


def test_numbers_stay_finite_when_their_sums_cannot() -> None:
    result = compare(np.full(3, 1e308), np.full(3, -1e308))
    assert math.isfinite(result.max_abs) and math.isfinite(result.rms) and math.isfinite(result.mean_abs)
    assert math.isfinite(compare(np.array([1e308]), np.array([5e-324])).max_rel)


def test_agreement_is_the_share_of_rows_with_the_same_largest_elements() -> None:
    expected = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    found = np.array([[0.2, 0.5, 0.3], [0.3, 0.5, 0.2], [0.3, 0.2, 0.5]])
    assert agreement(found, expected, 1) == pytest.approx(2 / 3)
    assert agreement(found, expected, 2) == pytest.approx(2 / 3)
    assert agreement(found, expected, 3) == 1.0
    with pytest.raises(ShapeError, match="no 4 largest of 3"):
        agreement(found, expected, 4)


@given(
    rows=st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=3), top=st.integers(1, 4)
)
@limits(max_examples=60)
def test_agreement_does_not_depend_on_the_order_of_equal_elements(rows: list[list[int]], top: int) -> None:
    expected = np.array(rows, dtype=np.float32)
    nudged = expected + np.linspace(0.0, 0.01, 4, dtype=np.float32)  # breaks ties, keeps every other order
    assert agreement(nudged, expected, top) == 1.0
    assert agreement(expected, nudged, top) == 1.0


def test_a_nan_is_never_the_largest() -> None:
    assert agreement(np.array([np.nan, 1.0, 2.0]), np.array([0.0, 1.0, 2.0]), 1) == 1.0


def test_scale_is_the_root_mean_square_of_finite_elements() -> None:
    assert scale(np.array([3.0, 4.0, np.nan])) == pytest.approx(math.sqrt(12.5))
    assert scale(np.zeros(0)) == 0.0


def test_layout_makes_no_difference_and_pieces_are_put_together_right(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = np.random.default_rng(1).normal(size=(6, 7)).astype(np.float32)
    found = expected + np.float32(0.001)
    found[0, 3] += 10
    whole = compare(found, expected, absolute=0.01)
    monkeypatch.setattr(errors, "PIECE", 5)
    pieces = compare(np.asfortranarray(found), expected, absolute=0.01)
    assert (pieces.worst, pieces.off, pieces.max_abs) == (whole.worst, whole.off, whole.max_abs)
    assert (whole.worst, whole.off) == ((0, 3), 1) and whole.max_abs == pytest.approx(10.001, rel=1e-5)
    assert pieces.mean_abs == pytest.approx(whole.mean_abs) and pieces.cosine == pytest.approx(whole.cosine)
    assert agreement(found, expected, 1) == 5 / 6


def test_comparing_takes_little_memory_beyond_the_arrays() -> None:
    found, expected = np.ones((1000, 2000), np.float16), np.ones((1000, 2000), np.float16)
    tracemalloc.start()
    try:
        assert compare(found, expected).size == 2_000_000
        assert agreement(found, expected, 5) == 1.0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * 8 * errors.PIECE  # a few pieces in double precision; the arrays as such would take 32 MB
