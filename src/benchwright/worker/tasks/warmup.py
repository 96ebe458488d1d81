"""What is left out at the beginning of a series: a training that compiles, fills caches and reads its first files.

Either the task says how much (`skip`), or the end of the warm-up is looked for in the values themselves with the test
that closed loops use (`stats.steady`). Where that finds no steady part the later half counts, and a warning says so:
never everything, and never silently.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.stats import steady
from benchwright.targets.tasks.definition import Skip, TaskMetric
from benchwright.worker.tasks.aggregates import CapturedSeries, UncomputableError

KEPT = 65_536  # values of a series that is cut; of a longer one every second, fourth, ...
NOT_STEADY = "not-steady"
_JUDGED = 400  # medians of neighbours that the test is given at most, as a closed loop gives it


class KeptValues:
    """The values of a series with the seconds they came at, in bounded memory."""

    def __init__(self, most: int = KEPT) -> None:
        self.values, self.seconds = array("d"), array("d")
        self.stride = 1
        self.count = 0
        self._most = most

    def add(self, values: Sequence[float], at: float) -> None:
        """Adds the next values, and the second they came at."""
        chosen = values[-self.count % self.stride :: self.stride]
        self.values.extend(chosen)
        self.seconds.extend([at] * len(chosen))
        self.count += len(values)
        while len(self.values) > self._most:
            del self.values[1::2], self.seconds[1::2]
            self.stride *= 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPart:
    """The part of a series that counts: what was left out before it, until when, and why."""

    series: CapturedSeries
    left_out: int  # values
    of: int
    until: float  # seconds: when the last value that is left out was printed; 0 where none is
    why: str
    steady: bool = True  # no: the later half was taken because nothing steady was found

    @property
    def method(self) -> str:
        """What to know of a number that is computed from this part."""
        if not self.left_out:
            return f"none of {self.of:,} values left out: {self.why}"
        return f"the first {self.left_out:,} of {self.of:,} values left out: {self.why}"


def count_part(kept: KeptValues, metric: TaskMetric, compute: str) -> CountedPart:
    """The part of the values that the metric counts, as a series of its own."""
    found = _judge_steady(kept) if metric.steady else (_skipped(kept, metric.skip), _describe(metric.skip), True)
    cut, why, is_steady = found
    if cut >= len(kept.values):
        raise UncomputableError(f"all {kept.count} values were left out: {why}")
    part = CapturedSeries([compute])
    for value, at in zip(kept.values[cut:], kept.seconds[cut:], strict=True):
        part.hit(1, at)
        part.add([value], at)
    more = f", and every {kept.stride}th of the rest counts" if kept.stride > 1 else ""
    return CountedPart(
        series=part,
        left_out=min(cut * kept.stride, kept.count),
        of=kept.count,
        until=kept.seconds[cut - 1] if cut else 0.0,
        why=f"{why}{more}",
        steady=is_steady,
    )


def _skipped(kept: KeptValues, skip: Skip | None) -> int:
    """How many of the kept values a skip leaves out."""
    if skip is None:
        return 0
    if skip.unit == "s":
        return sum(at < skip.amount for at in kept.seconds)
    values = skip.amount * kept.count if skip.unit == "%" else skip.amount
    return -(-int(values) // kept.stride)


def _describe(skip: Skip | None) -> str:
    return "" if skip is None else f"skip = {skip.text}"


def _judge_steady(kept: KeptValues) -> tuple[int, str, bool]:
    """How many of the kept values come before the steady part, why, and whether there is such a part."""
    size = max(1, len(kept.values) // _JUDGED)
    blocks = [
        sorted(kept.values[i : i + size])[size // 2] for i in range(0, len(kept.values) - size + 1, size)
    ]  # a few wild values move no median
    found = steady.detect(blocks)
    if found.steady:
        return found.cut * size, "steady from there on" if found.cut else "steady from the start", True
    return len(kept.values) // 2, f"the first half, as no steady part was found ({found.reason})", False
