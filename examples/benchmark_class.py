"""A benchmark class of one's own: `benchwright run examples/benchmark_class.py`, or `::Search.time_exact` of it.

It needs no base class and no decorator. What is measured: nearest neighbours among vectors, searched exactly and in a
copy that keeps one byte per number.
"""

import numpy as np


class Search:
    """The nearest of 2000 vectors."""

    params = {"dimensions": [16, 128]}

    def setup(self, dimensions: int) -> None:
        """Runs once in each process, before anything is timed."""
        draw = np.random.default_rng(0)
        self.vectors = draw.standard_normal((2000, dimensions), dtype=np.float32)
        self.queries = draw.standard_normal((50, dimensions), dtype=np.float32)
        self.scale = float(np.abs(self.vectors).max()) / 127
        self.small = np.round(self.vectors / self.scale).astype(np.int8)

    def exact(self) -> np.ndarray:
        distances = (self.vectors**2).sum(axis=1) - 2 * self.queries @ self.vectors.T
        return distances.argmin(axis=1)

    def approximate(self) -> np.ndarray:
        vectors = self.small.astype(np.float32) * self.scale
        distances = (vectors**2).sum(axis=1) - 2 * self.queries @ vectors.T
        return distances.argmin(axis=1)

    def time_exact(self) -> None:
        """The exact search of 50 queries, called over and over."""
        self.exact()

    def time_approximate(self) -> None:
        """The same with one byte per number."""
        self.approximate()

    def benchmark_recall(self, report) -> None:
        """How often one byte per number finds the true neighbour; called once, with a bound that must hold."""
        found = float((self.exact() == self.approximate()).mean())
        report("recall", found, better="higher", least=0.9)
        report("compression", self.vectors.nbytes / self.small.nbytes, better="higher")

    def track_index(self) -> int:
        """How large the small index is; the number that it returns is kept."""
        return self.small.nbytes

    track_index.unit = "B"
