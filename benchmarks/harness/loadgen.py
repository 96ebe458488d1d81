"""MLPerf's LoadGen as a peer. Its Server scenario draws Poisson arrivals; its Python door offers no constant ones."""

from __future__ import annotations

import importlib.util
import re
import tempfile
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

_FIGURE = re.compile(r"^\s*(.+?)\s*:\s*([\d.e+]+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a Server run says about its punctuality, in ns, and its rates in arrivals per second."""

    lateness_p50: float
    lateness_p99: float
    scheduled_rate: float
    delivered_rate: float


def is_installed() -> bool:
    """Whether it can be imported here."""
    return importlib.util.find_spec("mlperf_loadgen") is not None


def single_stream(call: Callable[[], Any], count: int) -> float:
    """ns per query of the SingleStream scenario, which records every latency."""
    import mlperf_loadgen as lg

    complete, response = lg.QuerySamplesComplete, lg.QuerySampleResponse

    def issue(samples: list[Any]) -> None:
        call()
        complete([response(samples[0].id, 0, 0)])

    settings = lg.TestSettings()
    settings.scenario = lg.TestScenario.SingleStream
    settings.single_stream_expected_latency_ns = 1000
    told = _run(lg, settings, issue, count)
    return told["issuing (ns)"] / count


def server(rate: float, seconds: float, arrived: Callable[[], Any]) -> Served:
    """Lateness by LoadGen's own word: it counts latency from the scheduled instant, and every query completes at once.

    `arrived` is called after the completion, so nothing that it does is in the numbers. What remains beside lateness
    is the way from the callback's first line to the completion; it is measured and taken off.
    """
    import mlperf_loadgen as lg

    complete, response = lg.QuerySamplesComplete, lg.QuerySampleResponse
    count = int(rate * seconds)
    begun, way = array("q"), array("q")

    def issue(samples: list[Any]) -> None:
        start = perf_counter_ns()
        answers = [response(samples[0].id, 0, 0)]
        way.append(perf_counter_ns() - start)
        complete(answers)
        begun.append(start)
        arrived()

    settings = lg.TestSettings()
    settings.scenario = lg.TestScenario.Server
    settings.server_target_qps = rate
    settings.server_target_latency_ns = 10**12
    told = _run(lg, settings, issue, count)
    own = sorted(way)[len(way) // 2]
    return Served(
        lateness_p50=max(0.0, told["50.00 percentile latency (ns)"] - own),
        lateness_p99=max(0.0, told["99.00 percentile latency (ns)"] - own),
        scheduled_rate=told["Scheduled samples per second"],
        delivered_rate=(len(begun) - 1) * 1e9 / (begun[-1] - begun[0]),
    )


def _run(lg: Any, settings: Any, issue: Callable[[list[Any]], None], count: int) -> dict[str, float]:
    """Runs a test of `count` queries and returns the figures of its summary, and how long issuing them took."""
    settings.mode = lg.TestMode.PerformanceOnly
    settings.min_query_count = settings.max_query_count = count
    settings.min_duration_ms = 0
    instants: list[int] = []  # samples loaded, queries flushed: what lies between is issuing
    system = lg.ConstructSUT(issue, lambda: instants.append(perf_counter_ns()))
    library = lg.ConstructQSL(1, 1, lambda samples: instants.append(perf_counter_ns()), lambda samples: None)
    try:
        with tempfile.TemporaryDirectory() as folder:
            log = lg.LogSettings()
            log.log_output.outdir = folder
            log.log_output.copy_summary_to_stdout = False
            log.enable_trace = False
            lg.StartTestWithLogSettings(system, library, settings, log)
            summary = (Path(folder) / "mlperf_log_summary.txt").read_text(encoding="utf-8")
    finally:
        lg.DestroyQSL(library)
        lg.DestroySUT(system)
    figures = {name: float(value) for name, value in _FIGURE.findall(summary)}
    return {**figures, "issuing (ns)": float(instants[1] - instants[0])}
