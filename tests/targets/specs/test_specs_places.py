"""YAML and JSON with their places: what is read, where it stands, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchwright.errors import DecodeError, TargetError
from benchwright.targets.specs.places import parse, read, to_yaml

_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff\u2028\u2029"), max_size=8
)
_SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    _SCALARS | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(value=_VALUES, indent=st.sampled_from([None, 2, "\t"]))
def test_json_is_read_as_the_standard_library_reads_it(value: Any, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent)
    assert parse(text, "spec.json").value == json.loads(text)


@settings(max_examples=40)
@given(value=_VALUES)
@example(value={"a": ["1e-3", "on", "no", "1:30", "0x10", "~", "", "true", "2020-01-01", "<<", 0.001, 1e300]})
def test_what_is_written_as_yaml_is_read_back(value: Any) -> None:
    assert parse(to_yaml(value), "spec.yaml").value == value


def test_words_that_yaml_takes_for_something_else_stay_words() -> None:
    text = "on: [on, off, yes, no, y, n, 1:30, 2020-01-01, 1_000, .inf, .nan]\n"
    assert parse(text, "x.yaml").value == {"on": text[5:-2].split(", ")}
    assert parse("[true, False, 1e-3, .5, -2, 0x1f, 010, ~, '5']", "x.yaml").value == [
        True, False, 0.001, 0.5, -2, 31, 10, None, "5"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("spec.yaml", "a:\n  - 1\n  - {b: 2, c: [3, 4]}\n"),
        ("spec.json", '{"a":\n\t[1,\n\t {"b": 2,\n"c": [3, 4]}]}'),
    ],
)
def test_keys_and_items_have_places(name: str, text: str) -> None:
    document = parse(text, name)
    assert document.value == {"a": [1, {"b": 2, "c": [3, 4]}]}
    lines = text.splitlines()
    for path, (line, column) in document.places.items():
        word = str(path[-1]) if path else ""
        here = lines[line - 1][column - 1 :].lstrip('"')
        assert not path or isinstance(path[-1], int) or here.startswith(word), (path, here)
    assert document.at("a", 1, "c", 1).startswith(f"{name}:3:" if name == "spec.yaml" else f"{name}:4:")
    assert document.at("a", 1, "zzz") == document.at("a", 1), "the nearest place around what is not there"


@pytest.mark.parametrize(
    ("name", "text"), [("s.yaml", "a: 1\nb: {c: 1, c: 2}\n"), ("s.json", '{"a":1,\n"b":{"c":1, "c": 2}}')]
)
def test_of_two_equal_keys_the_last_counts_and_both_are_told(name: str, text: str) -> None:
    document = parse(text, name)
    assert document.value["b"] == {"c": 2}
    ((path, line, column),) = document.duplicates
    assert path == ("b", "c") and line == 2 and text.splitlines()[1][column - 1 :].lstrip('"').startswith("c")


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("x.yaml", "a: [1\nb: 2", "2:2"),
        ("x.yaml", "\ta: 1", "1:1"),
        ("x.yaml", "a: 1\n---\nb: 2", "2:1"),
        ("x.yaml", "a: !!python/object:os.system 1", "1:4"),
        ("x.yaml", "a: !!str 5", "1:4"),
        ("x.yaml", "? [a]\n: 1", "1:3"),
        ("x.yaml", "a: 1e999", "1:4"),
        ("x.yaml", "&a [*a]", "1:1"),
        ("x.json", '{"a": 01}', "1:7"),
        ("x.json", '{"a" 1}', "1:6"),
        ("x.json", '{"a": 1,}', "1:9"),
        ("x.json", '{\n"a": NaN}', "2:6"),
        ("x.json", "[1] 2", "1:5"),
        ("x.json", "[1e999]", "1:2"),
        ("x.json", '["a\nb"]', "1:2"),
        ("x.json", r'["a\q"]', "1:4"),
        ("x.json", "[1, 2", "1:6"),
        ("x.json", "", "1:1"),
        ("x.json", "[" * 5000, "1:102"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(name: str, text: str, place: str) -> None:
    with pytest.raises(DecodeError) as caught:
        parse(text, name)
    assert caught.value.message.startswith(f"{name}:{place}: ")


def test_aliases_are_written_out_and_bounded() -> None:
    assert parse("a: &x {n: 1}\nb: [*x, *x]\n", "x.yaml").value == {"a": {"n": 1}, "b": [{"n": 1}] * 2}
    bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
    )
    with pytest.raises(DecodeError, match="too large"):
        parse(bomb, "x.yaml")


def test_a_file_that_is_no_text_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(DecodeError, match=r"x\.yaml:2: not UTF-8"):
        read(tmp_path / "x.yaml")
    (tmp_path / "y.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read(tmp_path / "y.json").value == {"a": 1}
    with pytest.raises(TargetError, match="cannot be read"):
        read(tmp_path / "z.yaml")
