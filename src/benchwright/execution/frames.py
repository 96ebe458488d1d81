"""What a worker may say, checked in one place: a frame that is well formed may still hold anything.

The measured code lives in the worker's process and can write to its line, and a worker elsewhere may be of another
build. Whatever a frame holds, the parent goes on: what does not fit is a `ChannelError`, which becomes a record.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchwright import schema
from benchwright.errors import ChannelError, DecodeError
from benchwright.records import SKIPS, Failure, Metric, Operator, ResultWarning, Samples, Status, Timeline, Value
from benchwright.records.probes import RateProbe
from benchwright.schema.soundness import samples_flaw
from benchwright.system.texts import shorten
from benchwright.worker import channel
from benchwright.worker.channel import Frame

SAYS_NOTHING = ("loading", "warming", "done")  # frames whose kind is all there is
ALWAYS = ("latency", "end")  # columns of samples that are always there
OPEN_LOOP = ("scheduled", "lateness", "service")  # and those that an open loop adds, all or none
MOST_NESTING = 50  # levels of what a worker may tell as details
_INT64 = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    read: float
    loop: float
    resolution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Warmup:
    calls: int
    elapsed: int
    first: int
    typical: float
    steady: bool
    cut: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    load_time: float
    device: str
    items_per_call: int
    versions: Mapping[str, str]
    warnings: tuple[ResultWarning, ...]
    clock: _Clock
    warmup: _Warmup
    oversleep: float
    virtual: bool
    details: Mapping[str, Value]
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _MeasuredData:
    samples: Samples
    gc_collections: int
    probes: tuple[RateProbe, ...]
    rate: float | None
    began: float
    details: Mapping[str, Value]
    metrics: tuple[Metric, ...]
    timelines: tuple[Timeline, ...]
    operators: tuple[Operator, ...]
    warnings: tuple[ResultWarning, ...]
    failure: Failure | None
    packages: Mapping[str, str]


def check_frame(message: Frame) -> Frame:
    """The message, with texts of bounded length; a `ChannelError` unless everything is there that will be read."""
    try:
        return _CHECKS[message.kind](message)
    except KeyError:
        raise _wrong(message, "this kind of message is unknown") from None
    except DecodeError as error:
        raise _wrong(message, error.message) from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:  # numbers and nesting beyond all bounds
        raise _wrong(message, f"{type(error).__name__}: {error}") from None


def end_of(message: Frame) -> tuple[Status, Failure]:
    """Returns how a worker ended that sent a message of the kind `failed`, and why."""
    failure = Failure(**{name: str(message.data.get(name, "")) for name in ("kind", "message", "remedy")})
    return Status.SKIPPED if failure.kind in SKIPS else Status.FAILED, failure


def _accept(message: Frame) -> Frame:
    return message


def _check_failed(message: Frame) -> Frame:
    told: dict[str, Any] = {name: shorten(str(message.data.get(name, ""))) for name in ("kind", "message", "remedy")}
    if isinstance(known := message.data.get("details"), dict):  # what was found out before it failed
        _refuse_deep(known)
        told["details"] = known
    return replace(message, data=told)


def _check_live(message: Frame) -> Frame:
    return replace(message, data={"text": shorten(str(message.data.get("text", "")))})


def _check_known(message: Frame) -> Frame:
    known = message.data.get("details")
    _refuse_unless(isinstance(known, dict), "details is no mapping")
    _refuse_deep(known)
    return message


def _check_ready(message: Frame) -> Frame:
    told = _decode(_Ready, message)
    _refuse_unless(told.items_per_call >= 1, "items_per_call is below 1")
    _refuse_deep(message.data["details"])
    return message


def _check_measured(message: Frame) -> Frame:
    told = _decode(_MeasuredData, message)
    _refuse_deep(message.data["details"])
    _check_samples(told.samples, message)
    if told.failure is None:
        return message
    bounded = replace(told.failure, message=shorten(told.failure.message), remedy=shorten(told.failure.remedy))
    return replace(message, data={**message.data, "failure": schema.encode(bounded)})


_CHECKS = {
    **dict.fromkeys(SAYS_NOTHING, _accept),
    "failed": _check_failed,
    "live": _check_live,
    "known": _check_known,
    "ready": _check_ready,
    "measured": _check_measured,
}


def _decode(kind: Any, message: Frame) -> Any:
    """Returns the data as a record; keys that the record does not have are left out."""
    known = {each.name for each in dataclasses.fields(kind)}
    return schema.decode(kind, {k: v for k, v in message.data.items() if k in known}, where=message.kind)


def _check_samples(told: Samples, message: Frame) -> None:
    samples = channel.unpack_samples(message.data["samples"], message.arrays)
    columns = set(samples.columns)
    wanted = {*ALWAYS, *OPEN_LOOP} if columns & {*OPEN_LOOP} else {*ALWAYS}
    _refuse_unless(wanted <= columns, f"the columns {sorted(wanted - columns)} are missing")
    lengths = {len(values) for values in samples.columns.values()}
    _refuse_unless(len(lengths) == 1, "the columns are of unequal length")
    _refuse_unless(not (flaw := samples_flaw(samples)), flaw)
    _refuse_unless(told.loops >= 1 and told.calls >= 1, "the message holds no calls")
    _refuse_unless(lengths != {0} or bool(samples.histograms), "the message holds no calls")
    _refuse_unless(
        0 <= told.elapsed < _INT64 and told.calls < _INT64 and told.loops < _INT64, "a number is not an int64"
    )


def _refuse_deep(details: Any) -> None:
    """Refuses details that nest too deep: stores and pages go through them level by level."""
    level, deep = [details], 0
    while level and deep <= MOST_NESTING:
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        deep += 1
    _refuse_unless(deep <= MOST_NESTING, f"details nest deeper than {MOST_NESTING} levels")


def _refuse_unless(holds: bool, why: str) -> None:
    if not holds:
        raise DecodeError(why)


def _wrong(message: Frame, why: str) -> ChannelError:
    return ChannelError(
        f"the worker's message {shorten(message.kind, 60)!r} cannot be used: {shorten(why, 400)}",
        remedy="does the measured code write to the worker's line, or is the worker of another version?",
    )
