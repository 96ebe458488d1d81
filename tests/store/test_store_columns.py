"""Raw samples come back exactly, and `end` costs next to nothing beside `latency`."""

from __future__ import annotations

from array import array

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import StoreError
from benchwright.store.sql.columns import pack, unpack

INT64 = st.integers(min_value=-(2**63), max_value=2**63 - 1)
NAMES = ("latency", "end", "scheduled", "lateness", "service", "other")


@st.composite
def _columns(draw: st.DrawFn) -> dict[str, array[int]]:
    names = draw(st.sets(st.sampled_from(NAMES)))
    length = draw(st.integers(0, 30) | st.just(60))
    return {name: array("q", draw(st.lists(INT64, min_size=length, max_size=length))) for name in names}


@given(_columns())
def test_every_int64_comes_back(columns: dict[str, array[int]]) -> None:
    assert unpack(pack(columns)) == columns


@given(_columns())
def test_a_few_values_are_packed_like_many(columns: dict[str, array[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchwright.store.sql.columns._FEW", -1)
        many = pack(columns)
    assert unpack(many) == columns
    assert {name: blob for name, (_, blob) in pack(columns).items()}.keys() == many.keys()
    assert sum(len(blob) for _, blob in pack(columns).values()) <= sum(len(blob) for _, blob in many.values()) + 32


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(INT64, max_size=5).map(lambda v: array("q", v))))
def test_columns_of_unequal_length_come_back(columns: dict[str, array[int]]) -> None:
    assert unpack(pack(columns)) == columns


def _as_arrays(**columns: numpy.ndarray) -> dict[str, array[int]]:
    return {name: array("q", values.astype(numpy.int64).tolist()) for name, values in columns.items()}


def test_in_a_closed_loop_end_costs_a_fraction_of_latency() -> None:
    draw = numpy.random.default_rng(7)
    latency = (18_000 + draw.gamma(2, 300, 20_000)).astype(numpy.int64)
    packed = pack(_as_arrays(latency=latency, end=numpy.cumsum(latency)))
    assert packed["end"][0] == "previous+latency"
    assert len(packed["end"][1]) < len(packed["latency"][1]) / 50
    assert len(packed["latency"][1]) < 2 * 20_000  # of 8 bytes each


def test_in_an_open_loop_service_and_end_follow_from_the_others() -> None:
    draw = numpy.random.default_rng(7)
    scheduled = numpy.cumsum(draw.exponential(1e6, 5000)).astype(numpy.int64)
    lateness = draw.gamma(2, 1000, 5000).astype(numpy.int64)
    service = draw.gamma(9, 2000, 5000).astype(numpy.int64)
    latency = lateness + service
    packed = pack(
        _as_arrays(scheduled=scheduled, lateness=lateness, service=service, latency=latency, end=scheduled + latency)
    )
    assert {name: packed[name][0] for name in ("service", "end")} == {
        "service": "latency-lateness",
        "end": "scheduled+latency",
    }
    assert len(packed["service"][1]) + len(packed["end"][1]) < len(packed["latency"][1]) / 20


@pytest.mark.parametrize("damage", [lambda b: b[:-3], lambda b: b[:5] + b"\xff\xff" + b[7:], lambda b: b""])
def test_a_damaged_blob_is_an_error_with_its_place(damage: object) -> None:
    packed = pack(_as_arrays(latency=numpy.arange(100) * 7919 % 1000))
    predictor, blob = packed["latency"]
    with pytest.raises(StoreError, match=r"result r1: column 'latency' is damaged"):
        unpack({"latency": (predictor, damage(blob))}, where="result r1")  # type: ignore[operator]


def test_an_unknown_predictor_is_an_error() -> None:
    with pytest.raises(StoreError, match="damaged"):
        unpack({"latency": ("astrology", b"")})
