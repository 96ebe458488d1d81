"""NVIDIA aiperf's artifacts: `profile_export_aiperf.json`, `profile_export.jsonl`, or the folder that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError, TargetError
from benchwright.exchange.importers import aiperf_config, construction, served_requests
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, document, first_document, json_lines
from benchwright.exchange.importers.served_requests import ServedLoad, ServedRequest, span
from benchwright.exchange.importers.source_file import Given, read_source
from benchwright.records import Better, Metric, Result, ResultWarning, Run

SUMMARY, RECORDS = "profile_export_aiperf.json", "profile_export.jsonl"
# What aiperf calls a number of a request, and its name here.
_NUMBERS = {
    "time_to_first_token": "ttft",
    "time_to_first_output_token": "ttft_answer",
    "request_latency": "e2e",
    "inter_chunk_latency": "itl",
    "inter_token_latency": "itl_mean_per_request",
    "e2e_output_token_throughput": "tokens_per_user",
    "output_token_throughput_per_user": "tokens_per_user_after_first",
    "output_sequence_length": "output_tokens",
    "input_sequence_length": "input_tokens",
}
_RATES = {
    "request_throughput": "throughput",
    "output_token_throughput": "output_tokens_rate",
    "input_token_throughput": "input_tokens_rate",
    "goodput": "goodput",
}
_LEVELS = {"avg": "", "p50": "_p50", "p90": "_p90", "p95": "_p95", "p99": "_p99"}
_UNITS = {**construction.SECONDS, "sec": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Artifacts:
    """What was found of one profile: its summary, its records by request, or both."""

    summary: DocumentPlace | None
    records: Sequence[DocumentPlace]
    modified_at: str


class AiPerf:
    """One run. Of each phase that was profiled there is a result, where the records of requests tell them apart."""

    name = "aiperf"

    def fits(self, what: Given) -> bool:
        """Whether what is given is a summary or records of aiperf, or a folder with one of them."""
        if what.is_folder and what.path is not None:
            return any((what.path / name).is_file() for name in (SUMMARY, RECORDS))
        first = first_document(what)
        return _is_summary(first) or _is_record(first)

    def runs(self, what: Given) -> list[Run]:
        """The one run that the artifacts tell of."""
        found = _artifacts(what)
        about = found.summary or DocumentPlace({}, what.name)
        told = _provenance(about, found)
        phases = _phases(found.records)
        results = [_result(told, about, name, rows, alone=len(phases) == 1) for name, rows in phases.items()]
        identity = [about.data, [place.data for place in found.records]]
        dated = not any(warning.code == "import-undated" for warning in told.warnings)
        return [construction.run(told, identity, results, sorts=dated)]


def _is_summary(data: Any) -> bool:
    if not isinstance(data, dict) or "timeslices" in data:
        return False
    latency = data.get("request_latency")
    return "aiperf_version" in data or ("input_config" in data and isinstance(latency, dict) and "unit" in latency)


def _is_record(data: Any) -> bool:
    about = data.get("metadata") if isinstance(data, dict) else None
    return isinstance(about, dict) and "metrics" in data and {"request_start_ns", "benchmark_phase"} <= about.keys()


def _artifacts(what: Given) -> _Artifacts:
    given = [what] if not what.is_folder else []
    if what.path is not None:
        given += [read_source(str(path)) for path in _beside(what.path)]
    if not given:
        raise TargetError(f"{what.name}: holds neither {SUMMARY} nor {RECORDS}")
    summary = next((document(one) for one in given if _is_summary(one.data)), None)
    lines = next((one for one in given if not _is_summary(one.data)), None)
    records = [*map(_checked, json_lines(lines))] if lines is not None else []
    return _Artifacts(summary=summary, records=records, modified_at=max(one.modified_at for one in given))


def _beside(path: Path) -> Iterator[Path]:
    """The files that belong to the one that was named: `x_aiperf.json` or `x.json`, and `x.jsonl`."""
    if path.is_dir():
        names = [path / SUMMARY, path / RECORDS]
    elif path.suffix == ".jsonl":
        names = [path.with_name(f"{path.stem}_aiperf.json"), path.with_suffix(".json")]
    else:
        names = [path.with_name(f"{path.stem.removesuffix('_aiperf')}.jsonl")]
    found = [name for name in names if name.is_file()]
    yield from found if path.is_dir() else found[:1]


def _checked(place: DocumentPlace) -> DocumentPlace:
    if not _is_record(place.data):
        raise DecodeError(
            f"{place.where}: is not a record of a request", remedy=f"import what aiperf wrote: {SUMMARY}, {RECORDS}"
        )
    return place


def _provenance(about: DocumentPlace, found: _Artifacts) -> Provenance:
    starts = [place["metadata"]["request_start_ns"].number() / 1e9 for place in found.records]
    dated = construction.since_1970(min(starts)) if starts else construction.instant(about["start_time"].text(""))
    accelerators = aiperf_config.accelerators(about)
    notes = [] if dated else [construction.undated_warning(AiPerf.name)]
    environment = construction.environment(
        AiPerf.name, about["aiperf_version"].text(""), machine={}, system={}, accelerators=accelerators
    )
    return Provenance(
        tool=AiPerf.name,
        environment=environment,
        started_at=dated or found.modified_at,
        warnings=(*notes, construction.unplaced_warning(AiPerf.name)),
    )


def _phases(records: Sequence[DocumentPlace]) -> dict[str, list[DocumentPlace]]:
    """The records of each phase that counts; one phase without any where there are no records at all."""
    if not records:
        return {"": []}
    found: dict[str, list[DocumentPlace]] = {}
    for place in records:
        about = place["metadata"]
        if about["benchmark_phase"].text() != "warmup":
            found.setdefault(about["phase_name"].text(""), []).append(place)
    return found


def _result(
    told: Provenance, about: DocumentPlace, phase: str, records: Sequence[DocumentPlace], *, alone: bool
) -> Result:
    config = about["input_config"]
    load = _load_of_records(records) if records else _load_of_summary(about)
    seconds = about["benchmark_duration"]["avg"].maybe() if alone else None
    if seconds is None and load.requests:
        seconds = max(one.end for one in load.requests) - min(one.sent for one in load.requests)
    reported = [*_reported(about)] if alone else []
    return served_requests.result_of(
        told,
        aiperf_config.case(AiPerf.name, config, phase, alone=alone),
        load,
        reported=[*reported, *_own_rates(load, seconds)],
        duration=seconds or 0.0,
        details=aiperf_config.details(about),
        warnings=_warnings(about),
    )


def _load_of_summary(about: DocumentPlace) -> ServedLoad:
    reasons = {
        served_requests.short_reason(one["error_details"]["message"].text("")): int(one["count"].maybe() or 0)
        for one in about["error_summary"]
    }
    counts = [about[name]["avg"].maybe() or 0.0 for name in ("request_count", "error_request_count")]
    return ServedLoad(answered=int(counts[0]), failed=int(counts[1]), reasons=reasons)


def _load_of_records(records: Sequence[DocumentPlace]) -> ServedLoad:
    others = [place for place in records if place["metadata"]["was_cancelled"].data is not True]
    failed = [place for place in others if place["error"].data is not None]
    answered = [_request(place) for place in others if place["error"].data is None]
    reasons = served_requests.count_reasons(place["error"]["message"].text("") for place in failed)
    return ServedLoad(
        answered=len(answered), failed=len(failed), cut=len(records) - len(others), reasons=reasons, requests=answered
    )


def _request(place: DocumentPlace) -> ServedRequest:
    about, metrics = place["metadata"], place["metrics"]
    sent, end = (about[name].number() / 1e9 for name in ("request_start_ns", "request_end_ns"))
    issued = about["credit_issued_ns"].maybe()
    told = {ours: _value(metrics[theirs]) for theirs, ours in _NUMBERS.items() if ours != "itl"}
    ttft, e2e, output = told["ttft"], told["e2e"], told["output_tokens"]
    after = span(ttft, e2e)
    numbers = {
        **told,
        "tpot": after / (output - 1) if after is not None and output and output > 1 else None,
        "tokens_per_user": output / e2e if output and e2e else told["tokens_per_user"],
        "e2e_last_message": span(sent, end),
        "issue_delay": None if issued is None else span(issued / 1e9, sent),
    }
    chunks = metrics["inter_chunk_latency"]
    factor = _factor(chunks) if chunks.data is not None else 1.0
    gaps = [gap * factor for gap in chunks["value"].numbers()]
    return ServedRequest(sent=sent, end=max(sent, end), numbers=served_requests.known(numbers), gaps=gaps)


def _value(place: DocumentPlace) -> float | None:
    """A request's number in our unit; None where it has none."""
    if place.data is None:
        return None
    return place["value"].number() * _factor(place)


