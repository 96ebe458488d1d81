"""What a million items cost on a machine of a known price: by the throughput, or by a rate that is reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from benchwright.records import Better, Estimate, Metric, ResultWarning

COST = "cost_per_million"
THROUGHPUT = "throughput"
NO_COST = "no-cost"
_PER_SECOND = re.compile(r"(?P<what>.*?)\s*(?:/\s*s(?:ec(?:onds?)?)?|\s+per\s+s(?:ec(?:ond)?)?)", re.IGNORECASE)
_NAMED = re.compile(r"(?:.*[_ ])?(?:throughput|per[_ ]s(?:ec(?:ond)?)?|fps|qps)", re.IGNORECASE)
# A rate of bytes or of arithmetic counts no items.
_NO_ITEMS = re.compile(r"[kKMGTP]?i?(?:B|bit|bytes?|bits|FLOPS?|ops)|FLOPs?", re.IGNORECASE)
_SHOWN = 8  # metrics that a warning names


def cost_per_million(metrics: Sequence[Metric], cost_per_hour: float) -> list[Metric]:
    """What a million items cost at that price, by the metric that `rate_of` chooses; nothing where there is none."""
    rate = rate_of(metrics)
    if rate is None:
        return []
    told = rate.estimate
    low, high = _cost(told.high, cost_per_hour), _cost(told.low, cost_per_hour)
    if low is None or high is None:  # a rate that may be nothing has a cost without an end
        low = high = None
    point = _cost(told.point, cost_per_hour)
    assert point is not None
    estimate: Estimate = replace(told, point=point, low=low, high=high, method=f"price over {rate.name}: {told.method}")
    return [Metric(name=COST, unit="", better=Better.LOWER, estimate=estimate)]


def rate_of(metrics: Sequence[Metric]) -> Metric | None:
    """The metric that counts items per second: `throughput`, else the first that its unit or its name calls a rate.

    Units such as `/s`, `images/s` and `samples per second` say so, and names such as `exp_per_second`; bytes and
    arithmetic are no items.
    """
    rates = [metric for metric in metrics if metric.estimate.point > 0 and _is_rate(metric)]
    return min(rates, key=lambda metric: metric.name != THROUGHPUT, default=None)


def no_cost(metrics: Sequence[Metric]) -> ResultWarning:
    """The warning of a result with a price and without a rate: why there is no cost, and what to do."""
    names = [metric.name for metric in metrics]
    known = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
    return ResultWarning(
        code=NO_COST,
        seen=f"no cost per million: none of the case's metrics counts items per second ({known or 'there are none'})",
        remedy="report a metric in items per second, with a unit such as images/s or a name such as images_per_second",
    )


def _is_rate(metric: Metric) -> bool:
    if metric.better is Better.LOWER or metric.name in ("rate", "max_rate"):  # asked for, not what was done
        return False
    if metric.name == THROUGHPUT:
        return True
    if match := _PER_SECOND.fullmatch(metric.unit):
        return not _NO_ITEMS.fullmatch(match["what"])
    return not metric.unit and _NAMED.fullmatch(metric.name) is not None


def _cost(rate: float | None, cost_per_hour: float) -> float | None:
    return cost_per_hour * 1e6 / (3600 * rate) if rate else None
