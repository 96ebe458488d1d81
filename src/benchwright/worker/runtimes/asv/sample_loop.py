"""Samples of a benchmark that is set up anew before each of them, or that says itself how it is timed.

asv sets a benchmark up before every sample, and not between the calls of one: a benchmark whose call uses up what
`setup` made says `number = 1`. The engine's closed loop has no room between two calls. So these samples have a loop of
their own: set up, read the clock, call `number` times, read the clock. What `--duration`, `--samples`, `--warmup` and
`--loops` say goes before what the benchmark says.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import textwrap
from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchwright.errors import MeasureError
from benchwright.records import Load, Samples
from benchwright.worker.engine.clock import SystemClock, calibrate
from benchwright.worker.engine.engine import DEFAULT_DURATION, Finish, MeasuredLoad, PreparedLoad, hold_off_collector
from benchwright.worker.engine.warmup import Warmup
from benchwright.worker.runtimes.asv import suite
from benchwright.worker.runtimes.failures import first_line

if TYPE_CHECKING:
    from benchwright.worker.runtimes.asv.benchmark import BoundBenchmark

STATED = ("number", "repeat", "sample_time", "warmup_time", "min_run_count", "timer")
SAMPLE_TIME = 0.01  # seconds of a sample, as in asv
WARMUP_TIME = 0.1  # seconds
MIN_RUN_COUNT = 2  # calls at least
MOST_GROWTH = 10.0  # of the number of calls from one try to the next
_RAW = "from timeit import timeit; import sys; print(repr(timeit(sys.argv[1], sys.argv[2], number=int(sys.argv[3]))))"


def is_stated(found: suite.SuiteBenchmark) -> bool:
    """Whether a benchmark says itself how it is timed."""
    return any(found.attribute(name) is not None for name in STATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRules:
    """How many calls make a sample, and how many samples are taken. Times are seconds."""

    number: int  # calls in a sample; 0: as many as last `sample_time`
    sample_time: float
    warmup: float
    fewest: int  # samples
    most: int | None  # None: until the time is up
    duration: float | None  # None: until there are as many samples as were asked for
    fewest_calls: int


def rules_of(found: suite.SuiteBenchmark, load: Load) -> SampleRules:
    """What a benchmark says and what was asked for, as one."""
    fewest, most, seconds = _repeats(found.attribute("repeat", 0))
    raw = found.place.kind == suite.RAW
    warmup = float(found.attribute("warmup_time", -1))
    if load.samples is not None:
        fewest, most = load.samples if load.duration is None else 1, load.samples
    return SampleRules(
        number=load.loops or int(found.attribute("number", 1 if raw else 0)),
        sample_time=float(found.attribute("sample_time", SAMPLE_TIME)),
        warmup=load.warmup if load.warmup is not None else WARMUP_TIME if warmup < 0 else warmup,
        fewest=fewest,
        most=most,
        duration=load.duration or (seconds or DEFAULT_DURATION if load.samples is None else None),
        fewest_calls=int(found.attribute("min_run_count", MIN_RUN_COUNT)),
    )


def _repeats(repeat: Any) -> tuple[int, int | None, float | None]:
    """The fewest and the most samples, and the seconds for them; asv's `repeat` is a number or all three."""
    try:
        fewest, most, seconds = repeat
        return max(1, int(fewest)), max(1, int(most)), float(seconds)
    except (TypeError, ValueError):
        count = int(repeat or 0)
        return (count, count, None) if count > 0 else (1, None, None)


