"""One tree of errors, drawn as it is; every user error says what to do next."""

from __future__ import annotations

import inspect
import re

from hypothesis import given
from hypothesis import strategies as st

from benchwright import errors
from benchwright.errors import BenchwrightError, NotInstalledError, UserError, did_you_mean


def test_the_drawn_tree_is_the_real_one() -> None:
    drawn = _drawn(errors.__doc__ or "")
    real = {
        (cls.__name__, cls.__base__.__name__)
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, BenchwrightError) and cls is not BenchwrightError and cls.__base__
    }
    assert drawn == real
    assert len(real) >= 10


def test_an_error_shows_what_and_then_what_to_do() -> None:
    assert str(UserError("no such run", remedy="benchwright list")) == "no such run\n  benchwright list"
    assert str(UserError("no such run")) == "no such run"


def test_something_missing_says_what_installs_it() -> None:
    error = NotInstalledError("onnxruntime", "benchwright[onnx]")
    assert str(error) == "onnxruntime is not installed\n  pip install benchwright[onnx]"


def test_the_nearest_word_is_offered() -> None:
    assert did_you_mean("laod", ["load", "mode"]) == "did you mean 'load'?"
    assert did_you_mean("zzz", ["b", "a"]) == "known: a, b"
    assert did_you_mean("zzz", []) == ""


@given(known=st.lists(st.text(min_size=1, max_size=8), min_size=1, unique=True), data=st.data())
def test_a_known_word_is_its_own_nearest(known: list[str], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(known))
    assert did_you_mean(word, known) == f"did you mean {word!r}?"


def _drawn(text: str) -> set[tuple[str, str]]:
    """(class, base) pairs, from the indentation of the tree."""
    pairs: set[tuple[str, str]] = set()
    path: list[str] = []
    for line in text.splitlines():
        if match := re.match(r"^((?:[│ ]   )*(?:[├└]── )?)([A-Z]\w+Error)\b", line):
            depth = len(match[1]) // 4
            path = [*path[:depth], match[2]]
            if depth:
                pairs.add((path[depth], path[depth - 1]))
    return pairs
