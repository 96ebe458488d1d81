"""Any Python callable: plain or asynchronous, with parameters, setup and teardown. Standard library only."""

from __future__ import annotations

import functools
import inspect
import platform
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from benchwright.decorator import BenchmarkMark, mark_of
from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, ResultWarning, Scalar, Target
from benchwright.system.texts import describe_error
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.failures import log_traceback
from benchwright.worker.runtimes.options import refuse_unknown
from benchwright.worker.runtimes.user_objects import load_object

# Dimensions of the matrix that say how calls are issued; every other parameter is the callable's own.
ISSUING = frozenset({"runtime", "workers", "copies", "rate"})


class Python:
    """`bench.py::encode` or `package.module:function`, called with the case's own parameters as keywords."""

    name: ClassVar[str] = "python"
    extensions: ClassVar[tuple[str, ...]] = (".py",)
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    @staticmethod
    def check(target: Target) -> None:
        """Refuses options, of which there are none."""
        refuse_unknown(target.options, (), "python")

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        if case.target.device != "cpu":
            raise DeviceError(
                f"python cannot see that device {case.target.device!r} is used",
                remedy="give the callable a parameter that chooses the device",
            )
        function = load_object(case.target.uri)
        if not callable(function):
            raise LoadError(f"{case.target.uri} is {type(function).__name__}, which cannot be called")
        mark = mark_of(function) or BenchmarkMark()
        params = {name: value for name, value in case.params.items() if name not in ISSUING}
        setup = _Setup(mark, params)
        call, arguments = bind(function, setup.arguments, _for_call(function, mark, params))
        return Loaded(
            call=call,
            arguments=(arguments,),
            is_async=_is_async(function),
            items_per_call=items_of(mark, params) or case.inputs.batch_size,
            versions={"python": platform.python_version()},
            warnings=_suspicions(function),
            close=setup.close,
        )


def bind(
    function: Callable[..., Any], first: tuple[Any, ...], params: Mapping[str, Scalar]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The callable and its positional arguments; a `partial`, which costs a dict merge per call, only if it must."""
    try:
        bound = inspect.signature(function).bind(*first, **params)
    except TypeError as error:
        given = ", ".join([*("what setup returned" for _ in first), *params]) or "nothing"
        raise LoadError(
            f"{getattr(function, '__qualname__', function)} cannot be called with {given}: {error}",
            remedy="give the missing parameters a value, for example with --param name=value",
        ) from None
    except ValueError:  # a built-in that tells no signature
        return (functools.partial(function, **params) if params else function), first
    if bound.kwargs:
        return functools.partial(function, **bound.kwargs), bound.args
    return function, bound.args


def _is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives an awaitable: a coroutine function, or an object whose `__call__` is one."""
    unwrapped = inspect.unwrap(function)
    return inspect.iscoroutinefunction(unwrapped) or inspect.iscoroutinefunction(type(unwrapped).__call__)


def _suspicions(function: Callable[..., Any]) -> tuple[ResultWarning, ...]:
    """What calling it only prepares, though it is probably meant to be measured."""
    name = getattr(function, "__qualname__", repr(function))
    if inspect.isclass(function):
        seen, remedy = f"{name} is a class, so a call makes an object", "for a torch module add --runtime torch"
        return (ResultWarning(code="constructor", seen=seen, remedy=remedy),)
    unwrapped = inspect.unwrap(function)
    if inspect.isgeneratorfunction(unwrapped) or inspect.isasyncgenfunction(unwrapped):
        seen, remedy = f"{name} is a generator function, so a call only makes the generator", "measure what consumes it"
        return (ResultWarning(code="generator", seen=seen, remedy=remedy),)
    return ()


def items_of(mark: BenchmarkMark, params: Mapping[str, Scalar]) -> int:
    """How many items one call handles, 0 when the mark does not say."""
    if isinstance(mark.items, int):
        return mark.items
    items = (
        params.get(mark.items) if isinstance(mark.items, str) else mark.items(**_named_parameters(mark.items, params))
    )
    if not isinstance(items, int) or items < 1:
        raise LoadError(f"items is {items!r}, not a whole number above 0")
    return items


class _Setup:
    """Runs a benchmark's setup at once and its teardown at `close`; the user's own errors become `LoadError`s."""

    def __init__(self, mark: BenchmarkMark, params: Mapping[str, Scalar]) -> None:
        self._mark = mark
        self._generator: Any = None
        self.arguments: tuple[Any, ...] = ()
        if mark.setup is None:
            return
        try:
            value = mark.setup(**_named_parameters(mark.setup, params))
            if inspect.isgenerator(value):
                self._generator, value = value, next(value)
        except Exception as error:  # the border to the user's code
            log_traceback(error)
            raise LoadError(f"setup failed: {describe_error(error)}", remedy="see the log") from error
        self.arguments = (value,)

    def close(self) -> None:
        generator, self._generator = self._generator, None
        if generator is not None:
            for _ in generator:
                raise LoadError("setup yielded twice", remedy="yield the value once, then tear down")
        if self._mark.teardown is not None:
            self._mark.teardown(*(self.arguments if _takes_any(self._mark.teardown) else ()))


def _for_call(function: Callable[..., Any], mark: BenchmarkMark, params: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The parameters without those that only `setup` names."""
    if mark.setup is None:
        return dict(params)
    wanted = list(inspect.signature(function).parameters.values())[1:]
    if any(p.kind is p.VAR_KEYWORD for p in wanted):
        return dict(params)
    consumed = _named_parameters(mark.setup, params).keys() - {p.name for p in wanted}
    return {name: value for name, value in params.items() if name not in consumed}


def _takes_any(function: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except ValueError:  # a built-in that tells no signature
        return True


def _named_parameters(function: Callable[..., Any], params: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The parameters that `function` names, or all of them when it takes any keyword."""
    try:
        wanted = inspect.signature(function).parameters.values()
    except ValueError:  # a built-in that tells no signature, such as dict
        return {}
    if any(p.kind is p.VAR_KEYWORD for p in wanted):
        return dict(params)
    return {p.name: params[p.name] for p in wanted if p.name in params}
