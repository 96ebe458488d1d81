"""A benchmark class as PerfZero runs them: how many queries of a search a machine answers in a second.

benchwright run examples/cost/search.py
benchwright perfzero --benchmark_methods=search.Search.benchmark_queries --python_path=$PWD/examples/cost
"""

import os
import time
from multiprocessing import get_context

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the processes below are all that there are

import numpy as np

SECONDS = 1.0  # that are searched


class Search:
    """The nearest of 10,000 vectors, searched exactly, 64 queries at a time, in a process for each CPU."""

    def __init__(self, output_dir=None, **settings) -> None:
        draw = np.random.default_rng(0)
        self.vectors = draw.standard_normal((10_000, 256), dtype=np.float32)
        self.queries = draw.standard_normal((64, 256), dtype=np.float32)
        self.lengths = (self.vectors**2).sum(axis=1)

    def benchmark_queries(self, report) -> None:
        """Searches for a second; what it reports is the work that somebody pays for."""
        self._search()  # the first is slower: memory is touched
        cpus = len(os.sched_getaffinity(0))
        with get_context("fork").Pool(cpus) as pool:
            rates = pool.map(self._search_for, [SECONDS] * cpus, chunksize=1)
        report("queries_per_second", sum(rates), better="higher")

    def _search_for(self, seconds: float) -> float:
        """How many queries one process answers in a second."""
        began, done = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - began) < seconds:
            self._search()
            done += len(self.queries)
        return done / elapsed

    def _search(self) -> np.ndarray:
        distances = self.lengths - 2 * self.queries @ self.vectors.T
        return distances.argmin(axis=1)
