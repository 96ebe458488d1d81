"""Histograms in the text form that HdrHistogram's tools read and write (V2, compressed). Standard library only.

HdrHistogram with 1, 2, 3, 4 or 5 significant digits uses the buckets that 5, 8, 11, 15 or 18 leading bits give here.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Mapping

from benchwright.errors import DecodeError
from benchwright.records import Histogram
from benchwright.schema.parsing import inflate
from benchwright.stats import histogram

_DIGITS = {5: 1, 8: 2, 11: 3, 15: 4, 18: 5}  # bits -> significant digits
_OUTER = struct.Struct(">II")  # cookie, length of what follows
_INNER = struct.Struct(">IIIIQQd")  # cookie, payload length, offset, digits, lowest, highest, conversion ratio
_OUTER_COOKIE, _INNER_COOKIE = 0x1C849304, 0x1C849303
_MOST = 64 << 20  # bytes of one histogram
_WORD = 0x10  # every writer sets it; V2 readers ignore it


def encode_v2(h: Histogram) -> str:
    """The histogram as base64 text. Counts move to the nearest finer grid, each to the middle of its bucket."""
    if h.counts and min(h.counts) < 0:
        raise ValueError("HdrHistogram has no negative values")
    bits = next((b for b in _DIGITS if b >= h.bits), None)
    if bits is None:
        raise ValueError(f"HdrHistogram goes up to 18 bits, not {h.bits}")
    finer: dict[int, int] = {}
    for middle, count in histogram.buckets(h):
        index = histogram.bucket(int(middle), bits)
        finer[index] = finer.get(index, 0) + count
    payload = _pack(finer)
    header = _INNER.pack(_INNER_COOKIE | _WORD, len(payload), 0, _DIGITS[bits], 1, max(2, h.maximum), 1.0)
    body = zlib.compress(header + payload)
    return base64.b64encode(_OUTER.pack(_OUTER_COOKIE | _WORD, len(body)) + body).decode("ascii")


def decode_v2(text: str, *, bits: int = histogram.BITS) -> Histogram:
    """The histogram in a V2 text. The form holds no sum, minimum or maximum: they are those of the buckets' middles."""
    try:
        data = base64.b64decode(text, validate=True)
        cookie, _ = _OUTER.unpack_from(data)
        inner = inflate(data[_OUTER.size :], most=_MOST)
        inner_cookie, length, _, digits, lowest, _, _ = _INNER.unpack_from(inner)
    except (ValueError, struct.error):
        raise DecodeError("not an HdrHistogram in compressed V2 text form") from None
    grid = {digits: bits for bits, digits in _DIGITS.items()}.get(digits)
    if cookie & ~0xF0 != _OUTER_COOKIE or inner_cookie & ~0xF0 != _INNER_COOKIE or grid is None:
        raise DecodeError("not an HdrHistogram in compressed V2 text form")
    unit = max(0, lowest.bit_length() - 1)
    values: dict[int, int] = {}
    for index, count in _unpack(inner[_INNER.size : _INNER.size + length]):
        low, high = histogram.edges(index, grid)
        values[((low << unit) + ((high + 1) << unit) - 1) // 2] = count
    return histogram.fold_counts(values, bits=min(bits, grid))


def _pack(counts: Mapping[int, int]) -> bytes:
    """Counts by ascending index as zigzag varints; a negative number stands for that many empty buckets."""
    out = bytearray()
    position = 0
    for index in sorted(counts):
        if index > position:
            out += _varint(_zigzag(position - index))
        out += _varint(_zigzag(counts[index]))
        position = index + 1
    return bytes(out)


def _unpack(payload: bytes) -> Iterator[tuple[int, int]]:
    index = position = 0
    while position < len(payload):
        value, position = _read_varint(payload, position)
        number = (value >> 1) ^ -(value & 1)
        if number < 0:
            index -= number
            continue
        if number:
            yield index, number
        index += 1


def _zigzag(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def _varint(value: int) -> bytes:
    """Seven bits a byte, lowest first; the ninth byte, if any, holds eight."""
    out = bytearray()
    while value > 0x7F and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(payload: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    for byte in payload[position : position + 9]:
        position += 1
        if shift == 56:
            return value | byte << shift, position
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise DecodeError("an HdrHistogram that ends in the middle of a number")
