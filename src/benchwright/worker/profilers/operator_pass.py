"""A pass that records a model's operators: it makes calls of its own, whose number is known, and keeps no timings.

The pass is a job like any other, with a load that times next to nothing; the recorded calls come after it, on the
thread that loaded the model. So neither several workers nor several copies count anything twice.
"""

from __future__ import annotations

import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any, ClassVar, Protocol

from benchwright import plugins
from benchwright.errors import BenchwrightError, MeasureError, OptionError
from benchwright.records import Case, Load, Profile, ResultWarning, Value
from benchwright.worker.profilers.per_call import Spent, typical
from benchwright.worker.runtimes import Loaded, Report

PASS = Profile(windows=(), operators=True)
CODE = "operators"  # of every warning about them
DETAIL = "operator_pass"  # where a result says how they were recorded
MOST, FEWEST = 100, 5  # calls that are recorded
LONGEST = 2.0  # seconds after which recording ends, once there are the fewest
WARM, WARM_SECONDS = 20, 0.5  # calls before, or so long
INSTEAD = "measure the model with onnxruntime, openvino or torch"
_REMEDIES = {
    "litert": "its library does not report the times of operators; the program benchmark_model "
    f"--enable_op_profiling=true prints them, and a spec can measure it; or {INSTEAD}",
    "tensorflow": "record a trace for TensorBoard: --profile 0:1 --profiler tensorflow",
}


class Recorder(Protocol):
    """Records the operators of one runtime; its name is the runtime's."""

    name: ClassVar[str]

    def prepare(self, case: Case, folder: Path) -> Case:
        """The case to load; files may go to `folder`, which somebody else removes afterwards."""
        ...

    def record(self, loaded: Loaded, calls: RecordedCalls) -> list[list[Spent]]:
        """Makes every call of `calls` and says what each spent where. Raises a `MeasureError` when it cannot."""
        ...


class RecordedCalls:
    """The calls to record: iterating gives functions, each of which makes one call and times it."""

    def __init__(self, loaded: Loaded, *, most: int = MOST, seconds: float = LONGEST) -> None:
        self._loaded, self._most, self._seconds = loaded, most, seconds
        self.latencies: list[float] = []

    def __iter__(self) -> Iterator[Callable[[], None]]:
        call, deadline = self._loaded.call, time.perf_counter() + self._seconds
        for number, given in enumerate(islice(cycle(self._loaded.arguments), self._most)):
            if number >= FEWEST and time.perf_counter() > deadline:
                return

            def one(given: tuple[Any, ...] = given) -> None:
                begin = time.perf_counter()
                call(*given)
                self.latencies.append(time.perf_counter() - begin)

            yield one


def case_of(case: Case) -> Case:
    """The case of the pass: one copy, one worker, one timed call; answers are not compared again."""
    load = Load(warmup=0.0, samples=1, loops=1, timeout=case.load.timeout, seed=case.load.seed)
    return replace(case, load=load, expected=None)


def refusal(case: Case) -> ResultWarning | None:
    """Why the operators of such a case cannot be recorded, with what to do instead; None when they can be."""
    runtime = case.target.runtime
    if runtime == "python" or _recorder(runtime) is not None:  # what a callable uses shows when it is loaded
        return None
    return _refuse_runtime(runtime)


class Recording:
    """Stands in the worker where a `Session` stands in a profiled pass. Nothing here raises."""

    def __init__(self, case: Case, folder: Path) -> None:
        self._runtime = case.target.runtime
        recorder = _recorder(self._runtime)
        self._recorder: Recorder | None = recorder() if recorder else None
        self.case = self._recorder.prepare(case, folder) if self._recorder else case

    def ready(self) -> None:
        """A callable has been loaded, and with it the library it computes with."""
        if self._recorder is None and "torch" in sys.modules:
            self._recorder = plugins.load("operators", "torch")()

    def during(self, zero: int, now: Callable[[], int]) -> AbstractContextManager[object]:
        """Does nothing: no operator is recorded in the timed phase."""
        return nullcontext()

    def add_to(self, report: Report, loaded: Loaded) -> Report:
        """Warms the model up, records its calls, and adds the operators to the report, or a warning with the reason."""
        try:
            return self._record(report, loaded)
        except BenchwrightError as error:
            note = ResultWarning(code=CODE, seen=error.message, remedy=error.remedy)
        except Exception as error:  # a border: libraries of every kind
            traceback.print_exc()
            note = ResultWarning(code=CODE, seen=f"recording failed: {error}", remedy="see the worker's log")
        return replace(report, warnings=(*report.warnings, note))

    def _record(self, report: Report, loaded: Loaded) -> Report:
        if self._recorder is None:
            return replace(report, warnings=(*report.warnings, _refuse_runtime(self._runtime)))
        if loaded.is_async:
            raise MeasureError("operators of asynchronous callables are not recorded", remedy="record a plain one")
        for call in RecordedCalls(loaded, most=WARM, seconds=WARM_SECONDS):
            call()
        calls = RecordedCalls(loaded)
        operators = typical(self._recorder.record(loaded, calls))
        if not operators:
            raise MeasureError(f"{self._recorder.name} reported no operator", remedy="does a call compute anything?")
        about: Value = {"calls": len(calls.latencies), "latency": statistics.median(calls.latencies)}
        return replace(report, operators=operators, details={**report.details, DETAIL: about})


def _recorder(runtime: str) -> type[Recorder] | None:
    try:
        found: type[Recorder] = plugins.load("operators", runtime)
    except OptionError:
        return None
    return found


def _refuse_runtime(runtime: str) -> ResultWarning:
    seen = f"runtime {runtime} does not report how long its operators take"
    return ResultWarning(code=CODE, seen=seen, remedy=_REMEDIES.get(runtime, INSTEAD))
