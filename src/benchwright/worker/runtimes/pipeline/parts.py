"""The parts of a call, each timed by itself: waiting for the input, preparing it, the model, what follows.

A thread writes its calls into memory that was taken beforehand; beyond a limit they are counted in the buckets of a
histogram. Both cost about as much a call, and neither grows without bound.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchwright.records import Better, Estimate, Histogram, Int64s, Metric
from benchwright.stats import histogram

NAMES = ("input_wait", "preprocess", "infer", "postprocess")
LIMIT = 250_000  # calls kept one by one for each thread: 8 MB
BLOCK = 4096  # calls that memory is taken for at once


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """What one copy tells of itself."""

    copy: int
    load: float  # seconds
    warmup: float
    parts: Mapping[str, Histogram | Int64s] = field(default_factory=dict)  # ns, by name; none when nothing was apart


class CallParts:
    """Where the threads of one copy write. `forget` drops what was written, for instance while warming up."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Starts anew; a thread takes notice with its next call."""
        self._rows: list[_Rows] = []
        self._mine = threading.local()

    def writer(self) -> Callable[[int, int, int, int], None]:
        """What the calling thread hands the four durations of each of its calls, in ns."""
        write: Callable[[int, int, int, int], None] | None = getattr(self._mine, "write", None)
        if write is None:
            rows = _Rows(self._limit)
            with self._lock:
                self._rows.append(rows)
            write = self._mine.write = rows.add
        return write

    def collect(self) -> dict[str, Histogram | Int64s]:
        """All that was written, by the parts' names: one by one, or counted once any thread had to."""
        if not any(rows.count for rows in self._rows):
            return {}
        return {name: self._column(index) for index, name in enumerate(NAMES)}

    def _column(self, index: int) -> Histogram | Int64s:
        raw = array("q")
        for rows in self._rows:
            raw.extend(rows.raw_column(index))
        folded = [counted for rows in self._rows if (counted := rows.histogram_of(index)) is not None]
        if not folded:
            return raw
        whole = histogram.fold(raw)
        for counted in folded:
            whole = histogram.merge(whole, counted)
        return whole


class _Rows:
    """One thread's calls: rows of four durations."""

    def __init__(self, limit: int) -> None:
        self.count, self._limit = 0, limit
        self._blocks = [_block()]
        self._buckets: list[dict[int, int]] = [{} for _ in NAMES]
        self._extremes = [[1 << 62, 0, 0] for _ in NAMES]  # least, most, sum

    def add(self, waited: int, prepared: int, inferred: int, followed: int) -> None:
        count = self.count
        self.count = count + 1
        if count >= self._limit:
            self._fold((waited, prepared, inferred, followed))
            return
        at = 4 * (count % BLOCK)
        if at == 0 and count:
            self._blocks.append(_block())
        block = self._blocks[-1]
        block[at], block[at + 1], block[at + 2], block[at + 3] = waited, prepared, inferred, followed

    def _fold(self, row: tuple[int, int, int, int]) -> None:
        for value, buckets, extremes in zip(row, self._buckets, self._extremes, strict=True):
            index = histogram.bucket(value)
            buckets[index] = buckets.get(index, 0) + 1
            extremes[0], extremes[1] = min(extremes[0], value), max(extremes[1], value)
            extremes[2] += value

    def raw_column(self, index: int) -> Int64s:
        whole = array("q")
        for block in self._blocks:
            whole.extend(block[index::4])
        return whole[: min(self.count, self._limit)]

    def histogram_of(self, index: int) -> Histogram | None:
        if self.count <= self._limit:
            return None
        least, most, total = self._extremes[index]
        return Histogram(
            bits=histogram.BITS,
            counts=self._buckets[index],
            total=self.count - self._limit,
            minimum=least,
            maximum=most,
            sum=total,
        )


def _block() -> Int64s:
    return array("q", (0,)) * (4 * BLOCK)


# ---- what is told of them ----


def metrics(parts: Mapping[str, Histogram | Int64s]) -> list[Metric]:
    """Mean and percentiles of every part, in seconds."""
    return [metric for name, values in parts.items() for metric in _figures(name, values)]


def _figures(name: str, values: Histogram | Int64s) -> list[Metric]:
    whole = values if isinstance(values, Histogram) else histogram.fold(values)
    figures = {name: histogram.mean(whole)}
    figures |= {f"{name}_p{q}": histogram.quantile(whole, q / 100) for q in (50, 90, 95, 99)}
    method = f"of this copy's calls; error of a percentile below {100 * histogram.error_bound(whole):.2g} %"
    return [
        Metric(
            name=key,
            unit="s",
            better=Better.LOWER,
            estimate=Estimate(point=value / 1e9, low=None, high=None, method=method),
            count=whole.total,
        )
        for key, value in figures.items()
    ]


# ---- from one process to another ----


def write(folder: Path, report: CopyReport) -> None:
    """Leaves a copy's report in a folder that all copies share."""
    counted: dict[str, Any] = {}
    for name, values in report.parts.items():
        if isinstance(values, Histogram):
            counted[name] = {key: getattr(values, key) for key in Histogram.__slots__}
            counted[name]["counts"] = list(values.counts.items())
        else:
            (folder / f"{name}-{report.copy}.int64").write_bytes(values.tobytes())
    document = {"copy": report.copy, "load": report.load, "warmup": report.warmup, "histograms": counted}
    document["columns"] = [name for name in report.parts if name not in counted]
    (folder / f"copy-{report.copy}.json").write_text(json.dumps(document))


def read(folder: Path) -> Sequence[CopyReport]:
    """The reports that copies left, by their number."""
    return sorted(map(_read, folder.glob("copy-*.json")), key=lambda report: report.copy)


def _read(path: Path) -> CopyReport:
    document = json.loads(path.read_text())
    parts: dict[str, Histogram | Int64s] = {}
    for name in document["columns"]:
        parts[name] = array("q", (path.parent / f"{name}-{document['copy']}.int64").read_bytes())
    for name, counted in document["histograms"].items():
        parts[name] = Histogram(**{**counted, "counts": dict(map(tuple, counted["counts"]))})
    return CopyReport(copy=document["copy"], load=document["load"], warmup=document["warmup"], parts=parts)
