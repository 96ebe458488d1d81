"""From the columns of a served model's requests to metrics with intervals; docs/endpoints.md has each formula.

Times are those of requests that succeeded; how many did not is the metric `errors`, never silence. Every number can be
derived again from the raw columns and chunks, which are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchwright.execution.attempt import CopyAnswer
from benchwright.records import Better, Case, Estimate, Metric, Objective, Samples
from benchwright.stats import summary
from benchwright.stats.shares import estimate_share
from benchwright.units import objectives as bounds
from benchwright.worker.endpoints.dialect import TEXT
from benchwright.worker.endpoints.reading import NEVER
from benchwright.worker.endpoints.request_times import ERRORS, POOLED
from benchwright.worker.endpoints.traffic import Outcome
from benchwright.worker.engine.rate_search import PERCENTILE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

TOKENS = "tokens"  # the unit
QUANTILES = (50, 90, 99)
MOST_GAPS = 200_000  # gaps that are used at most: chosen from everywhere, when there are more
_FIRST = ("ttft", "ttft_any", "ttft_scheduled", "e2e", "e2e_scheduled")  # an answer without any of it keeps no bound


def derive(case: Case, answers: Sequence[CopyAnswer], percentiles: Sequence[float]) -> list[Metric]:
    """Metrics of requests, pooled over the processes that sent them."""
    requests = Requests([answer.samples for answer in answers])
    found = [_errors(requests)]
    if not requests.good.any():
        return found
    for name, times in requests.times().items():
        wanted = percentiles if name == "latency" else [*QUANTILES, *_bounded(case, name)]
        found += _time_metrics(name, times[requests.good], wanted)
    found += _gap_metrics(requests, [*QUANTILES, *_bounded(case, POOLED)])
    found += [*_rates(case, requests), *_token_metrics(requests)]
    found += _goodput(case, requests)
    return found


class Requests:
    """The requests of all copies, as columns of one length. Times are ns since the copies' common time zero."""

    def __init__(self, copies: Sequence[Samples]) -> None:
        names = copies[0].columns
        self.columns: Mapping[str, Integers] = {
            name: np.concatenate([np.frombuffer(copy.columns[name], dtype=np.int64) for copy in copies])
            for name in names
        }
        order = np.argsort(self.columns["end"], kind="stable")
        self.columns = {name: values[order] for name, values in self.columns.items()}
        self.good = self.columns["outcome"] == Outcome.OK
        self.elapsed = max(copy.elapsed for copy in copies) / 1e9
        self._copies, self._order = copies, order

    def since_sent(self, instant: str) -> Floats:
        """Seconds from the sent instant to another; NaN where that did not happen."""
        sent = self.columns["scheduled"] + self.columns["lateness"]
        return self._since(instant, sent)

    def since_scheduled(self, instant: str) -> Floats:
        """Seconds from the scheduled instant to another; NaN where that did not happen."""
        return self._since(instant, self.columns["scheduled"])

    def _since(self, instant: str, begin: Integers) -> Floats:
        return np.where(self.columns[instant] == NEVER, np.nan, (self.columns[instant] - begin) / 1e9)

    @property
    def output_tokens(self) -> Integers:
        """Tokens of each answer as the server counts them, else as we do; -1 where nobody knows."""
        told = self.columns["output_tokens"]
        return np.where(told >= 0, told, self.columns["counted_tokens"])

    def times(self) -> dict[str, Floats]:
        """Every time of a request, by the name of its metric, in seconds; NaN where a request has none."""
        columns = self.columns
        found = {
            "latency": columns["latency"] / 1e9,
            "service": columns["service"] / 1e9,
            "lateness": columns["lateness"] / 1e9,
            "ttfb": self.since_sent("first_byte"),
        }
        if (columns["first_text"] != NEVER).any():
            found |= {
                "ttft": self.since_sent("first_text"),
                "ttft_any": self.since_sent("first_any"),
                "ttft_scheduled": self.since_scheduled("first_text"),
                "e2e": self.since_sent("last_text"),
                "e2e_scheduled": self.since_scheduled("last_text"),
                "tpot": self._per_token(),
            }
        if (columns["first_reasoning"] != NEVER).any():
            found["ttft_reasoning"] = self.since_sent("first_reasoning")
            found["ttft_answer"] = self.since_sent("first_content")
        return found

    def _per_token(self) -> Floats:
        tokens = self.output_tokens
        span = (self.columns["last_text"] - self.columns["first_text"]) / 1e9
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((tokens >= 2) & (span > 0), span / np.maximum(tokens - 1, 1), np.nan)

    def gaps(self) -> tuple[Floats, Floats, Integers]:
        """Seconds between events that brought text, the same for each token where that is known, and whose they are.

        The third column is the place of the request in `columns`.
        """
        parts, places, start = [], [], 0
        place_of = np.empty(len(self._order), dtype=np.int64)
        place_of[self._order] = np.arange(len(self._order))
        for copy in self._copies:
            if copy.chunks:
                chunk = {name: np.frombuffer(values, dtype=np.int64) for name, values in copy.chunks.items()}
                text = (chunk["kind"] & int(TEXT)) != 0
                call, at, tokens = chunk["call"][text], chunk["at"][text], chunk["tokens"][text]
                order = np.argsort(call, kind="stable")
                call, at, tokens = call[order], at[order], tokens[order]
                same = call[1:] == call[:-1]
                parts.append(np.stack([np.diff(at)[same], tokens[1:][same]]))
                places.append(place_of[start + call[1:][same]])
            start += len(copy.columns["end"])
        if not parts:
            return np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)
        joined, whose = np.concatenate(parts, axis=1), np.concatenate(places)
        gaps = joined[0] / 1e9
        each = np.where(joined[1] > 0, gaps / np.maximum(joined[1], 1), np.nan)
        return gaps, each, whose


