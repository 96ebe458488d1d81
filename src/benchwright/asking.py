"""From what people type or pass to a `Request`: lists, ranges, objectives, shapes. Bad values name the flag."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from benchwright import plugins
from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Objective, Scalar
from benchwright.units import parse_quantity

if TYPE_CHECKING:
    from benchwright.hosts import Host

T = TypeVar("T")

_OBJECTIVE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(<=|>=|<|>)\s*(.+?)\s*")
_NUMBER = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
# Units of the metrics people bound, by name or by what comes before `_`; other metrics are bounded by bare numbers.
_UNITS = {
    **dict.fromkeys(("latency", "service", "lateness", "makespan", "load_time", "first_call", "warmup_time"), "s"),
    **dict.fromkeys(("throughput", "rate", "max_rate"), "/s"),
    **dict.fromkeys(("rss", "io"), "B"),
}


def several(text: str, read: Callable[[str], T], flag: str) -> list[T]:
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


def fraction(text: str, flag: str) -> float:
    """`'1%'` or `'0.01'` as 0.01."""
    value = (
        parse_quantity(text[:-1], "1", what=flag) / 100 if text.endswith("%") else parse_quantity(text, "1", what=flag)
    )
    if not 0 < value < 1:
        raise OptionError(f"{flag}: {text} is not between 0 and 100 %", remedy=f"write {flag} 1%")
    return value


def precision(text: str) -> tuple[float, float]:
    """`'1%'` of the median, or `'p99:5%'`: the fraction and the percentile it is of."""
    of, colon, amount = text.rpartition(":")
    match = _PERCENTILE.fullmatch(of)
    if colon and (match is None or not 0 < float(match[1]) < 100):
        raise OptionError(f"--precision: {of!r} is not a percentile", remedy="write --precision 1% or p99:5%")
    return fraction(amount, "--precision"), float(match[1]) if match else 50.0


def objective(text: str) -> Objective:
    """`'p99<20ms'` as a bound on latency_p99; other metrics go by their own names."""
    match = _OBJECTIVE.fullmatch(text)
    if match is None:
        raise OptionError(f"--objective: {text!r} is not METRIC<BOUND", remedy="for example --objective 'p99<20ms'")
    name, relation, bound = match.groups()
    if _PERCENTILE.fullmatch(name):
        name = f"latency_{name}"
    elif name == "mean":
        name = "latency"
    unit = _UNITS.get(name) or _UNITS.get(name.partition("_")[0], "")
    if not unit and not _NUMBER.fullmatch(bound):
        known = ["mean", "p50", "p99", "throughput", "max_rate", "rss_peak", "makespan", "service_p99", "load_time"]
        raise OptionError(f"--objective: {name!r} is no metric with a unit", remedy=did_you_mean(name, known))
    value = parse_quantity(bound, unit or "1", what="--objective")
    if unit and (value < 0 or (value == 0 and relation == "<")):
        raise OptionError(
            f"--objective: {text!r} can tell nothing: {name} is never below zero",
            remedy="bound it above zero, for example --objective 'p99<20ms'",
        )
    return Objective(metric=name, relation=relation, bound=value)


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


def pairs(texts: Iterable[str], flag: str) -> dict[str, Scalar]:
    """`'name=value'` items; numbers and true/false are recognised."""
    return {name: scalar(value) for name, value in _split(texts, flag)}


def parameter_lists(texts: Iterable[str]) -> dict[str, Sequence[Scalar]]:
    """`'size=1,2,3'` items."""
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
        raise OptionError(f"--host: {text!r} is no host", remedy="write --host container:IMAGE")
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


def frozen(options: Mapping[str, Scalar] | None) -> dict[str, Scalar]:
    """A copy of a mapping, empty for None."""
    return dict(options or {})
