"""The names of statistics, as specs and reports say them."""

from __future__ import annotations

import re

USUAL = ("mean", "p0", "p10", "p50", "p90", "p100", "stdev", "MAD", "cv")
_PERCENTILE = re.compile(r"p([0-9]+(?:\.[0-9]+)?)")


def is_known(name: str) -> bool:
    """Whether there is such a statistic."""
    return name in USUAL or percent_of(name) is not None


def percent_of(name: str) -> float | None:
    """The N of `pN`, or None for a name that is no percentile."""
    match = _PERCENTILE.fullmatch(name)
    return float(match[1]) if match and float(match[1]) <= 100 else None
