"""From what people type or pass to a `Request`: lists, ranges, objectives, shapes. Bad values name the flag."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from benchwright import plugins
from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Scalar, Tolerance
from benchwright.units import parse_percent, parse_quantity
from benchwright.units.objectives import objective as objective

if TYPE_CHECKING:
    from benchwright.execution.hosts import Host

T = TypeVar("T")

_TOLERANCES = {"absolute": (0, 1e300), "relative": (0, 1e300), "cosine": (-1, 1), "top": (1, 10**9)}
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")


def parse_list(text: str, read: Callable[[str], T], flag: str) -> list[T]:
    """`'1,8,max'` as a list; every item through `read`."""
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise OptionError(f"{flag}: {text!r} has an empty item", remedy=f"write {flag} A,B,C")
    return [read(item) for item in items]


def whole(flag: str, *, least: int = 1) -> Callable[[str], int]:
    """Reads a whole number of at least `least`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise OptionError(f"{flag}: {text!r} is not a whole number") from None
        if number < least:
            raise OptionError(f"{flag}: {number} is below {least}")
        return number

    return read


def copies(text: str) -> int:
    """A number of copies; `max` is one per CPU this process may use."""
    return available_cpus() if text == "max" else whole("--copies")(text)


def available_cpus() -> int:
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def positive(text: str, unit: str, flag: str) -> float:
    """A quantity above zero, in base units."""
    value = parse_quantity(text, unit, what=flag)
    if not value > 0:
        raise OptionError(f"{flag}: {text} is not above zero")
    return value


def precision(text: str) -> tuple[float, float]:
    """`'1%'` of the median, or `'p99:5%'`: the fraction and the percentile it is of."""
    of, colon, amount = text.rpartition(":")
    match = _PERCENTILE.fullmatch(of)
    if colon and (match is None or not 0 < float(match[1]) < 100):
        raise OptionError(f"--precision: {of!r} is not a percentile", remedy="write --precision 1% or p99:5%")
    return parse_percent(amount, "--precision", zero=False), float(match[1]) if match else 50.0


def tolerance(text: str) -> Tolerance:
    """`'1e-3'` is a relative one; `'relative=1e-3,absolute=1e-5,cosine=0.999,top=5'` names each."""
    found: dict[str, float] = {}
    for item in text.split(","):
        name, _, number = item.rpartition("=")
        name = name.strip() or "relative"
        if name not in _TOLERANCES:
            raise OptionError(
                f"--tolerance: {name!r} is not a kind of tolerance", remedy=did_you_mean(name, _TOLERANCES)
            )
        try:
            found[name] = int(number) if name == "top" else float(number)
        except ValueError:
            found[name] = math.nan
        least, most = _TOLERANCES[name]
        if not least <= found[name] <= most:  # nor when it is no number at all
            raise OptionError(
                f"--tolerance: {item.strip()!r} is not a number from {least:g} to {most:g}",
                remedy="write 1e-3, or absolute=1e-5,top=5",
            )
    return Tolerance(**found)  # type: ignore[arg-type]


def shapes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """`'input:1x3x224x224'`, or `'1x3x224x224'` for every input."""
    found = {}
    for text in texts:
        name, _, numbers = text.rpartition(":")
        try:
            found[name] = tuple(whole("--shape")(n) for n in re.split(r"[x,]", numbers))
        except OptionError:
            raise OptionError(f"--shape: {text!r} is not NAME:1x3x224x224") from None
    return found


def values(texts: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """`'sr=16000'` items, or `'size=640,480'`: numbers for an input, one for all its elements or one for each."""
    found = {}
    for text in texts:
        name, equals, numbers = text.rpartition("=")
        given = [scalar(number.strip()) for number in numbers.split(",")]
        if not (name and equals) or not all(isinstance(number, int | float) for number in given):
            raise OptionError(f"--value: {text!r} is not NAME=NUMBER", remedy="write --value sr=16000")
        found[name] = tuple(float(cast(float, number)) for number in given)
    return found


def parse_feedback(texts: Iterable[str]) -> dict[str, str]:
    """`'state=stateN'` items: an input and the output it takes; `'state'` alone leaves the output to be found."""
    found = {}
    for text in texts:
        name, _, output = text.partition("=")
        if not name:
            raise OptionError(f"--feed-back: {text!r} is not INPUT=OUTPUT", remedy="write --feed-back state=stateN")
        found[name] = output
    return found


def pairs(texts: Iterable[str], flag: str) -> dict[str, Scalar]:
    """`'name=value'` items; numbers and true/false are recognised."""
    return {name: scalar(value) for name, value in _split(texts, flag)}


def parameter_lists(texts: Iterable[str]) -> dict[str, Sequence[Scalar]]:
    """Reads items such as `'size=1,2,3'` into lists of parameter values."""
    return {name: [scalar(v) for v in value.split(",")] for name, value in _split(texts, "--param")}


def cpu_list(text: str) -> tuple[int, ...]:
    """`'0,2-3'` as (0, 2, 3); CPUs that are not there are named."""
    found: list[int] = []
    for item in text.split(","):
        low, dash, high = item.partition("-")
        read = whole("--cpus", least=0)
        found.extend(range(read(low), read(high) + 1) if dash else [read(low)])
    there = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    absent = [cpu for cpu in found if cpu not in there]
    if absent or not found:
        raise OptionError(f"--cpus: {text!r} names CPUs that cannot be used", remedy=f"use some of {sorted(there)}")
    return tuple(dict.fromkeys(found))


def host(text: str) -> Host | None:
    """`'container:IMAGE'` as a host; None for `'local'`, this machine."""
    kind, _, rest = text.partition(":")
    if kind == "local" and not rest:
        return None
    found = plugins.load("hosts", kind)
    if not hasattr(found, "from_text") or not rest:
        raise OptionError(f"--host: {text!r} is not a host", remedy="write --host container:IMAGE, or adb:SERIAL")
    return cast("Host", found.from_text(rest))


def scalar(text: str) -> Scalar:
    """A finite number, true, false, or the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return text


def _split(texts: Iterable[str], flag: str) -> Iterable[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise OptionError(f"{flag}: {text!r} is not NAME=VALUE")
        yield name, value


def one_or_many(value: T | Sequence[T] | None, default: Sequence[T]) -> Sequence[T]:
    """A keyword argument that takes one value or a list."""
    if value is None:
        return default
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [value]
    return list(value)


def whole_number(value: object, what: str) -> int:
    """A count of at least one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"{what}: {value!r} is not a whole number of at least 1")
    return value
