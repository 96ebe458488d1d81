"""Messages of gRPC, written and read by hand, against protobuf's own library; rubbish is an error and never more."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.worker.endpoints.kserve import messages, tensors
from benchwright.worker.endpoints.kserve.tensors import TensorError
from inference_messages import message

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SHAPES = st.lists(st.integers(0, 4), max_size=3)


@given(NAMES, NAMES, st.lists(st.tuples(NAMES, SHAPES), max_size=3))
def test_requests_are_what_protobuf_reads(model: str, version: str, given: list[tuple[str, list[int]]]) -> None:
    inputs = [(name, "INT32", np.ones(shape, np.int32)) for name, shape in given]
    found = message("InferRequest").FromString(messages.infer_request(model, version, inputs))
    assert (found.model_name, found.model_version) == (model, version)
    assert [(one.name, one.datatype, list(one.shape)) for one in found.inputs] == [
        (name, "INT32", shape) for name, shape in given
    ]
    assert list(found.raw_input_contents) == [array.tobytes() for _, _, array in inputs]
    asked = message("MetadataRequest").FromString(messages.metadata_request(model, version))
    assert (asked.name, asked.version) == (model, version)


@given(st.lists(st.tuples(NAMES, st.lists(st.integers(-1, 2**40), max_size=4)), max_size=3))
def test_metadata_is_what_protobuf_wrote(given: list[tuple[str, list[int]]]) -> None:
    told = message("MetadataResponse")(name="m", versions=["1", "7"], platform="tests")
    for name, shape in given:
        told.inputs.add(name=name, datatype="FP32", shape=shape)
        told.outputs.add(name=name, datatype="BYTES", shape=shape)
    found = messages.read_metadata(told.SerializeToString())
    assert (found["versions"], found["platform"]) == (["1", "7"], "tests")
    assert found["inputs"] == [{"name": name, "datatype": "FP32", "shape": shape} for name, shape in given]
    assert [one["datatype"] for one in found["outputs"]] == ["BYTES"] * len(given)


FIELDS: dict[str, tuple[str, list[Any]]] = {
    "BOOL": ("bool_contents", [True, False, True]),
    "INT8": ("int_contents", [-128, 0, 127]),
    "INT32": ("int_contents", [-(2**31), 0, 2**31 - 1]),
    "INT64": ("int64_contents", [-(2**63), 300, 2**63 - 1]),
    "UINT8": ("uint_contents", [0, 200, 255]),
    "UINT32": ("uint_contents", [0, 1, 2**32 - 1]),
    "UINT64": ("uint64_contents", [0, 1, 2**64 - 1]),
    "FP32": ("fp32_contents", [0.5, -1.25, 3.0]),
    "FP64": ("fp64_contents", [0.1, -1.25, 1e300]),
    "BYTES": ("bytes_contents", [b"a", b"", "µ".encode()]),
}


@pytest.mark.parametrize("datatype", FIELDS)
def test_answers_are_read_whether_values_are_typed_or_bytes(datatype: str) -> None:
    field, values = FIELDS[datatype]
    texts = [value.decode() if isinstance(value, bytes) else value for value in values]
    typed = message("InferResponse")(model_name="m", id="7")
    typed.outputs.add(name="y", datatype=datatype, shape=[3, 1], contents={field: values})
    raw = message("InferResponse")()
    raw.outputs.add(name="y", datatype=datatype, shape=[3, 1])
    raw.raw_output_contents.append(tensors.to_bytes(np.array(texts, tensors.DTYPES[datatype]), datatype))
    for answer in (typed, raw):
        [found] = messages.read_infer(answer.SerializeToString())
        assert (found.name, found.datatype, found.shape, found.count) == ("y", datatype, (3, 1), 3)
        assert found.load().tolist() == [[text] for text in texts]


def test_bytes_must_belong_to_outputs() -> None:
    answer = message("InferResponse")(raw_output_contents=[b"1234"])
    with pytest.raises(TensorError, match="0 outputs are said, the bytes of 1 came"):
        messages.read_infer(answer.SerializeToString())


@given(st.binary(max_size=200))
def test_rubbish_is_refused_or_read_never_worse(data: bytes) -> None:
    for read in (messages.read_infer, messages.read_metadata):
        with suppress(TensorError):
            read(data)


def test_a_message_of_countless_fields_is_not_read_to_its_end() -> None:
    with pytest.raises(TensorError, match="more than"):
        messages.read_infer(b"\x18\x01" * (messages.MOST_FIELDS + 1))
    huge = b"\x1a\x80\x80\x40" + b"\x01" * 2**20  # a tensor whose shape has a million dimensions
    with pytest.raises(TensorError):
        messages.read_infer(b"\x2a\x84\x80\x40" + huge)
