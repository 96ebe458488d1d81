"""The times of requests by the names of their metrics, each as one number a request; bounds on them judged.

A request that failed is later than any bound: it never helps a percentile. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchwright.records import Objective, Samples
from benchwright.stats import ranks
from benchwright.units import objectives as bounds
from benchwright.worker.endpoints.reading import NEVER
from benchwright.worker.endpoints.traffic import Outcome
from benchwright.worker.engine.rate_search import PERCENTILE, quantile_of

if TYPE_CHECKING:
    from benchwright.worker.engine.engine import MeasuredLoad

LATE = 2**62  # ns: what a failed request is judged as
ERRORS = "errors"  # the metric: percent of requests that failed
Row = Mapping[str, int]


def _since_sent(instant: str) -> Callable[[Row], int]:
    def time_of(row: Row) -> int:
        return NEVER if row[instant] == NEVER else row[instant] - row["scheduled"] - row["lateness"]

    return time_of


def _since_scheduled(instant: str) -> Callable[[Row], int]:
    return lambda row: NEVER if row[instant] == NEVER else row[instant] - row["scheduled"]


def _per_token(row: Row) -> int:
    """Time per output token after the first."""
    tokens = row["output_tokens"] if row["output_tokens"] >= 0 else row["counted_tokens"]
    if tokens < 2 or row["first_text"] == NEVER:
        return NEVER
    return round((row["last_text"] - row["first_text"]) / (tokens - 1))


# What each time is of one request, in ns; NEVER where the request has none. docs/endpoints.md has the formulas.
TIMES: dict[str, Callable[[Row], int]] = {
    "latency": lambda row: row["latency"],
    "service": lambda row: row["service"],
    "lateness": lambda row: row["lateness"],
    "ttfb": _since_sent("first_byte"),
    "ttft": _since_sent("first_text"),
    "ttft_any": _since_sent("first_any"),
    "ttft_answer": _since_sent("first_content"),
    "ttft_reasoning": _since_sent("first_reasoning"),
    "ttft_scheduled": _since_scheduled("first_text"),
    "e2e": _since_sent("last_text"),
    "e2e_scheduled": _since_scheduled("last_text"),
    "tpot": _per_token,
}
_SINCE_SENT = frozenset({"service", "ttfb", "ttft", "ttft_any", "ttft_answer", "ttft_reasoning", "e2e"})
POOLED = "itl"  # gaps between the events of one answer, of all answers together


def rows_of(samples: Samples) -> list[Row]:
    """The columns of samples as one mapping a request."""
    names = list(samples.columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*samples.columns.values(), strict=True)]


def is_timed(metric: str) -> bool:
    """Whether a metric is a percentile of one of these times, or the share of failures."""
    name, found, percent = metric.rpartition(PERCENTILE)
    return metric == ERRORS or (bool(found) and name in (*TIMES, POOLED) and percent.replace(".", "", 1).isdigit())


def gaps_of(samples: Samples) -> dict[int, list[int]]:
    """The ns between events that brought text, by request."""
    from benchwright.worker.endpoints.dialect import TEXT

    text = int(TEXT)  # with the enumeration itself each look takes five times as long
    last: dict[int, int] = {}
    gaps: dict[int, list[int]] = {}
    chunks = samples.chunks
    for call, at, kind in zip(*(chunks.get(name, ()) for name in ("call", "at", "kind")), strict=True):
        if kind & text:
            if call in last:
                gaps.setdefault(call, []).append(at - last[call])
            last[call] = at
    return gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedObjective:
    """One bound held against what was measured: True holds with 95 % confidence, None seems to, False does not."""

    metric: str
    value: float | None  # in the unit of the metric; None where there is none, or where too many requests failed
    holds: bool | None


def judge(measured: MeasuredLoad, objectives: Sequence[Objective]) -> list[JudgedObjective]:
    """Holds every bound against the requests of a load."""
    rows = rows_of(measured.samples)
    failed = sum(row["outcome"] != Outcome.OK for row in rows)
    return [
        _judge_errors(objective, failed, len(rows))
        if objective.metric == ERRORS
        else _judge_times(objective, _times(objective.metric.rpartition(PERCENTILE)[0], rows, measured.samples))
        for objective in objectives
    ]


def breaks(measured: MeasuredLoad, objectives: Sequence[Objective]) -> bool:
    """Whether a bound is broken for sure, so that more requests would not show that it holds."""
    rows = rows_of(measured.samples)
    failed = sum(row["outcome"] != Outcome.OK for row in rows)
    return any(_breaks(objective, rows, failed, measured.samples) for objective in objectives)


def _breaks(objective: Objective, rows: Sequence[Row], failed: int, samples: Samples) -> bool:
    """By the exact binomial probability of so many requests beyond a bound, if as many as it allows were beyond it.

    The gaps of one answer are late together: so many of them count as one.
    """
    if objective.metric == ERRORS:
        return bool(rows) and share_is_above(failed, len(rows), objective.bound / 100)
    name = objective.metric.rpartition(PERCENTILE)[0]
    times = _times(name, rows, samples)
    late = sum(not bounds.holds(objective, value / 1e9) for value in times)
    together = max(1.0, len(times) / len(rows)) if name == POOLED and rows else 1.0
    return share_is_above(int(late / together), round(len(times) / together), 1.0 - quantile_of(objective))


def share_is_above(seen: int, among: int, allowed: float) -> bool:
    """Whether `seen` of `among` are so many that a share of at most `allowed` would bring them once in 100 times."""
    if seen <= allowed * among or not 0.0 <= allowed < 1.0:
        return False
    if allowed == 0.0:
        return True
    odds, fewer = among * math.log1p(-allowed), 0.0
    for count in range(seen):
        fewer += math.exp(odds)
        odds += math.log((among - count) / (count + 1) * allowed / (1.0 - allowed))
    return 1.0 - fewer < 0.01


def _times(name: str, rows: Sequence[Row], samples: Samples) -> list[int]:
    failed = {place for place, row in enumerate(rows) if row["outcome"] != Outcome.OK}
    if name == POOLED:
        gaps = gaps_of(samples)
        return [LATE if call in failed else gap for call, own in gaps.items() for gap in own] + [LATE] * len(
            failed - {*gaps}
        )
    values = [LATE if place in failed else _since_due(name, row) for place, row in enumerate(rows)]
    return [value for value in values if value != NEVER]


def _since_due(name: str, row: Row) -> int:
    """A time of a request, from the scheduled instant where it has one: a client that falls behind meets no bound."""
    value = TIMES[name](row)
    return value + row["lateness"] if name in _SINCE_SENT and value != NEVER else value


def _judge_times(objective: Objective, times: Sequence[int]) -> JudgedObjective:
    if not times:
        return JudgedObjective(metric=objective.metric, value=None, holds=False)
    estimate = ranks.quantile_estimate(times, quantile_of(objective), 0.9)  # two-sided 90 %: one-sided 95 %
    value = None if estimate.point >= LATE else estimate.point / 1e9
    if not bounds.holds(objective, estimate.point / 1e9):
        return JudgedObjective(metric=objective.metric, value=value, holds=False)
    is_sure = estimate.high is not None and estimate.confidence >= 0.85 and bounds.holds(objective, estimate.high / 1e9)
    return JudgedObjective(metric=objective.metric, value=value, holds=True if is_sure else None)


def _judge_errors(objective: Objective, failed: int, requests: int) -> JudgedObjective:
    """A share of failures by Wilson's interval, whose upper end is that of one-sided 95 %."""
    share = 100 * failed / requests if requests else None
    if share is None or not bounds.holds(objective, share):
        return JudgedObjective(metric=objective.metric, value=share, holds=False)
    is_sure = bounds.holds(objective, 100 * upper_share(failed, requests))
    return JudgedObjective(metric=objective.metric, value=share, holds=True if is_sure else None)


def upper_share(failed: int, requests: int, z: float = 1.645) -> float:
    """The upper end of Wilson's interval of a share."""
    share = failed / requests
    middle, half = (
        share + z * z / (2 * requests),
        z * math.sqrt(share * (1 - share) / requests + (z / requests / 2) ** 2),
    )
    return (middle + half) / (1 + z * z / requests)
