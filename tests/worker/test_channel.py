"""The private line: whole frames from any pieces, and nothing else."""

from __future__ import annotations

import json
import os
import struct
import threading
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright import schema
from benchwright.errors import ChannelError, DecodeError
from benchwright.records import Case, Samples, Target
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.worker import channel
from benchwright.worker.channel import PROTOCOL, Frame, FrameReader, Job

TOKEN = bytes(range(TOKEN_BYTES))
_INT64 = st.integers(-(2**63), 2**63 - 1)
_ARRAYS = st.dictionaries(st.text(max_size=5), st.lists(_INT64, max_size=20).map(lambda v: array("q", v)), max_size=3)
_DATA = st.dictionaries(
    st.text(max_size=5),
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_subnormal=False, allow_nan=False),
    max_size=4,
).filter(lambda data: all(value not in (float("inf"), float("-inf")) for value in data.values()))
_MESSAGES = st.builds(Frame, kind=st.text(min_size=1, max_size=10), data=_DATA, arrays=_ARRAYS)


def _bytes_of(*messages: Frame) -> bytes:
    """What `write_message` puts on the line."""
    read, write = os.pipe()
    try:
        received = bytearray()

        def drain() -> None:
            while data := os.read(read, 1 << 16):
                received.extend(data)

        thread = threading.Thread(target=drain)
        thread.start()
        for message in messages:
            channel.write_message(write, TOKEN, message)
        os.close(write)
        write = -1
        thread.join()
        return bytes(received)
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)


@given(messages=st.lists(_MESSAGES, min_size=1, max_size=4), cuts=st.data())
def test_frames_arrive_whole_from_any_pieces(messages: list[Frame], cuts: st.DataObject) -> None:
    line = _bytes_of(*messages)
    places = sorted(cuts.draw(st.sets(st.integers(0, len(line)), max_size=12)))
    reader, received = FrameReader(TOKEN), []
    for begin, end in zip([0, *places], [*places, len(line)], strict=True):
        reader.feed(line[begin:end])
        received += iter(reader.next, None)
    assert received == messages


@given(_MESSAGES)
def test_a_blocking_reader_takes_one_frame_and_not_a_byte_more(message: Frame) -> None:
    line = _bytes_of(message, message)
    read, write = os.pipe()
    try:
        os.write(write, line)
        os.close(write)
        assert channel.read_message(read, TOKEN) == message
        assert os.read(read, len(line)) == line[len(line) // 2 :]
        assert channel.read_message(read, TOKEN) is None
    finally:
        os.close(read)


def test_millions_of_calls_travel_exactly() -> None:
    values = array("q", range(-(2**62), -(2**62) + 2_000_000))
    reader = FrameReader(TOKEN)
    read, write = os.pipe()
    writer = threading.Thread(
        target=lambda: (
            channel.write_message(write, TOKEN, Frame(kind="measured", data={}, arrays={"latency": values})),
            os.close(write),
        )
    )
    writer.start()
    while data := os.read(read, 1 << 20):
        reader.feed(data)
    writer.join()
    os.close(read)
    message = reader.next()
    assert message is not None
    assert message.arrays["latency"] == values
    assert reader.next() is None


def _frame(header: bytes, *, magic: bytes = b"BWF\x01", token: bytes = TOKEN, length: int | None = None) -> bytes:
    return magic + token + struct.pack("<I", len(header) if length is None else length) + header


@pytest.mark.parametrize(
    "rubbish",
    [
        b"x",
        b"Traceback (most recent call last):\n",
        b"\x00" * 64,
        _frame(b"{}", magic=b"BWF\x02"),
        _frame(b"{}", token=bytes(TOKEN_BYTES)),
        _frame(b"not json"),
        _frame(b"\xff\xfe"),
        _frame(b"[]"),
        _frame(b"{}"),
        _frame(json.dumps({"kind": 1, "data": {}, "arrays": {}}).encode()),
        _frame(json.dumps({"kind": "x", "data": [], "arrays": {}}).encode()),
        _frame(json.dumps({"kind": "x", "data": {}, "arrays": {"a": -1}}).encode()),
        _frame(json.dumps({"kind": "x", "data": {}, "arrays": {"a": "3"}}).encode()),
        _frame(json.dumps({"kind": "x", "data": {}, "arrays": []}).encode()),
    ],
)
def test_anything_else_on_the_line_is_refused_at_once(rubbish: bytes) -> None:
    reader = FrameReader(TOKEN)
    with pytest.raises(ChannelError) as caught:
        reader.feed(rubbish)
        reader.next()
    assert "file descriptors" in caught.value.remedy


def test_a_large_answer_is_read_and_one_too_large_is_called_that() -> None:
    message = Frame(kind="measured", data={"entries": "e" * (17 << 20)})
    reader = FrameReader(TOKEN)
    reader.feed(_bytes_of(message))
    assert reader.next() == message
    with pytest.raises(ChannelError, match=r"the answer of 4295 MB is too large") as caught:
        FrameReader(TOKEN).feed(_frame(b"", length=2**32 - 1))
    assert "report less" in caught.value.remedy


def test_rubbish_after_a_frame_is_refused_and_the_frame_is_not() -> None:
    message = Frame(kind="ready", data={"a": 1})
    reader = FrameReader(TOKEN)
    reader.feed(_bytes_of(message) + b"hello")
    assert reader.next() == message
    with pytest.raises(ChannelError):
        reader.next()


def test_samples_come_back_exactly() -> None:
    samples = Samples(
        copy=2,
        calls=3,
        loops=1,
        elapsed=17,
        columns={"latency": array("q", [1, 2**62, 3]), "end": array("q", [1, 2, 3])},
    )
    data, columns = channel.pack_samples(samples)
    assert "latency" not in json.dumps(data)  # the arrays travel beside the header
    assert channel.unpack_samples(json.loads(json.dumps(data)), columns) == samples


def test_a_job_with_an_unknown_key_is_refused_and_names_the_nearest() -> None:
    job = Job(protocol=PROTOCOL, case=Case(name="x", target=Target(runtime="fake", uri="fake:")))
    data: dict[str, Any] = schema.encode(job)
    assert schema.decode(Job, data, where="job") == job
    with pytest.raises(DecodeError, match="job: unknown key 'cpu'") as caught:
        schema.decode(Job, {**data, "cpu": [1]}, where="job")
    assert "'cpus'" in caught.value.remedy
    data["case"]["target"]["runtim"] = "fake"
    with pytest.raises(DecodeError, match=r"job.case.target: unknown key 'runtim'"):
        schema.decode(Job, data, where="job")
