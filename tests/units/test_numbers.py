import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.records import Estimate
from benchwright.units.numbers import Scale, cell, ends, line_up, printable, scale_of, scale_of_estimates

MS = Scale(factor=1e-3, unit="ms")


def estimate(point: float, low: float | None, high: float | None) -> Estimate:
    return Estimate(point=point, low=low, high=high)


@pytest.mark.parametrize(
    ("given_estimate", "words"),
    [
        (estimate(1.7989e-3, 1.779e-3, 1.819e-3), "1.799 ± 0.020"),
        (estimate(12.22e-3, 11.76e-3, 12.68e-3), "12.22 ± 0.46"),
        (estimate(2.0, 1.5, 2.5), "2,000 ± 500"),
        (estimate(1e-3, 0.9e-3, 2e-3), "1.0 [0.9, 2.0]"),
        (estimate(25e-3, 0.0, 74e-3), "25 [0, 74]"),
        (estimate(25e-3, -24e-3, 74e-3), "25 [-24, 74]"),  # what can be negative: limits are set before
        (estimate(10e-3, 2e-3, 25e-3), "10 [2, 25]"),
        (estimate(25e-3, 0.0, 50e-3), "25 ± 25"),
        (estimate(13e-3, 0.1e-3, 26e-3), "13 [0.1, 26]"),  # not 13 ± 13: it is above zero
        (estimate(89e-3, 0.31e-3, 89e-3), "89 [0.3, 89]"),  # not [0, 89]
        (estimate(0.16e-3, 0.004e-3, 3.49e-3), "0.16 [0.004, 3.49]"),
        (estimate(0.4e-3, -0.0001e-3, 99e-3), "0.40 [-0.0001, 99.00]"),
        (estimate(1.5e-3, None, None), "1.500"),
        (estimate(1.5e-3, 1.5e-3, 1.5e-3), "1.500 ± 0.000"),
    ],
)
def test_digits_follow_the_interval(given_estimate: Estimate, words: str) -> None:
    assert str(cell(given_estimate, MS)) == words


@pytest.mark.parametrize(
    ("given_estimate", "words"),
    [
        (estimate(3e-10, None, None), "3.000e-10"),
        (estimate(3e-10, 2e-10, 4e-10), "3.0e-10 ± 1.0e-10"),
        (estimate(3e-10, 0.0, 9.9e-10), "3.0e-10 [0, 9.9e-10]"),
        (estimate(0.0, 0.0, 3e-10), "0 [0, 3.0e-10]"),
        (estimate(0.0, 0.0, 0.0), "0 ± 0"),
        (estimate(0.0, 0.0, 0.003), "0.0000 [0.0000, 0.0030]"),
        (estimate(0.0, 0.0, 2.0), "0.0 [0.0, 2.0]"),
    ],
)
def test_next_to_nothing_is_no_row_of_zeros(given_estimate: Estimate, words: str) -> None:
    percent = scale_of([given_estimate.point], "%")
    shown = cell(given_estimate, percent)
    assert str(shown) == words
    both = ends(given_estimate, percent)
    assert both is None or all(len(end) < 8 for end in both)


@given(st.floats(1e-9, 1e3), st.floats(1e-6, 0.5), st.floats(1e-6, 0.5))
def test_the_shown_interval_covers_the_real_one(point: float, below: float, above: float) -> None:
    found = estimate(point, point * (1 - below), point * (1 + above))
    scale = scale_of([point], "s")
    shown = cell(found, scale)
    decimals = len(shown.point.partition(".")[2])
    rounding = 1.01 * 10.0**-decimals
    number = float(shown.point.replace(",", ""))
    if shown.interval.startswith("±"):
        half = float(shown.interval[2:].replace(",", ""))
        low, high = number - half, number + half
    else:
        low, high = (float(end.replace(",", "")) for end in shown.interval[1:-1].split(", "))
    assert low <= point * (1 - below) / scale.factor + rounding
    assert high >= point * (1 + above) / scale.factor - rounding


def test_one_unit_for_a_column_is_that_of_its_middle() -> None:
    assert scale_of([18e-6, 2e-3, 40e-3], "s") == MS
    assert scale_of([], "s") == Scale(factor=1.0, unit="s")
    assert scale_of([3.0, 5.0], "widgets") == Scale(factor=1.0, unit="widgets")


def test_decimal_points_stand_in_one_column() -> None:
    lined = line_up(["1.5", "12.25", "100", "-"])
    assert lined == ["  1.5 ", " 12.25", "100   ", "-"]


def test_control_characters_are_written_out() -> None:
    assert printable("a\x1b[31mred\nb") == "a\\x1b[31mred\\nb"
    assert printable("a\nb\tc\x07", lines=True) == "a\nb\tc\\x07"
    assert printable("\u202eevil") == "\\u202eevil"
    assert printable("µ × 模型") == "µ × 模型"


def test_a_median_of_zero_is_told_in_the_unit_of_its_interval() -> None:
    nothing = Estimate(point=0.0, low=0.0, high=1.2e-6)
    scale = scale_of_estimates([nothing], "s")
    assert (scale.unit, str(cell(nothing, scale))) == ("µs", "0.0 [0.0, 1.2]")
    assert scale_of_estimates([nothing, Estimate(point=0.02, low=0.01, high=0.03)], "s").unit == "ms"
    assert scale_of_estimates([Estimate(point=0.0, low=None, high=None)], "s").unit == "s"
