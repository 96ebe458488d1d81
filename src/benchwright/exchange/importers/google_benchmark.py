"""google-benchmark's JSON (`--benchmark_out=FILE`, or `--benchmark_format=json`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, document, finite
from benchwright.exchange.importers.source_file import Given
from benchwright.records import Better, Case, Failure, Metric, Result, ResultWarning, Run, Scalar, Status, Value

_HOW_LONG = ("repeats", "min_time", "min_warmup_time", "iterations")  # parts of a name that change nothing measured
_TIMERS = ("real_time", "process_time", "manual_time")
_COMPLEXITY = ("BigO", "RMS")
_NO_COUNTER = frozenset(
    {
        *("family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations"),
        *("real_time", "cpu_time", "rms", "cpu_coefficient", "real_coefficient"),
    }
)
_KNOWN = {
    "items_per_second": ("throughput", "/s", Better.HIGHER),
    "bytes_per_second": ("bandwidth", "B/s", Better.HIGHER),
}


class GoogleBenchmark:
    """One result for each benchmark; its repetitions are the values."""

    name = "google-benchmark"

    def fits(self, what: Given) -> bool:
        """Whether the file has the keys `context` and `benchmarks` of Google Benchmark."""
        data = what.data
        return (
            isinstance(data, dict)
            and isinstance(data.get("context"), dict)
            and isinstance(data.get("benchmarks"), list)
        )

    def runs(self, what: Given) -> list[Run]:
        """The one run that the file holds."""
        whole = document(what)
        told = _provenance(whole["context"], what)
        named: dict[str, list[DocumentPlace]] = {}
        for row in whole["benchmarks"]:
            named.setdefault(row["run_name"].text(row["name"].text()), []).append(row)
        fitted = [name for name, rows in named.items() if any(_is_complexity(row) for row in rows)]
        results = [
            _result(told, name, rows, fitted)
            for name, rows in named.items()
            if not all(_is_complexity(row) for row in rows)
        ]
        return [construction.run(told, what.data, results, command=_command(whole["context"]))]


def _provenance(context: DocumentPlace, what: Given) -> Provenance:
    dated = construction.instant(context["date"].text(""))
    knobs = {name: context[name].value() for name in ("mhz_per_cpu", "cpu_scaling_enabled", "aslr_enabled", "load_avg")}
    environment = construction.environment(
        GoogleBenchmark.name,
        context["library_version"].text(""),
        machine={"threads": context["num_cpus"].value(), "caches": context["caches"].value()},
        system={"host": context["host_name"].text(""), "build": context["library_build_type"].text("")},
        knobs={name: value for name, value in knobs.items() if value is not None},
    )
    return Provenance(
        tool=GoogleBenchmark.name,
        environment=environment,
        started_at=dated or what.modified_at,
        warnings=() if dated else (construction.undated_warning(GoogleBenchmark.name),),
    )


def _result(told: Provenance, name: str, rows: Sequence[DocumentPlace], fitted: Sequence[str]) -> Result:
    case = _case(name)
    repeated = [row for row in rows if row["run_type"].text("iteration") == "iteration"]
    trouble = next((row for row in repeated if row["error_occurred"].data or row["skipped"].data), None)
    if trouble is not None:
        return _without_numbers(told, case, trouble)
    metrics = _from_repetitions(repeated) if repeated else _from_aggregates(rows)
    seconds = sum(_seconds(row, "real_time") * (row["iterations"].maybe() or 0.0) for row in repeated)
    details: dict[str, Value] = {
        "iterations": [row["iterations"].value() for row in repeated],
        "label": rows[0]["label"].text(""),
    }
    return construction.result(
        told,
        case,
        metrics=metrics,
        duration=seconds,
        details={key: value for key, value in details.items() if value},
        warnings=_notes(name, fitted),
    )


def _without_numbers(told: Provenance, case: Case, row: DocumentPlace) -> Result:
    failed = bool(row["error_occurred"].data)
    message = row["error_message" if failed else "skip_message"].text("") or "no reason was given"
    kind = "error" if failed else "skipped"
    failure = Failure(kind=kind, message=message)
    return construction.result(told, case, failure=failure, status=Status.FAILED if failed else Status.SKIPPED)


def _from_repetitions(rows: Sequence[DocumentPlace]) -> list[Metric]:
    values = [_seconds(row, "real_time") for row in rows]
    busy = [_seconds(row, "cpu_time") for row in rows]
    found = [
        *construction.latencies(values, each="the mean of all iterations"),
        *_mean("cpu_time", "s", Better.LOWER, busy),
    ]
    for counter in dict.fromkeys(name for row in rows for name in _counters(row)):
        told = [number for row in rows if (number := finite(row.mapping().get(counter))) is not None]
        name, unit, better = _KNOWN.get(counter, (counter, "", None))
        found += _mean(name, unit, better, told)
    return found


def _from_aggregates(rows: Sequence[DocumentPlace]) -> list[Metric]:
    """Reads the metrics from aggregates, where only those were written; they have no intervals."""
    by_name = {row["aggregate_name"].text(""): row for row in rows}
    count = int(rows[0]["repetitions"].maybe() or 1)
    found: list[Metric] = []
    for aggregate, name in (("mean", "latency"), ("median", "latency_p50")):
        if row := by_name.get(aggregate):
            what = f"{aggregate} of {count} repetitions"
            found += construction.reported_metrics(
                name, "s", Better.LOWER, _seconds(row, "real_time"), what=what, count=count
            )
    if row := by_name.get("mean"):
        what = f"mean of {count} repetitions"
        found += construction.reported_metrics(
            "cpu_time", "s", Better.LOWER, _seconds(row, "cpu_time"), what=what, count=count
        )
        for counter in _counters(row):
            name, unit, better = _KNOWN.get(counter, (counter, "", None))
            found += construction.reported_metrics(name, unit, better, row[counter].number(), what=what, count=count)
    return found


def _mean(name: str, unit: str, better: Better | None, values: Sequence[float]) -> list[Metric]:
    if not values:
        return []
    what = "the program's own" if len(values) == 1 else f"mean of {len(values)} repetitions"
    return construction.reported_metrics(name, unit, better, sum(values) / len(values), what=what, count=len(values))


def _seconds(row: DocumentPlace, key: str) -> float:
    unit = row["time_unit"].text("ns")
    if unit not in construction.SECONDS:
        raise row["time_unit"].error("is not a unit of time")
    return row[key].number() * construction.SECONDS[unit]


def _counters(row: DocumentPlace) -> Iterator[str]:
    return (name for name, value in row.mapping().items() if name not in _NO_COUNTER and finite(value) is not None)


def _is_complexity(row: DocumentPlace) -> bool:
    return row["aggregate_name"].data in _COMPLEXITY or "big_o" in row.mapping()


def _notes(name: str, fitted: Sequence[str]) -> tuple[ResultWarning, ...]:
    if not any(name == family or name.startswith(f"{family}/") for family in fitted):
        return ()
    seen = "the complexity that was fitted over its sizes (BigO, RMS) is not imported"
    return (ResultWarning(code="not-imported", seen=seen, remedy="the sizes themselves are here, one result each"),)


def _case(name: str) -> Case:
    """`BM_Copy/64/rows:8/threads:2` is the case BM_Copy with its arguments as params."""
    first, *parts = name.split("/")
    words, params, place = [first], dict[str, Scalar](), 0
    for part in parts:
        key, colon, value = part.partition(":")
        if part in _TIMERS:
            params["timer"] = part
        elif colon and value:
            if key not in _HOW_LONG:
                params[key] = construction.scalar(value)
        elif isinstance(number := construction.scalar(part), int):
            params[f"arg{place}"], place = number, place + 1
        else:
            words.append(part)
    return construction.case(GoogleBenchmark.name, "/".join(words), params)


def _command(context: DocumentPlace) -> tuple[str, ...]:
    program: Any = context["executable"].data
    return (program,) if isinstance(program, str) and program else ()
