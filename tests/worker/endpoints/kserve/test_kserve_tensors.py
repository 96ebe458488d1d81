"""Arrays survive the way to a server and back, as JSON and as bytes; what is no tensor is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import LoadError, RequestError
from benchwright.worker.endpoints.kserve import tensors
from benchwright.worker.endpoints.kserve.descriptions import read_description, read_shape
from benchwright.worker.endpoints.kserve.tensors import TensorError

PLAIN = sorted({*tensors.DTYPES} - {tensors.BYTES, tensors.BF16})


@given(st.sampled_from(PLAIN), st.integers(0, 3), st.integers(0, 2**31))
def test_numbers_survive_both_ways(datatype: str, rows: int, seed: int) -> None:
    array = (np.random.default_rng(seed).random((rows, 3)) * 100).astype(tensors.DTYPES[datatype])
    data = tensors.to_bytes(array, datatype)
    assert tensors.count_bytes(data, datatype) == array.size
    assert np.array_equal(tensors.from_bytes(data, datatype, array.shape), array)
    for nested in (False, True):
        values = json.loads(json.dumps(tensors.to_numbers(array, datatype, nested=nested)))
        assert tensors.count_numbers(values, datatype) == array.size
        assert np.array_equal(tensors.from_numbers(values, datatype, array.shape), array)


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5), max_size=4))
def test_texts_survive_both_ways(texts: list[str]) -> None:
    array = np.array(texts, dtype="U5")
    data = tensors.to_bytes(array, "BYTES")
    assert tensors.count_bytes(data, "BYTES") == len(texts)
    assert tensors.from_bytes(data, "BYTES", [len(texts)]).tolist() == texts
    values = tensors.to_numbers(array, "BYTES")
    assert tensors.count_numbers(values, "BYTES") == len(texts) and values == texts


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, max_value=2.0**120, min_value=-(2.0**120)))
def test_bfloat16_is_the_nearest_that_there_is(value: float) -> None:
    [found] = tensors.from_bytes(tensors.to_bytes(np.array([value], np.float32), "BF16"), "BF16", [1]).tolist()
    step = 2.0 ** max(-133, math.frexp(value)[1] - 8)  # eight bits of fraction, fewer near zero
    assert abs(found - value) <= step / 2
    assert tensors.count_bytes(b"1234", "BF16") == 2


def test_floats_are_written_no_longer_than_they_must() -> None:
    assert json.dumps(tensors.to_numbers(np.array([0.1, 1 / 3], np.float32), "FP32")) == "[0.1, 0.33333334]"
    with pytest.raises(RequestError, match="NaN"):
        tensors.to_numbers(np.array([np.nan], np.float32), "FP32")


@pytest.mark.parametrize(
    ("data", "datatype", "why"),
    [
        (b"12345", "FP32", "no whole number"),
        (b"\x05\0\0\0ab", "BYTES", "cut off"),
        (b"\x05\0", "BYTES", "no whole length"),
        (b"\xff\xff\xff\xff", "BYTES", "cut off"),
        (b"1234", "FP99", "no size"),
    ],
)
def test_bytes_that_are_no_tensor(data: bytes, datatype: str, why: str) -> None:
    with pytest.raises(TensorError, match=why):
        tensors.count_bytes(data, datatype)


@pytest.mark.parametrize(
    ("data", "datatype"),
    [
        ("x", "FP32"),
        (["x"], "FP32"),
        ([None], "FP32"),
        ([1.5], "INT64"),
        ([[1], 2], "INT64"),
        ([1], "BYTES"),
        ([1], "?"),
    ],
)
def test_json_that_is_no_tensor(data: object, datatype: str) -> None:
    with pytest.raises(TensorError):
        tensors.count_numbers(data, datatype)


@pytest.mark.parametrize("told", ["1x2", [1, -2], [1.5], [None], [2**50], list(range(100)), {"a": 1}, ["x"]])
def test_shapes_that_are_none(told: object) -> None:
    with pytest.raises(TensorError):
        read_shape(told)


@pytest.mark.parametrize(
    "told",
    [
        [],
        {"inputs": {"x": 1}},
        {"inputs": [1]},
        {"inputs": [{"name": "x", "datatype": "FP32"}]},
        {"inputs": [{"name": "x", "datatype": 1, "shape": [1]}]},
        {"inputs": [{"name": "x" * 1000, "datatype": "FP32", "shape": [1]}]},
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-2]}]},
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1]}] * 2000},
    ],
)
def test_a_description_that_is_none(told: object) -> None:
    with pytest.raises(LoadError, match="describes"):
        read_description(told)


def test_a_description_without_tensors_is_one() -> None:
    assert read_description({"name": "m", "versions": None, "platform": None}).inputs == ()
