"""Bencher Metric Format: benchmark -> measure -> value with its ends."""

from __future__ import annotations

import json

from benchwright.exchange.exporters.rows import rows
from benchwright.records import Run

LONGEST = 64  # characters of a measure's name, there
# The two measures that Bencher has built in, in its units; every other keeps its name and our base unit.
_BUILT_IN = {"latency_p50": ("latency", 1e9), "throughput": ("throughput", 1.0)}


class Bmf:
    """Bencher Metric Format. The built-in measure latency is the median, in nanoseconds."""

    name = "bmf"

    def text(self, run: Run) -> str:
        """One object for `bencher run --adapter json`; the rounds of a case are one value."""
        found: dict[str, dict[str, dict[str, float]]] = {}
        for row in rows(run):
            measure, factor = _BUILT_IN.get(row.metric, (row.metric.replace("_", "-").replace(" ", "-"), 1.0))
            if row.metric == "latency":
                measure = "latency-mean"
            told = {"value": row.estimate.point * factor}
            if row.estimate.low is not None and row.estimate.high is not None:
                told |= {"lower_value": row.estimate.low * factor, "upper_value": row.estimate.high * factor}
            found.setdefault(row.name, {})[measure[:LONGEST]] = told
        return json.dumps(found, indent=2, allow_nan=False) + "\n"
