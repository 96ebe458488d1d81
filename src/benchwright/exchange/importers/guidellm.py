"""GuideLLM's report (`benchmarks.json`): of 0.4 to 0.8, and the older shape of 0.2 and 0.3."""

from __future__ import annotations

from collections.abc import Iterator

from benchwright.errors import DecodeError
from benchwright.exchange.importers import construction, guidellm_requests, served_requests
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, document
from benchwright.exchange.importers.served_requests import ServedLoad
from benchwright.exchange.importers.source_file import Given
from benchwright.records import Arrivals, Case, Load, Metric, Mode, Result, ResultWarning, Run, Scalar, Value
from benchwright.system.masking import mask_url

_KIND = "generative_benchmark"
_RATES = {
    "throughput": ("requests_per_second", "answered requests over the measured time"),
    "output_tokens_rate": ("output_tokens_per_second", "their output tokens over the measured time"),
    "input_tokens_rate": ("prompt_tokens_per_second", "their input tokens over the measured time"),
    "goodput": ("request_goodput", "answered requests within the objectives over the measured time"),
}
_SECRETS = ("api_key", "headers", "extras", "validate_backend")  # never looked at, whatever they hold


class GuideLlm:
    """One result for each strategy of a sweep: users, a rate, or all at once."""

    name = "guidellm"

    def fits(self, what: Given) -> bool:
        """Whether the file holds GuideLLM's benchmarks."""
        rows = what.data.get("benchmarks") if isinstance(what.data, dict) else None
        return isinstance(rows, list) and bool(rows) and all(isinstance(r, dict) and _fits(r) for r in rows)

    def runs(self, what: Given) -> list[Run]:
        """The one run that the file holds."""
        whole = document(what)
        results = [_result(whole, _checked(row), what) for row in whole["benchmarks"]]
        if not results:
            return []
        first = min(results, key=lambda one: one.started_at)
        told = Provenance(tool=self.name, environment=first.environment, started_at=first.started_at)
        return [construction.run(told, what.data, results)]


def _checked(row: DocumentPlace) -> DocumentPlace:
    if not _fits(row.mapping()):
        raise DecodeError(f"{row.where}: is not a benchmark of GuideLLM", remedy="import its benchmarks.json")
    return row


def _fits(row: dict[str, object]) -> bool:
    return row.get("type_") == _KIND or row.keys() >= {"metrics", "requests", "config", "scheduler_metrics"}


def _result(whole: DocumentPlace, row: DocumentPlace, what: Given) -> Result:
    dated = construction.since_1970(row["start_time"].maybe())
    about = whole["metadata"]
    platform = about["platform"].text("")
    environment = construction.environment(
        GuideLlm.name,
        about["guidellm_version"].text(""),
        machine={},
        system={
            "os": platform.partition("-")[0],
            "architecture": construction.architecture(platform),
            "platform": platform,
            "python": about["python_version"].text(""),
        },
    )
    told = Provenance(
        tool=GuideLlm.name,
        environment=environment,
        started_at=dated or what.modified_at,
        warnings=(
            *(() if dated else (construction.undated_warning(GuideLlm.name),)),
            construction.unplaced_warning(GuideLlm.name),
        ),
    )
    case = _case(whole, row)
    load = guidellm_requests.load_of(row, is_open=case.load.mode is Mode.OPEN)
    return served_requests.result_of(
        told,
        case,
        load,
        reported=[*_rates(row, load), *guidellm_requests.summaries(row, is_open=case.load.mode is Mode.OPEN)],
        duration=row["duration"].maybe() or 0.0,
        details=_details(whole, row),
        warnings=_warnings(row),
    )


def _case(whole: DocumentPlace, row: DocumentPlace) -> Case:
    strategy = (row["config"] if "config" in row.mapping() else row["args"])["strategy"]
    kind = strategy["type_"].text("unknown")
    load, params = _load(strategy, kind)
    backend = _backend(whole, row)
    model = str(backend.get("model") or "unnamed")
    named: dict[str, Scalar] = {"strategy": kind, **params}
    if backend.get("backend"):
        named["backend"] = str(backend["backend"])
    return construction.case(GuideLlm.name, model, named, load=load)