def _bounded(case: Case, name: str) -> list[float]:
    """The percentiles of a time that an objective bounds."""
    parts = (objective.metric.rpartition(PERCENTILE) for objective in case.load.objectives)
    return [float(percent) for of, found, percent in parts if found and of == name]


def _time_metrics(name: str, values: Floats, percentiles: Sequence[float]) -> list[Metric]:
    known = values[~np.isnan(values)]
    if not known.size:
        return []
    found = [_time(name, summary.mean_interval(known), known.size)]
    found += [
        _time(f"{name}_p{q:g}", summary.quantile_interval(known, q / 100), known.size) for q in sorted({*percentiles})
    ]
    if name == "latency":
        for which, value in (("min", known.min()), ("max", known.max())):
            exact = Estimate(point=float(value), low=None, high=None, method="exact")
            found.append(_time(f"latency_{which}", exact, known.size))
    return found


def _gap_metrics(requests: Requests, percentiles: Sequence[float]) -> list[Metric]:
    gaps, each, whose = requests.gaps()
    good = requests.good[whose] if whose.size else np.empty(0, dtype=bool)
    found = _time_metrics(POOLED, _thin(gaps[good]), percentiles)
    return found + _time_metrics(f"{POOLED}_token", _thin(each[good & ~np.isnan(each)]), QUANTILES)


def _thin(values: Floats) -> Floats:
    """As many values as are used, in their order: one of each stretch, at a place drawn by lot.

    Every n-th would be, of answers of equal lengths, always the gap at the same place of the answer.
    """
    if values.size <= MOST_GAPS:
        return values
    edges = np.linspace(0, values.size, MOST_GAPS + 1).astype(np.int64)
    return values[np.random.default_rng(0).integers(edges[:-1], edges[1:])]


def _rates(case: Case, requests: Requests) -> list[Metric]:
    """Completions over elapsed time, empty time included: requests that succeeded, tokens in and out of them."""
    good, seconds = requests.good, max(requests.elapsed, 1e-9)
    ends = requests.columns["end"][good]
    items = np.full(ends.size, case.inputs.batch_size)
    found = [_rate("throughput", ends, items, seconds)]
    for name, counts in (
        ("output_tokens_rate", requests.output_tokens),
        ("input_tokens_rate", requests.columns["input_tokens"]),
    ):
        known = counts[good]
        if known.size and (known >= 0).all() and known.sum():
            found.append(_rate(name, ends, known, seconds))
    return found


