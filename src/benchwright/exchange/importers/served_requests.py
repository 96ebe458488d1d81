"""Requests to a served model, as other tools recorded them: numbers with intervals, samples, and the ones that failed.

A number has one of Benchwright's names only where it has Benchwright's formula. `docs/interop.md` has the table.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchwright.errors import DecodeError
from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.records import (
    Better,
    Case,
    Failure,
    Metric,
    Mode,
    Result,
    ResultWarning,
    Samples,
    Value,
)
from benchwright.stats import histogram, summary
from benchwright.stats.shares import estimate_share
from benchwright.system.masking import mask_url
from benchwright.units import limits

PERCENTILES = (50.0, 90.0, 95.0, 99.0)
TOKENS = "tokens"
LONGEST = 1e9  # seconds of one request; what is longer is no measurement, and no nanoseconds of 64 bits
MOST_REQUESTS = 10**12  # of one load
MOST_KINDS = 10  # of failures that a result keeps apart
_MOST_LETTERS = 200
_RATES = ("tokens_per_user", "tokens_per_user_any", "tokens_per_user_after_first")
_OF_THE_CLIENT = ("client_queue", "issue_delay")  # what the other tool's client did says nothing of the server
_OF_A_LOOP = ("latency", "end", "scheduled", "lateness", "service")
_SECRET = re.compile(r"(?i)\b(bearer\s+|api[-_ ]?key\W{1,3}|sk-)[\w.~+/=-]{6,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRequest:
    """A request that was answered: its instants in seconds of one clock, and its numbers by the metric's name."""

    sent: float
    end: float  # the last instant that the tool kept of it
    scheduled: float | None = None  # known in an open loop
    numbers: Mapping[str, float] = field(default_factory=dict)
    gaps: Sequence[float] = ()  # between its chunks, in seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLoad:
    """What one load came to: the requests that were answered, those that failed and those that were cut off."""

    answered: int
    failed: int = 0
    cut: int = 0  # when the time was over: neither answered nor failed
    reasons: Mapping[str, int] = field(default_factory=dict)  # of failures, by message
    requests: Sequence[ServedRequest] = ()  # those answered ones of which the file tells
    gaps_name: str = "itl"
    is_timed: bool = True  # whether the instants are known; without, only how long each took


def result_of(
    told: Provenance,
    case: Case,
    load: ServedLoad,
    *,
    reported: Iterable[Metric] = (),
    duration: float = 0.0,
    details: Mapping[str, Value] | None = None,
    warnings: Iterable[ResultWarning] = (),
) -> Result:
    """The result of one load. Where no request was answered it is a failed one, without any latency."""
    _refuse_impossible_counts(load)
    failure = _failure(load)
    derived = [] if failure else derive(load)
    metrics: dict[str, Metric] = {}
    for metric in [] if failure else [*derived, *reported]:
        metrics.setdefault(metric.name, metric)  # what was derived comes first, and counts
    kept = {**(details or {}), "requests": _counts(load)}
    made = construction.result(
        told,
        case,
        metrics=[*metrics.values(), *_errors(load)],
        failure=failure,
        duration=duration,
        details={key: value for key, value in kept.items() if value not in (None, "", {}, [])},
        warnings=[*warnings, *_load_warnings(load)],
    )
    return made if failure else replace(made, samples=_samples(load, case.load.mode))


def derive(load: ServedLoad) -> list[Metric]:
    """The metrics of the requests that the file tells one by one, in the order in which they ended."""
    ordered = sorted(load.requests, key=lambda request: request.end)
    names = dict.fromkeys(name for request in ordered for name in request.numbers)
    if all(request.numbers.get("ttft_answer") == request.numbers.get("ttft") for request in ordered):
        names.pop("ttft_answer", None)  # a model that does not reason before it answers
    what = "" if len(ordered) == load.answered else f"; a sample of {len(ordered)} of {load.answered} requests"
    found = []
    for name in names:
        values = [request.numbers[name] for request in ordered if name in request.numbers]
        found += distribution(name, values, note=what)
    gaps = [gap for request in ordered for gap in request.gaps]
    return [*found, *distribution(load.gaps_name, gaps, note=what)]


def distribution(name: str, values: Sequence[float], *, note: str = "") -> list[Metric]:
    """The mean under the metric's name and its percentiles, each with its interval; nothing without values."""
    if not values:
        return []
    mean = construction.mean_of(values)
    unit, better = unit_of(name)
    wanted = (50.0,) if unit == TOKENS else PERCENTILES
    levels = [(f"{name}_p{q:g}", summary.quantile_interval(values, q / 100)) for q in wanted]
    return [
        Metric(
            name=each,
            unit=unit,
            better=better,
            estimate=summary.within_limits(replace(one, method=one.method + note), limits(name, unit)),
            count=len(values),
        )
        for each, one in [(name, mean), *levels]
    ]


def unit_of(name: str) -> tuple[str, Better | None]:
    """The unit of a request's number, and which direction is better."""
    if name in _RATES:
        return "/s", Better.HIGHER
    if name.endswith(TOKENS):
        return TOKENS, None
    return "s", None if name in _OF_THE_CLIENT else Better.LOWER


def rate(name: str, value: float | None, what: str, count: int = 1) -> list[Metric]:
    """A rate that is known of the whole load only; None gives nothing."""
    return construction.reported_metrics(name, "/s", Better.HIGHER, value, what=what, count=max(1, count))


