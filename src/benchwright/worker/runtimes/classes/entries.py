"""What `tf.test.Benchmark.report_benchmark` writes, read without TensorFlow and without protobuf.

The file holds one protobuf message, `tensorflow.BenchmarkEntries`. Fields that are not known are skipped. Standard
library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchwright.targets.signatures.protobuf import ProtobufMessage, signed_number


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
    return tuple(map(_entry, ProtobufMessage.of_file(memoryview(data)).parts(1)))


def _entry(message: ProtobufMessage) -> ReportEntry:
    return ReportEntry(
        name=message.text(1),
        iters=signed_number(message.number(2)),
        cpu_time=_double(message, 3),
        wall_time=_double(message, 4),
        throughput=_double(message, 5),
        extras=tuple(dict(map(_extra, message.parts(6))).items()),  # a map: the last value of a key counts
        metrics=tuple(map(_metric, message.parts(7))),
    )


def _extra(message: ProtobufMessage) -> tuple[str, float | str]:
    values: list[float | str] = []
    for part in message.parts(2):
        values += [*part.doubles(1), *map(str, part.parts(2))]
    return message.text(1), values[-1] if values else ""


def _metric(message: ProtobufMessage) -> EntryMetric:
    least, most = (_bound(message, number) for number in (3, 4))
    return EntryMetric(name=message.text(1), value=_double(message, 2), least=least, most=most)


def _bound(message: ProtobufMessage, number: int) -> float | None:
    """A bound is there even when it is empty: a bound of 0."""
    bounds = [_double(part, 1) for part in message.parts(number)]
    return bounds[-1] if bounds else None


def _double(message: ProtobufMessage, number: int) -> float:
    return (message.doubles(number) or [0.0])[-1]
