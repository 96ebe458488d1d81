"""airspeed velocity's results: its `results` folder, or one file of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError
from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, document, finite
from benchwright.exchange.importers.source_file import Given, read_source
from benchwright.records import (
    Better,
    Case,
    Environment,
    Estimate,
    Failure,
    Metric,
    Result,
    Revision,
    Run,
    Scalar,
    Status,
)
from benchwright.worker.runtimes.asv.parameters import value_of_label

MOST_CASES = 100_000  # combinations of the parameters of one benchmark
VERSION = 2
BENCHMARKS, MACHINE = "benchmarks.json", "machine.json"
_KINDS = {"time": "latency_p50", "timeraw": "latency_p50", "memory": "memory", "peakmemory": "peak_memory"}
_UNITS = {"seconds": "s", "bytes": "B"}


class Asv:
    """One run for each commit and environment; one result for each combination of a benchmark's parameters."""

    name = "asv"

    def fits(self, what: Given) -> bool:
        """Whether what is given is asv's results folder, or a file with a commit's results."""
        if what.is_folder and what.path is not None:
            return (what.path / BENCHMARKS).is_file() or any(what.path.glob(f"*/{MACHINE}"))
        return _is_results(what.data)

    def runs(self, what: Given) -> Iterator[Run]:
        """Every run of a folder, or the one of a file."""
        if not what.is_folder or what.path is None:
            yield _run(what, _benchmarks(what.path.resolve().parent.parent if what.path else None))
            return
        about = _benchmarks(what.path)
        # As asv keeps them: results/MACHINE/COMMIT-ENVIRONMENT.json; or one machine's folder.
        for file in sorted([*what.path.glob("*/*.json"), *what.path.glob("*.json")]):
            found = read_source(str(file))
            if _is_results(found.data):
                yield _run(found, about)


def _is_results(data: Any) -> bool:
    return isinstance(data, dict) and {"commit_hash", "results"} <= data.keys()


def _benchmarks(folder: Path | None) -> DocumentPlace:
    """What benchmarks.json tells of units and names of parameters; nothing where there is none."""
    file = folder / BENCHMARKS if folder else None
    if file is None or not file.is_file():
        return DocumentPlace({}, BENCHMARKS)
    return DocumentPlace(read_source(str(file)).data, str(file))


def _run(what: Given, about: DocumentPlace) -> Run:
    whole = document(what)
    if whole["version"].data != VERSION:
        raise DecodeError(
            f"{what.name}: asv's format {whole['version'].data!r} is not read",
            remedy="asv update converts the file to format 2",
        )
    started = [place.maybe() for _, row in whole["results"].items() if (place := _columns(whole, row)["started_at"])]
    known = [ms for ms in started if ms is not None]
    committed = construction.since_1970((whole["date"].maybe() or 0.0) / 1e3)
    told = Provenance(
        tool=Asv.name,
        environment=_environment(whole),
        started_at=(construction.since_1970(min(known) / 1e3) if known else "") or committed or what.modified_at,
        revision=Revision(vcs="git", id=whole["commit_hash"].text(), committed_at=committed),
    )
    results = [
        one
        for name, row in whole["results"].items()
        for one in _results(told, whole, name, _columns(whole, row), about)
    ]
    return construction.run(told, what.data, results)


def _environment(whole: DocumentPlace) -> Environment:
    machine = whole["params"]
    system, _, kernel = machine["os"].text("").partition(" ")
    return construction.environment(
        Asv.name,
        "",
        machine={
            "cpu": machine["cpu"].text(""),
            "threads": construction.scalar(machine["num_cpu"].text("")),
            "memory": construction.scalar(machine["ram"].text("")),
        },
        system={
            "os": system,
            "architecture": machine["arch"].text(""),
            "kernel": kernel,
            "host": machine["machine"].text(""),
            "python": whole["python"].text(""),
            "variables": whole["env_vars"].value() or None,
        },
        packages={name: version.text("") for name, version in whole["requirements"].items()},
    )


