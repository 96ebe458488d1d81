"""What a suite offers, as plain data: for the child that imports it for whoever plans. Standard library only."""

from __future__ import annotations

import hashlib
import inspect
import math
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.errors import LoadError
from benchwright.system.texts import describe_error
from benchwright.worker.runtimes.asv import parameters, suite
from benchwright.worker.runtimes.asv.suite import SuiteBenchmark
from benchwright.worker.runtimes.classes.conventions import summary_of


def list_suite(folder: Path) -> dict[str, Any]:
    """Every benchmark with its combinations of parameters, and what could not be imported, with the reason."""
    content = suite.find_benchmarks(folder)
    listed: list[dict[str, Any]] = []
    broken = [list(pair) for pair in content.broken]
    for benchmark in content.benchmarks:
        try:
            listed.append(_describe(benchmark))
        except LoadError as error:
            broken.append([benchmark.place.name, error.message])
        except (Exception, SystemExit) as error:  # the border to the user's code: attributes may be anything
            broken.append([benchmark.place.name, describe_error(error)])
    return {"benchmarks": listed, "broken": broken}


def _describe(found: SuiteBenchmark) -> dict[str, Any]:
    declared = parameters.read_parameters(found.attribute("params", []), found.attribute("param_names", []))
    left_out = [tuple(each) for each in found.attribute("skip_params", ())]
    every = list(parameters.combine(declared))
    kept = [shown for shown, values in every if values not in left_out]
    cache = found.attribute("setup_cache")
    owner = found.sources[1] if found.place.owner else None
    timed = found.place.kind in suite.TIMED
    stated = found.attribute("rounds", found.attribute("processes"))
    return {
        "place": schema.encode(found.place),
        "combinations": kept,
        "names": list(declared),
        "skipped": len(every) - len(kept),
        # What is called once is called once, as in asv, unless somebody asks for more.
        "rounds": (None if stated is None else max(1, int(_number("rounds", stated) or 1))) if timed else 1,
        "timeout": _number("timeout", found.attribute("timeout")),
        "cache": _cache_key(cache) if cache is not None else "",
        "cache_timeout": _number("timeout", getattr(cache, "timeout", None)),
        "version": _version(found),
        "summary": str(getattr(found.function, "pretty_name", "") or "") or summary_of(found.function),
        "owner_summary": summary_of(type(owner)) if owner is not None else "",
    }


def _number(name: str, value: Any) -> float | None:
    try:
        number = None if value is None else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise LoadError(f"{name} is {value!r}, which is not a number")
    return number


def _cache_key(function: Any) -> str:
    """What tells one `setup_cache` from another: its module and its place in it, as in asv."""
    module = getattr(function, "__module__", "") or ""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{module.partition('.')[2] or module}:{getattr(code, 'co_firstlineno', 0)}"


def _version(found: SuiteBenchmark) -> str:
    """What the author calls its version, or what names the source of its function and its setups."""
    stated = found.attribute("version")
    if stated is not None:
        return str(stated)
    parts = [found.function, *found.hooks("setup"), found.attribute("setup_cache")]
    return hashlib.sha256("\n".join(map(_source, parts)).encode()).hexdigest()


def _source(function: Any) -> str:
    stated = getattr(function, "pretty_source", None)
    try:
        return str(stated) if stated else inspect.getsource(function)
    except (TypeError, OSError):
        return ""
