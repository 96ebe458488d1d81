"""The share of time that a training lost to communication, from traces that its own torch profiler left behind.

`torch.profiler.tensorboard_trace_handler(os.environ["BENCHWRIGHT_TRACES"])` writes such a trace for each rank. It holds
what ran when, on which thread or device, so that collectives can be told from computing. On CUDA these are kernels of
NCCL, on a CPU the marks that gloo's threads leave. Standard library only.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.records import Better, Estimate, Metric, ResultWarning, Value
from benchwright.records.processes import EXPOSED, SHARE, UNIT

TRACES_VARIABLE = "BENCHWRIGHT_TRACES"  # tells a task the folder that is looked through afterwards
ENDINGS = (".pt.trace.json", ".pt.trace.json.gz")
LARGEST = 64 << 20  # bytes of one trace, unpacked: reading it takes about ten times as much memory
MOST = 64  # traces of one task
_HOST_MARKS = ("gloo:", "mpi:", "ucc:")  # of backends that communicate on the processor
_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_STEP = "ProfilerStep#"

Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCommunication:
    """What the traces of a task tell: metrics, one line for each rank, and what could not be read and why."""

    metrics: tuple[Metric, ...] = ()
    ranks: tuple[dict[str, Value], ...] = ()
    warnings: tuple[ResultWarning, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _RankTime:
    """Microseconds of one trace."""

    rank: int
    whole: float
    collectives: float
    exposed: float


def read_communication(folder: Path) -> TracedCommunication:
    """Reads the traces in a folder; nothing where there are none of several ranks."""
    files = sorted(path for path in _files(folder) if path.name.endswith(ENDINGS))
    times: dict[int, list[_RankTime]] = {}
    refused = []
    for path in files[:MOST]:
        try:
            found = _read(path)
        except (OSError, ValueError, KeyError, TypeError, EOFError, RecursionError) as error:
            refused.append(f"{path.name}: {error or type(error).__name__}")
            continue
        if found is not None:
            times.setdefault(found.rank, []).append(found)
    if len(files) > MOST:
        refused.append(f"{len(files) - MOST} more traces than the first {MOST}")
    return TracedCommunication(
        metrics=tuple(_metrics(times)), ranks=tuple(_lines(times)), warnings=tuple(map(_warn, refused))
    )


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for path in folder.iterdir() if path.is_file())
    except OSError:
        return


def _warn(reason: str) -> ResultWarning:
    remedy = "profile fewer steps, or leave the trace out: communication is told by the others"
    return ResultWarning(code="trace-unread", seen=f"a trace was not read: {reason}"[:500], remedy=remedy)


def _metrics(times: Mapping[int, Sequence[_RankTime]]) -> Iterator[Metric]:
    whole = {rank: sum(one.whole for one in found) for rank, found in times.items()}
    for name, part in ((SHARE, "collectives"), (EXPOSED, "exposed")):
        shares = [
            100.0 * sum(getattr(one, part) for one in found) / whole[rank]
            for rank, found in times.items()
            if whole[rank] > 0
        ]
        if shares:
            point = sum(shares) / len(shares)
            method = f"reported by torch.profiler, mean of {len(shares)} ranks"
            estimate = Estimate(point=point, low=None, high=None, method=method)
            yield Metric(name=name, unit=UNIT, better=Better.LOWER, estimate=estimate, count=len(shares))


def _lines(times: Mapping[int, Sequence[_RankTime]]) -> Iterator[dict[str, Value]]:
    for rank, found in sorted(times.items()):
        sums = {part: sum(getattr(one, part) for one in found) / 1e6 for part in ("whole", "collectives", "exposed")}
        yield {"rank": rank, **sums}


# ---- one trace ----


def _read(path: Path) -> _RankTime | None:
    """The times of one trace; None of a process that belongs to no group of several, or that profiled nothing."""
    with path.open("rb") as file:
        stream = gzip.GzipFile(fileobj=file) if path.name.endswith(".gz") else file
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"is larger than {LARGEST >> 20} MiB")
    told = json.loads(data)
    about = told.get("distributedInfo")
    if not isinstance(about, dict):
        return None
    events = [event for event in told["traceEvents"] if event.get("ph") == "X" and float(event.get("dur", 0)) > 0]
    if not any(str(event.get("cat", "")) in (*_DEVICE, "cpu_op") for event in events):
        return None
    window = _union(_span(event) for event in events if str(event["name"]).startswith(_STEP))
    window = window or [(min(map(_begin, events)), max(_span(event)[1] for event in events))]
    collectives, computing = _divide(events)
    talking = _common(_union(collectives), window)
    hidden = _common(talking, _union(computing))
    length = _length(talking)
    return _RankTime(
        rank=int(about.get("rank", 0)), whole=_length(window), collectives=length, exposed=length - _length(hidden)
    )


def _divide(events: Sequence[Mapping[str, Any]]) -> tuple[list[Span], list[Span]]:
    """When collectives were under way, and when something was computed: on a device where one was used."""
    kernels = [event for event in events if event.get("cat") in _DEVICE]
    if kernels:
        talks = [str(event["name"]).lower().startswith("nccl") for event in kernels]
        spans = [(_span(event), is_talk) for event, is_talk in zip(kernels, talks, strict=True)]
        return [span for span, is_talk in spans if is_talk], [span for span, is_talk in spans if not is_talk]
    if any(str(event["name"]).startswith("nccl:") for event in events):
        raise ValueError("holds calls of NCCL but no kernels; record ProfilerActivity.CUDA, too")
    marks = [_span(event) for event in events if str(event["name"]).startswith(_HOST_MARKS)]
    return marks, list(_innermost(event for event in events if event.get("cat") == "cpu_op"))


def _innermost(events: Iterable[Mapping[str, Any]]) -> Iterator[Span]:
    """The operators that contain no other: one that contains others may itself wait within a collective."""
    threads: dict[Any, list[tuple[float, float, str]]] = {}
    for event in events:
        begin, end = _span(event)
        threads.setdefault(event.get("tid"), []).append((begin, -end, str(event["name"])))
    for spans in threads.values():
        spans.sort()
        for one, after in zip(spans, [*spans[1:], (float("inf"), 0.0, "")], strict=True):
            if after[0] >= -one[1] and not one[2].startswith(("c10d::", *_HOST_MARKS)):
                yield one[0], -one[1]


def _begin(event: Mapping[str, Any]) -> float:
    return float(event["ts"])


def _span(event: Mapping[str, Any]) -> Span:
    return float(event["ts"]), float(event["ts"]) + float(event["dur"])


def _union(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that overlap as one."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _common(one: Sequence[Span], two: Sequence[Span]) -> list[Span]:
    """What lies in both of two unions."""
    found, i, j = [], 0, 0
    while i < len(one) and j < len(two):
        begin, end = max(one[i][0], two[j][0]), min(one[i][1], two[j][1])
        if begin < end:
            found.append((begin, end))
        if one[i][1] < two[j][1]:
            i += 1
        else:
            j += 1
    return found


def _length(spans: Iterable[Span]) -> float:
    return sum(end - begin for begin, end in spans)
