"""Whatever a record holds, the store gives back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchwright import schema
from benchwright.records import Metric, Result, Run, Samples
from benchwright.store.sql import SqlStore
from hunting import examples

INSTANTS = st.datetimes(timezones=st.just(None)).map(lambda moment: moment.isoformat() + "Z")
COLUMNS = ("latency", "end", "scheduled", "lateness", "service")
counter = itertools.count()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, fresh_url: Callable[[Path], str]) -> Iterator[SqlStore]:
    store = SqlStore(fresh_url(tmp_path_factory.mktemp("roundtrip")))
    yield store
    store.close()


def _valid(run: Run, instants: list[str]) -> Run:
    """A drawn run with what the declarations cannot say: ids are unique, instants are instants."""
    results = tuple(
        replace(
            result,
            id=f"{result.id}-{next(counter)}",
            started_at=instants[i % len(instants)],
            metrics=tuple({m.name: m for m in result.metrics}.values()),
            samples=tuple(_named(s) for s in result.samples),
        )
        for i, result in enumerate(run.results)
    )
    return replace(run, id=f"{run.id}-{next(counter)}", started_at=instants[0], results=results)


def _named(samples: Samples) -> Samples:
    """With the names that raw columns have: they are words of ours, and no text at all is one."""
    columns, chunks = samples.columns.values(), samples.chunks.values()
    return replace(
        samples,
        columns=dict(zip(COLUMNS, columns, strict=False)),
        chunks=dict(zip(("at", "kind", "size", "tokens"), chunks, strict=False)),
    )


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_any_run_comes_back(data: st.DataObject, kept: SqlStore, records_of: Callable[[type], Any]) -> None:
    run = _valid(data.draw(records_of(Run)), data.draw(st.lists(INSTANTS, min_size=1, max_size=3)))
    assert kept.add_run(run)
    assert kept.run(run.id) == run
    bare = kept.run(run.id, samples=False)
    assert bare == replace(run, results=tuple(replace(result, samples=()) for result in run.results))
    for result in run.results:
        assert kept.samples(result.id) == result.samples


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_every_metric_is_a_point_of_its_series(
    data: st.DataObject, kept: SqlStore, records_of: Callable[[type], Any]
) -> None:
    run = _valid(data.draw(records_of(Run)), ["2026-01-01T00:00:00+00:00"])
    kept.add_run(run)
    for result in run.results:
        found = {(s.key, s.unit): s for s in kept.history(result.case.name.replace("\0", "\\x00"))}
        for metric in result.metrics:
            _check(
                found[schema.series_key(result.case, result.environment, metric.name), _plain(metric.unit)],
                result,
                metric,
            )


def _plain(text: str) -> str:
    return text.replace("\0", "\\x00")


def _check(series: Any, result: Result, metric: Metric) -> None:
    point = next(p for p in series.points if p.result == _plain(result.id))
    assert point.estimate == replace(metric.estimate, method=_plain(metric.estimate.method))
    assert (point.round, point.status) == (result.round, result.status)
    assert series.metric == _plain(metric.name)


def test_text_that_is_not_utf8_is_kept_exactly(store: SqlStore, make_run: Any, make_result: Any) -> None:
    name = b"mod\xe8le.onnx".decode("utf-8", "surrogateescape")  # a Latin-1 file name, as Python shows it
    run = make_run("r", results=(make_result("a", case=name),))
    store.add_run(run)
    assert store.run("r") == run
    assert [series.case for series in store.history("mod*le.onnx", metrics=["latency"])] == ["mod\\udce8le.onnx"]
