"""Many questions over one connection, and names that are kept at hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from benchwright.errors import StoreError
from benchwright.records import Better, Result, Run
from benchwright.store.sql import SqlStore, values

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]


def _greeted(store: SqlStore) -> list[Any]:
    """Grows with every connection that is taken."""
    taken: list[Any] = []
    event.listen(store._engine, "checkout", lambda connection, *_: taken.append(connection))
    return taken


def test_what_is_read_at_once_is_read_over_one_connection(store: SqlStore) -> None:
    taken = _greeted(store)
    with store.at_once():
        store.case_names()
        with store.at_once(), pytest.raises(StoreError):
            store.find("nothing")
        store.newest()
    assert len(taken) == 1
    store.case_names()
    store.newest()
    assert len(taken) == 3


def test_a_thread_has_its_own(store: SqlStore) -> None:
    taken = _greeted(store)
    with store.at_once():
        other = threading.Thread(target=store.newest)
        other.start()
        other.join()
    assert len(taken) == len({id(one) for one in taken}) == 2


def test_what_is_written_meanwhile_is_kept(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    with store.at_once():
        store.newest()
        store.add_run(make_run("run-1", results=(make_result("a"),)))
    assert store.newest() == 1


def test_a_direction_that_is_stated_anew_shows(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_result("a")
    other = tuple(replace(metric, better=Better.HIGHER) for metric in first.metrics)
    store.add_run(make_run("run-1", results=(replace(first, metrics=other),)))
    assert {value.better for value in store.values_of_runs(["run-1"])} == {"higher"}
    lower = tuple(replace(metric, better=Better.LOWER) for metric in first.metrics)
    store.add_run(make_run("run-2", results=(replace(make_result("b"), metrics=lower),)))
    monkeypatch.setattr(values, "_LASTS", -1.0)
    assert {value.better for value in store.values_of_runs(["run-1", "run-2"])} == {"lower"}


def test_series_that_came_later_have_names(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> None:
    store.add_run(make_run("run-1", results=(make_result("a"),)))
    store.values_of_runs(["run-1"])
    store.add_run(make_run("run-2", results=(make_result("b", case="Later.onnx"),)))
    assert {value.case for value in store.values_of_runs(["run-1", "run-2"])} == {"model.onnx", "Later.onnx"}
    assert {value.estimate.method for value in store.values_of_runs(["run-2"])} == {
        metric.estimate.method for metric in make_result("b").metrics
    }