def span(start: float | None, end: float | None) -> float | None:
    """The seconds between two instants; None where one is not known, or where the clock was set back between them."""
    if start is None or end is None or end < start:
        return None
    if end - start > LONGEST:
        raise DecodeError(
            f"a request of {end - start:g} s is longer than anything that is measured",
            remedy="look at the program that wrote the file",
        )
    return end - start


def known(numbers: Mapping[str, float | None]) -> dict[str, float]:
    """The numbers that there are."""
    return {name: number for name, number in numbers.items() if number is not None}


def short_reason(text: str) -> str:
    """The line of an error that says most: the last of a traceback, without secrets, not too long."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    line = (lines[-1] if lines[:1] == ["Traceback (most recent call last):"] else lines[0]) if lines else "no reason"
    line = _SECRET.sub(r"\1***", mask_url(line))
    return line if len(line) <= _MOST_LETTERS else f"{line[: _MOST_LETTERS - 3]}..."


def count_reasons(texts: Iterable[str]) -> dict[str, int]:
    """How often each reason was given, the most frequent first; what is rare is one row of its own."""
    counts = Counter(map(short_reason, texts)).most_common()
    kept, rest = dict(counts[:MOST_KINDS]), sum(number for _, number in counts[MOST_KINDS:])
    return {**kept, "other reasons": rest} if rest else kept


def _refuse_impossible_counts(load: ServedLoad) -> None:
    for what, count in (("answered", load.answered), ("failed", load.failed), ("cut off", load.cut)):
        if not 0 <= count <= MOST_REQUESTS:
            raise DecodeError(
                f"{count:.6g} requests were {what}, which cannot be", remedy="look at the program that wrote the file"
            )


def _errors(load: ServedLoad) -> list[Metric]:
    total = load.answered + load.failed
    if not total:
        return []
    share = estimate_share(load.failed, total)
    return [Metric(name="errors", unit="%", better=Better.LOWER, estimate=share, count=total)]


def _failure(load: ServedLoad) -> Failure | None:
    if load.answered:
        return None
    if not load.failed:
        cut = f": {load.cut} were cut off when the time was over" if load.cut else ""
        return Failure(kind="empty", message=f"no request was answered{cut}", remedy="measure for longer")
    most = next(iter(load.reasons), "no reason was given")
    return Failure(
        kind="errors",
        message=f"all {load.failed} requests failed; most often: {most}",
        remedy="a server that answers nothing has no latency; see its log and the client's settings",
    )


def _counts(load: ServedLoad) -> dict[str, Value]:
    counts: dict[str, Value] = {"answered": load.answered, "failed": load.failed, "cut_off": load.cut}
    return {**counts, "reasons": dict(load.reasons)} if load.reasons else counts


def _load_warnings(load: ServedLoad) -> list[ResultWarning]:
    found = []
    total = load.answered + load.failed + load.cut
    if load.answered and load.cut > 0.05 * total:
        found.append(
            ResultWarning(
                code="requests-cut-off",
                seen=f"{load.cut} of {total} requests were cut off when the time was over: long ones, and in no number",
                remedy="measure for longer, or by a count of requests",
            )
        )
    if load.answered and load.requests and len(load.requests) != load.answered:
        found.append(
            ResultWarning(
                code="requests-sampled",
                seen=f"the file holds {len(load.requests)} of the {load.answered} requests that were answered",
                remedy="have the tool keep them all; percentiles of a sample have wider intervals",
            )
        )
    return found


def _samples(load: ServedLoad, mode: Mode) -> tuple[Samples, ...]:
    """The requests as nanoseconds since the first of them, in the order in which they ended."""
    ordered = sorted(load.requests, key=lambda request: request.end)
    if not ordered or not load.is_timed:
        return ()
    zero = min(_begin(request, mode) for request in ordered)
    columns = {
        "latency": [request.end - _begin(request, mode) for request in ordered],
        "end": [request.end - zero for request in ordered],
    }
    if mode is Mode.OPEN and all(request.scheduled is not None for request in ordered):
        columns["scheduled"] = [_begin(request, mode) - zero for request in ordered]
        columns["lateness"] = [max(0.0, request.sent - _begin(request, mode)) for request in ordered]
        columns["service"] = [request.end - request.sent for request in ordered]
    for name in ordered[0].numbers:
        if name not in _OF_A_LOOP and unit_of(name)[0] == "s" and all(name in request.numbers for request in ordered):
            columns[name] = [request.numbers[name] for request in ordered]
    gaps = [_nanoseconds(gap) for request in ordered for gap in request.gaps]
    return (
        Samples(
            copy=0,
            calls=len(ordered),
            loops=1,
            elapsed=_nanoseconds(ordered[-1].end - zero),
            columns={name: array("q", map(_nanoseconds, values)) for name, values in columns.items()},
            histograms={load.gaps_name: histogram.fold(gaps)} if gaps else {},
        ),
    )


def _begin(request: ServedRequest, mode: Mode) -> float:
    """The instant from which the latency of a request counts."""
    return request.scheduled if mode is Mode.OPEN and request.scheduled is not None else request.sent


def _nanoseconds(seconds: float) -> int:
    if not 0 <= seconds <= LONGEST:
        raise DecodeError(
            f"the requests lie {seconds:g} s apart, which is more than is measured",
            remedy="look at the program that wrote the file",
        )
    return round(seconds * 1e9)
