from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.analysis.calls import calls, thin, track_latency
from benchwright.execution.attempt import CopyAnswer
from benchwright.execution.metrics import derive
from benchwright.records import Run, Samples, Value
from benchwright.worker.engine.engine import samples_of
from benchwright.worker.engine.recorder import LatencyRecorder


def test_every_call_of_every_copy_and_round_is_there(run: Run) -> None:
    copies = [r for r in run.results if len(r.samples) == 2]
    found = calls(copies)
    assert found is not None and found.total == 3 * 2 * 2000


def test_quantiles_invert_the_distribution(run: Run) -> None:
    found = calls(run.results[:1])
    assert found is not None
    values = np.frombuffer(run.results[0].samples[0].columns["latency"], np.int64) / 1e9
    levels = np.array([0.0, 0.25, 0.5, 0.99, 1.0])
    assert found.quantiles(levels).tolist() == np.quantile(values, levels, method="inverted_cdf").tolist()


def recorded(latencies: list[int], *, limit: int, loops: int = 1, copy: int = 0) -> Samples:
    """Samples as the engine makes them."""
    recorder = LatencyRecorder(limit=limit)
    recorder.add(1000, list(accumulate(latencies, initial=1000))[1:])
    return samples_of([recorder], copy=copy, loops=loops, zero=1000)


def test_calls_beyond_the_raw_limit_are_counted_once_and_keep_their_extremes(run: Run) -> None:
    latencies = [2, *range(1_000_000, 1_000_060), 3_000_003, *range(900_000, 900_040), 1_000_003]
    samples = recorded(latencies, limit=50)
    assert len(samples.columns["latency"]) == 50 and samples.histograms["latency"].total == len(latencies)
    result = replace(run.results[0], samples=(samples, recorded([5, 7, 9], limit=50, copy=1)), instrument={})
    found = calls([result])
    assert found is not None and found.total == len(latencies) + 3
    assert (found.shortest, found.longest) == (2e-9, 3_000_003e-9)
    levels = np.array([0.1, 0.25, 0.5, 0.9])
    exact = np.quantile(np.array([*latencies, 5, 7, 9]) / 1e9, levels, method="inverted_cdf")
    assert found.quantiles(levels) == pytest.approx(exact, rel=2**-10)
    track = track_latency(result, 1000)
    assert track is not None and track.points == 50 + 3


@pytest.mark.parametrize("limit", [10_000, 100])
def test_plots_show_what_the_table_shows_when_a_sample_is_many_calls(run: Run, limit: int) -> None:
    """1,024 calls of about 40 ns a sample, 60 ns of which are the loop's own; raw and beyond the raw limit."""
    rng = np.random.default_rng(5)
    samples = recorded([int(n) for n in rng.lognormal(np.log(40_960), 0.05, 2000)], limit=limit, loops=1024)
    ready: dict[str, Any] = {
        "clock": {"loop": 60},
        "items_per_call": 1,
        "load_time": 0.1,
        "warmup": {"first": 50, "elapsed": 9},
    }
    metrics = derive(run.results[0].case, [CopyAnswer(ready=ready, measured={}, samples=samples)])
    facts: dict[str, Value] = {"loops": 1024, "cost_taken_off_ns": 60 / 1024}
    result = replace(run.results[0], samples=(samples,), metrics=tuple(metrics), instrument=facts)
    found = calls([result])
    assert found is not None and found.describe_count(2) == "2 means of 1,024 calls"
    for name, level in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        metric = result.metric(f"latency_{name}")
        assert metric is not None and 30e-9 < metric.estimate.point < 60e-9
        assert found.quantiles(np.array([level]))[0] == pytest.approx(metric.estimate.point, rel=1e-9)
    extremes = [m.estimate.point for n in ("min", "max") if (m := result.metric(f"latency_{n}"))]
    assert [found.shortest, found.longest] == pytest.approx(extremes, rel=1e-9)
    track = track_latency(result, 5000)
    assert track is not None and (track.low >= found.shortest).all() and (track.high <= found.longest).all()


def test_a_cost_above_the_latency_leaves_zero(run: Run) -> None:
    result = replace(
        run.results[0], samples=(recorded([5, 70], limit=9),), instrument={"loops": 1, "cost_taken_off_ns": 60.0}
    )
    found = calls([result])
    assert found is not None and found.seconds.tolist() == pytest.approx([0.0, 1e-8])


def test_no_samples_are_none(run: Run) -> None:
    assert calls([replace(run.results[0], samples=())]) is None
    assert track_latency(replace(run.results[0], samples=()), 10) is None


@given(st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=300), st.integers(1, 50))
def test_thinning_is_bounded_and_keeps_the_extremes(values: list[float], slots: int) -> None:
    moments = np.arange(len(values), dtype=np.float64)
    track = thin(moments, np.array(values), slots)
    assert len(track.seconds) <= slots
    assert track.low.min() == min(values) and track.high.max() == max(values)
    assert track.points == len(values)
    assert (track.low <= track.middle).all() and (track.middle <= track.high).all()
    assert (np.diff(track.seconds) > 0).all()


def test_binning_loses_no_call(run: Run) -> None:
    found = calls(run.results[:1])
    assert found is not None
    edges = np.linspace(found.shortest, found.longest, 20)
    assert found.count_in_bins(edges).sum() == found.total
