"""How a test is run, as its spec says: time, cores, threads, variables, repeats, and the statistics of its values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from benchwright.compat.harness.specs.plans import SpecRequest
from benchwright.records import Value

THREADS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS")
USUAL_STATISTICS = ("mean", "p0", "p10", "p50", "p90", "p100", "stdev", "MAD", "cv")
_PERCENTILE = re.compile(r"p([0-9]+(?:\.[0-9]+)?)")


def number(value: Any, default: float) -> float:
    """A number, also one that a token put there as text; the default for anything else."""
    try:
        found = default if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError):
        return default
    return found if math.isfinite(found) else default


def is_number(value: Any) -> bool:
    """Whether a value is a number, also one that a token put there as text."""
    return number(value, 0.0) == number(value, 1.0)


def whole(value: Any, default: int) -> int:
    """Reads a whole number, also one that a token put there as text; the default for anything else."""
    return int(number(value, default))


def platform_args(test: Mapping[str, Any], model: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the platform arguments of the test, or those of the model where the test has none."""
    found = test.get("platform_args", model.get("platform_args"))
    return found if isinstance(found, Mapping) else {}


def timeout(test: Mapping[str, Any], model: Mapping[str, Any], asked: SpecRequest) -> float | None:
    """Seconds for each command: the test's, else the model's, else the command line's."""
    for source in (test, model, platform_args(test, model)):
        if is_number(source.get("timeout")):
            return number(source["timeout"], 0.0)
    return asked.timeout


def env(test: Mapping[str, Any], model: Mapping[str, Any], asked: SpecRequest) -> dict[str, str]:
    """Variables of the program. The spec's win over the command line's; one thread each unless somebody says more."""
    found = dict(asked.env)
    for source in (platform_args(test, model).get("env"), test.get("env")):
        if isinstance(source, Mapping):
            found |= {str(name): str(value) for name, value in source.items()}
    if not asked.on_host:
        return found
    for name in THREADS:
        count = whole(test.get(name, found.get(name, 1)), 1)
        found.pop(name, None)
        if count > 0:
            found[name] = str(count)
    return found


def cpus(test: Mapping[str, Any], model: Mapping[str, Any], asked: SpecRequest) -> tuple[int, ...]:
    """Returns the cores of the program: `cpu-list` on this machine, the mask of `taskset` on a phone. Empty: any."""
    if asked.on_host:
        core = whole(test.get("cpu-list"), -1)
        return (core,) if core > 0 else ()
    mask = _mask(platform_args(test, model).get("taskset"))
    return tuple(core for core in range(mask.bit_length()) if mask >> core & 1)


def sleep_before_run(test: Mapping[str, Any], model: Mapping[str, Any], asked: SpecRequest) -> float:
    """Seconds that a phone waits before the program; this machine does not."""
    return 0.0 if asked.on_host else number(platform_args(test, model).get("sleep_before_run"), 0.0)


def power(test: Mapping[str, Any]) -> dict[str, Value]:
    """How power is measured. Values beside `monsoon` are those of a spec from before there was such a key."""
    if test.get("metric") != "power":
        return {}
    method = str(test.get("method") or "monsoon")
    monsoon = test.get("monsoon")
    said: dict[str, Any] = dict(monsoon) if isinstance(monsoon, Mapping) else {}
    for name, default in (("collection_time", 300.0 if method == "software" else 180.0), ("voltage", 4.0)):
        said.setdefault(name, number(test.get(name), default))
    return {"method": method, **said}


def is_true(value: Any) -> bool:
    """Whether a flag is set, also when it is written as text."""
    return value is True or str(value).lower() == "true"


def _mask(value: Any) -> int:
    """The mask of `taskset`: hexadecimal, with or without 0x."""
    try:
        return int(str(value), 16) if value is not None else 0
    except ValueError:
        return 0


def is_statistic(name: str) -> bool:
    """Whether there is such a statistic."""
    return name in USUAL_STATISTICS or percent_of(name) is not None


def percent_of(name: str) -> float | None:
    """The N of `pN`, or None for a name that is no percentile."""
    match = _PERCENTILE.fullmatch(name)
    return float(match[1]) if match and float(match[1]) <= 100 else None
