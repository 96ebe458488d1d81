"""Summaries of values by FAI-PEP's rules: those of early 2018 and today's. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from benchwright.compat.harness.specs.settings import USUAL_STATISTICS, is_statistic, percent_of
from benchwright.errors import OptionError, did_you_mean

Summary = dict[str, float | None]

OF_THE_SEED = ("p0", "p10", "p50", "p90", "p100")


class SummaryRules(StrEnum):
    """How a percentile is read off the values."""

    SEED = "seed"  # one of the values: the one a tenth from either end; a median averages two
    TODAY = "today"  # linear interpolation


def summary(
    values: Sequence[float], *, rules: SummaryRules = SummaryRules.TODAY, statistics: Sequence[str] = ()
) -> Summary:
    """What the values come to; `{}` without any.

    `statistics` names what is wanted by today's rules, `p50` always among it; early 2018 knew five percentiles only.
    A statistic that does not exist is an `OptionError`.
    """
    names = _check_statistics(statistics) if rules is SummaryRules.TODAY else OF_THE_SEED
    if not values:
        return {}
    ordered = sorted(values)
    return {name: _statistic(name, ordered, rules) for name in names}


def summarize_entry(
    entry: Mapping[str, Any], *, rules: SummaryRules = SummaryRules.TODAY, statistics: Sequence[str] = ()
) -> dict[str, Any]:
    """An entry with `num_runs` and `summary`; one that came with its own keeps it. The seed sorted the values."""
    values = [*entry.get("values", ())]
    if rules is SummaryRules.SEED:
        values.sort()
    return {
        **entry,
        "values": values,
        "num_runs": entry.get("num_runs", len(values)),
        "summary": entry.get("summary") or summary(values, rules=rules, statistics=statistics),
    }


def percentile(ordered: Sequence[float], percent: float, rules: SummaryRules = SummaryRules.TODAY) -> float:
    """A percentile of values that are sorted."""
    count = len(ordered)
    if rules is SummaryRules.SEED and percent != 50:
        tenth = count // 10 if 0 < percent < 100 else 0
        return ordered[tenth if percent < 50 else count - tenth - 1]
    place = (count - 1) * percent / 100
    low = min(int(place), count - 1)
    high = min(low + 1, count - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _check_statistics(asked: Sequence[str]) -> tuple[str, ...]:
    for name in asked:
        if not is_statistic(name):
            remedy = f"{did_you_mean(name, USUAL_STATISTICS)} A percentile is p0 to p100, also p99.9."
            raise OptionError(f"there is no statistic {name!r}", remedy=remedy)
    return tuple(dict.fromkeys((*asked, "p50"))) if asked else USUAL_STATISTICS


def _statistic(name: str, ordered: Sequence[float], rules: SummaryRules) -> float | None:
    percent = percent_of(name)
    if percent is not None:
        return percentile(ordered, percent, rules)
    if name == "MAD":
        middle = percentile(ordered, 50)
        return percentile(sorted(abs(value - middle) for value in ordered), 50)
    mean = math.fsum(ordered) / len(ordered)
    if name == "mean":
        return mean
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / len(ordered))
    if name == "stdev":
        return deviation
    return deviation / mean if mean else None
