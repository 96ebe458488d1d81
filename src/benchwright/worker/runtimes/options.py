"""Reading a target's options: typed, strict, with the nearest known name when one is wrong. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from benchwright.errors import OptionError, RequestError, did_you_mean
from benchwright.records import Scalar
from benchwright.units import parse_quantity

_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def refuse_unknown(options: Iterable[str], known: Iterable[str], runtime: str) -> None:
    """Raises a `RequestError` for the first option that is not known."""
    names = set(known)
    for name in options:
        if name not in names:
            raise RequestError(f"{runtime} has no option {name!r}", remedy=did_you_mean(name, names))


def boolean(options: Mapping[str, Scalar], name: str, default: bool) -> bool:
    """An option that is true or false."""
    value = options.get(name, default)
    if isinstance(value, bool):
        return value
    answer = _TRUTH.get(str(value).lower())
    if answer is None:
        raise RequestError(f"option {name}: {value!r} is neither true nor false", remedy=f"write {name}=true")
    return answer


def whole(options: Mapping[str, Scalar], name: str, default: int, *, least: int = 0) -> int:
    """An option that is a whole number of at least `least`."""
    value = options.get(name, default)
    try:
        number = float(str(value))
        if isinstance(value, bool) or not math.isfinite(number) or number != int(number) or number < least:
            raise ValueError
    except ValueError:
        raise RequestError(
            f"option {name}: {value!r} is not a whole number of at least {least}", remedy=f"for example {name}={least}"
        ) from None
    return int(number)


def number(options: Mapping[str, Scalar], name: str, default: float, *, least: float = 0.0) -> float:
    """An option that is a finite number of at least `least`."""
    value = options.get(name, default)
    try:
        result = float(str(value))
    except ValueError:
        result = math.nan
    if isinstance(value, bool) or not math.isfinite(result) or result < least:
        raise RequestError(f"option {name}: {value!r} is not a number of at least {least:g}")
    return result


def nanoseconds(options: Mapping[str, Scalar], name: str, default: str) -> int:
    """A duration such as `5ms`, or a bare number of seconds, in nanoseconds."""
    return duration(str(options.get(name, default)), name)


def duration(text: str, name: str) -> int:
    """One duration in nanoseconds, never negative."""
    try:
        seconds = parse_quantity(text, "s", what=f"option {name}")
    except OptionError as error:
        raise RequestError(error.message, remedy=error.remedy) from None
    if seconds < 0:
        raise RequestError(f"option {name}: {text!r} is negative")
    return round(seconds * 1e9)


def choice(options: Mapping[str, Scalar], name: str, default: str, known: Iterable[str]) -> str:
    """An option that is one of a few words."""
    value = str(options.get(name, default))
    names = list(known)
    if value not in names:
        raise RequestError(f"option {name}: unknown value {value!r}", remedy=did_you_mean(value, names))
    return value
