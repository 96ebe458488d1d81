"""A benchmark class in the worker: it is constructed, set up, called, asked for its report and torn down."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright.errors import LoadError, MeasureError, did_you_mean
from benchwright.records import Better, Case, Mode, ResultWarning, Value
from benchwright.system.texts import describe_error
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.classes import conventions, object_sizes, reports
from benchwright.worker.runtimes.classes.output import OutputFolder, RootLog
from benchwright.worker.runtimes.classes.reports import ReportedNumber, Reporter
from benchwright.worker.runtimes.failures import SEE_THE_LOG, log_traceback
from benchwright.worker.runtimes.user_objects import load_object, split

if TYPE_CHECKING:
    from benchwright.worker.runtimes.classes import ClassOptions

_FRAMEWORKS = ("tensorflow", "torch")


def load(case: Case, asked: ClassOptions) -> Loaded:
    """The method that the case names, ready to be called; a `LoadError` says what is wrong with it."""
    output = OutputFolder()
    if asked.log:
        output.make()
    log = RootLog(output.folder / asked.log if asked.log else None, asked.log_level, case.name)
    try:
        with log.telling():
            return _Method(case, asked, output, log).load(case)
    except BaseException as error:
        if isinstance(error, LoadError) and (framework := _framework()):
            error.details = {"framework": framework}
        log.close()
        output.close()
        raise


class _Method:
    """One method of one instance, from its construction to its teardown."""

    def __init__(self, case: Case, asked: ClassOptions, output: OutputFolder, log: RootLog) -> None:
        begin = time.perf_counter()
        self._output, self._log = output, log
        _tell_environment(asked, output.folder)
        where, names = split(case.target.uri)
        owner, _, self._name = names.rpartition(".")
        if not owner:
            raise LoadError(
                f"{case.target.uri!r} names no class and method", remedy="write package.module.Class.method"
            )
        cls = load_object(f"{where}{'::' if where.endswith('.py') else ':'}{owner}")
        if not inspect.isclass(cls):
            raise LoadError(f"{owner} in {where} is {type(cls).__name__}, not a class")
        _let_bounds_be_absent(cls)
        self._style = asked.style or conventions.style_of(cls)
        self._kind = conventions.kind_of(self._name, self._style)
        if self._style != conventions.PLAIN or "tensorflow" in sys.modules:
            output.make()
        self._instance = _construct(cls, self._style, asked, output.folder)
        self._method = _find_method(self._instance, self._name)
        self._reporter = Reporter()
        self._given = {name: value for name, value in case.params.items() if name not in conventions.ISSUING}
        self._dimensions = conventions.dimensions_of(cls, self._name, self._style)
        self._timings: dict[str, Value] = {"class_initialization": time.perf_counter() - begin}
        self._called_at, self._took, self._peak = 0.0, 0.0, 0.0
        self._returned: Any = None
        self._cache: tuple[Any, ...] = ()
        output.expect(self._full_name)

    def load(self, case: Case) -> Loaded:
        """The method ready to be called; setup has run."""
        if self._has("setup_cache"):
            self._cache = self._call_setup("setup_cache")
        if self._has("setup"):
            self._call_setup("setup")
        framework = _framework()
        versions = {"python": platform.python_version()}
        if framework:
            versions[str(framework["name"])] = str(framework["version"])
        once = case.load.mode is Mode.SINGLE
        call, arguments = self._bind_arguments(self._method, may_report=once)
        is_async = inspect.iscoroutinefunction(inspect.unwrap(self._method))
        return Loaded(
            call=functools.partial(self._call_once, call) if once else call,
            arguments=(arguments,),
            is_async=is_async and not once,
            items_per_call=case.inputs.batch_size,
            versions=versions,
            details=self._facts(),
            begin=functools.partial(self._log.tell, "Starting benchmark execution"),
            report=self._report,
            close=self._close,
        )

    @property
    def _full_name(self) -> str:
        """`Class.method`, which is how TensorFlow names a report."""
        return f"{type(self._instance).__name__}.{self._name}"

    # ---- the user's parts ----

    def _has(self, name: str) -> bool:
        return self._style == conventions.PLAIN and callable(getattr(self._instance, name, None))

    def _call_setup(self, name: str) -> tuple[Any, ...]:
        """Calls setup or setup_cache; the user's own errors become a `LoadError`."""
        try:
            if name == "setup_cache":
                return (self._instance.setup_cache(),)
            call, arguments = self._bind_arguments(self._instance.setup)
            return (call(*arguments),)
        except LoadError:
            raise
        except (Exception, SystemExit) as error:  # the border to the user's code
            log_traceback(error)
            raise LoadError(f"{name} failed: {describe_error(error)}", remedy=SEE_THE_LOG) from error

    def _bind_arguments(
        self, function: Callable[..., Any], *, may_report: bool = False
    ) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function and its positional arguments; keywords, which cost a dict merge a call, only if it must be."""
        positional, named = conventions.arguments_of(function, self._dimensions, self._given)
        try:
            signature = inspect.signature(function)
            if may_report and conventions.REPORT in signature.parameters and conventions.REPORT not in named:
                named[conventions.REPORT] = self._reporter
            bound = signature.bind(*self._cache, *positional, **named)
        except TypeError as error:
            given = ", ".join(self._given) or "nothing"
            name = getattr(function, "__qualname__", function)
            raise LoadError(f"{name} cannot be called with {given}: {error}", remedy="see its parameters") from None
        except ValueError:  # something that tells no signature
            return functools.partial(function, **named), (*self._cache, *positional)
        return (functools.partial(function, **bound.kwargs) if bound.kwargs else function), bound.args

    def _call_once(self, call: Callable[..., Any], *arguments: Any) -> None:
        """The one call of a method that is called once."""
        with self._log.telling():
            self._called_at = time.time()
            begin = time.perf_counter()
            value = call(*arguments)
            if inspect.isawaitable(value):
                value = asyncio.run(_await(value))
            self._took = time.perf_counter() - begin
            if self._kind == conventions.PEAK:
                self._peak = object_sizes.peak_of_process()
        self._returned = value

    def _close(self) -> None:
        try:
            with self._log.telling():
                if self._has("teardown"):
                    call, arguments = self._bind_arguments(self._instance.teardown)
                    call(*arguments)
        finally:
            self._log.close()
            self._output.close()

    # ---- what it told ----

    def _report(self) -> Report:
        self._log.tell("Stopped benchmark")
        with self._log.telling():  # a report that cannot be read ends the benchmark as well
            entries = reports.read_entries(self._output.reports(self._full_name))
        numbers = [*self._numbers_of_method(), *self._reporter.numbers]
        details = self._facts()
        if entries:
            own = reports.as_entry("", numbers, 0.0).metrics
            details["report"] = reports.as_details(replace(entries[0], metrics=(*entries[0].metrics, *own)))
        elif numbers:
            details["report"] = reports.as_details(reports.as_entry(self._full_name, numbers, self._took))
        if entries[1:]:
            details["more_reports"] = [reports.as_details(entry) for entry in entries[1:]]
        for i, entry in enumerate(entries):
            numbers += reports.numbers_of_entry(entry, within=f"{entry.name}." if i else "")
        metrics, warnings = reports.metrics(numbers)
        if self._called_at and not numbers and not entries:
            warnings.append(_reported_nothing(self._full_name))
        return Report(metrics=metrics, warnings=warnings, details=details)

    def _numbers_of_method(self) -> list[ReportedNumber]:
        """The number that a track method returned, or the memory that a mem or peakmem method asks about."""
        if self._kind in (conventions.SIZE, conventions.PEAK):
            size = self._peak if self._kind == conventions.PEAK else object_sizes.size_of(self._returned)
            return [
                ReportedNumber(
                    name=self._name.removeprefix(f"{self._kind}_"), value=size, unit="B", better=Better.LOWER
                )
            ]
        if self._kind != conventions.TRACK:
            return []
        try:
            value = float(self._returned)
        except (TypeError, ValueError):
            raise MeasureError(
                f"{self._full_name} returned {self._returned!r}, which is not a number",
                remedy="a track_ method returns the number to keep",
            ) from None
        attribute = functools.partial(getattr, self._method)
        better = attribute("better", getattr(self._instance, "better", None))
        try:
            direction = reports.read_direction(self._full_name, better)
        except ValueError as error:
            raise MeasureError(str(error), remedy="set its attribute better to one of these, or leave it out") from None
        return [
            ReportedNumber(
                name=self._name.removeprefix("track_"),
                value=value,
                unit=str(attribute("unit", getattr(self._instance, "unit", ""))),
                better=direction,
            )
        ]

    def _facts(self) -> dict[str, Value]:
        facts: dict[str, Value] = {"style": self._style, "timings": self._timings}
        if self._called_at:
            facts |= {"called_at": self._called_at, "timings": {**self._timings, "method_execution": self._took}}
        framework = _framework()
        return {**facts, "framework": framework} if framework else facts


def _tell_environment(asked: ClassOptions, folder: Path) -> None:
    """What classes of TensorFlow's models look up by themselves, unless somebody has set it already."""
    os.environ.setdefault("BENCHMARK_OUTPUT_DIR", str(asked.constructor.get("output_dir") or folder))
    if asked.tpu:
        os.environ.setdefault("BENCHMARK_TPU", asked.tpu)