def _load(strategy: DocumentPlace, kind: str) -> tuple[Load, dict[str, Scalar]]:
    """How a strategy issues requests, and what tells it from others in a table."""
    if kind == "synchronous":
        return Load(mode=Mode.CLOSED), {"concurrency": 1}
    if kind == "concurrent":
        users = _count(strategy["streams"])
        return Load(mode=Mode.CLOSED, workers=users), {"concurrency": users}
    if kind in ("constant", "poisson"):
        rate = strategy["rate"].number()
        even = Arrivals.CONSTANT if kind == "constant" else Arrivals.POISSON
        return Load(mode=Mode.OPEN, rate=rate, arrivals=even), {"rate": rate}
    if kind == "trace":
        return Load(mode=Mode.OPEN, arrivals=Arrivals.TRACE), {"time_scale": strategy["time_scale"].maybe()}
    most = strategy["max_concurrency"]
    if most.data is None:
        return Load(mode=Mode.OFFLINE), {}
    return Load(mode=Mode.CLOSED, workers=_count(most)), {"concurrency": _count(most)}


def _count(place: DocumentPlace) -> int:
    number = place.number()
    if not 1 <= number <= 1e9:
        raise place.error("is not a count")
    return int(number)


def _backend(whole: DocumentPlace, row: DocumentPlace) -> dict[str, Value]:
    """What is told of the server: its model, address and kind, wherever the version keeps them."""
    found: dict[str, Value] = {}
    asked = whole["config"]["spec"]["backend"]
    for place in (row["config"]["backend"], asked, whole["args"], row["worker"]):
        if not isinstance(place.data, dict):
            continue
        for name, keys in _OF_A_BACKEND.items():
            told = next((place.data[key] for key in keys if isinstance(place.data.get(key), str)), "")
            if told and not found.get(name):
                found[name] = mask_url(told)
    return found


_OF_A_BACKEND = {
    "model": ("model", "backend_model"),
    "target": ("target", "backend_target"),
    "backend": ("kind", "type_", "backend", "backend_type"),
}


def _details(whole: DocumentPlace, row: DocumentPlace) -> dict[str, Value]:
    config = row["config"] if "config" in row.mapping() else row["args"]
    holders = (whole["config"]["spec"], whole["args"], row["request_loader"])
    data = next((place["data"] for place in holders if place.data is not None), whole["data"])
    return {
        "server": _backend(whole, row),
        "data": _masked(data.value()),
        "strategy": config["strategy"].value(),
        "constraints": config["constraints"].value(),
        "objectives": config["slo"].value(),
        "generation_delay": row["scheduler_metrics"]["generation_delay"]["mean"].value(),
    }


def _masked(value: Value) -> Value:
    """What was sent, without secrets and texts: a data set may be given by its address."""
    if isinstance(value, str):
        return mask_url(value)[:500]
    if isinstance(value, list):
        return [_masked(one) for one in value[:20]]
    if isinstance(value, dict):
        return {name: _masked(one) for name, one in value.items() if name not in _SECRETS}
    return value


def _rates(row: DocumentPlace, load: ServedLoad) -> Iterator[Metric]:
    for name, (key, what) in _RATES.items():
        place = row["metrics"][key]
        if place.data is not None:
            yield from served_requests.rate(name, place["successful"]["mean"].maybe(), what, load.answered)


def _warnings(row: DocumentPlace) -> list[ResultWarning]:
    return [
        ResultWarning(
            code="tool-warning",
            seen=f"GuideLLM: {place['message'].text()}",
            remedy=place["note"].text("") or "see GuideLLM's documentation of its warnings",
        )
        for place in row["warnings"]
    ]
