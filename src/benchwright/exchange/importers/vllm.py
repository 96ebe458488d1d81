"""The JSON that `vllm bench serve --save-result` writes, with `--save-detailed` and `--append-result` too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchwright.errors import DecodeError
from benchwright.exchange.importers import construction, served_requests
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, first_document, json_lines
from benchwright.exchange.importers.served_requests import ServedLoad, ServedRequest
from benchwright.exchange.importers.source_file import Given
from benchwright.records import Arrivals, Case, Load, Metric, Mode, Result, Run, Scalar, Value

_KEYS = frozenset({"completed", "duration", "request_throughput"})
# What vLLM calls a number, and its name here: it counts chunks with any choice, with or without content.
_TIMES = {
    "ttft": "ttft_any",
    "tpot": "tpot_any",
    "itl": "itl_any",
    "e2el": "e2e_any",
    "e2el_including_client_queue": "e2e_any_with_queue",
    "client_queue_time": "client_queue",
}
_DETAILS = (
    "tokenizer_id", "num_prompts", "label", "ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps",
    "max_concurrent_requests", "rtfx", "spec_decode_acceptance_rate", "spec_decode_acceptance_length",
)  # fmt: skip
_COLUMNS = ("ttfts", "latencies", "start_times", "queue_times", "input_lens", "output_lens")
_MEASURED = frozenset(
    {
        *_KEYS, *_DETAILS, "date", "endpoint_type", "backend", "model_id", "request_rate", "burstiness",
        "max_concurrency", "failed", "total_input_tokens", "total_output_tokens", "request_goodput",
        "output_throughput", "total_token_throughput", "max_output_tokens_per_s", "total_input_sequences",
        "input_sequence_throughput",
    }
)  # fmt: skip


class Vllm:
    """One run with one result for each document; a file that results were appended to has several."""

    name = "vllm"

    def fits(self, what: Given) -> bool:
        """Whether the file, or its first line, has the keys of vLLM's results."""
        first = first_document(what)
        return isinstance(first, dict) and first.keys() >= _KEYS

    def runs(self, what: Given) -> Iterator[Run]:
        """A run for each document in the file."""
        for place in json_lines(what):
            if not place.mapping().keys() >= _KEYS:
                missing = ", ".join(sorted(_KEYS - place.mapping().keys()))
                raise DecodeError(
                    f"{place.where}: has no {missing}", remedy="import what vllm bench serve --save-result wrote"
                )
            yield _run(place, what)


def _run(whole: DocumentPlace, what: Given) -> Run:
    day, _, clock = whole["date"].text("").partition("-")  # as in 20260203-090000
    dated = construction.instant(f"{day}T{clock}") if clock else ""
    warnings = () if dated else (construction.undated_warning(Vllm.name),)
    told = Provenance(
        tool=Vllm.name,
        environment=construction.environment(Vllm.name, "", machine={}, system={}),
        started_at=dated or what.modified_at,
        warnings=(*warnings, construction.unplaced_warning(Vllm.name)),
    )
    return construction.run(told, whole.data, [_result(told, whole)], sorts=bool(dated))


def _result(told: Provenance, whole: DocumentPlace) -> Result:
    load = _load(whole)
    details: dict[str, Value] = {name: whole[name].value() for name in _DETAILS}
    details["metadata"] = {
        name: place.value() for name, place in whole.items() if name not in _MEASURED and isinstance(place.data, str)
    }
    return served_requests.result_of(
        told,
        _case(whole),
        load,
        reported=[*_rates(whole), *_summaries(whole)],
        duration=whole["duration"].number(),
        details=details,
    )


def _case(whole: DocumentPlace) -> Case:
    """The model's name with how it was asked. Without a rate, all requests are there at once, or N users send them."""
    rate, most = whole["request_rate"].maybe(), whole["max_concurrency"].maybe()
    burst = whole["burstiness"].data
    params: dict[str, Scalar] = {"backend": whole["backend"].text(whole["endpoint_type"].text(""))}
    if rate is not None:
        even = isinstance(burst, float) and math.isinf(burst)
        load = Load(mode=Mode.OPEN, rate=rate, arrivals=Arrivals.CONSTANT if even else Arrivals.POISSON)
        params |= {"rate": rate, "max_concurrency": None if most is None else _whole(whole["max_concurrency"])}
        if not even and whole["burstiness"].maybe() not in (None, 1.0):
            params["burstiness"] = whole["burstiness"].maybe()
    elif most is not None:
        load = Load(mode=Mode.CLOSED, workers=_whole(whole["max_concurrency"]))
        params["concurrency"] = load.workers
    else:
        load = Load(mode=Mode.OFFLINE)
    name = whole["model_id"].text("") or "unnamed"
    return construction.case(Vllm.name, name, {k: v for k, v in params.items() if v not in (None, "")}, load=load)


def _whole(place: DocumentPlace) -> int:
    number = place.number()
    if not 1 <= number <= 1e9 or number != int(number):
        raise place.error("is not a count")
    return int(number)