class SampleTimer:
    """Times the samples of one benchmark."""

    def __init__(self, benchmark: BoundBenchmark, found: suite.SuiteBenchmark) -> None:
        self._benchmark, self._found = benchmark, found
        self._renews = bool(benchmark.setups or benchmark.teardowns)
        self._clock = SystemClock()
        self._is_fresh = True  # set up, and not called since

    def prepare(self, load: Load, copy: int) -> PreparedLoad:
        """Warms up and chooses how many calls make a sample."""
        rules = rules_of(self._found, load)
        raw = self._found.place.kind == suite.RAW
        sample = self._sample_in_child if raw else self._sample
        facts = calibrate(self._clock)
        number, warmup = self._warm_up(rules, sample)
        # Whatever is timed is between two reads of the clock; what one read takes is in it. A timer of its own costs
        # what it costs.
        own = raw or self._found.attribute("timer") is not None
        facts = replace(facts, loop=0 if own else facts.read)
        gc.collect()

        def time_samples(zero: int) -> Finish:
            self._clock.wait_until(zero)
            with hold_off_collector() as collector:
                samples = self._take(rules, number, sample, zero, copy)
            return lambda: MeasuredLoad(samples=samples, gc_collections=collector.collections)

        return PreparedLoad(clock=self._clock, facts=facts, warmup=warmup, loops=number, oversleep=0, time=time_samples)

    def _warm_up(self, rules: SampleRules, sample: Callable[[int], int]) -> tuple[int, Warmup]:
        """Calls until the warm-up's time is over and, where nobody said how many, a sample is long enough."""
        begin, number, calls, times = self._clock.now(), max(1, rules.number), 0, []
        while True:
            took = sample(number)
            calls += number
            times.append(took / number)
            enough = rules.number > 0 or took >= rules.sample_time * 1e9
            if not enough:
                growth = min(MOST_GROWTH, max(1.1, rules.sample_time * 1e9 / max(took, 1)))
                number = max(number + 1, int(growth * number))
            elif self._clock.now() - begin >= rules.warmup * 1e9:
                break
        elapsed = self._clock.now() - begin
        typical, first = statistics.median(times), int(times[0])
        return number, Warmup(
            calls=calls, elapsed=elapsed, first=first, typical=typical, steady=True, cut=0, reason="as the suite says"
        )

    def _take(self, rules: SampleRules, number: int, sample: Callable[[int], int], zero: int, copy: int) -> Samples:
        times, ends, spent = array("q"), array("q"), 0
        deadline = None if rules.duration is None else zero + int(rules.duration * 1e9)
        while rules.most is None or len(times) < rules.most:
            took = sample(number)
            spent += took
            times.append(took)
            ends.append(spent)  # on a line of time without the setups: what is done in a second is that of the calls
            enough = len(times) >= rules.fewest and len(times) * number >= rules.fewest_calls
            if enough and deadline is not None and self._clock.now() >= deadline:
                break
        return Samples(
            copy=copy,
            calls=len(times) * number,
            loops=number,
            elapsed=max(1, spent),
            columns={"latency": times, "end": ends},
        )

    # ---- one sample, in ns ----

    def _sample(self, number: int) -> int:
        if self._renews and not self._is_fresh:
            self._benchmark.renew()
        self._is_fresh = False
        function, arguments = self._found.function, self._benchmark.arguments
        timer = self._found.attribute("timer")
        if timer is not None:
            start = timer()
            for _ in range(number):
                function(*arguments)
            return max(0, round(float(timer() - start) * 1e9))
        now, repeats = self._clock.now, range(number)
        if number == 1:  # nothing but the call between the reads
            begin = now()
            function(*arguments)
            return now() - begin
        begin = now()
        for _ in repeats:
            function(*arguments)
        return now() - begin

    def _sample_in_child(self, number: int) -> int:
        """The time of `number` executions of the source that a `timeraw_*` benchmark returns, in a fresh process."""
        if self._renews and not self._is_fresh:
            self._benchmark.renew()
        self._is_fresh = False
        told = self._benchmark.call()
        statement, setup = told if isinstance(told, tuple) else (told, "")
        more = {str(key): str(value) for key, value in (self._found.attribute("env") or {}).items()}
        command = [sys.executable, "-c", _RAW, textwrap.dedent(statement), textwrap.dedent(setup), str(number)]
        done = subprocess.run(
            command, env={**suite.child_variables(), **more}, stdout=subprocess.PIPE, text=True, check=False
        )
        try:
            if done.returncode != 0:
                raise ValueError(f"it ended with status {done.returncode}")
            return max(1, round(float(done.stdout.strip().splitlines()[-1]) * 1e9))
        except (ValueError, IndexError) as error:
            raise MeasureError(f"the code of a timeraw_ benchmark failed: {first_line(error)}") from None
