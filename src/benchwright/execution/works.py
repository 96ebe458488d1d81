"""The work that a result did: which of its metrics counts it, and in which pieces it is paid for.

Work is counted by a rate (items, tokens or epochs in a second) or by a time (of an epoch, of a whole run). A metric is
known by its unit, `images/s`, or by its name, `exp_per_second`; bytes and arithmetic are no items.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.records import Better, Metric
from benchwright.records.costs import AT_MAX_RATE, PER_EPOCH, PER_MILLION, PER_RUN, PER_TOKENS

THROUGHPUT = "throughput"
MAX_RATE = "max_rate"  # the highest rate that kept the objectives of a search, in calls
WALL_TIME = "wall_time"
_ASKED = ("rate", MAX_RATE)  # of arrivals: asked for, not what was done
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_PER = {"s": 1.0, "m": 1 / 60, "h": 1 / 3600}  # by the first letter of second, minute, hour
_RATE_UNIT = re.compile(
    r"(?P<what>.*?)\s*(?:/\s*|\s+per\s+)(?P<per>s(?:ec(?:onds?)?)?|min(?:utes?)?|h(?:ours?)?)", re.IGNORECASE
)
_RATE_NAME = re.compile(
    r"(?:(?P<what>.*)[_ ])?(?:throughput|per[_ ](?P<per>s(?:ec(?:ond)?)?|min(?:ute)?|hour)|fps|qps)", re.IGNORECASE
)
# A rate of bytes or of arithmetic counts no items.
_NO_ITEMS = re.compile(r"[kKMGTP]?i?(?:B|bit|bytes?|bits|FLOPS?|ops)|FLOPs?", re.IGNORECASE)
_TOKENS = re.compile(r"(?:.*[_ ])?tok(?:en)?s?", re.IGNORECASE)
_EPOCHS = re.compile(r"(?:.*[_ ])?epochs?", re.IGNORECASE)
_EPOCH_TIME = re.compile(
    r"(?:.*[_ ])?(?:epoch[_ ](?:time|duration|seconds|secs?)|(?:time|seconds|secs?)[_ ]per[_ ]epoch)"
    r"(?:[_ ](?:s|secs?|seconds))?",
    re.IGNORECASE,
)
_WHOLE_TIME = re.compile(
    r"(?:.*[_ ])?time[_ ]to[_ ](?:accuracy|target|quality|train|convergence|solution)"
    r"(?:[_ ](?:[\d.]+%?|s|secs?|seconds))*",
    re.IGNORECASE,
)
_SECONDS = re.compile(r"(?:.*[_ ])?s(?:ec(?:ond)?s?)?(?:[_ ]per[_ ]epoch)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is paid for: a metric that counts pieces in a second, or the seconds that one piece takes."""

    metric: str
    is_rate: bool
    count: float  # pieces that one cost is of: a million items, a thousand tokens, one epoch or run
    piece: str = "item"  # item, token, epoch, run or call
    scale: float = 1.0  # pieces in a second, or seconds, that one unit of the metric stands for

    @property
    def words(self) -> str:
        """What a cost is of, in words."""
        return f"one {self.piece}" if self.count == 1 else f"{self.count:,.10g} {self.piece}s"

    def rate(self, value: float) -> float:
        """Pieces in a second where the metric has this value."""
        return value * self.scale if self.is_rate else 1 / (value * self.scale)


def works_of(metrics: Sequence[Metric], items_per_call: int = 1) -> dict[str, Work]:
    """Each kind of work that the metrics count, by the name of the metric that says what it costs."""
    found: dict[str, Work] = {}
    if any(metric.name == MAX_RATE and metric.estimate.point > 0 for metric in metrics):
        found[AT_MAX_RATE] = Work(metric=MAX_RATE, is_rate=True, count=1e6, scale=items_per_call)
    if (rate := rate_of(metrics)) is not None:
        work = rate_work(rate)
        assert work is not None
        found[PER_MILLION] = work
    for metric in metrics:
        if not metric.estimate.point > 0:
            continue
        if (work := rate_work(metric)) is not None and work.piece != "item":
            name, count = (PER_TOKENS, 1e3) if work.piece == "token" else (PER_EPOCH, 1.0)
            found.setdefault(name, _of(work, count))
        elif (work := time_work(metric)) is not None:
            found.setdefault(PER_EPOCH if work.piece == "epoch" else PER_RUN, work)
    wall = next((one for one in metrics if one.name == WALL_TIME and one.unit == "s" and one.estimate.point > 0), None)
    if wall is not None:  # behind the time until an accuracy, which is reported
        found.setdefault(PER_RUN, Work(metric=WALL_TIME, is_rate=False, count=1.0, piece="run"))
    return found


def rate_of(metrics: Sequence[Metric]) -> Metric | None:
    """The metric that counts items in a time: `throughput`, else the first that its unit or its name calls a rate.

    Units such as `/s`, `images/s` and `samples per second` say so, and names such as `exp_per_second`; bytes and
    arithmetic are no items, and an epoch is none.
    """
    rates = [
        metric
        for metric in metrics
        if metric.estimate.point > 0 and (work := rate_work(metric)) is not None and work.piece != "epoch"
    ]
    return min(rates, key=lambda metric: metric.name != THROUGHPUT, default=None)


def rate_work(metric: Metric) -> Work | None:
    """The work that a metric counts in a time, a million pieces of it; None for what is no such rate."""
    if metric.better is Better.LOWER or metric.name in _ASKED:
        return None
    if metric.name == THROUGHPUT:
        return Work(metric=THROUGHPUT, is_rate=True, count=1e6)
    named = _RATE_NAME.fullmatch(metric.name)
    match = _RATE_UNIT.fullmatch(metric.unit) if metric.unit else named
    if match is None:
        return None
    what = match["what"] or (named["what"] if named else "") or ""
    if _NO_ITEMS.fullmatch(what):
        return None
    scale = _PER[(match["per"] or "s")[0].lower()]
    piece = "token" if _TOKENS.fullmatch(what) else "epoch" if _EPOCHS.fullmatch(what) else "item"
    return Work(metric=metric.name, is_rate=True, count=1e6, piece=piece, scale=scale)


def time_work(metric: Metric) -> Work | None:
    """The work of which a reported metric is the time: an epoch, or a run until it is as good as it must be."""
    for piece, form in (("epoch", _EPOCH_TIME), ("run", _WHOLE_TIME)):
        if form.fullmatch(metric.name) is None:
            continue
        # Without a unit, only a name that ends in one: a bare number may as well be minutes.
        unit = metric.unit or ("s" if _SECONDS.fullmatch(metric.name) else "")
        if unit in _TIMES:
            return Work(metric=metric.name, is_rate=False, count=1.0, piece=piece, scale=_TIMES[unit])
    return None


def any_work(metric: Metric, count: float | None = None) -> Work:
    """The work that somebody names: as it is known, else by its unit, a time of one run or items in a second."""
    known = rate_work(metric) or time_work(metric)
    if known is not None:
        return _of(known, count or (1e3 if known.piece == "token" else 1.0 if known.piece != "item" else 1e6))
    if metric.unit in _TIMES:
        piece = "call" if metric.name.startswith("latency") else "run"
        return Work(metric=metric.name, is_rate=False, count=count or 1.0, piece=piece, scale=_TIMES[metric.unit])
    return Work(metric=metric.name, is_rate=True, count=count or 1e6)


def _of(work: Work, count: float) -> Work:
    return Work(metric=work.metric, is_rate=work.is_rate, count=count, piece=work.piece, scale=work.scale)