def _rate(name: str, ends: Integers, amounts: Integers, seconds: float, bins: int = 20) -> Metric:
    """Amounts per second, with an interval from how they spread over equal stretches of time."""
    point = float(amounts.sum()) / seconds
    method = "completions over elapsed time"
    low = high = None
    if ends.size >= 3 * bins:
        counts, _ = np.histogram(ends, bins=bins, weights=amounts)
        half = float(2.093 * counts.std(ddof=1) / math.sqrt(bins) / max(counts.mean(), 1e-12)) * point  # Student's t
        low, high, method = max(0.0, point - half), point + half, f"counts in {bins} stretches of time"
    estimate = Estimate(point=point, low=low, high=high, method=method)
    return Metric(name=name, unit="/s", better=Better.HIGHER, estimate=estimate, count=int(ends.size))


def _token_metrics(requests: Requests) -> list[Metric]:
    """Tokens of a request, and how fast one user gets them."""
    found, good = [], requests.good
    counts = {
        "output_tokens": requests.output_tokens,
        **{name: requests.columns[name] for name in ("input_tokens", "cached_tokens", "reasoning_tokens")},
    }
    for name, values in counts.items():
        known = values[good & (values >= 0)]
        if known.size:
            estimate = summary.mean_interval(known.astype(np.float64))
            found.append(Metric(name=name, unit=TOKENS, better=None, estimate=estimate, count=int(known.size)))
    tokens, whole = requests.output_tokens, requests.since_sent("last_text")
    fast = good & (tokens > 0) & (whole > 0)
    if fast.any():
        estimate = summary.mean_interval(tokens[fast] / whole[fast])
        found.append(
            Metric(name="tokens_per_user", unit="/s", better=Better.HIGHER, estimate=estimate, count=int(fast.sum()))
        )
    return found


def _errors(requests: Requests) -> Metric:
    """The share of requests that failed, in percent, with Wilson's interval."""
    count = int(requests.good.size)
    estimate = estimate_share(int((~requests.good).sum()), count)
    return Metric(name=ERRORS, unit="%", better=Better.LOWER, estimate=estimate, count=count)


def _goodput(case: Case, requests: Requests) -> list[Metric]:
    """Requests per second that succeeded and kept every bound that an objective sets for a time of requests."""
    held = requests.good.copy()
    judged = [each for each in case.load.objectives if PERCENTILE in each.metric]
    times = requests.times()
    for objective in judged:
        name = objective.metric.rpartition(PERCENTILE)[0]
        if name == POOLED:
            held &= _holds(objective, _mean_gaps(requests))
        elif name in times:
            held &= _holds(objective, times[name])
            if name in _FIRST:
                held &= ~np.isnan(times[name])
    if not judged:
        return []
    ends = requests.columns["end"][held]
    return [_rate("goodput", ends, np.ones(ends.size, dtype=np.int64), max(requests.elapsed, 1e-9))]


def _mean_gaps(requests: Requests) -> Floats:
    """The mean gap of each request; NaN where it has none."""
    gaps, _, whose = requests.gaps()
    size = requests.good.size
    counts = np.bincount(whose, minlength=size) if whose.size else np.zeros(size)
    sums = np.bincount(whose, weights=gaps, minlength=size) if whose.size else np.zeros(size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _holds(objective: Objective, values: Floats) -> NDArray[np.bool_]:
    """Which requests keep a bound; one that has no such time breaks none."""
    keeps: Callable[[float], bool] = lambda value: math.isnan(value) or bounds.holds(objective, value)  # noqa: E731
    return np.fromiter(map(keeps, values.tolist()), dtype=np.bool_, count=values.size)


def _time(name: str, estimate: Estimate, count: int) -> Metric:
    return Metric(name=name, unit="s", better=Better.LOWER, estimate=estimate, count=int(count))
