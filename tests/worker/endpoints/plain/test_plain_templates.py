"""Templates of bodies, paths to answers and pictures: read strictly, filled in as they say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import RequestError
from benchwright.worker.endpoints.plain.answer_paths import MissingError, parse_path, show_path, value_at
from benchwright.worker.endpoints.plain.templates import KNOWN, parse_template

VALUES = {"input": "[1, 2]", "prompt": json.dumps('say "µ"\n'), "image": '"cGl4"', "uuid": '"u"', "index": "7"}


def _fill(text: str, **options: Any) -> str:
    return parse_template(text, **options).fill(lambda place: VALUES.get(place.name, "0")).decode()


@pytest.mark.parametrize(
    ("template", "body"),
    [
        ("{}", {}),
        ('{"instances": {input}}', {"instances": [1, 2]}),
        ('{"a": {"b": {input:x}}, "c": {index}}', {"a": {"b": [1, 2]}, "c": 7}),
        ('{"text": {prompt}}', {"text": 'say "µ"\n'}),
        ('{"text": "<s> {prompt} #{index}"}', {"text": '<s> say "µ"\n #7'}),
        ('{"a": "\\"{uuid}", "b": {uuid}}', {"a": '"u', "b": "u"}),
        ('{"url": "data:image/png;base64,{image:8x8}"}', {"url": "data:image/png;base64,cGl4"}),
        ('{"text": "{{name}} and {{{name}}}", "n": {output_tokens}}', {"text": "{name} and {{name}}", "n": 0}),
        ("[{input}, {index}]", [[1, 2], 7]),
        ("{prompt}", 'say "µ"\n'),
    ],
)
def test_places_are_filled_in_where_json_has_them(template: str, body: object) -> None:
    assert json.loads(_fill(template)) == body


def test_a_body_that_is_not_json_is_filled_in_as_text() -> None:
    assert _fill('q={prompt}&n={index} "{uuid}"', is_json=False) == 'q=say "µ"\n&n=7 "u"'


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ('{"a": {inptu}}', r"no \{inptu\} to fill in"),
        ('{"a": {input:}}', "not JSON"),
        ('{"a": "{input}"}', "stands between quotes"),
        ('{"a": {index:3}}', "takes nothing"),
        ('{"a": {input}', "not JSON once"),
        ('{"a": { input }}', "not JSON once"),
        ("", "not JSON once"),
        ("[" * 100_000, "not JSON once"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(template: str, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        parse_template(template)


def test_an_unknown_place_names_the_known_ones() -> None:
    with pytest.raises(RequestError) as caught:
        parse_template('{"a": {promt}}')
    assert all(f"{{{name}}}" in caught.value.remedy for name in KNOWN)
    assert "{{promt}}" in caught.value.remedy


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_characters="{}"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab{ }", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_plain_json_is_a_template_of_itself(document: Any) -> None:
    text = json.dumps(document, ensure_ascii=False)
    if "{a}" in text or "{b}" in text or "{ab}" in text or "{ba}" in text:
        return
    try:
        assert _fill(text) == text
    except RequestError as error:
        # A key such as "{aab}" is a place, and half of a character is no text.
        assert "to fill in" in error.message or "not text" in error.message


# ---- paths ----

ANSWER = {"predictions": [{"scores": [0.5, 1], "a.b": 3}], "outputs": {"data": "x"}, "none": None, "": {"x": 1}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("predictions[0].scores", [0.5, 1]),
        ("$.predictions[-1].scores[1]", 1),
        ('predictions[0]["a.b"]', 3),
        ("outputs['data']", "x"),
        ("$['']['x']", 1),
    ],
)
def test_paths_lead_to_values(path: str, value: object) -> None:
    assert value_at(parse_path(path), ANSWER) == value


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("predictions[1].scores", r"no predictions\[1\]"),
        ("predictions.scores", r"no predictions\.scores"),
        ("outputs[0]", r"no outputs\[0\]"),
        ("outputs.data.more", r"no outputs\.data\.more"),
        ("none", "null"),
        ("none.x", r"no none\.x"),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_got(path: str, why: str) -> None:
    with pytest.raises(MissingError, match=why):
        value_at(parse_path(path), ANSWER)


@pytest.mark.parametrize("text", ["", "$", "a b", "a..b", "a[", "a[x]", "[0", "a]", "a.", "x" * 2000, "a[0]b"])
def test_texts_that_are_no_path(text: str) -> None:
    with pytest.raises(RequestError, match="is not a path"):
        parse_path(text)


@given(st.lists(st.integers(-9, 9) | st.text("abc", min_size=1, max_size=3), min_size=1, max_size=5))
def test_paths_are_shown_as_they_are_read(steps: list[str | int]) -> None:
    assert parse_path(show_path(tuple(steps))) == tuple(steps)