def _construct(cls: type, style: str, asked: ClassOptions, folder: Path) -> Any:
    try:
        return conventions.construct(
            cls,
            style,
            output_dir=str(folder),
            root_data_dir=asked.root_data_dir,
            tpu=asked.tpu,
            more=asked.constructor,
        )
    except (Exception, SystemExit) as error:  # the border to the user's code
        log_traceback(error)
        raise LoadError(
            f"{cls.__qualname__} could not be constructed: {describe_error(error)}", remedy=SEE_THE_LOG
        ) from error


def _find_method(instance: Any, name: str) -> Callable[..., Any]:
    method = getattr(instance, name, None)
    if not callable(method):
        known = conventions.methods_of(type(instance)) or [n for n in dir(instance) if not n.startswith("_")]
        raise LoadError(f"{type(instance).__qualname__} has no method {name!r}", remedy=did_you_mean(name, known))
    return method  # type: ignore[no-any-return]


def _let_bounds_be_absent(cls: type) -> None:
    """Bounds of None, which benchmarks pass for "no bound", never reach TensorFlow: not all versions take them.

    The one method that all reports go through is wrapped, in this process alone, where TensorFlow itself defines it.
    """
    for base in cls.__mro__:
        original = vars(base).get("report_benchmark")
        if original is None or not base.__module__.startswith("tensorflow."):
            continue
        signature = inspect.signature(original)

        @functools.wraps(original)
        def report_benchmark(benchmark: Any, *args: Any, **kwargs: Any) -> Any:
            # Not `self`: TensorFlow names a report after the outermost frame that has one.
            bound = signature.bind(benchmark, *args, **kwargs)  # noqa: B023 - returned from below at once
            bound.arguments["metrics"] = _without_absent(bound.arguments.get("metrics"))
            return original(*bound.args, **bound.kwargs)  # noqa: B023

        type.__setattr__(base, "report_benchmark", report_benchmark)
        return


def _without_absent(metrics: Any) -> Any:
    if not isinstance(metrics, list):
        return metrics
    bounds = ("min_value", "max_value")
    return [
        {k: v for k, v in m.items() if k not in bounds or v is not None} if isinstance(m, dict) else m for m in metrics
    ]


def _framework() -> dict[str, Value] | None:
    """The framework that the benchmark has loaded; nothing is imported to find out."""
    for name in _FRAMEWORKS:
        module = sys.modules.get(name)
        version = getattr(module, "__version__", None)
        if version is None:
            continue
        build = getattr(module, "__git_version__", None) or getattr(getattr(module, "version", None), "git_version", "")
        text = build.decode(errors="replace") if isinstance(build, bytes) else str(build or "")
        return {"name": name, "version": str(version), "build_version": text.removeprefix("b'").removesuffix("'")}
    return None


def _reported_nothing(name: str) -> ResultWarning:
    return ResultWarning(
        code=reports.NOTHING,
        seen=f"{name} reported no metric; its time is what was measured from outside",
        remedy="give the method a parameter named report and call it, or name the method time_*",
    )


async def _await(value: Any) -> Any:
    return await value
