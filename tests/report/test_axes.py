import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.report.axes import axis, tick_text


@given(
    st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=20), st.sampled_from(["s", "B", "/s", "%", ""]), st.booleans()
)
def test_values_stay_inside_and_in_order(values: list[float], unit: str, zero: bool) -> None:
    made = axis(values, unit, 50.0, 500.0, zero=zero)
    places = [made.at(v) for v in sorted(values)]
    assert all(50 <= place <= 500 for place in places)
    assert places == sorted(places)


@given(st.floats(1e-9, 1e6), st.floats(1.0, 1e9), st.sampled_from(["s", "B", "/s", "%"]), st.booleans())
def test_ticks_are_few_inside_and_different(low: float, spread: float, unit: str, zero: bool) -> None:
    made = axis([low, low * spread], unit, 50.0, 500.0, zero=zero)
    ticks = made.ticks()
    assert 1 <= len(ticks) <= 10
    assert all(made.low * (1 - 1e-9) <= v <= made.high * (1 + 1e-9) for v, _ in ticks)
    assert len({value for value, _ in ticks}) == len(ticks)


def test_wide_spreads_are_logarithmic_unless_zero_matters() -> None:
    assert axis([1e-3, 1.0], "s", 0, 100).log
    assert not axis([1e-3, 1.0], "s", 0, 100, zero=True).log
    assert not axis([1e-3, 2e-3], "s", 0, 100).log
    assert not axis([0.0, 2e-3], "s", 0, 100).log


def test_a_linear_axis_keeps_one_unit() -> None:
    words = [text for _, text in axis([0, 2100.0], "/s", 300, 20, zero=True).ticks()]
    assert words[0] == "0" and all(word.endswith("k/s") for word in words[1:])


@pytest.mark.parametrize(
    ("value", "unit", "words"), [(0.0025, "s", "2.5 ms"), (0, "s", "0"), (50, "%", "50%"), (2**20, "B", "1 MiB")]
)
def test_tick_words(value: float, unit: str, words: str) -> None:
    assert tick_text(value, unit) == words


def test_no_values_still_make_an_axis() -> None:
    assert math.isfinite(axis([], "s", 0, 100).at(0.5))
