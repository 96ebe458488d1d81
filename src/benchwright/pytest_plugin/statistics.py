"""What `benchmark.stats` gives a test, and what pytest-benchmark's columns show: by its names, in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchwright.exchange.exporters.pytest_benchmark import stats_of, summarize
from benchwright.records import Result, Samples


@dataclass(frozen=True, slots=True)
class TestStatistics:
    """Figures of one test, in seconds a call: `stats.mean`, `stats["mean"]` and `stats.stats.mean` are the same.

    There are min, max, mean, stddev, median, q1, q3, iqr, ops, total, rounds, iterations, outliers and data.
    """

    __test__ = False

    figures: dict[str, Any]

    @property
    def stats(self) -> TestStatistics:
        """Itself: pytest-benchmark has the figures one level below."""
        return self

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def __getattr__(self, name: str) -> Any:
        if name != "figures" and name in self.figures:
            return self.figures[name]
        raise AttributeError(f"benchmark.stats has no {name!r}; there are {', '.join(self.figures)}")

    def as_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return dict(self.figures)

    @classmethod
    def of_samples(cls, samples: Samples, cost: int) -> TestStatistics:
        """The figures of what was timed in this process; `cost` is what the loop added to each sample, in ns."""
        values = [max(0, spent - cost) / samples.loops / 1e9 for spent in samples.columns["latency"]]
        return cls({**summarize(values), "iterations": samples.loops, "data": values})

    @classmethod
    def of(cls, results: Sequence[Result]) -> TestStatistics | None:
        """The figures of all rounds of one case; None where none has samples."""
        return cls(stats_of(results)) if any(result.samples for result in results) else None
