"""The timed loops of other tools: each makes `count` calls in its own way and says how many ns one took in all."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import tempfile
import timeit
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from harness import loadgen

Call = Callable[[], Any]
Loop = Callable[[Call, int], float]


def bare(call: Call, count: int) -> float:
    """The yardstick: two reads of the clock around each call, into a preallocated array."""
    kept, now = array("q", bytes(8 * count)), perf_counter_ns
    began = now()
    for i in range(count):
        start = now()
        call()
        kept[i] = now() - start
    return (now() - began) / count


def by_timeit(call: Call, count: int) -> float:
    """The standard library's: one time for all calls, no latencies."""
    return timeit.Timer(call).timeit(count) / count * 1e9


def by_pyperf(call: Call, count: int) -> float:
    """pyperf's inner loop, as its worker runs it: one time for all calls, no latencies."""
    import pyperf

    if not _PYPERF:  # a process may have one runner
        _PYPERF.append(pyperf.Runner())
        _PYPERF[0].parse_args(["--worker", "--loops", str(count), "--warmups", "0", "--values", "1"])
    runner = _PYPERF[0]
    runner.args.loops = count
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        _PYPERF.append(runner.bench_func(f"call {len(_PYPERF)}", call))
    return float(_PYPERF[-1].get_values()[0]) * 1e9


def by_pytest_benchmark(call: Call, count: int) -> float:
    """pytest-benchmark's fixture with a round for each call, so that every latency is recorded."""
    import pytest

    class Plugin:
        """Hands the test what it measures and takes what it saw."""

        took = 0.0

        @pytest.fixture
        def loop(self, benchmark: Any) -> Callable[[], None]:
            def run() -> None:
                began = perf_counter_ns()
                benchmark.pedantic(call, rounds=count, iterations=1)
                self.took = (perf_counter_ns() - began) / count

            return run

    plugin = Plugin()
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        test = Path(folder) / "test_call.py"
        test.write_text("def test_call(loop):\n    loop()\n", encoding="utf-8")
        plugins = ["-p", "pytest_benchmark.plugin", "-p", "no:cacheprovider", "--import-mode=importlib"]
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        with contextlib.redirect_stdout(nowhere):
            given = [str(test), "-q", f"--rootdir={folder}", f"--benchmark-storage=file://{folder}", *plugins]
            ended = pytest.main(given, plugins=[plugin])
    if ended != 0:
        raise RuntimeError(f"pytest-benchmark ended with {ended}")
    return plugin.took


def by_torch(call: Call, count: int) -> float:
    """torch.utils.benchmark: one time for all calls, no latencies. It pins torch to one thread."""
    from torch.utils.benchmark import Timer

    return float(Timer("call()", globals={"call": call}).timeit(count).mean) * 1e9


def by_optimum(call: Call, count: int) -> float:
    """optimum-benchmark's session tracker, in the loop of its inference scenario."""
    from optimum_benchmark.trackers.latency import LatencySessionTracker

    logging.getLogger("latency").setLevel(logging.WARNING)
    tracker = LatencySessionTracker(device="cpu", backend="onnxruntime")
    began = perf_counter_ns()
    with tracker.session():
        while tracker.elapsed() < 0 or tracker.count() < count:
            with tracker.track():
                call()
    return (perf_counter_ns() - began) / count


_PYPERF: list[Any] = []  # the runner, then every benchmark it made
_SLOW_IMPORTS = frozenset({"torch", "optimum_benchmark"})
_NEEDS: Mapping[str, tuple[str, Loop]] = {
    "timeit (no latencies)": ("timeit", by_timeit),
    "pyperf (no latencies)": ("pyperf", by_pyperf),
    "torch.utils.benchmark (no latencies)": ("torch", by_torch),
    "pytest-benchmark": ("pytest_benchmark", by_pytest_benchmark),
    "optimum-benchmark": ("optimum_benchmark", by_optimum),
    "LoadGen SingleStream": ("mlperf_loadgen", loadgen.single_stream),
}


def installed(*, quick: bool = False) -> dict[str, Loop]:
    """The loops of the tools that can be imported here; says on the way which cannot.

    A quick look leaves out those whose import alone takes seconds.
    """
    found = {}
    for name, (module, loop) in _NEEDS.items():
        if quick and module in _SLOW_IMPORTS:
            continue
        if importlib.util.find_spec(module) is None:
            print(f"not installed, left out: {name}")
        else:
            found[name] = loop
    return found
