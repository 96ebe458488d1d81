"""Ranges that people write for a dimension."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import OptionError
from benchwright.workflows import arguments
from benchwright.workflows.tune.ranges import MOST_VALUES, expand, expand_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1..64", "1,2,4,8,16,32,64"),
        ("1..6", "1,2,4,6"),
        ("3..10", "3,6,10"),
        ("1..1", "1"),
        ("8..32:8", "8,16,24,32"),
        ("1..10:4", "1,5,9,10"),
        ("0..2:1", "0,1,2"),
        ("0.5..2", "0.5,1,2"),
        ("1..4,3,2", "1,2,4,3"),
        ("onnxruntime,openvino", "onnxruntime,openvino"),
        ("1ms,2ms", "1ms,2ms"),
        ("../model", "../model"),
    ],
)
def test_a_range_doubles_or_goes_in_steps_and_has_both_ends(text: str, values: str) -> None:
    assert expand(text, "--batch-size") == values


def test_max_is_the_number_of_cpus() -> None:
    cpus = arguments.available_cpus()
    assert expand("1..max", "--copies").split(",")[-1] == str(cpus)
    assert expand_values("threads", "1..max:1", "--option") == list(range(1, cpus + 1))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("64..1", "goes down"),
        ("1..", "a range with one end"),
        ("0..8", "above zero"),
        ("1..8:0", "no step above zero"),
        ("1..8:-1", "no step above zero"),
        ("a..8", "'a' in 'a..8' is not a number"),
        ("1..true", "is not a number"),
        (f"1..{MOST_VALUES + 1}:1", "more than"),
    ],
)
def test_a_wrong_range_says_what_is_wrong_and_names_its_flag(text: str, why: str) -> None:
    with pytest.raises(OptionError, match=why) as caught:
        expand(text, "--batch-size")
    assert "--batch-size" in str(caught.value)


@given(low=st.integers(1, 50), more=st.integers(0, 500))
def test_values_rise_from_one_end_to_the_other(low: int, more: int) -> None:
    values = [int(word) for word in expand(f"{low}..{low + more}", "--x").split(",")]
    assert values[0] == low and values[-1] == low + more
    assert values == sorted(set(values))
    assert all(b <= 2 * a for a, b in itertools.pairwise(values))