def _load(whole: DocumentPlace) -> ServedLoad:
    answered = int(whole["completed"].number())
    failed = whole["failed"].maybe()
    if failed is None:  # older versions do not tell
        failed = max(0.0, (whole["num_prompts"].maybe() or 0.0) - answered)
    outcomes = list(_outcomes(whole))
    requests = [request for request, _ in outcomes if request is not None]
    reasons = served_requests.count_reasons(reason for request, reason in outcomes if request is None)
    if requests and len(requests) != answered:
        raise DecodeError(
            f"{whole.where}: completed is {answered}, and {len(requests)} of its requests have times",
            remedy="was the file changed after it was written?",
        )
    return ServedLoad(
        answered=answered,
        failed=int(failed),
        reasons=reasons,
        requests=requests,
        gaps_name=_TIMES["itl"],
        is_timed=bool(whole["start_times"].data),
    )


def _outcomes(whole: DocumentPlace) -> Iterator[tuple[ServedRequest | None, str]]:
    """Each request that the file tells of, or None with why it failed. A failed one has no latency."""
    columns = {name: list(whole[name].numbers()) for name in _COLUMNS}
    gaps, errors = list(whole["itls"]), [str(place.data or "") for place in whole["errors"]]
    count = len(columns["ttfts"] or columns["latencies"])
    lengths = {"itls": len(gaps), "errors": len(errors), **{name: len(column) for name, column in columns.items()}}
    for name, length in lengths.items():
        if length not in (0, count):
            raise DecodeError(f"{whole.where}.{name}: has {length} entries where others have {count}")
    if columns["ttfts"] and not gaps and not columns["latencies"]:
        return
    opened = whole["request_rate"].maybe() is not None
    closing = "output_throughput" not in whole.mapping()
    for i in range(count):
        numbers = {name: column[i] for name, column in columns.items() if column}
        between = gaps[i].numbers() if gaps else ()
        numbers.setdefault("latencies", numbers.get("ttfts", 0.0) + sum(between))
        if (errors and errors[i]) or not numbers["latencies"] or numbers.get("ttfts") == 0:
            yield None, errors[i] if errors else ""
        else:
            yield _request(numbers, between, opened=opened, closing=closing), ""


def _request(told: Mapping[str, float], gaps: Sequence[float], *, opened: bool, closing: bool) -> ServedRequest:
    """One request. In an open loop it waits for a place among those that may be under way; its time then counts too."""
    start, took, first = told.get("start_times", 0.0), told["latencies"], told.get("ttfts")
    queue = max(0.0, told["queue_times"]) if opened and "queue_times" in told else None
    total, output = served_requests.span(0.0, took), told.get("output_lens", 0.0)
    numbers = {
        "ttft_any": served_requests.span(0.0, first),
        "tpot_any": max(0.0, took - first) / (output - 1) if output > 1 and first is not None else None,
        "e2e_close" if closing else "e2e_any": total,
        "e2e_any_with_queue": None if queue is None or total is None else total + queue,
        "client_queue": queue,
        "tokens_per_user_any": output / total if total and output else None,
        "output_tokens": told.get("output_lens"),
        "input_tokens": told.get("input_lens"),
    }
    return ServedRequest(
        sent=start,
        end=start + took,
        scheduled=None if queue is None else start - queue,
        numbers=served_requests.known(numbers),
        gaps=[gap for gap in gaps if served_requests.span(0.0, gap) is not None],
    )


def _rates(whole: DocumentPlace) -> list[Metric]:
    seconds, count = whole["duration"].number(), int(whole["completed"].number())
    tokens = whole["total_input_tokens"].maybe()
    found = {
        "throughput": (whole["request_throughput"].maybe(), "completed / duration"),
        "output_tokens_rate": (whole["output_throughput"].maybe(), "total_output_tokens / duration"),
        "input_tokens_rate": (tokens / seconds if tokens is not None and seconds > 0 else None, "input / duration"),
        "goodput_any": (whole["request_goodput"].maybe(), "by vLLM's ttft, tpot and e2el"),
        "output_tokens_rate_peak": (whole["max_output_tokens_per_s"].maybe(), "chunks in the busiest second"),
        "input_sequences_rate": (whole["input_sequence_throughput"].maybe(), "sequences / duration"),
    }
    return [m for name, (value, what) in found.items() for m in served_requests.rate(name, value, what, count)]


def _summaries(whole: DocumentPlace) -> list[Metric]:
    """Means, medians and percentiles as vLLM gives them: no intervals. Its zeros of what was not measured are none."""
    count, pooling = int(whole["completed"].number()), "output_throughput" not in whole.mapping()
    found: dict[str, Metric] = {}
    for key, place in whole.items():
        statistic, _, rest = key.partition("_")
        name = _TIMES.get(rest.removesuffix("_ms")) if rest.endswith("_ms") else None
        suffix = _suffix(statistic)
        if name is None or suffix is None or not (value := place.maybe()):
            continue
        if pooling and name == "e2e_any":
            name = "e2e_close"  # an answer in one piece: its end is the stream's
        unit, better = served_requests.unit_of(name)
        for metric in construction.reported_metrics(name + suffix, unit, better, value / 1e3, what=key, count=count):
            found.setdefault(metric.name, metric)
    return list(found.values())


def _suffix(statistic: str) -> str | None:
    if statistic in ("mean", "median"):
        return "" if statistic == "mean" else "_p50"
    level: Any = construction.scalar(statistic.removeprefix("p")) if statistic.startswith("p") else None
    return f"_p{level:g}" if isinstance(level, int | float) and 0 < level < 100 else None
