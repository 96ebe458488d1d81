"""What the dashboard does over again in TypeScript: cases in dashboard/tests/shared, which its tests read too."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pytest

from benchwright import schema
from benchwright.analysis import operator_changes
from benchwright.analysis.operators import FAMILIES, family
from benchwright.pages.site.files import answer_name
from benchwright.records import Operator
from benchwright.records.code import CodeLinks, safe_link
from benchwright.units import _SCALES, format_probability, format_value, scale_for

TABLES = Path(__file__).parents[1] / "dashboard" / "tests" / "shared"
OPERATORS: Any = json.loads((TABLES / "operators.json").read_text(encoding="utf-8"))
NUMBERS: Any = json.loads((TABLES / "numbers.json").read_text(encoding="utf-8"))
CODE: Any = json.loads((TABLES / "code.json").read_text(encoding="utf-8"))
NAMES: Any = json.loads((TABLES / "names.json").read_text(encoding="utf-8"))
_Key = Callable[[Operator], Hashable]


@pytest.mark.parametrize("case", OPERATORS["pairs"], ids=lambda case: case["why"])
def test_operators_are_matched_so(case: dict[str, Any]) -> None:
    assert _matched(case) == case["matched"]


@pytest.mark.parametrize("left_out", range(4))
def test_the_cases_tell_whether_a_step_of_the_matching_is_left_out(
    left_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: tuple[_Key, ...] = operator_changes._EXACT_FIRST
    assert len(keys) == 4  # a new step needs cases of its own
    monkeypatch.setattr(operator_changes, "_EXACT_FIRST", keys[:left_out] + keys[left_out + 1 :])
    assert any(_matched(case) != case["matched"] for case in OPERATORS["pairs"])


@pytest.mark.parametrize("first", range(3))
def test_the_cases_tell_whether_two_steps_change_places(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[_Key] = list(operator_changes._EXACT_FIRST)
    keys[first], keys[first + 1] = keys[first + 1], keys[first]
    monkeypatch.setattr(operator_changes, "_EXACT_FIRST", tuple(keys))
    assert any(_matched(case) != case["matched"] for case in OPERATORS["pairs"])


def test_kinds_do_so_and_every_word_for_them_has_a_case() -> None:
    assert {kind: family(kind) for kind in OPERATORS["families"]} == OPERATORS["families"]
    kinds = [kind.lower() for kind in OPERATORS["families"]]
    assert [word for words in FAMILIES.values() for word in words if word not in kinds] == []


def test_numbers_are_written_so_and_every_unit_has_a_case() -> None:
    written = [[value, unit, digits, format_value(value, unit, digits)] for value, unit, digits, _ in NUMBERS["values"]]
    assert written == NUMBERS["values"]
    seen = {(unit, scale_for(value, unit)[1]) for value, unit, *_ in NUMBERS["values"]}
    assert [(unit, label) for unit, scales in _SCALES.items() for _, label in scales if (unit, label) not in seen] == []


def test_probabilities_are_written_so() -> None:
    assert [[given, format_probability(given)] for given, _ in NUMBERS["probabilities"]] == NUMBERS["probabilities"]


def test_published_answers_are_named_so() -> None:
    assert [[parts, query, answer_name(*parts, query=query)] for parts, query, _ in NAMES] == NAMES


def _matched(case: dict[str, Any]) -> list[list[int | None]]:
    """The places of the pairs on either side."""
    before, after = (
        [Operator(name=name, kind=kind, shapes=shapes, seconds=1e-3, share=0.1) for name, kind, shapes in case[side]]
        for side in ("before", "after")
    )
    return [[_place(before, x), _place(after, y)] for x, y in operator_changes.match_operators(before, after)]


def _place(operators: list[Operator], one: Operator | None) -> int | None:
    return next((place for place, operator in enumerate(operators) if operator is one), None)


def test_addresses_of_code_are_filled_in_so() -> None:
    links = {name: schema.decode(CodeLinks, fields) for name, fields in CODE["links"].items()}
    assert [[n, c, links[n].commit_link(c)] for n, c, _ in CODE["commits"]] == CODE["commits"]
    assert [[n, a, b, links[n].compare_link(a, b)] for n, a, b, _ in CODE["ranges"]] == CODE["ranges"]
    assert [[n, r, links[n].request_link(r)] for n, r, _ in CODE["requests"]] == CODE["requests"]
    assert [[n, a, links[n].author_link(a)] for n, a, _ in CODE["authors"]] == CODE["authors"]
    assert [[n, r, s, links[n].request_of(r, s)] for n, r, s, _ in CODE["numbers"]] == CODE["numbers"]
    assert [[url, bool(safe_link(url))] for url, _ in CODE["safe"]] == CODE["safe"]
