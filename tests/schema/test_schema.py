"""Documents: exact round trips, strict reading with the place and the nearest key, migrations, identity."""

from __future__ import annotations

import copy
import dataclasses
import json
import typing
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright import records, schema
from benchwright.errors import DecodeError
from benchwright.records import Case, Environment, Inputs, Load, Mode, Run, Target
from benchwright.schema.parsing import pack_int64, unpack_int64
from hunting import examples

RECORDS = [cls for cls in vars(records).values() if dataclasses.is_dataclass(cls)]
CASE = Case(name="model.onnx", target=Target(runtime="onnxruntime", uri="a/model.onnx"), params={"batch_size": 8})
MACHINE = Environment(machine={"cpu": "EPYC"}, system={"os": "Linux", "architecture": "x86_64", "kernel": "6.1"})


# ---- round trips ----


@pytest.mark.parametrize("cls", schema.kinds().values(), ids=schema.kinds())
@settings(max_examples=examples(12))
@given(data=st.data())
def test_every_document_reads_back_as_it_was_written(
    cls: type, records_of: Callable[[type], st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    record = data.draw(records_of(cls))
    assert schema.loads(schema.dumps(record), cls) == record


@given(values=st.lists(st.integers(min_value=-(2**63), max_value=2**63 - 1)))
def test_int64_columns_are_exact(values: list[int]) -> None:
    assert unpack_int64(pack_int64(array("q", values))).tolist() == values


def test_packed_columns_are_little_endian_everywhere() -> None:
    # zlib of eight bytes, 1 first: a reader in another language depends on it
    assert unpack_int64("eJxjZIAAAAAQAAI=").tolist() == [1]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_none_cannot_be_recorded(number: float) -> None:
    with pytest.raises(ValueError, match="a missing number is a status, not a NaN"):
        schema.dumps(dataclasses.replace(CASE, params={"x": number}))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("place", ['"duration": 1.0', '"batch_size": 8'])
def test_numbers_that_are_none_cannot_be_read(number: str, place: str) -> None:
    text = schema.dumps(dataclasses.replace(CASE, load=Load(duration=1.0)))
    assert place in text
    key, _, _ = place.partition(" ")
    with pytest.raises(DecodeError, match=r"^x: .* is not a finite number$"):
        schema.loads(text.replace(place, f"{key} {number}"), Case, where="x")


def test_a_whole_number_is_read_where_a_fraction_may_stand() -> None:
    load = schema.decode(Load, {"duration": 10})
    assert load.duration == 10.0 and isinstance(load.duration, float)


# ---- strictness: of every field, in few records, which take long to draw ----


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
@settings(max_examples=3)
@given(data=st.data())
def test_an_unknown_key_names_its_place_and_the_nearest(
    cls: type, records_of: Callable[[type], st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    encoded = schema.encode(data.draw(records_of(cls)))
    for known in (f.name for f in dataclasses.fields(cls)):
        with pytest.raises(DecodeError) as caught:
            schema.decode(cls, {**encoded, known + "_": 1}, where="file.json")
        assert caught.value.message == f"file.json: unknown key {known + '_'!r}"
        assert caught.value.remedy == f"did you mean {known!r}?"


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
@settings(max_examples=3)
@given(data=st.data())
def test_a_required_key_that_is_missing_is_named(
    cls: type, records_of: Callable[[type], st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    required = [f.name for f in dataclasses.fields(cls) if _has_no_default(f)]
    encoded = schema.encode(data.draw(records_of(cls)))
    if not required:
        assert schema.decode(cls, {}) == cls()
    for gone in required:
        with pytest.raises(DecodeError, match=f"^{cls.__name__}: '{gone}' is missing$"):
            schema.decode(cls, {key: value for key, value in encoded.items() if key != gone})


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
@settings(max_examples=3)
@given(data=st.data())
def test_a_value_of_another_type_is_refused_with_its_place(
    cls: type, records_of: Callable[[type], st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    encoded = schema.encode(data.draw(records_of(cls)))
    hints = typing.get_type_hints(cls)
    for name in (f.name for f in dataclasses.fields(cls)):
        wrong = {"surely": "wrong"} if typing.get_origin(hints[name]) is tuple else [["wrong"]]
        with pytest.raises(DecodeError, match=rf"^{cls.__name__}\.{name}[\[:]"):
            schema.decode(cls, {**encoded, name: wrong})


@pytest.mark.parametrize(
    ("cls", "data", "message"),
    [
        (Load, {"mode": "opne"}, "Load.mode: unknown value 'opne'\n  did you mean 'open'?"),
        (Load, {"workers": True}, "Load.workers: True is not a whole number"),
        (Load, {"workers": 1.5}, "Load.workers: 1.5 is not a whole number"),
        (Load, {"find_rate": 1}, "Load.find_rate: 1 is not true or false"),
        (Load, {"objectives": [{"metric": "p99", "relation": "<"}]}, "Load.objectives[0]: 'bound' is missing"),
        (Inputs, {"shapes": {"x": [1, "2"]}}, "Inputs.shapes.x[1]: '2' is not a whole number"),
        (Load, ["mode"], "Load: ['mode'] is not a mapping"),
        (Target, {"runtime": "r", "uri": "u", "options": {"n": [1]}}, "Target.options.n: [1] is not one of str, int,"),
    ],
)
def test_errors_say_what_is_wrong_and_where(cls: type, data: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        schema.decode(cls, data)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("packed", ["not base64!", "AAAA", "eJxjYAAAAAEAAQ=="])
def test_a_broken_column_is_refused(packed: str) -> None:
    samples = {"copy": 0, "calls": 1, "loops": 1, "elapsed": 1, "columns": {"latency": packed}}
    with pytest.raises(DecodeError, match=r"^Samples\.columns\.latency: not a packed int64 array$"):
        schema.decode(records.Samples, samples)


def test_histogram_buckets_are_whole_numbers() -> None:
    histogram = {"bits": 7, "counts": {"many": 1}, "total": 1, "minimum": 1, "maximum": 1, "sum": 1}
    with pytest.raises(DecodeError, match="'many' is not a whole number"):
        schema.decode(records.Histogram, histogram)


# ---- the envelope ----


def test_the_envelope_states_format_and_kind() -> None:
    document = json.loads(schema.dumps(CASE))
    assert list(document) == ["format", "kind", "data"]
    assert (document["format"], document["kind"]) == (schema.FORMAT, "case")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": schema.FORMAT + 1}, f"x: format {schema.FORMAT + 1}; this version reads up to {schema.FORMAT}"),
        ({"format": "1"}, "x: format '1'"),
        ({"format": True}, "x: format True"),
        ({"format": 0}, "x: format 0 is older than every format that this version can read"),
        ({"format": -3}, "x: format -3 is older than every format that this version can read"),
        ({"kind": "run"}, "x: holds a 'run', not a 'case'"),
        ({"kind": ["case"]}, "x: holds a ['case'], not a 'case'"),
        ({"note": "hello"}, "x: unknown key 'note'"),
    ],
)
def test_a_wrong_envelope_is_refused(change: dict[str, Any], message: str) -> None:
    document = json.loads(schema.dumps(CASE)) | change
    with pytest.raises(DecodeError) as caught:
        schema.loads(json.dumps(document), Case, where="x")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"format": 1}', b"\xff\xfe\x00"])
def test_what_is_no_document_is_refused(text: str | bytes) -> None:
    with pytest.raises(DecodeError, match=r"^there: not"):
        schema.loads(text, Run, where="there")


def test_a_newer_document_says_how_to_read_it() -> None:
    document = json.loads(schema.dumps(CASE)) | {"format": 99}
    with pytest.raises(DecodeError, match="pip install --upgrade benchwright"):
        schema.loads(json.dumps(document), Case)


# ---- migrations, on two made-up older formats ----


def _from_minus_one(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Format -1 called the name of a case its title."""
    return {**{k: v for k, v in data.items() if k != "title"}, "name": data["title"]} if kind == "case" else data


def _from_zero(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Format 0 gave the runtime and the path beside the name."""
    rest = {k: v for k, v in data.items() if k not in ("runtime", "path")}
    return {**rest, "target": {"runtime": data["runtime"], "uri": data["path"]}}


OLD = {"format": -1, "kind": "case", "data": {"title": "m", "runtime": "torch", "path": "m.pt"}}


def test_an_older_document_is_lifted_one_step_after_the_other() -> None:
    before = copy.deepcopy(OLD)
    case = schema.open_document(OLD, Case, newest=1, migrations={-1: _from_minus_one, 0: _from_zero})
    assert case == Case(name="m", target=Target(runtime="torch", uri="m.pt"))
    assert before == OLD


def test_a_document_in_between_takes_only_the_steps_it_needs() -> None:
    between = {"format": 0, "kind": "case", "data": {"name": "m", "runtime": "torch", "path": "m.pt"}}
    case = schema.open_document(between, Case, newest=1, migrations={-1: _from_minus_one, 0: _from_zero})
    assert case.target.uri == "m.pt"


def test_a_missing_step_is_refused() -> None:
    with pytest.raises(DecodeError, match="format -1 is older than every format that this version can read"):
        schema.open_document(OLD, Case, newest=1, migrations={-1: _from_minus_one})


def test_what_a_migration_left_is_read_strictly() -> None:
    with pytest.raises(DecodeError, match="unknown key 'runtime'"):
        schema.open_document(OLD, Case, newest=1, migrations={-1: _from_minus_one, 0: lambda kind, data: data})


def test_every_step_below_the_present_format_exists() -> None:
    assert sorted(schema.MIGRATIONS) == list(range(1, schema.FORMAT))


# ---- identity ----


def test_a_fingerprint_depends_on_content_not_on_order() -> None:
    assert schema.fingerprint({"a": 1, "b": 2}) == schema.fingerprint({"b": 2, "a": 1})
    assert schema.fingerprint({"a": 1}) != schema.fingerprint({"a": 1.5})
    assert len(schema.fingerprint(CASE)) == 32


@pytest.mark.parametrize(
    "same",
    [
        dataclasses.replace(
            CASE, load=Load(duration=60.0, samples=10, warmup=1.0, precision=0.01, timeout=5.0, seed=9)
        ),
        dataclasses.replace(CASE, target=Target(runtime="onnxruntime", uri="elsewhere/model.onnx")),
        dataclasses.replace(CASE, version="another content", tags=("nightly",)),
    ],
)
def test_how_long_and_where_do_not_change_the_series(same: Case) -> None:
    assert schema.case_key(same) == schema.case_key(CASE)


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(CASE, params={"batch_size": 1}),
        dataclasses.replace(CASE, name="other.onnx"),
        dataclasses.replace(CASE, target=Target(runtime="openvino", uri="a/model.onnx")),
        dataclasses.replace(CASE, target=Target(runtime="onnxruntime", uri="a/model.onnx", device="cuda")),
        dataclasses.replace(CASE, load=Load(mode=Mode.OPEN, rate=100.0)),
        dataclasses.replace(CASE, inputs=Inputs(shapes={"x": (1, 3)})),
    ],
)
def test_what_is_measured_and_how_does(other: Case) -> None:
    assert schema.case_key(other) != schema.case_key(CASE)


def test_series_of_older_stores_go_on() -> None:
    """A field that is younger than a store must not change what its series are called, unless it says something."""
    target, load = Target(runtime="onnxruntime", uri="a/model.onnx"), Load(mode=Mode.OPEN, rate=100.0)
    case = Case(name="model.onnx", target=target, load=load)
    assert schema.case_key(case) == "5a4706cd098047e4629c90f5a73d15d6"
    ramp = dataclasses.replace(case, load=dataclasses.replace(load, ramp_to=200.0))
    assert schema.case_key(ramp) != schema.case_key(case)


def test_machines_are_told_apart_by_hardware_and_system_alone() -> None:
    updated = dataclasses.replace(
        MACHINE,
        system={**MACHINE.system, "kernel": "6.2"},
        packages={"torch": "2.13"},
        knobs={"governor": "performance"},
    )
    other = dataclasses.replace(MACHINE, machine={"cpu": "Xeon"})
    gpu = dataclasses.replace(MACHINE, accelerators=({"name": "H100"},))
    assert schema.environment_key(updated) == schema.environment_key(MACHINE)
    assert len({schema.environment_key(m) for m in (MACHINE, other, gpu)}) == 3


def test_a_series_is_case_machine_and_metric() -> None:
    keys = {schema.series_key(CASE, MACHINE, name) for name in ("latency_p50", "latency_p99", "throughput")}
    assert len(keys) == 3


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
