"""The fixture `benchmark`: what a test calls to have something measured. Its names are pytest-benchmark's."""

from __future__ import annotations

import functools
import inspect
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from benchwright.execution.in_process import TimedHere, time_here
from benchwright.execution.new_runs import now
from benchwright.pytest_plugin.cases import TestTerms, params_of, plain_value
from benchwright.pytest_plugin.statistics import TestStatistics
from benchwright.records import Load, Result
from benchwright.worker.engine.budget import CallRounds, prepare_rounds, prepare_within
from benchwright.worker.engine.engine import Finish, MeasuredLoad, PreparedLoad
from benchwright.worker.engine.subject import Subject
from benchwright.worker.runtimes import Loaded

if TYPE_CHECKING:
    from benchwright.worker.runtimes.pytest_node import Measurer

_PACKAGE = str(Path(__file__).parents[1])


class BenchmarkFixture:
    """Measures what a test hands over, once a test, and returns what it returns."""

    def __init__(
        self,
        item: pytest.Item,
        terms: TestTerms,
        *,
        disabled: bool,
        measurer: Measurer | None = None,
        measured: Sequence[Result] | None = None,
    ) -> None:
        self.name, self.fullname = item.name, item.nodeid
        self.group: str | None = terms.group or None
        spec = getattr(item, "callspec", None)
        self.param: str | None = spec.id if spec else None
        self.params: Mapping[str, Any] | None = params_of(item) or None
        self.extra_info: dict[str, Any] = {}
        self.disabled = disabled
        self.has_error = False
        self.stats: TestStatistics | None = None
        self.timed: TimedHere | None = None
        self.load: Load | None = None  # of `pedantic`
        self.is_used = False
        self._terms, self._measurer, self._measured = terms, measurer, measured

    @property
    def enabled(self) -> bool:
        """Whether something is measured."""
        return not self.disabled

    @property
    def group_name(self) -> str:
        """The group as a text, whatever the test set it to; "" for none."""
        return "" if self.group is None else str(plain_value(self.group))

    def __call__(self, function_to_benchmark: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls the function until its time is known, then once more, and returns what that gives.

        As a decorator it measures at once, and the name of the function is then what it returned.
        """
        __tracebackhide__ = True
        self._begin(function_to_benchmark)
        if not self.disabled and self._measured is None:
            call = functools.partial(function_to_benchmark, **kwargs) if kwargs else function_to_benchmark
            subject = Subject(call=call, arguments=(args,))
            self._measure(call, lambda: prepare_within(subject, self._terms.budget, clock=self._terms.clock))
        return self._refuse_coroutine(function_to_benchmark, function_to_benchmark(*args, **kwargs))

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable[[], Any] | None = None,
        teardown: Callable[..., Any] | None = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
    ) -> Any:
        """Makes exactly these rounds, with nothing else around: `setup` may give the arguments of each.

        Returns what the last round's call gave; where rounds have several calls, what one more call gives.
        """
        __tracebackhide__ = True
        self._begin(target)
        given = (tuple(args), dict(kwargs or {}))
        _check_rounds(rounds, warmup_rounds, iterations, setup)
        prepare_arguments = _with_setup(setup, bool(args or kwargs))
        if self.disabled:
            return _call_once(target, given, prepare_arguments, teardown)
        kept: list[Any] = [None]
        plan = CallRounds(
            rounds=rounds,
            iterations=iterations,
            warmups=warmup_rounds,
            setup=prepare_arguments,
            teardown=teardown,
            keep=lambda result: kept.__setitem__(0, result),
        )
        self.load = Load(samples=rounds, loops=iterations if iterations > 1 else 0, warmup=0.0)
        if self._measured is not None:  # the test counts on its rounds, also where nothing is timed
            plan_here = prepare_rounds(target, given, plan)
            plan_here.run(plan_here.clock.now())
        else:
            self._measure(target, lambda: prepare_rounds(target, given, plan, clock=self._terms.clock))
        return _call_once(target, given, None, teardown) if iterations > 1 else kept[0]

    def weave(self, *args: Any, **kwargs: Any) -> NoReturn:
        """pytest-benchmark replaces a function by one that is measured when somebody calls it; this one does not."""
        raise NotImplementedError(
            "Benchwright's benchmark does not weave: hand over the call instead, benchmark(function, *args); "
            "-p no:benchwright with pytest-benchmark and aspectlib installed goes on weaving"
        )

    patch = weave

    def tell(self) -> dict[str, Any]:
        """What the test says of itself beside the numbers, as its result keeps it."""
        known = {"group": self.group_name, "extra_info": plain_value(self.extra_info)}
        return {name: value for name, value in known.items() if value}

    def _begin(self, function: Callable[..., Any]) -> None:
        if self.is_used:
            raise RuntimeError("benchmark is called once a test: use another test, or parametrize this one")
        self.is_used = True
        unwrapped = inspect.unwrap(function) if callable(function) else function
        if inspect.iscoroutinefunction(unwrapped):
            raise _asynchronous(function)
        if self._measured is not None:  # in fresh processes, before
            self.stats = TestStatistics.of(self._measured) if self._measured else None

    def _refuse_coroutine(self, function: Callable[..., Any], result: Any) -> Any:
        """The result; refuses one that nobody awaited, of which only the making was timed."""
        if not inspect.iscoroutine(result) or self.disabled:
            return result
        result.close()
        raise _asynchronous(function)

    def _measure(self, call: Callable[..., Any], prepare: Callable[[], PreparedLoad]) -> None:
        __tracebackhide__ = True
        self.has_error = True
        loaded = Loaded(call=call, versions={"python": platform.python_version(), "pytest": pytest.__version__})
        try:
            if self._measurer is not None:
                loaded.prepare = lambda load, copy: self._watched(prepare())
                self._measurer.measure(loaded)
            else:
                started_at, began = now(), time.monotonic()
                self.timed = time_here(loaded, self._watched(prepare()), started_at=started_at, began=began)
        except Exception as error:  # the border to the measured code: what it raises is shown without our frames
            raise error.with_traceback(_without_ours(error)) from error.__cause__
        self.has_error = False

    def _watched(self, prepared: PreparedLoad) -> PreparedLoad:
        """The same load, of whose calls this fixture knows the figures when they are timed."""

        def time_calls(zero: int) -> Finish:
            finish = prepared.time(zero)

            def finish_and_tell() -> MeasuredLoad:
                measured = finish()
                self.stats = TestStatistics.of_samples(measured.samples, prepared.facts.loop)
                return measured

            return finish_and_tell

        return replace(prepared, time=time_calls)


def _asynchronous(function: Callable[..., Any]) -> TypeError:
    return TypeError(
        f"{getattr(function, '__qualname__', function)} is asynchronous, and a call of it only makes a "
        "coroutine: benchmark(lambda: asyncio.run(f())), or benchwright run FILE::FUNCTION, which awaits"
    )


def _check_rounds(rounds: int, warmups: int, iterations: int, setup: object) -> None:
    for name, value, least in (("rounds", rounds, 1), ("iterations", iterations, 1), ("warmup_rounds", warmups, 0)):
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} is {value!r}, and must be a whole number, {least} at least")
    if setup is not None and iterations != 1:
        raise ValueError("a round with a setup has one iteration: the arguments of the second would be used ones")


def _with_setup(setup: Callable[[], Any] | None, has_arguments: bool) -> Callable[[], Any] | None:
    """The setup, whose answer is checked: nothing, or a pair of arguments and keywords."""
    if setup is None:
        return None

    def prepare_arguments() -> Any:
        found = setup()
        if not found:
            return None
        if has_arguments:
            raise TypeError("setup gives the arguments, so leave out args and kwargs")
        positional, named = found
        return tuple(positional), dict(named)

    return prepare_arguments


def _call_once(
    target: Callable[..., Any], given: Any, prepare_arguments: Callable[[], Any] | None, teardown: Any
) -> Any:
    args, kwargs = (prepare_arguments() if prepare_arguments else None) or given
    result = target(*args, **kwargs)
    if teardown is not None:
        teardown(*args, **kwargs)
    return result


def _without_ours(error: BaseException) -> Any:
    """The traceback from where the user's code begins; all of it where none of it is the user's."""
    found = error.__traceback__
    while found is not None and found.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        found = found.tb_next
    return found or error.__traceback__
