"""A runtime that models nothing and takes exactly as long as it is told to. Standard library only.

The latencies of one cycle are drawn once, as quantiles of the distribution in a seeded order, so the truth about any
whole number of cycles is known to the nanosecond: see `truth`.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Scalar, Target
from benchwright.worker.engine.clock import FakeClock, SystemClock
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.faults import FAULTS
from benchwright.worker.runtimes.options import choice, duration, nanoseconds, number, refuse_unknown, whole

DISTRIBUTIONS = ("constant", "uniform", "lognormal", "bimodal", "script")
QUANTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
LONGEST_CYCLE = 1_000_000

OPTIONS = frozenset(
    {
        *("distribution", "latency", "ms", "sigma", "slow", "slow_share", "script", "period", "seed"),
        *("stall_every", "stall", "warmup_calls", "warmup_factor", "load_time", "clock", "wait"),
        *("fail_after", "crash", "crash_at", "pid_file"),
    }
)


class Fake:
    """`fake:constant?ms=5`: what follows the colon is the distribution, what follows `?` are options."""

    name: ClassVar[str] = "fake"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    @staticmethod
    def check(target: Target) -> None:
        """Refuses unknown options and devices."""
        options_of(target.uri, target.options)
        if target.device not in ("cpu", "fake"):
            raise DeviceError(f"fake has no device {target.device!r}", remedy="use cpu or fake")

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        options = options_of(case.target.uri, case.target.options)
        virtual = choice(options, "clock", "real", ("real", "virtual")) == "virtual"
        clock = FakeClock() if virtual else None
        pass_time = clock.advance if clock else _make_wait(choice(options, "wait", "spin", ("spin", "sleep", "hold")))
        crash_at = str(options.get("crash_at", "1"))
        if crash_at == "load":
            _fault(options)(options)
        if virtual and truth(options)["mean"] <= 0:
            raise LoadError("calls that take no virtual time would never end", remedy="latency=1us or more")
        pass_time(nanoseconds(options, "load_time", "0"))
        return Loaded(
            call=_add_faults(_make_call(pass_time, _sequence(options)), options),
            device=case.target.device,
            items_per_call=case.inputs.batch_size,
            details={"truth": {name: float(value) for name, value in truth(options).items()}},
            clock=clock,
        )


def options_of(uri: str, options: Mapping[str, Scalar] | None = None) -> dict[str, Scalar]:
    """The options that a target such as `fake:uniform?latency=2ms` states, overlaid with others, each name known."""
    distribution, _, query = uri.removeprefix("fake:").partition("?")
    merged: dict[str, Scalar] = {"distribution": distribution} if distribution else {}
    merged.update(parse_qsl(query, keep_blank_values=True))
    merged.update(options or {})
    refuse_unknown(merged, OPTIONS, "fake")
    return merged


def cycle(options: Mapping[str, Scalar]) -> list[int]:
    """The latencies in nanoseconds that calls after warm-up repeat for ever, stalls included."""
    values = _draw_latencies(options)
    every = whole(options, "stall_every", 0)
    if not every:
        return values
    length = math.lcm(len(values), every)
    if length > LONGEST_CYCLE:
        raise LoadError(
            f"stall_every={every} and a period of {len(values)} repeat only after {length} calls",
            remedy="make one a multiple of the other",
        )
    stall = nanoseconds(options, "stall", "100ms")
    values = values * (length // len(values))
    values[every - 1 :: every] = [stall] * (length // every)
    return values


def truth(options: Mapping[str, Scalar]) -> dict[str, float | int]:
    """What is exactly true of a whole number of cycles, in nanoseconds: mean, min, max and nearest-rank quantiles."""
    values = sorted(cycle(options))
    ranks = {name: values[max(0, math.ceil(q * len(values)) - 1)] for name, q in QUANTILES.items()}
    return {"period": len(values), "mean": sum(values) / len(values), "min": values[0], "max": values[-1], **ranks}


def _draw_latencies(options: Mapping[str, Scalar]) -> list[int]:
    kind = choice(options, "distribution", "constant", DISTRIBUTIONS)
    if kind == "script":
        steps = [duration(text, "script") for text in str(options.get("script", "")).split(",") if text.strip()]
        if not steps:
            raise LoadError("the script is empty", remedy="script=1ms,2ms,50ms")
        return steps
    latency = nanoseconds(options, "latency", f"{number(options, 'ms', 1.0)}ms")
    if kind == "constant":
        return [latency]
    period = whole(options, "period", 1000, least=1)
    ranks = [(i + 0.5) / period for i in range(period)]
    if kind == "bimodal":
        share, slow = number(options, "slow_share", 0.1), nanoseconds(options, "slow", "10ms")
        values = [slow if rank > 1 - share else latency for rank in ranks]
    else:
        values = [round(latency * factor) for factor in _factors(kind, ranks, options)]
    random.Random(whole(options, "seed", 0)).shuffle(values)
    return values


def _factors(kind: str, ranks: list[float], options: Mapping[str, Scalar]) -> list[float]:
    """Quantiles relative to the median: uniform within ± sigma of it, or log-normal with sigma in log space."""
    sigma = number(options, "sigma", 0.5)
    if kind == "uniform":
        if sigma > 1:
            raise LoadError(f"option sigma: {sigma:g} would make uniform latencies negative", remedy="at most 1")
        return [1 + sigma * (2 * rank - 1) for rank in ranks]
    normal = statistics.NormalDist()
    return [math.exp(sigma * normal.inv_cdf(rank)) for rank in ranks]


def _sequence(options: Mapping[str, Scalar]) -> Iterator[int]:
    values = cycle(options)
    calls, factor = whole(options, "warmup_calls", 0), number(options, "warmup_factor", 10.0)
    warming = [round(values[i % len(values)] * factor) for i in range(calls)]
    return itertools.chain(warming, itertools.cycle(values))


def _make_call(pass_time: Callable[[int], Any], sequence: Iterator[int]) -> Callable[[], None]:
    following = sequence.__next__

    def call() -> None:
        pass_time(following())

    return call


def _make_wait(how: str) -> Callable[[int], Any]:
    """Passes real time: spinning, sleeping, or asleep with the interpreter lock held."""
    if how == "hold":
        usleep = ctypes.PyDLL(None).usleep
        return lambda ns: usleep(ns // 1000)
    if how == "sleep":
        clock = SystemClock()
        return lambda ns: clock.wait_until(clock.now() + ns)
    now = time.perf_counter_ns

    def spin(ns: int) -> None:
        end = now() + ns
        while now() < end:
            pass

    return spin


def _add_faults(call: Callable[[], None], options: Mapping[str, Scalar]) -> Callable[[], None]:
    fail_after = whole(options, "fail_after", -1, least=-1)
    crashing = "crash" in options
    if fail_after < 0 and not crashing:
        return call
    fault = _fault(options) if crashing else None
    crash_at = whole(options, "crash_at", 1, least=1) if crashing and options.get("crash_at") != "load" else 0
    counter = itertools.count(1)

    def faulty() -> None:
        number = next(counter)
        if fault and number == crash_at:
            fault(options)
        if 0 <= fail_after < number:
            raise RuntimeError(f"scripted failure of call {number}")
        call()

    return faulty


def _fault(options: Mapping[str, Scalar]) -> Callable[[Mapping[str, Scalar]], None]:
    return FAULTS[choice(options, "crash", "", FAULTS)]
