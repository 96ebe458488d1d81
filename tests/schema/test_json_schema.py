"""The published JSON Schema says what the decoder does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records import Case, Load, Objective, Target
from benchwright.schema import json_schema
from hunting import examples

CASE = Case(
    name="m",
    target=Target(runtime="fake", uri="m"),
    load=Load(objectives=(Objective(metric="latency_p99", relation="<", bound=0.02),)),
)
WRONG: list[tuple[list[str | int], Any]] = [
    (["format"], 2),
    (["kind"], "run"),
    (["note"], "unknown"),
    (["data", "nmae"], "unknown"),
    (["data", "load", "worker"], 1),
    (["data", "load", "mode"], "opne"),
    (["data", "load", "workers"], "2"),
    (["data", "load", "objectives", 0, "units"], "s"),
    (["data", "target", "options"], {"threads": [1]}),
    (["data", "inputs", "shapes"], {"x": [1, None]}),
]


@pytest.mark.parametrize("kind", schema.kinds())
def test_the_published_file_is_current(kind: str, root: Path) -> None:
    published = root / "docs" / "schema" / f"{kind}.schema.json"
    assert published.read_text(encoding="utf-8") == json_schema.render_schema(kind), "run `make schema`"


@pytest.mark.parametrize("kind", schema.kinds())
def test_it_is_a_valid_schema_with_every_record_closed_and_described(kind: str) -> None:
    described = json_schema.json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(described)
    for name, definition in described["$defs"].items():
        assert definition["description"].endswith("."), name
        if definition.get("type") == "object":
            assert definition["additionalProperties"] is False, name


@pytest.mark.parametrize("kind", schema.kinds())
@settings(max_examples=examples(8))
@given(data=st.data())
def test_everything_we_write_is_valid(
    kind: str, records_of: Callable[[type], st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    document = json.loads(schema.dumps(data.draw(records_of(schema.kinds()[kind]))))
    _validator(kind).validate(document)


@pytest.mark.parametrize(("path", "value"), WRONG, ids=lambda value: str(value)[:40])
def test_what_the_decoder_refuses_is_not_valid(path: list[str | int], value: Any) -> None:
    document = json.loads(schema.dumps(CASE))
    _validator("case").validate(document)
    _set(document, path, value)
    assert not _validator("case").is_valid(document)
    with pytest.raises(DecodeError):
        schema.open_document(document, Case)


def test_the_files_are_written_where_asked(tmp_path: Path) -> None:
    written = json_schema.write_all(tmp_path / "new")
    assert [path.name for path in written] == [f"{kind}.schema.json" for kind in schema.kinds()]
    assert all(json.loads(path.read_text(encoding="utf-8"))["type"] == "object" for path in written)


def _validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema.json_schema(kind))


def _set(document: Any, path: list[str | int], value: Any) -> None:
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value
