"""Where a worker keeps what it timed: eight bytes a call up to a limit, a histogram beyond it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import sub

from benchwright.errors import MeasureError
from benchwright.records import Histogram, Int64s
from benchwright.stats import histogram

LIMIT = 1_000_000  # calls kept raw per worker: 8 MB
DISTINCT = 65_536  # distinct values counted before they are folded
BLOCK = 8192  # calls that memory is taken for at once
ANCHOR_EVERY = 256  # calls between two recorded instants


class LatencyRecorder:
    """Latencies of one worker's back-to-back calls, added a chunk at a time between timed stretches."""

    def __init__(self, *, limit: int = LIMIT) -> None:
        self.limit = limit
        self.calls = 0
        self.active = 0  # ns inside chunks
        self.paused = 0  # ns spent deciding whether to stop, during which no call could be issued
        self.last = 0  # instant of the latest completion
        self._blocks: list[Int64s] = []
        self._anchors = array("q")  # pairs: position, instant at which the call there began
        self._next_anchor = 0
        self._counter: Counter[int] = Counter()
        self._histogram: Histogram | None = None

    def add(self, start: int, ticks: Sequence[int]) -> None:
        """A chunk: the instant its first call began, and the instant each call ended."""
        if not ticks:
            return
        self.add_each(chain((start,), ticks), ticks, start)

    def add_each(self, starts: Iterable[int], ticks: Sequence[int], start: int) -> None:
        """Calls that each began at an instant of its own, the first of them at `start`."""
        latencies = array("q", list(map(sub, ticks, starts)))  # an array made from a list is filled twice as fast
        if min(latencies) < 0:
            raise MeasureError(
                f"the clock went back by {-min(latencies)} ns", remedy="this machine's clock cannot be used"
            )
        room = max(0, self.limit - self.calls)
        if room:
            self._keep(start, latencies[:room])
        if len(latencies) > room:
            self._count(latencies[room:])
        self.calls += len(ticks)
        self.active += ticks[-1] - start
        self.last = ticks[-1]

    @property
    def raw_count(self) -> int:
        """How many raw latencies there are."""
        return min(self.calls, self.limit)

    @property
    def latencies(self) -> Int64s:
        """The raw latencies kept, in order."""
        whole = zeros(self.raw_count)
        self._copy_to(memoryview(whole))
        return whole

    def ends(self, zero: int) -> Int64s:
        """For each raw latency, the instant its call ended, in ns since `zero`."""
        ends = self.latencies
        self._add_up(memoryview(ends), zero)
        return ends

    def fill(self, latency: Int64s, end: Int64s, at: int, zero: int) -> None:
        """Writes `latencies` and `ends(zero)` into two columns from the position `at` on, with no copy in between."""
        self._copy_to(memoryview(latency)[at:])
        self._copy_to(memoryview(end)[at:])
        self._add_up(memoryview(end)[at:], zero)

    def _copy_to(self, column: memoryview) -> None:
        position = 0
        for part in self._parts():
            column[position : position + len(part)] = part
            position += len(part)

    def _add_up(self, column: memoryview, zero: int) -> None:
        """Turns latencies into instants, a stretch after each recorded one at a time."""
        positions = [*self._anchors[::2], self.raw_count]
        for i, begin in enumerate(self._anchors[1::2]):
            stretch = column[positions[i] : positions[i + 1]]
            stretch[:] = memoryview(array("q", accumulate(stretch, initial=begin - zero)))[1:]

    def _parts(self) -> Iterator[memoryview]:
        left = self.raw_count
        for block in self._blocks:
            yield memoryview(block)[:left]
            left = max(0, left - BLOCK)

    def histogram(self) -> Histogram | None:
        """Every call's latency, once there were more than the limit. Counts the raw ones now, when nothing is timed."""
        if self.calls <= self.limit:
            return None
        self._drain()
        return histogram.fold(chain.from_iterable(self._parts()), self._histogram)

    def _keep(self, start: int, latencies: Int64s) -> None:
        kept = 0
        while kept < len(latencies):
            at = (self.calls + kept) % BLOCK
            if at == 0:
                self._blocks.append(zeros(BLOCK))
            part = latencies[kept : kept + BLOCK - at]
            self._blocks[-1][at : at + len(part)] = part
            kept += len(part)
        if self.calls >= self._next_anchor:
            self._anchors.extend((self.calls, start))
            self._next_anchor = self.calls + ANCHOR_EVERY

    def _count(self, latencies: Int64s) -> None:
        self._counter.update(latencies)
        if len(self._counter) > DISTINCT:
            self._drain()

    def _drain(self) -> None:
        self._histogram = histogram.fold_counts(self._counter, self._histogram)
        self._counter.clear()


def zeros(count: int) -> Int64s:
    """A column made by repeating, which takes exactly the memory it needs; growing takes more."""
    return array("q", (0,)) * count
