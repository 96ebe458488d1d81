"""Quantities: what is shown keeps three digits, what is typed is read in base units."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchwright import units
from benchwright.errors import OptionError

TYPED_UNITS = ["s", "B", "/s", "%"]


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.83e-05, "s", "18.3 µs"),
        (0.0, "s", "0 s"),
        (1.0, "s", "1.00 s"),
        (0.999, "s", "999 ms"),
        (1e-10, "s", "0.100 ns"),
        (-0.002, "s", "-2.00 ms"),
        (75.0, "s", "75.0 s"),
        (1536.0, "B", "1.50 KiB"),
        (3.0, "B", "3 B"),
        (-28.4, "B", "-28 B"),
        (0.25, "B", "0.250 B"),
        (1e-09, "B", "1.00e-09 B"),
        (math.inf, "B", "inf TiB"),
        (1234.5, "/s", "1.23 k/s"),
        (12.0, "/s", "12.0/s"),
        (54_321_000.0, "/s", "54.3 M/s"),
        (12.34, "%", "12.3%"),
        (3.0, "", "3.00"),
        (42.0, "inferences", "42.0 inferences"),
    ],
)
def test_values_are_shown_for_people(value: float, unit: str, shown: str) -> None:
    assert units.format_value(value, unit) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.9996, "1", "1.00"),
        (9.996, "%", "10.0%"),
        (0.0009996, "s", "1.00 ms"),
        (-0.9996, "s", "-1.00 s"),
        (9.9996e-07, "s", "1.00 µs"),
        (0.9996, "B", "1 B"),
        (1023.2, "B", "1,023 B"),
        (1023.7, "B", "1.00 KiB"),
        (1023.7 * 1024, "B", "1.00 MiB"),
        (999_960.0, "/s", "1.00 M/s"),
    ],
)
def test_what_is_rounded_to_the_next_power_or_unit_is_shown_as_that(value: float, unit: str, shown: str) -> None:
    assert units.format_value(value, unit) == shown


@given(
    value=st.floats(min_value=1e-6, max_value=1e12),
    unit=st.sampled_from(["s", "B", "/s", "J", "W"]),
    digits=st.integers(1, 6),
)
def test_no_more_is_shown_of_a_unit_than_the_next_one_holds(value: float, unit: str, digits: int) -> None:
    number, label = re.fullmatch(r"([\d.,]+) ?(\S+)", units.format_value(value, unit, digits)).groups()  # type: ignore[union-attr]
    largest = units.scale_for(1e15, unit)[1]
    assert label == largest or float(number.replace(",", "")) < (1024 if unit == "B" else 1000)


@given(value=st.floats(min_value=1e-9, max_value=999.0))
def test_what_is_shown_is_within_half_of_the_third_digit(value: float) -> None:
    number, label = units.format_value(value, "s").split(" ")
    assert units.parse_quantity(number.replace(",", "") + label, "s") == pytest.approx(value, rel=0.005)


@given(value=st.floats(min_value=1.0, max_value=1e12), unit=st.sampled_from(["B", "/s"]))
def test_scaled_values_have_one_to_four_digits_before_the_point(value: float, unit: str) -> None:
    factor, _ = units.scale_for(value, unit)
    assert 1.0 <= value / factor < 1024.0


@given(value=st.floats(allow_subnormal=False, min_value=-1e9, max_value=1e9, allow_nan=False), digits=st.integers(1, 6))
def test_everyday_numbers_have_no_exponent(value: float, digits: int) -> None:
    assume(value == 0 or abs(value) >= 1e-6)
    assert re.fullmatch(r"-?[\d,]+(\.\d+)?", units.format_number(value, digits))


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("20ms", "s", 0.02),
        (" 1.5 GiB ", "B", 1.5 * 2**30),
        ("2kB", "B", 2000.0),
        ("3", "s", 3.0),
        ("1e-3", "s", 0.001),
        (".5h", "s", 1800.0),
        ("5us", "s", 5e-6),
        ("5µs", "s", 5e-6),
        ("2min", "s", 120.0),
        ("60/min", "/s", 1.0),
        ("1%", "%", 1.0),
        ("7 inferences", "inferences", 7.0),
    ],
)
def test_quantities_are_read_in_base_units(text: str, unit: str, value: float) -> None:
    assert units.parse_quantity(text, unit) == pytest.approx(value)


@given(value=st.floats(allow_subnormal=False, allow_nan=False, allow_infinity=False), unit=st.sampled_from(TYPED_UNITS))
def test_a_bare_number_is_taken_in_the_base_unit(value: float, unit: str) -> None:
    assert units.parse_quantity(repr(value), unit) == value


@given(text=st.text(max_size=10), unit=st.sampled_from(TYPED_UNITS))
def test_anything_else_is_refused_with_the_units_that_fit(text: str, unit: str) -> None:
    try:
        number = units.parse_quantity(text, unit, what="--rate")
    except OptionError as error:
        assert error.message.startswith("--rate: ")
        assert unit in error.remedy
    else:
        assert not math.isnan(number)


@pytest.mark.parametrize("text", ["", "fast", "1 2", "20 parsecs", "ms", "nan", "1e999", "0x10", "٣"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--duration"):
        units.parse_quantity(text, "s", what="--duration")


@pytest.mark.parametrize(
    ("probability", "shown"),
    [
        (1.0, "99.99 %"),
        (0.999999, "99.99 %"),
        (0.99985, "99.98 %"),
        (0.998, "99.8 %"),
        (0.9949, "99.5 %"),
        (0.873, "87.3 %"),
        (0.02, "2 %"),
        (0.0005, "below 0.1 %"),
        (0.0, "below 0.1 %"),
    ],
)
def test_a_probability_is_never_rounded_to_certainty(probability: float, shown: str) -> None:
    assert units.format_probability(probability) == shown


@pytest.mark.parametrize(("text", "number"), [("0", 0), (" 42 ", 42), ("9" * 18, 10**18 - 1)])
def test_plain_digits_are_a_number(text: str, number: int) -> None:
    assert units.whole_number(text) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", "1_0", "\u00b2", "\u0661", "9" * 19, "9" * 5000])
def test_anything_else_is_no_number(text: str) -> None:
    assert units.whole_number(text) is None


@pytest.mark.parametrize(
    ("text", "share"), [("1%", 0.01), ("0.5 %", 0.005), (" 99.9% ", 0.999), ("2", 0.02), ("98", 0.98), ("0", 0.0)]
)
def test_a_percentage_is_read_as_a_share(text: str, share: float) -> None:
    assert units.parse_percent(text, "--smallest") == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "readings"),
    [("0.01", "0.01% or 1%"), ("1", "1% or 100%"), ("1e-3", "0.001% or 0.1%"), (".5", "0.5% or 50%")],
)
def test_a_bare_number_that_may_be_a_share_is_refused_with_both_readings(text: str, readings: str) -> None:
    with pytest.raises(OptionError, match=re.escape(f"--smallest: '{text}' may mean {readings}")) as refused:
        units.parse_percent(text, "--smallest")
    assert f"write {readings.split()[0]}" in refused.value.remedy


@pytest.mark.parametrize("text", ["-1%", "100%", "200", "x%", "%", "", "1ms", "nan", "1e999%", "1%%"])
def test_what_is_no_percentage_is_refused_with_the_form_to_write(text: str) -> None:
    with pytest.raises(OptionError, match=r"--smallest: .*is not") as refused:
        units.parse_percent(text, "--smallest")
    assert "1%" in refused.value.remedy


@pytest.mark.parametrize("text", ["0", "0%"])
def test_nothing_at_all_is_refused_where_it_makes_no_sense(text: str) -> None:
    with pytest.raises(OptionError, match=r"--confidence: .*is not between 0 and 100 %"):
        units.parse_percent(text, "--confidence", zero=False)
