from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.schema.soundness import LARGEST
from benchwright.worker.tasks.numbers import NotANumberError, NotFiniteError, is_whole, parse_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("829.01", 829.01),
        ("3", 3),
        ("-0.5", -0.5),
        ("+2", 2),
        ("1e-5", 1e-5),
        ("1.5e3", 1500),
        (".5", 0.5),
        ("-.5", -0.5),
        ("5.", 5),
        ("007", 7),
        ("1,234.5", 1234.5),
        ("-1,234,567", -1234567),
        ("12%", 12),
        ("Speed: 829.01 samples/s", 829.01),
        ("epoch-3", 3),
        ("(-3)", -3),
        ("loss=-0.25,", -0.25),
    ],
)
def test_the_number_in_a_text(text: str, number: float) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize("text", ["", "abc", "1 2", "0,351", "2019-08-01", "1_000", "1,23", "3-5", "1.2.3"])
def test_no_number_or_several_are_refused(text: str) -> None:
    with pytest.raises(NotANumberError):
        parse_number(text)


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-inf", "Infinity", "1e999"])
def test_what_is_not_finite_is_told_apart(text: str) -> None:
    with pytest.raises(NotFiniteError):
        parse_number(text)


@given(st.floats(-LARGEST, LARGEST, allow_subnormal=False))
def test_any_float_is_read_back_from_its_own_spelling(number: float) -> None:
    assert parse_number(repr(number)) == number
    assert parse_number(f"loss={number!r} nats") == number


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_thousands_may_have_commas(number: int) -> None:
    assert parse_number(f"{number:,}") == number
    assert is_whole(f"{number:,}")


@given(st.text(max_size=30))
def test_whatever_is_captured_is_a_number_or_a_named_error(text: str) -> None:
    with contextlib.suppress(NotANumberError, NotFiniteError):
        assert math.isfinite(parse_number(text))


def test_whole_numbers_are_those_without_a_point() -> None:
    assert [is_whole(text) for text in ("3", "3.0", "3e2", "12%")] == [True, False, False, True]


def test_a_typographic_minus_is_a_sign() -> None:
    assert parse_number("loss: \N{MINUS SIGN}0.5") == -0.5


@pytest.mark.parametrize("text", ["1e999", "1e200", "-1e308"])
def test_what_nothing_can_be_computed_with_is_refused(text: str) -> None:
    with pytest.raises(NotFiniteError):
        parse_number(text)
