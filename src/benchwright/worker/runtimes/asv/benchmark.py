"""One benchmark of an asv suite in the worker: set up, called, asked for its number, torn down."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

from benchwright.errors import LoadError, MeasureError, SkippedError
from benchwright.records import Better, Case
from benchwright.system.texts import describe_error
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.asv import SuiteWork, parameters, sample_loop, setup_cache, suite
from benchwright.worker.runtimes.classes import object_sizes, reports
from benchwright.worker.runtimes.classes.reports import ReportedNumber
from benchwright.worker.runtimes.failures import SEE_THE_LOG, log_traceback

# As the importer of asv's histories calls them.
METRICS = {suite.SIZE: "memory", suite.PEAK: "peak_memory", suite.TRACK: "value"}
_UNITS = {"seconds": "s", "bytes": "B", "unit": ""}


def load(case: Case, work: SuiteWork) -> Loaded:
    """The benchmark that a case names, ready to be called; a `SkippedError` where it does not apply."""
    folder = Path(work.folder)
    # As asv does it: benchmarks run in a folder of their own, which holds what `setup_cache` wrote.
    os.chdir(tempfile.gettempdir())
    cached = setup_cache.obtain(folder, work) if work.cache else None
    return BoundBenchmark(suite.find_benchmark(folder, work.place), case, cached).load()


class BoundBenchmark:
    """A benchmark with the values of one case."""

    def __init__(self, found: suite.SuiteBenchmark, case: Case, cached: Any = None) -> None:
        self._found, self._case = found, case
        declared = parameters.read_parameters(found.attribute("params", []), found.attribute("param_names", []))
        values = parameters.choose_values(declared, case.params)
        self._skips = tuple(values) in [tuple(each) for each in found.attribute("skip_params", ())]
        self.arguments = values if cached is None else (cached, *values)
        self.setups = found.hooks("setup")[::-1]
        self.teardowns = found.hooks("teardown")
        self._kind = found.place.kind
        self._returned: Any = None
        self._took, self._peak, self._called_at = 0.0, 0.0, 0.0

    def load(self) -> Loaded:
        """Runs the setups and gives what the worker calls."""
        if self._skips:
            raise SkippedError(f"{self._case.name} does not apply to these parameters: skip_for_params says so")
        self._first_setup()
        loaded = Loaded(
            call=self._found.function,
            arguments=(self.arguments,),
            versions={"python": platform.python_version()},
            details={"kind": self._kind, "asv_name": self._found.place.name},
            close=self._close,
        )
        if self._kind not in suite.TIMED:
            loaded.call, loaded.report = self._call_once, self._report
        elif self._kind == suite.RAW or self.setups or self.teardowns or sample_loop.is_stated(self._found):
            loaded.prepare = sample_loop.SampleTimer(self, self._found).prepare
        return loaded

    def call(self) -> Any:
        """One call of the function."""
        return self._found.function(*self.arguments)

    def renew(self) -> None:
        """Tears down and sets up again, as before each sample: the next call finds what the first one found."""
        for hook in self.teardowns:
            hook(*self.arguments)
        for hook in self.setups:
            hook(*self.arguments)

    def _first_setup(self) -> None:
        try:
            for hook in self.setups:
                hook(*self.arguments)
        except NotImplementedError as error:
            raise SkippedError(f"setup says that it does not apply: {describe_error(error)}") from None
        except (Exception, SystemExit) as error:  # the border to the user's code
            log_traceback(error)
            raise LoadError(f"setup failed: {describe_error(error)}", remedy=SEE_THE_LOG) from error

    def _close(self) -> None:
        for hook in self.teardowns:
            hook(*self.arguments)

    # ---- what is called once ----

    def _call_once(self, *arguments: Any) -> None:
        self._called_at = time.time()
        begin = time.perf_counter()
        self._returned = self._found.function(*arguments)
        self._took = time.perf_counter() - begin
        if self._kind == suite.PEAK:
            self._peak = object_sizes.peak_of_process()

    def _report(self) -> Report:
        metrics, warnings = reports.metrics([self._number()])
        return Report(metrics=metrics, warnings=warnings)

    def _number(self) -> ReportedNumber:
        name = METRICS[self._kind]
        if self._kind != suite.TRACK:
            size = self._peak if self._kind == suite.PEAK else object_sizes.size_of(self._returned)
            return ReportedNumber(name=name, value=size, unit="B", better=Better.LOWER)
        try:
            value = float(self._returned)
        except (TypeError, ValueError, OverflowError):
            raise MeasureError(
                f"{self._case.name} returned {self._returned!r:.200}, which is not a number that can be kept",
                remedy="a track_ benchmark returns the number to keep",
            ) from None
        unit = str(self._found.attribute("unit", ""))
        try:
            better = reports.read_direction(self._case.name, self._found.attribute("better"))
        except ValueError as error:
            raise MeasureError(str(error), remedy="set its attribute better to one of these, or leave it out") from None
        return ReportedNumber(name=name, value=value, unit=_UNITS.get(unit, unit), better=better)
