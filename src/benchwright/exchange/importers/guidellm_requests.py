"""What a GuideLLM report tells of requests: each with its instants, and the summaries where it keeps none."""

from __future__ import annotations

from collections.abc import Iterator

from benchwright.exchange.importers import served_requests
from benchwright.exchange.importers.place import DocumentPlace
from benchwright.exchange.importers.served_requests import ServedLoad, ServedRequest, span
from benchwright.records import Better, Estimate, Metric

# GuideLLM's name, ours, and what one of its units is in ours. Weighted by tokens, so that no name of ours fits:
WEIGHTED = {"inter_token_latency_ms": "itl_token_weighted", "time_per_output_token_ms": "tpot_with_first"}
_SUMMARIES = {
    "time_to_first_token_ms": ("ttft", 1e-3),
    "time_to_first_output_token_ms": ("ttft_answer", 1e-3),
    "request_latency": ("e2e_close", 1.0),
    "output_token_count": ("output_tokens", 1.0),
    "prompt_token_count": ("input_tokens", 1.0),
    **{theirs: (ours, 1e-3) for theirs, ours in WEIGHTED.items()},
}
_LEVELS = {"p50": "_p50", "p90": "_p90", "p95": "_p95", "p99": "_p99"}


def load_of(row: DocumentPlace, *, is_open: bool) -> ServedLoad:
    """The requests of one benchmark that lie in the time that counts, as GuideLLM decides it."""
    totals = (row["metrics"] if "request_totals" in row["metrics"].mapping() else row)["request_totals"]
    lists = row["requests"]
    answered = [one for place in lists["successful"] if (one := _request(place, row, is_open=is_open)) is not None]
    failed = totals["errored"].maybe()
    reasons = (_reason(place) for place in lists["errored"])
    return ServedLoad(
        answered=_count(totals["successful"], len(answered)),
        failed=int(failed) if failed is not None else len(list(lists["errored"])),
        cut=_count(totals["incomplete"], 0),
        reasons=served_requests.count_reasons(reasons),
        requests=answered,
    )


def summaries(row: DocumentPlace, *, is_open: bool) -> Iterator[Metric]:
    """The distributions of answered requests, as GuideLLM gives them, with its intervals where it has some."""
    metrics, is_old = row["metrics"], _is_old(row)
    named = dict(_SUMMARIES)
    if is_old:  # which divides the time after the first token by all tokens, whatever its text says
        named["time_per_output_token_ms"] = ("tpot_over_all", 1e-3)
    scheduled = metrics["request_scheduled_latency"].data is not None
    confidence = row["config"]["confidence"].maybe() or 0.95
    rows = [(key, *ours) for key, ours in named.items()]
    if scheduled or not is_open:
        rows.append(("request_scheduled_latency" if is_open else "request_latency", "latency", 1.0))
    for key, name, factor in rows:
        place = metrics[key]
        if place.data is not None:
            yield from _summary(_our_name(name, row), place["successful"], factor, confidence)


def _summary(name: str, place: DocumentPlace, factor: float, confidence: float) -> Iterator[Metric]:
    """Mean and percentiles. Where a request has no such instant GuideLLM counts 0, so a mean of 0 is none."""
    if place.data is None or not place["mean"].maybe() or not place["count"].maybe():
        return
    unit, better = served_requests.unit_of(name)
    if name in WEIGHTED.values():
        better = Better.LOWER
    levels = [("", "mean", place["mean"], place["mean_ci"])]
    levels += [
        (end, level, place["percentiles"][level], place["percentile_cis"][level]) for level, end in _LEVELS.items()
    ]
    for ending, word, point, interval in levels:
        value = point.maybe()
        if value is None:
            continue
        ends = (interval["lower"].maybe(), interval["upper"].maybe()) if interval.data is not None else (None, None)
        low, high = (None if end is None else end * factor for end in ends)
        estimate = Estimate(
            point=value * factor,
            low=low if high is not None else None,
            high=high if low is not None else None,
            confidence=confidence if 0 < confidence < 1 else 0.95,
            method=f"reported: {word} of the answered requests",
        )
        yield Metric(
            name=name + ending, unit=unit, better=better, estimate=estimate, count=int(place["count"].maybe() or 1)
        )


