"""Checks of what importers made of the requests of `served_files`."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright import exchange, schema
from benchwright.records import Metric, Result, Run
from served_files import Truth


def write(path: Path, data: Any) -> Path:
    text = "\n".join(map(json.dumps, data)) if isinstance(data, list) else json.dumps(data)
    path.write_text(text)
    return path


def read(path: Path, **how: str) -> Run:
    [run] = exchange.read_runs(str(path), **how)
    assert schema.loads(schema.dumps(run), Run) == run
    return run


def metric(result: Result, name: str) -> Metric:
    found = result.metric(name)
    assert found is not None, [m.name for m in result.metrics]
    return found


def check(result: Result, name: str, values: Sequence[float]) -> None:
    """The mean and the percentiles are those of the true values, with an interval around each."""
    assert metric(result, name).estimate.point == pytest.approx(statistics.fmean(values), rel=1e-5, abs=2e-6), name
    assert metric(result, name).count == len(values)
    for q in (50, 99):
        estimate = metric(result, f"{name}_p{q}").estimate
        exact = float(np.quantile(values, q / 100, method="inverted_cdf"))
        assert estimate.point == pytest.approx(exact, rel=1e-5, abs=2e-6), (name, q)
        assert estimate.low is not None and estimate.high is not None
        assert estimate.low <= estimate.point <= estimate.high


def names(result: Result) -> set[str]:
    return {m.name for m in result.metrics}


def ours(good: Sequence[Truth]) -> dict[str, list[float]]:
    """Benchwright's own definitions, from the true instants."""
    return {
        "ttft": [r.first - r.sent for r in good],
        "tpot": [(r.last - r.first) / (r.tokens - 1) for r in good],
        "e2e": [r.last - r.sent for r in good],
        "tokens_per_user": [r.tokens / (r.last - r.sent) for r in good],
    }
