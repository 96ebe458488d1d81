"""`asv_runner.benchmarks.mark` for environments that do not have asv_runner: its marks, as suites import them.

asv installs asv_runner into every environment. Where the real package can be imported, it is used. A mark only sets an
attribute, which `suite` reads. Standard library only.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_PACKAGE = "asv_runner"
_MODULES = (_PACKAGE, f"{_PACKAGE}.benchmarks", f"{_PACKAGE}.benchmarks.mark")


class SkipNotImplemented(NotImplementedError):  # noqa: N818 - suites import it by this name
    """Raised by a benchmark that does not apply to its parameters."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message


def provide() -> None:
    """Makes the marks importable where asv_runner is not installed."""
    if _PACKAGE in sys.modules or importlib.util.find_spec(_PACKAGE) is not None:
        return
    modules = [ModuleType(name, __doc__) for name in _MODULES]
    for outer, inner in itertools.pairwise(modules):
        setattr(outer, inner.__name__.rpartition(".")[2], inner)
        outer.__path__ = []
    for name, mark in _MARKS.items():
        setattr(modules[-1], name, mark)
    sys.modules |= {module.__name__: module for module in modules}


def skip_for_params(skip_params_list: Sequence[tuple[Any, ...]]) -> Callable[[F], F]:
    """Marks combinations of parameters for which a benchmark is not run."""
    return _marks(skip_params=skip_params_list)


def skip_params_if(skip_params_list: Sequence[tuple[Any, ...]], condition: bool) -> Callable[[F], F]:
    """Marks these combinations where the condition holds."""
    return _marks(skip_params=skip_params_list) if condition else _marks()


def skip_benchmark(func: F) -> F:
    """Marks a function that is not run."""
    return _marks(skip_benchmark=True)(func)


def skip_benchmark_if(condition: bool) -> Callable[[F], F]:
    """Marks a function that is not run where the condition holds."""
    return _marks(skip_benchmark=True) if condition else _marks()


def benchmark(**attributes: Any) -> Callable[[F], F]:
    """Sets attributes such as `timeout` of a function."""
    return _marks(**attributes)


def parameterize(param_dict: Mapping[str, Sequence[Any]]) -> Callable[[Any], Any]:
    """Gives a class or a function its parameters."""
    lists = list(param_dict.values())
    return _marks(params=lists if len(lists) > 1 else lists[0], param_names=list(param_dict))


def timeout_at(seconds: float) -> Callable[[Any], Any]:
    """Says how long a function, or each method of a class, may take."""
    return _marks(timeout=seconds)


_MARKS: dict[str, Any] = {
    "SkipNotImplemented": SkipNotImplemented,
    "skip_for_params": skip_for_params,
    "skip_params_if": skip_params_if,
    "skip_benchmark": skip_benchmark,
    "skip_benchmark_if": skip_benchmark_if,
    "benchmark": benchmark,
    **dict.fromkeys(("parameterize", "parameterize_class_with", "parameterize_func_with"), parameterize),
    **dict.fromkeys(("timeout_at", "timeout_class_at", "timeout_func_at"), timeout_at),
}


def _marks(**attributes: Any) -> Callable[[F], F]:
    def mark(holder: F) -> F:
        for name, value in attributes.items():
            setattr(holder, name, value)
        return holder

    return mark
