"""Single requests to a served model, out of the raw columns and chunks: waterfalls, distributions, what failed when.

Numbers are derived as the metrics are (`execution.endpoint_metrics`), so a picture and a table never differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchwright.analysis.calls import WeightedLatencies
from benchwright.analysis.request_failures import kind_of
from benchwright.execution.endpoint_metrics import Requests
from benchwright.records import Result, Samples
from benchwright.worker.endpoints.dialect import TEXT
from benchwright.worker.endpoints.reading import NEVER
from benchwright.worker.endpoints.traffic import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchwright.analysis.calls import Floats

MOST_REQUESTS = 50  # of a waterfall
SCATTERED = 8.0  # times the longest request
MOST_TICKS = 128  # of one request; evenly chosen, when there are more
TTFT, ITL = "ttft", "itl"
# What a span is made of; a file of another tool may hold less.
_NEEDED = (
    *("latency", "end", "scheduled", "lateness", "outcome", "service"),
    *("first_byte", "first_any", "first_text", "first_reasoning", "first_content", "last_text"),
    *("input_tokens", "output_tokens", "counted_tokens"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSpan:
    """One request from its scheduled instant to its end. Instants are seconds since time zero, None: never."""

    copy: int
    number: int  # in its copy, in the order of sending
    scheduled: float
    sent: float
    first_byte: float | None
    first_text: float | None
    end: float
    ticks: tuple[float, ...]  # events that brought text
    outcome: str  # "" where it succeeded, else the class of its failure
    output_tokens: int | None

    @property
    def latency(self) -> float:
        """Seconds from the scheduled instant to the end."""
        return self.end - self.scheduled


def are_scattered(spans: Sequence[RequestSpan]) -> bool:
    """Whether requests lie so far apart that a common axis shows bars without a length: each then begins at zero."""
    whole = max(span.end for span in spans) - min(span.scheduled for span in spans)
    return whole > SCATTERED * max(span.latency for span in spans)


def has_requests(results: Iterable[Result]) -> bool:
    """Whether there are raw requests of a served model."""
    return any(_kept(result) for result in results)


def slowest_requests(result: Result, most: int = MOST_REQUESTS) -> list[RequestSpan]:
    """The requests that took longest, those that failed among them, in the order in which they were scheduled."""
    latencies = [(int(value), place) for place in _places(result) for value in [_cell(place, "latency")]]
    chosen = sorted(latencies, key=lambda one: -one[0])[:most]
    return _spans([place for _, place in chosen])


def requests_around(result: Result, instant: float, most: int = MOST_REQUESTS) -> list[RequestSpan]:
    """The requests that were going on at an instant, or began or ended nearest to it, in the order of scheduling."""
    at = round(instant * 1e9)
    near = sorted(_places(result), key=lambda place: _distance(place, at))[:most]
    return _spans(near)


def request_times(results: Sequence[Result], name: str) -> WeightedLatencies | None:
    """How often each time of requests that succeeded occurred; `itl` is of the gaps, other names are of `times`."""
    parts = [values for result in results for values in _values_of(result, name)]
    values = np.sort(np.concatenate(parts)) if parts else np.empty(0)
    if not values.size:
        return None
    return WeightedLatencies(
        seconds=values,
        counts=np.ones(values.size, dtype=np.int64),
        shortest=float(values[0]),
        longest=float(values[-1]),
    )


def times_over_time(result: Result, name: str) -> tuple[Floats, Floats]:
    """When each request that succeeded ended, and one of its times, in seconds; in order of the first."""
    if not _kept(result):
        return np.empty(0), np.empty(0)
    requests = Requests(_kept(result))
    values = requests.times().get(name)
    if values is None:
        return np.empty(0), np.empty(0)
    known = requests.good & ~np.isnan(values)
    return requests.columns["end"][known] / 1e9, values[known]


def failures_over_time(result: Result) -> list[tuple[float, float, str]]:
    """Every request that failed: when it ended, how long it had taken, and its class."""
    found = []
    for samples in _kept(result):
        columns = samples.columns
        for end, latency, outcome in zip(columns["end"], columns["latency"], columns["outcome"], strict=True):
            if outcome != Outcome.OK:
                found.append((end / 1e9, latency / 1e9, kind_of(outcome)))
    return sorted(found)


# ---- single requests ----

_Place = tuple[Samples, int]


def _kept(result: Result) -> list[Samples]:
    """The copies whose requests are there with all that is needed of them."""
    return [
        samples
        for samples in result.samples
        if len(samples.columns.get("end", ()))
        and {len(samples.columns.get(name, ())) for name in _NEEDED} == {len(samples.columns["end"])}
    ]


def _places(result: Result) -> Iterator[_Place]:
    return ((samples, number) for samples in _kept(result) for number in range(len(samples.columns["end"])))


def _cell(place: _Place, name: str) -> int:
    samples, number = place
    return samples.columns[name][number]


def _distance(place: _Place, at: int) -> int:
    """By how much a request misses an instant; 0 where it was going on."""
    begin, end = _cell(place, "scheduled"), _cell(place, "end")
    return max(begin - at, at - end, 0)


def _spans(places: Sequence[_Place]) -> list[RequestSpan]:
    wanted: dict[int, tuple[Samples, set[int]]] = {}
    for samples, number in places:
        wanted.setdefault(id(samples), (samples, set()))[1].add(number)
    ticks = {key: _ticks(samples, numbers) for key, (samples, numbers) in wanted.items()}
    found = [_span(place, ticks[id(place[0])].get(place[1], ())) for place in places]
    return sorted(found, key=lambda span: (span.scheduled, span.copy, span.number))


def _span(place: _Place, ticks: Sequence[float]) -> RequestSpan:
    samples, number = place
    scheduled, outcome = _cell(place, "scheduled"), _cell(place, "outcome")
    tokens = [count for name in ("output_tokens", "counted_tokens") if (count := _cell(place, name)) >= 0]
    return RequestSpan(
        copy=samples.copy,
        number=number,
        scheduled=scheduled / 1e9,
        sent=(scheduled + _cell(place, "lateness")) / 1e9,
        first_byte=_instant(place, "first_byte"),
        first_text=_instant(place, "first_text"),
        end=_cell(place, "end") / 1e9,
        ticks=tuple(ticks),
        outcome="" if outcome == Outcome.OK else kind_of(outcome),
        output_tokens=tokens[0] if tokens else None,
    )


def _instant(place: _Place, name: str) -> float | None:
    value = _cell(place, name)
    return None if value == NEVER else value / 1e9


def _ticks(samples: Samples, numbers: set[int]) -> Mapping[int, tuple[float, ...]]:
    """The instants of text of these requests."""
    if not samples.chunks:
        return {}
    call, at, kind = (np.frombuffer(samples.chunks[name], dtype=np.int64) for name in ("call", "at", "kind"))
    chosen = np.isin(call, np.fromiter(numbers, dtype=np.int64)) & ((kind & int(TEXT)) != 0)
    call, at = call[chosen], at[chosen]
    return {number: _thin(at[call == number]) for number in numbers}


def _thin(instants: NDArray[np.int64]) -> tuple[float, ...]:
    if instants.size > MOST_TICKS:
        instants = instants[np.linspace(0, instants.size - 1, MOST_TICKS).astype(np.int64)]
    return tuple((instants / 1e9).tolist())


# ---- all of them ----


def _values_of(result: Result, name: str) -> Iterator[Floats]:
    if not _kept(result):
        return
    requests = Requests(_kept(result))
    if name == ITL:
        gaps, _, whose = requests.gaps()
        yield gaps[requests.good[whose]] if whose.size else gaps
    elif (values := requests.times().get(name)) is not None:
        yield values[requests.good & ~np.isnan(values)]
