"""What `tf.test.Benchmark.report_benchmark` writes, read without TensorFlow and without protobuf.

The file holds one protobuf message, `tensorflow.BenchmarkEntries`. Fields that are not known are skipped. Standard
library only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from benchwright.worker.runtimes.classes.wire import BYTES, FIXED64, VARINT, Piece, fields, varint


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMetric:
    """One metric of an entry; a bound of 0 is a bound, None is none."""

    name: str
    value: float
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEntry:
    """One call of `report_benchmark`. What was not reported is 0, as in the message."""

    name: str = ""
    iters: int = 0
    cpu_time: float = 0.0
    wall_time: float = 0.0
    throughput: float = 0.0
    extras: tuple[tuple[str, float | str], ...] = ()
    metrics: tuple[EntryMetric, ...] = ()


def decode(data: bytes) -> tuple[ReportEntry, ...]:
    """Every entry of a BenchmarkEntries message; a `DecodeError` says at which byte it makes no sense."""
    return tuple(_entry(part) for number, wire, part in fields(Piece.of_message(data)) if (number, wire) == (1, BYTES))


def _entry(piece: Piece) -> ReportEntry:
    name, iters, doubles = "", 0, {3: 0.0, 4: 0.0, 5: 0.0}
    extras: dict[str, float | str] = {}
    metrics: list[EntryMetric] = []
    for number, wire, part in fields(piece):
        if (number, wire) == (1, BYTES):
            name = part.text()
        elif (number, wire) == (2, VARINT):
            iters = _signed_number(part)
        elif number in doubles and wire == FIXED64:
            doubles[number] = _double(part)
        elif (number, wire) == (6, BYTES):
            extras.update([_extra(part)])  # a map: the last value of a key counts
        elif (number, wire) == (7, BYTES):
            metrics.append(_metric(part))
    return ReportEntry(
        name=name,
        iters=iters,
        cpu_time=doubles[3],
        wall_time=doubles[4],
        throughput=doubles[5],
        extras=tuple(extras.items()),
        metrics=tuple(metrics),
    )


def _extra(piece: Piece) -> tuple[str, float | str]:
    key = ""
    value: float | str = ""
    for number, wire, part in fields(piece):
        if (number, wire) == (1, BYTES):
            key = part.text()
        elif (number, wire) == (2, BYTES):
            for kind, inner, content in fields(part):
                if (kind, inner) == (1, FIXED64):
                    value = _double(content)
                elif (kind, inner) == (2, BYTES):
                    value = content.text()
    return key, value


def _metric(piece: Piece) -> EntryMetric:
    name, value = "", 0.0
    bounds: dict[int, float] = {}
    for number, wire, part in fields(piece):
        if (number, wire) == (1, BYTES):
            name = part.text()
        elif (number, wire) == (2, FIXED64):
            value = _double(part)
        elif number in (3, 4) and wire == BYTES:  # present, even when it is empty: a bound of 0
            inside = [_double(p) for n, w, p in fields(part) if (n, w) == (1, FIXED64)]
            bounds[number] = inside[-1] if inside else bounds.get(number, 0.0)
    return EntryMetric(name=name, value=value, least=bounds.get(3), most=bounds.get(4))


def _double(piece: Piece) -> float:
    return float(struct.unpack("<d", piece.data)[0])


def _signed_number(piece: Piece) -> int:
    """A varint as int64: negative numbers come as two's complement in 64 bits."""
    number = varint(piece)[0] & (2**64 - 1)
    return number - 2**64 if number >= 2**63 else number