def _factor(place: DocumentPlace) -> float:
    """What one of its units is in ours."""
    unit = place["unit"].text()
    if unit in _UNITS:
        return _UNITS[unit]
    if unit in ("min", "minutes", "hours", "days"):
        raise place["unit"].error("is a unit that is not expected here")
    return 1.0


def _reported(about: DocumentPlace) -> Iterator[Metric]:
    """What the summary tells: no intervals."""
    for theirs, ours in _NUMBERS.items():
        place = about[theirs]
        if place.data is None:
            continue
        unit, better = served_requests.unit_of(ours)
        factor, count = _factor(place), int(place["count"].maybe() or about["request_count"]["avg"].maybe() or 1)
        for key, ending in _LEVELS.items():
            value = place[key].maybe()
            told = None if value is None else value * factor
            yield from construction.reported_metrics(
                ours + ending, unit, better, told, what=f"{theirs} {key}", count=max(1, count)
            )
    for theirs, ours in _RATES.items():
        yield from served_requests.rate(ours, about[theirs]["avg"].maybe(), f"aiperf's {theirs}")


def _own_rates(load: ServedLoad, seconds: float | None) -> Iterator[Metric]:
    """Rates where no summary tells them: over the time from the first request to the end of the last."""
    if not seconds or seconds <= 0 or not load.requests:
        return
    totals: Mapping[str, float] = {
        "throughput": len(load.requests),
        "output_tokens_rate": sum(one.numbers.get("output_tokens", 0.0) for one in load.requests),
        "input_tokens_rate": sum(one.numbers.get("input_tokens", 0.0) for one in load.requests),
    }
    for name, total in totals.items():
        if total:
            yield from construction.reported_metrics(
                name, "/s", Better.HIGHER, total / seconds, what="of the records, over their time", count=load.answered
            )


def _warnings(about: DocumentPlace) -> list[ResultWarning]:
    if about["was_cancelled"].data is not True and about["is_complete"].data is not False:
        return []
    why = about["incomplete_reason"].text("") or "it was cancelled"
    return [
        ResultWarning(code="tool-warning", seen=f"aiperf did not finish: {why}", remedy="let it run to its end"),
    ]