def _columns(whole: DocumentPlace, row: DocumentPlace) -> DocumentPlace:
    """A row of a table whose last columns may be missing, by the names of the columns."""
    names = [name.text() for name in whole["result_columns"]]
    values = [place.data for place in row] if isinstance(row.data, list) else [row.data]
    return DocumentPlace(dict(zip(names, values, strict=False)), row.where)


def _results(
    told: Provenance, whole: DocumentPlace, name: str, row: DocumentPlace, about: DocumentPlace
) -> Iterator[Result]:
    known = about[name]
    labels = [list(place) for place in row["params"]]
    names = [place.text() for place in known["param_names"]]
    count = math.prod(map(len, labels))
    if count > MOST_CASES:
        raise row["params"].error(f"has {count:,} combinations, more than {MOST_CASES:,}")
    combinations = list(itertools.product(*labels))
    values = row["result"].data if isinstance(row["result"].data, list) else [None] * len(combinations)
    if len(values) != len(combinations):
        raise row["result"].error(f"does not have the {len(combinations)} values of its parameters")
    at = construction.since_1970((row["started_at"].maybe() or 0.0) / 1e3) if row["started_at"].data else ""
    seconds = row["duration"].maybe()
    for number, (combination, value) in enumerate(zip(combinations, values, strict=True)):
        params: dict[str, Scalar] = {
            names[i] if i < len(names) else f"param{i}": value_of_label(place.text())
            for i, place in enumerate(combination)
        }
        params["environment"] = whole["env_name"].text("")
        case = construction.case(Asv.name, name, params, version=row["version"].text(""))
        yield _result(
            replace(told, started_at=at or told.started_at),
            case,
            value,
            _Stats(row, number, known),
            (seconds or 0.0) / len(combinations),
        )


class _Stats:
    """The columns of one benchmark, at one combination of its parameters."""

    def __init__(self, row: DocumentPlace, number: int, about: DocumentPlace) -> None:
        self._row, self._number, self.about = row, number, about

    def __getitem__(self, name: str) -> Any:
        column = self._row[name].data
        return column[self._number] if isinstance(column, list) and self._number < len(column) else None


def _result(told: Provenance, case: Case, value: Any, stats: _Stats, seconds: float) -> Result:
    """Makes the result of one value: a number, NaN for what was skipped, null for what failed."""
    if finite(value) is not None:
        return construction.result(told, case, metrics=_metrics(float(value), stats), duration=seconds)
    if isinstance(value, float) and math.isnan(value):
        skipped = Failure(kind="skipped", message="the benchmark does not apply to these parameters")
        return construction.result(told, case, failure=skipped, status=Status.SKIPPED)
    failure = Failure(kind="failed", message="the benchmark failed", remedy="asv show, or asv run --show-stderr")
    return construction.result(told, case, failure=failure, duration=seconds)


def _metrics(value: float, stats: _Stats) -> list[Metric]:
    kind, unit = stats.about["type"].text(""), stats.about["unit"].text("")
    if not kind and stats["stats_number"] is not None:  # only what is timed has it
        kind, unit = "time", "seconds"
    samples = stats["samples"] if kind.startswith("time") else None
    if isinstance(samples, list) and samples and all(finite(one) is not None for one in samples):
        return construction.latencies([float(one) for one in samples])
    name = _KINDS.get(kind, "value")
    better = Better.LOWER if kind in _KINDS else None
    return [Metric(name=name, unit=_UNITS.get(unit, unit), better=better, **_estimate(value, kind, stats))]


def _estimate(value: float, kind: str, stats: _Stats) -> dict[str, Any]:
    low, high = finite(stats["stats_ci_99_a"]), finite(stats["stats_ci_99_b"])
    count = int(finite(stats["stats_repeat"]) or 1)
    if low is None or high is None:
        what = "reported: median" if kind.startswith("time") else "reported"
        return {"estimate": Estimate(point=value, low=None, high=None, method=what), "count": count}
    told = Estimate(point=value, low=low, high=high, confidence=0.99, method="reported: median with asv's interval")
    return {"estimate": told, "count": count}
