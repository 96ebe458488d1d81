"""The V2 text form, read and written by hdrhistogram."""

from __future__ import annotations

import base64

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import DecodeError
from benchwright.stats import histogram
from benchwright.stats.hdr import decode_v2, encode_v2

values = st.lists(st.one_of(st.integers(0, 3000), st.integers(0, 10**11)), max_size=60)


@given(values, st.sampled_from([5, 8, 10, 11, 12, 15, 18]))
def test_a_round_trip_keeps_every_count(numbers: list[int], bits: int) -> None:
    h = histogram.fold(numbers, bits=bits)
    back = decode_v2(encode_v2(h), bits=bits)
    assert back.counts == h.counts and back.total == h.total and back.bits == h.bits


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=60))
def test_hdrhistogram_reads_what_we_write(numbers: list[int]) -> None:
    h = histogram.fold(numbers, bits=11)
    theirs = HdrHistogram.decode(encode_v2(h).encode())
    assert theirs.total_count == len(numbers)
    assert {i: theirs.counts[i] for i in range(theirs.counts_len) if theirs.counts[i]} == h.counts


def test_hdrhistogram_sees_our_percentiles() -> None:
    numbers = [(i * i * 7919) % 10**8 + 1000 for i in range(5000)]
    h = histogram.fold(numbers)
    theirs = HdrHistogram.decode(encode_v2(h).encode())
    for percent in (50, 90, 99, 99.9):
        assert theirs.get_value_at_percentile(percent) == pytest.approx(histogram.quantile(h, percent / 100), rel=2e-3)


@given(st.lists(st.integers(1, 10**10), max_size=60))
def test_we_read_what_hdrhistogram_writes(numbers: list[int]) -> None:
    theirs = HdrHistogram(1, 2**40, 3)
    for number in numbers:
        theirs.record_value(number)
    text = theirs.encode()
    ours = decode_v2(text.decode() if isinstance(text, bytes) else text)
    assert ours.counts == histogram.fold(numbers).counts


def test_a_coarser_unit_is_honoured() -> None:
    theirs = HdrHistogram(1000, 10**10, 3)
    theirs.record_value(5_000_000, 40)
    ours = decode_v2(theirs.encode().decode())
    assert ours.total == 40
    assert histogram.quantile(ours, 0.5) == pytest.approx(5_000_000, rel=1e-3)


def test_counts_beyond_any_varint_byte_survive() -> None:
    h = histogram.fold_counts({5: 2**40, 10**9: 2**62})
    assert decode_v2(encode_v2(h)).counts == h.counts


@pytest.mark.parametrize("text", ["", "!!!", "AAAA", base64.b64encode(b"x" * 60).decode()])
def test_rubbish_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="HdrHistogram"):
        decode_v2(text)


def test_a_truncated_payload_is_refused() -> None:
    import struct
    import zlib

    inner = struct.pack(">IIIIQQd", 0x1C849313, 1, 0, 3, 1, 100, 1.0) + b"\x80"
    body = zlib.compress(inner)
    text = base64.b64encode(struct.pack(">II", 0x1C849314, len(body)) + body).decode()
    with pytest.raises(DecodeError, match="middle of a number"):
        decode_v2(text)


def test_what_the_form_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        encode_v2(histogram.fold([-1, 5]))
    with pytest.raises(ValueError, match="18 bits"):
        encode_v2(histogram.fold([1, 5], bits=19))
