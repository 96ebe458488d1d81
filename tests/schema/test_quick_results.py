"""What is read quickly is what is read strictly; the rest is left to those who say what is wrong."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records import Estimate, Metric, Result, Run, Samples
from benchwright.schema import quick_json, quick_results

pytest.importorskip("orjson")


def _result() -> Result:
    samples = Samples(copy=0, calls=2, loops=1, elapsed=9, columns={"latency": array("q", [4, 5])})
    alone = Metric(
        name="alone", unit="s", better=None, estimate=Estimate(point=1.0, low=None, high=None), values=(1.5,)
    )
    result = made.run_of(1, 0.5).results[0]
    return replace(result, metrics=(*result.metrics, alone), samples=(samples,), details={"ünï": [1, {"a": None}]})


def _quickly(text: str) -> quick_results.QuickResult | None:
    return quick_results.read_result(quick_results.open_quickly(text.encode(), "result"), deepest=64)


def test_a_result_that_we_wrote_is_read_quickly_and_whole() -> None:
    found = _quickly(schema.dumps(_result()))
    assert found is not None and found.head.metrics == ()
    assert found.whole() == _result()
    assert found.columns == quick_results.columns_of(_result().metrics)
    assert quick_json.dumps(list(found.metrics)) == quick_json.dumps(_result().metrics)


def test_a_run_that_we_wrote_is_read_quickly_and_whole() -> None:
    run = made.run_of(1, 0.5)
    found = quick_results.read_run(quick_results.open_quickly(schema.dumps(run).encode(), "run"))
    assert found is not None
    header, results = found
    assert replace(header, results=tuple(result.whole() for result in results)) == run
    assert quick_results.read_run(quick_results.open_quickly(schema.dumps(run).encode(), "result")) is None


def test_results_share_the_records_of_what_they_repeat() -> None:
    first, second = (_quickly(schema.dumps(replace(_result(), id=name))) for name in ("a", "b"))
    assert first is not None and second is not None
    assert first.head.environment is second.head.environment and first.head.case is second.head.case
    other = replace(_result().environment, packages={"numpy": "0"})
    third = schema.loads(schema.dumps(replace(_result(), environment=other)), Result)
    assert third.environment == other != first.head.environment


def _at(*path: str | int, value: Any = None, drop: bool = False) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        holder: Any = document
        for step in path[:-1]:
            holder = holder[step]
        if drop:
            del holder[path[-1]]
        else:
            holder[path[-1]] = value

    return change


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


_METRIC = ("data", "metrics", 0)
CHANGES = {
    "a whole number as a point": _at(*_METRIC, "estimate", "point", value=1),
    "a point that is text": _at(*_METRIC, "estimate", "point", value="1"),
    "a point that is a list": _at(*_METRIC, "estimate", "point", value=[]),
    "a point beyond measure": _at(*_METRIC, "estimate", "point", value=1e200),
    "a point of 80 bits": _at(*_METRIC, "estimate", "point", value=2**80),
    "no interval": _at(*_METRIC, "estimate", "low", value=None),
    "confidence of two": _at(*_METRIC, "estimate", "confidence", value=2.0),
    "a method that is a number": _at(*_METRIC, "estimate", "method", value=7),
    "an unknown key of an estimate": _at(*_METRIC, "estimate", "wide", value=1),
    "an unknown key of a metric": _at(*_METRIC, "unite", value="s"),
    "an unknown key of a result": _at("data", "metric", value=[]),
    "no count": _at(*_METRIC, "count", drop=True),
    "a count of 70 bits": _at(*_METRIC, "count", value=2**70),
    "a count that is true": _at(*_METRIC, "count", value=True),
    "no estimate": _at(*_METRIC, "estimate", value=None),
    "a direction that nobody knows": _at(*_METRIC, "better", value="sideways"),
    "a direction that is a mapping": _at(*_METRIC, "better", value={}),
    "values that are whole": _at(*_METRIC, "values", value=[1, 2]),
    "values beyond measure": _at(*_METRIC, "values", value=[1e300]),
    "values that are none": _at(*_METRIC, "values", value=[None]),
    "bounds": _at(*_METRIC, "least", value=0.5),
    "metrics that are a mapping": _at("data", "metrics", value={}),
    "a metric that is none": _at("data", "metrics", 0, value=None),
    "no metrics": _at("data", "metrics", value=[]),
    "details that are deep": _at("data", "details", value={"deep": _deep(80)}),
    "details that are not too deep": _at("data", "details", value={"deep": _deep(50)}),
    "a number of 70 bits in details": _at("data", "details", value={"n": 2**70}),
    "a round of 64 bits": _at("data", "round", value=2**63),
    "a duration beyond measure": _at("data", "duration", value=1e300),
    "samples that are no arrays": _at("data", "samples", 0, "columns", "latency", value="!"),
    "another format": _at("format", value=99),
    "a format that is true": _at("format", value=True),
    "another kind": _at("kind", value="run"),
    "no data": _at("data", value=None),
    "something beside the data": _at("more", value=1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_read_quickly_is_what_is_read_strictly(change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(schema.dumps(_result()))
    change(document)
    text = json.dumps(document)
    found = _quickly(text)
    if found is not None:
        assert found.whole() == schema.loads(text, Result)


def test_the_order_of_keys_two_of_a_name_and_numbers_that_are_none_take_a_closer_look() -> None:
    document = json.loads(schema.dumps(_result()))
    turned = {**document, "data": dict(reversed(document["data"].items()))}
    assert _quickly(json.dumps(turned)) is None and schema.loads(json.dumps(turned), Result) == _result()
    document["data"]["metrics"] *= 2
    assert _quickly(json.dumps(document)) is None
    text = schema.dumps(_result()).replace('"duration": ', '"duration": NaN, "duration": NaN', 1)
    assert _quickly(text) is None
    with pytest.raises(DecodeError):
        schema.loads(text, Result)


def test_a_run_with_one_result_that_is_not_as_we_write_it_is_left_to_others() -> None:
    document = json.loads(schema.dumps(made.run_of(1, 0.5)))
    document["data"]["results"][-1]["metrics"][0]["estimate"]["point"] = 1
    data = quick_results.open_quickly(json.dumps(document).encode(), "run")
    assert data is not None and quick_results.read_run(data) is None
    assert isinstance(schema.open_document(document, Run), Run)
