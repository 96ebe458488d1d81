"""The items of a long array come one by one, are those of the standard library, and wrong ones end in a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.schema.parsing import TextError, json_items
from hunting import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
ITEMS = st.lists(VALUES, max_size=3) | st.dictionaries(st.text(max_size=4), VALUES, max_size=3) | st.text(max_size=9)


def cut(text: str, size: int) -> Iterator[str]:
    return (text[i : i + size] for i in range(0, len(text), size))


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(ITEMS, max_size=8), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_items_are_what_the_whole_would_be(items: list, size: int, indent: int | None, plain: bool) -> None:
    text = json.dumps(items, indent=indent, ensure_ascii=plain)
    assert list(json_items(cut(f" {text}\n", size), longest=10_000)) == items


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(ITEMS, min_size=1, max_size=5), st.integers(1, 40), st.data())
def test_an_array_that_is_cut_off_is_told(items: list, size: int, data: st.DataObject) -> None:
    text = json.dumps(items)
    part = text[: data.draw(st.integers(0, len(text) - 1))]
    seen: list = []
    with pytest.raises(TextError):
        seen.extend(json_items(cut(part, size), longest=10_000))
    assert seen == items[: len(seen)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a JSON array"),
        ('{"a": 1}', "not a JSON array"),
        ("[1, 2]", "an item that is no mapping, list or text"),
        ('[{"a": 1},]', "an item that is no mapping"),
        ('[{"a": 1} {"b": 2}]', "no comma between two items"),
        ('["a", "b"', "cut off"),
        ('["a"] "b"', "something stands behind the array"),
        ('[{"a": nope}]', "not JSON: Expecting value"),
        ('[{"a": NaN}]', "not a finite number"),
        (f'[{{"a": {"9" * 5000}}}]', "more than 100 digits"),
        ("[" + "[" * 200 + "]" * 200 + "]", "more than 100 deep"),
        ("[" + "[" * 100_000, "more than 100 deep|more than 1,000 characters"),  # newer Pythons' scanners go deeper
        ('["' + "x" * 2000, "an item of more than 1,000 characters"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(TextError, match=said):
        list(json_items(cut(text, 64), longest=1000))


def test_no_more_is_read_than_is_asked_for() -> None:
    read = []

    def parts() -> Iterator[str]:
        yield "["
        for number in range(1000):
            read.append(number)
            yield f'{{"number": {number}}},'

    items = json_items(parts(), longest=1000)
    assert [next(items)["number"] for _ in range(5)] == [0, 1, 2, 3, 4]
    assert len(read) < 12
