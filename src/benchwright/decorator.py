"""The decorator that tells Benchwright about a benchmark function. Standard library only; it wraps nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from benchwright.records import Scalar

ATTRIBUTE = "__benchwright__"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkMark:
    """The arguments of the decorator, as the function carries them."""

    params: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    setup: Callable[..., Any] | None = None
    teardown: Callable[..., Any] | None = None
    items: int | str | Callable[..., int] = 0  # 0: the batch size
    loops: int | None = None  # None: as the request says


@overload
def benchmark(function: F, /) -> F: ...


@overload
def benchmark(
    *,
    params: Mapping[str, Iterable[Scalar]] | None = None,
    setup: Callable[..., Any] | None = None,
    teardown: Callable[..., Any] | None = None,
    items: int | str | Callable[..., int] = 0,
    loops: int | None = None,
) -> Callable[[F], F]: ...


def benchmark(
    function: Any = None,
    /,
    *,
    params: Mapping[str, Iterable[Scalar]] | None = None,
    setup: Callable[..., Any] | None = None,
    teardown: Callable[..., Any] | None = None,
    items: int | str | Callable[..., int] = 0,
    loops: int | None = None,
) -> Any:
    """Marks a function as a benchmark and returns the same function.

    `params`: values for each keyword argument; every combination is a case.
    `setup`: called once before the first call with the parameters it names; what it returns is the function's first
    argument. A generator function yields that value once and tears down after it.
    `teardown`: called once after the last call, with what `setup` returned.
    `items`: how many items one call handles: a number, a parameter's name, or a function of the parameters.
    `loops`: calls per sample; 0 lets the engine choose.
    """
    mark = BenchmarkMark(params=_dimensions(params or {}), setup=setup, teardown=teardown, items=items, loops=loops)
    _check(mark)

    def attach(target: F) -> F:
        setattr(target, ATTRIBUTE, mark)
        return target

    return attach if function is None else attach(function)


def mark_of(function: object) -> BenchmarkMark | None:
    """What `benchmark` attached to a function, or None."""
    mark = getattr(function, ATTRIBUTE, None)
    return mark if isinstance(mark, BenchmarkMark) else None


def _dimensions(params: Mapping[str, Iterable[Scalar]]) -> dict[str, tuple[Scalar, ...]]:
    dimensions = {}
    for name, values in params.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"params[{name!r}] must be a list of values, not {values!r}")
        dimensions[name] = tuple(values)
        if not dimensions[name]:
            raise ValueError(f"params[{name!r}] is empty")
        for value in dimensions[name]:
            if not isinstance(value, str | int | float | bool | None):
                raise TypeError(
                    f"params[{name!r}] holds a {type(value).__name__}; use text, numbers, booleans or None, "
                    "and build anything else in setup"
                )
    return dimensions


def _check(mark: BenchmarkMark) -> None:
    if mark.loops is not None and (not isinstance(mark.loops, int) or mark.loops < 0):
        raise ValueError(f"loops must be a whole number of at least 0, not {mark.loops!r}")
    if isinstance(mark.items, int) and mark.items < 0:
        raise ValueError(f"items must not be negative, not {mark.items!r}")
    if isinstance(mark.items, str) and mark.items not in mark.params:
        raise ValueError(f"items names {mark.items!r}, which is not one of the params: {', '.join(mark.params)}")