def _request(place: DocumentPlace, row: DocumentPlace, *, is_open: bool) -> ServedRequest | None:
    """A request with its instants; None where it lies outside of the time that counts."""
    told = _old_instants(place) if _is_old(row) else _instants(place)
    sent, end = told["sent"], told["end"]
    from_, until = row["start_time"].maybe(), row["end_time"].maybe()
    if sent is None or end is None or end < sent:
        return None
    if (from_ is not None and end < from_) or (until is not None and sent > until):
        return None
    output, first, last = told["output"], told["first"], told["last"]
    scheduled = told["scheduled"] if is_open else sent
    after = span(first, last)
    e2e = span(sent, last)
    ours = {
        "ttft": span(sent, first),
        "ttft_answer": span(sent, told["answer"]),
        "tpot": after / (output - 1) if after is not None and output and output > 1 else None,
        "e2e": e2e,
        "e2e_close": span(sent, end),
        "latency": span(scheduled, end),
        "lateness": span(scheduled, sent) if is_open else None,
        "tokens_per_user": output / e2e if e2e and output else None,
        "output_tokens": output,
        "input_tokens": told["input"],
    }
    numbers = {_our_name(name, row): number for name, number in served_requests.known(ours).items()}
    return ServedRequest(sent=sent, end=end, scheduled=scheduled if is_open else None, numbers=numbers)


def _instants(place: DocumentPlace) -> dict[str, float | None]:
    times = place["info"]["timings"]
    tokens = place["output_tokens"].maybe()
    return {
        "scheduled": _since_1970(times["targeted_start"]),
        "sent": times["request_start"].maybe(),
        "first": times["first_token_iteration"].maybe(),
        "answer": times["first_output_token_iteration"].maybe(),
        "last": times["last_token_iteration"].maybe(),
        "end": times["request_end"].maybe(),
        "output": tokens if tokens is not None else place["output_metrics"]["text_tokens"].maybe(),
        "input": place["prompt_tokens"].maybe(),
    }


def _old_instants(place: DocumentPlace) -> dict[str, float | None]:
    return {
        "scheduled": _since_1970(place["scheduler_info"]["targeted_start_time"]),
        "sent": place["start_time"].maybe(),
        "first": place["first_token_time"].maybe(),
        "answer": None,
        "last": place["last_token_time"].maybe(),
        "end": place["end_time"].maybe(),
        "output": place["output_tokens"].maybe(),
        "input": place["prompt_tokens"].maybe(),
    }


def _our_name(name: str, row: DocumentPlace) -> str:
    """The name, or that of the same number of visible text: before 0.7 GuideLLM passed over a model's reasoning."""
    return _ANSWERS.get(name, name) if not _counts_reasoning(row) else name


_ANSWERS = {"ttft": "ttft_answer", "tpot": "tpot_answer"}


def _counts_reasoning(row: DocumentPlace) -> bool:
    """Whether the first token may be one of reasoning: the versions that keep both instants say so."""
    return "time_to_first_output_token_ms" in row["metrics"].mapping()


def _is_old(row: DocumentPlace) -> bool:
    return "run_stats" in row.mapping() or "worker" in row.mapping()


def _reason(place: DocumentPlace) -> str:
    """Why a request failed."""
    told = place["info"]["error"].data if place["info"].data is not None else place["error"].data
    return told if isinstance(told, str) else ""


def _count(place: DocumentPlace, otherwise: int) -> int:
    number = place.maybe()
    return otherwise if number is None else int(number)


def _since_1970(place: DocumentPlace) -> float | None:
    """An instant; -1 stands for none."""
    number = place.maybe()
    return number if number is not None and number > 0 else None
