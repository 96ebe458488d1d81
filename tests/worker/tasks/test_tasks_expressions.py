from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.worker.tasks.expressions import inspect

# Pieces of which expressions are put together, the awkward ones among them.
ATOMS = [
    *("a", "b", "ab ", "=", r"\.", r"\[", "é", ".", r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"\b", "^", "$"),
    *("[ab]", "[^a]", "[]a]", "[^]a]", r"[\s,]", r"[^\S]", r"[\d.-]", "(a)", "(?:b|a)", "(?P<n>a)", "(?#no)", "(?i:A)"),
    *(r"\x61", r"\x0a", r"\n", r"\012", r"\101", r"\N{DIGIT ONE}", r"(a)\1", r"\Z", "(?=a)", "(?<!b)", "|", "a|b"),
]
QUANTIFIERS = ["", "", "", "*", "+", "?", "{2}", "{0,1}", "*?", "+?"]
expressions = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)), min_size=1, max_size=5).map(
    lambda parts: _valid("".join(atom + quantifier for atom, quantifier in parts))
)
lines = st.lists(st.text(alphabet="ab=.[ \t1é,A-", max_size=8), min_size=1, max_size=4)


def _valid(text: str) -> str:
    try:
        re.compile(text)
    except re.error:
        return "a"
    return text


@given(expressions, lines)
def test_the_needed_text_is_in_every_hit(text: str, given_lines: list[str]) -> None:
    needed = inspect(text).needed
    for line in given_lines:
        for match in re.finditer(text, line, re.MULTILINE):
            assert needed in match[0]


@given(expressions, lines)
def test_the_bounded_expression_finds_in_many_lines_what_the_plain_one_finds_in_each(
    text: str, given_lines: list[str]
) -> None:
    plain = re.compile(text, re.MULTILINE)
    bounded = inspect(text).bounded
    if not bounded:
        return
    together = [m.groups() or (m[0],) for m in re.finditer(bounded, "\n".join(given_lines), re.MULTILINE) if m[0]]
    each = [m.groups() or (m[0],) for line in given_lines for m in plain.finditer(line) if m[0]]
    assert together == each


@given(expressions, lines)
def test_a_hit_begins_with_the_same_text_when_it_is_said_so(text: str, given_lines: list[str]) -> None:
    hits = [m[0] for line in given_lines for m in re.finditer(text, line, re.MULTILINE)]
    if inspect(text).prefixed:
        assert len({hit[:1] for hit in hits}) <= 1


@pytest.mark.parametrize(
    ("text", "needed", "spans", "prefixed"),
    [
        (r"Speed: (\d+\.\d+|\d+) samples/sec", " samples/sec", False, True),
        (r"Epoch\[\d+\] Batch.*accuracy=([\d.]+)", "accuracy=", False, True),
        (r"(\d+) images/s", " images/s", False, False),
        (r"loss:?\s+(\S+)", "loss", True, True),
        (r"(?i)loss (\S+)", "", False, False),
        (r"(?x) a  # [", "", False, False),
        (r"a|b", "", False, False),
        (r"\x1b\[32m(\d+)", "[32m", False, False),
    ],
)
def test_what_is_known_of_usual_expressions(text: str, needed: str, spans: bool, prefixed: bool) -> None:
    known = inspect(text)
    assert (known.needed, known.spans, known.prefixed) == (needed, spans, prefixed)


@pytest.mark.parametrize("text", [r"(?=a)b", r"a\nb", r"(?s)a.b", r"(?x) a b", r"a\Z", r"(a)(?(1)b|c)"])
def test_what_is_too_clever_is_left_alone(text: str) -> None:
    assert inspect(text).bounded == ""
