"""Records are frozen, slotted and keyword-only, and say what they are."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from benchwright import records
from benchwright.records import Better, Case, Environment, Estimate, Metric, Result, Status, Target

RECORDS = [cls for cls in vars(records).values() if dataclasses.is_dataclass(cls)]
CASE = Case(name="m", target=Target(runtime="fake", uri="m"))


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_every_record_is_frozen_slotted_keyword_only_and_documented(cls: type) -> None:
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "__slots__" in vars(cls)
    assert all(field.kw_only for field in dataclasses.fields(cls))
    assert (cls.__doc__ or "").rstrip().endswith(".")


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CASE.name = "other"  # type: ignore[misc]


def test_records_cross_process_borders() -> None:
    assert pickle.loads(pickle.dumps(CASE)) == CASE


def test_a_result_finds_its_metrics_by_name() -> None:
    metric = Metric(
        name="throughput", unit="/s", better=Better.HIGHER, estimate=Estimate(point=1.0, low=None, high=None)
    )
    result = Result(
        id="r",
        case=CASE,
        round=0,
        status=Status.OK,
        environment=Environment(machine={}, system={}),
        started_at="2026-01-01T00:00:00Z",
        duration=1.0,
        metrics=(metric,),
    )
    assert result.metric("throughput") is metric
    assert result.metric("latency") is None
