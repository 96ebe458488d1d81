from __future__ import annotations

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.errors import DecodeError
from benchwright.targets.specs import placeholders


def test_names_are_filled_in_until_nothing_changes() -> None:
    known = {"per": "{total}/{repeat}", "total": "500", "repeat": "2", "files.predict": "/p", "which": "predict"}

    text, unresolved = placeholders.resolve("{program} --n {per} --f {files.{which}} --u {nope}", known.get)

    assert text == "{program} --n 500/2 --f /p --u {nope}"
    assert unresolved == ("program", "nope")


def test_an_empty_value_counts_as_unresolved_and_text_without_names_is_left_alone() -> None:
    assert placeholders.resolve("--x {empty} awk '{print $1}' {}", {"empty": ""}.get) == (
        "--x {empty} awk '{print $1}' {}",
        ("empty",),
    )


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"a": "x {a}"}, "{a} -> {a}"),
        ({"a": "{b}", "b": "{c}", "c": "{b}"}, "{b} -> {c} -> {b}"),
        ({f"x{i}": f"{{x{i + 1}}}{{x{i + 1}}}" for i in range(40)} | {"a": "{x0}", "x40": "text"}, "characters"),
        ({"a": "{n0}"} | {f"n{i}": f"{{n{i + 1}}}" for i in range(100)}, "more than 50"),
    ],
)
def test_what_would_never_end_or_grow_without_bound_is_an_error(known: dict[str, str], said: str) -> None:
    with pytest.raises(DecodeError, match=re.escape(said)):
        placeholders.resolve("run {a}", known.get)


def test_tokens_are_replaced_in_strings_and_not_in_keys() -> None:
    value = {"{DATA}": ["{DATA}/x", 3, {"deep": "{A B}{GONE}{other}"}], "n": None}

    found = placeholders.replace_tokens(value, {"DATA": "/d", "A B": "{DATA}", "GONE": ""})

    assert found == {"{DATA}": ["/d/x", 3, {"deep": "/d{other}"}], "n": None}
    assert value["{DATA}"] == ["{DATA}/x", 3, {"deep": "{A B}{GONE}{other}"}], "the original stays as it is"


_NAMES = st.sampled_from("abcd")
_TEXTS = st.lists(st.one_of(_NAMES.map(lambda name: f"{{{name}}}"), st.text(string.ascii_letters + "{} ", max_size=3)))


@settings(max_examples=60, deadline=None)
@given(command=_TEXTS.map("".join), known=st.dictionaries(_NAMES, _TEXTS.map("".join), max_size=4))
def test_resolving_ends_and_what_is_left_is_unknown(command: str, known: dict[str, str]) -> None:
    try:
        text, unresolved = placeholders.resolve(command, known.get)
    except DecodeError:
        return  # it leads back to itself
    assert placeholders.resolve(text, known.get) == (text, unresolved)
    assert all(not known.get(name) for name in unresolved)
