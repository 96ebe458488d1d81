"""Lengths are read strictly, and what is drawn has the shape that was asked for."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.errors import OptionError
from benchwright.worker.endpoints.lengths import LONGEST, draw_chances, parse_length
from hunting import examples


def drawn(text: str, count: int = 4000) -> list[int]:
    length = parse_length(text, "--input-tokens")
    return [length.at(chances) for chances in draw_chances(text, count)]


def test_a_number_is_that_number() -> None:
    length = parse_length(" 128 ", "--input-tokens")
    assert length.is_fixed and length.middle == 128
    assert {*drawn("128")} == {128}


def test_a_uniform_length_reaches_both_ends_and_nothing_beyond() -> None:
    counts = [drawn("uniform(3,7)").count(each) for each in range(3, 8)]
    assert sum(counts) == 4000
    assert all(600 < count < 1000 for count in counts), counts


@pytest.mark.parametrize("shape", ["normal", "lognormal"])
def test_a_bell_has_the_mean_and_the_deviation_of_the_lengths_themselves(shape: str) -> None:
    lengths = drawn(f"{shape}(1000,200)", 20_000)
    assert statistics.mean(lengths) == pytest.approx(1000, rel=0.01)
    assert statistics.stdev(lengths) == pytest.approx(200, rel=0.03)


def test_the_long_tail_is_on_the_right_side() -> None:
    lengths = drawn("lognormal(1000,800)")
    assert statistics.median(lengths) < 900 < statistics.mean(lengths)


def test_no_length_is_below_one() -> None:
    assert min(drawn("normal(3,100)")) == 1


def test_bounds_hold() -> None:
    lengths = drawn("normal(128,320,16,512)")
    assert (min(lengths), max(lengths)) == (16, 512)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no length"),
        ("0", "is not within 1 and 10,000,000"),
        ("-3", "is no length"),
        ("1e9", "is no length"),
        ("99999999999", "is not within"),
        ("12.5", "is no length"),
        ("٣", "is no length"),
        ("normal", "is no length"),
        ("normal()", "'' in 'normal()' is not a number"),
        ("normal(128)", "normal takes 2 or 4 numbers, not 1"),
        ("normal(128,32,16)", "takes 2 or 4 numbers, not 3"),
        ("uniform(64,32)", "the lower one first"),
        ("uniform(1.5,3)", "whole numbers"),
        ("normal(128,nan)", "'nan' in 'normal(128,nan)' is not a number"),
        ("normal(128,32,512,16)", "the lower one first"),
        ("gamma(1,2)", "is no length"),
        ("trace", "is no length"),
        ("normal(1,2)" * 1000, "is no length"),
    ],
)
def test_what_is_not_understood_is_told_with_what_is(text: str, said: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_length(text, "--input-tokens")
    assert said in caught.value.message and caught.value.message.startswith("--input-tokens: ")
    assert "uniform(64,256)" in caught.value.remedy and len(str(caught.value)) < 300


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=40) | st.from_regex(r"(normal|uniform|lognormal)\([0-9., ]{0,20}\)", fullmatch=True), st.data())
def test_any_text_is_a_length_or_a_sentence(text: str, data: st.DataObject) -> None:
    try:
        length = parse_length(text, "--turns")
    except OptionError:
        return
    chance = st.floats(0, 1, exclude_min=True)
    assert 1 <= length.low <= length.at((data.draw(chance), data.draw(chance))) <= length.high <= LONGEST
    assert length.low <= length.middle <= length.high


def test_chances_depend_on_their_key_alone() -> None:
    assert draw_chances("a", 3) == draw_chances("a", 5)[:3]
    assert draw_chances("a", 3) != draw_chances("b", 3)
