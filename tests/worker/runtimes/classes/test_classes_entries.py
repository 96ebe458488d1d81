"""TensorFlow's report files: read byte by byte, against an encoder written apart from the decoder."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import DecodeError
from benchwright.worker.runtimes.classes.entries import EntryMetric, ReportEntry, decode

VECTOR = bytes.fromhex(
    "0a5c0a1144656d6f2e62656e63686d61726b5f6f6b1005210000000000000440320d0a046e6f7465120512036162633a240a0361636311"
    "000000000000e83f1a0909000000000000e03f220909000000000000f03f3a070a036572721a00"
)
ENTRY = ReportEntry(
    name="Demo.benchmark_ok",
    iters=5,
    wall_time=2.5,
    extras=(("note", "abc"),),
    metrics=(
        EntryMetric(name="acc", value=0.75, least=0.5, most=1.0),
        EntryMetric(name="err", value=0.0, least=0.0),  # a bound of 0 is present and empty
    ),
)


# ---- an encoder as protobuf writes: fields in order, defaults left out ----


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def block(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def text(number: int, value: str) -> bytes:
    return block(number, value.encode()) if value else b""


def double(number: int, value: float) -> bytes:
    default = value == 0 and math.copysign(1, value) > 0
    return b"" if default else varint(number << 3 | 1) + struct.pack("<d", value)


def encoded(entry: ReportEntry, noise: bytes = b"") -> bytes:
    body = text(1, entry.name) + (varint(2 << 3) + varint(entry.iters) if entry.iters else b"") + noise
    body += double(3, entry.cpu_time) + double(4, entry.wall_time) + double(5, entry.throughput)
    for key, value in entry.extras:
        one_of = block(2, value.encode()) if isinstance(value, str) else b"\x09" + struct.pack("<d", value)
        body += block(6, text(1, key) + block(2, one_of + noise) + noise)
    for metric in entry.metrics:
        bounds = [
            b"" if bound is None else block(number, double(1, bound) + noise)
            for number, bound in ((3, metric.least), (4, metric.most))
        ]
        body += block(7, text(1, metric.name) + double(2, metric.value) + b"".join(bounds) + noise)
    return block(1, body)


_NUMBERS = st.floats(allow_nan=False)
_BOUNDS = st.none() | _NUMBERS
_METRICS = st.builds(EntryMetric, name=st.text(max_size=9), value=_NUMBERS, least=_BOUNDS, most=_BOUNDS)
_EXTRAS = st.dictionaries(st.text(max_size=9), st.text(max_size=300) | _NUMBERS, max_size=3)
_ENTRIES = st.builds(
    ReportEntry,
    name=st.text(max_size=200),
    iters=st.integers(-(2**63), 2**63 - 1),
    cpu_time=_NUMBERS,
    wall_time=_NUMBERS,
    throughput=_NUMBERS,
    extras=_EXTRAS.map(lambda extras: tuple(extras.items())),
    metrics=st.lists(_METRICS, max_size=3).map(tuple),
)
# Fields that no version knows: a varint, 4 and 8 bytes, a string, a group with a group inside.
UNKNOWN = [
    varint(99 << 3) + varint(300),
    varint(98 << 3 | 5) + b"\1\2\3\4",
    varint(97 << 3 | 1) + b"\0" * 8,
    block(96, b"\xff" * 200),
    varint(95 << 3 | 3) + varint(94 << 3 | 3) + block(1, b"x") + varint(94 << 3 | 4) + varint(95 << 3 | 4),
]


def test_the_vector() -> None:
    assert len(VECTOR) == 94
    assert decode(VECTOR) == (ENTRY,)
    assert encoded(ENTRY) == VECTOR


@given(st.lists(_ENTRIES, max_size=3), st.sampled_from([b"", *UNKNOWN]))
def test_what_is_encoded_is_decoded_whatever_else_is_there(entries: list[ReportEntry], noise: bytes) -> None:
    assert decode(noise + b"".join(encoded(entry, noise) for entry in entries)) == tuple(entries)


@given(_ENTRIES, st.data())
def test_a_report_that_was_cut_short_says_so(entry: ReportEntry, data: st.DataObject) -> None:
    whole = encoded(entry)
    cut = data.draw(st.integers(1, len(whole) - 1)) if len(whole) > 2 else 1
    with pytest.raises(DecodeError, match=r"^byte \d+: "):
        decode(whole[:cut])


@given(st.binary(max_size=200))
def test_rubbish_is_an_entry_or_an_error_and_never_anything_else(data: bytes) -> None:
    try:
        assert isinstance(decode(data), tuple)
    except DecodeError as error:
        assert error.remedy


def test_not_a_number_and_infinity_are_kept() -> None:
    entry = ReportEntry(metrics=(EntryMetric(name="a", value=math.nan, least=-math.inf, most=math.inf),))
    (metric,) = decode(encoded(entry))[0].metrics
    assert math.isnan(metric.value) and (metric.least, metric.most) == (-math.inf, math.inf)


def test_a_known_field_of_another_type_is_unknown() -> None:
    assert decode(block(1, varint(1 << 3) + varint(5) + text(4, "x"))) == (ReportEntry(),)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00", "byte 0: a field cannot be number 0"),
        (b"\x0f", "byte 0: a field cannot be number 1 of wire type 7"),
        (b"\x0c", "of wire type 4"),
        (b"\xff" * 20, "byte 0: a number has no end"),
        (b"\x0b\x14", "byte 1: a group ends that did not begin"),
        (b"\x0b\x0f", "byte 1: there is no wire type 7"),
        (b"\x0a\x05\x0a\x09", "byte 1: 5 bytes are announced and 2 are there"),
        (block(1, b"\x0a\x09"), "byte 3: 9 bytes are announced and 0 are there"),
    ],
)
def test_where_it_makes_no_sense(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode(data)
