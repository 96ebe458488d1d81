"""pyperf's JSON (`-o FILE`), also compressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, document, plain_value
from benchwright.exchange.importers.source_file import Given
from benchwright.records import Better, Environment, Metric, Result, Run, Value

_NAMED = {"byte": ("memory", "B"), "integer": ("value", "")}  # what other units than seconds are called
_KNOBS = (
    "aslr", "cpu_affinity", "cpu_config", "cpu_freq", "load_avg_1min", "cpu_temp", "runnable_threads", "python_gc",
)  # fmt: skip


class Pyperf:
    """One result for each process of each benchmark: processes are what pyperf repeats, as we do."""

    name = "pyperf"

    def fits(self, what: Given) -> bool:
        """Whether the file holds pyperf's benchmarks with runs."""
        rows = what.data.get("benchmarks") if isinstance(what.data, dict) else None
        return isinstance(rows, list) and bool(rows) and all(isinstance(r, dict) and "runs" in r for r in rows)

    def runs(self, what: Given) -> list[Run]:
        """One run, which began when its first process did. Processes that only calibrated are left out."""
        whole = document(what)
        results = [one for row in whole["benchmarks"] for one in _results(whole, row, what)]
        if not results:
            return []
        first = min(results, key=lambda one: one.started_at)
        told = Provenance(tool=self.name, environment=first.environment, started_at=first.started_at)
        return [construction.run(told, what.data, results)]


def _results(whole: DocumentPlace, row: DocumentPlace, what: Given) -> list[Result]:
    common = {**whole["metadata"].mapping(), **row["metadata"].mapping()}
    measured = [one for one in row["runs"] if one["values"].data]
    return [_result({**common, **one["metadata"].mapping()}, one, number, what) for number, one in enumerate(measured)]


def _result(facts: Mapping[str, Any], process: DocumentPlace, number: int, what: Given) -> Result:
    about = DocumentPlace(facts, f"{process.where}.metadata")
    dated = construction.instant(about["date"].text(""))
    told = Provenance(
        tool=Pyperf.name,
        environment=_environment(about),
        started_at=dated or what.modified_at,
        warnings=() if dated else (construction.undated_warning(Pyperf.name),),
    )
    details: dict[str, Value] = {"warmups": process["warmups"].value()}
    details |= {
        name: plain_value(facts[name]) for name in ("loops", "inner_loops", "timeit_stmt", "timer") if name in facts
    }
    return construction.result(
        told,
        construction.case(Pyperf.name, about["name"].text("unnamed")),
        metrics=_metrics(about, process["values"].numbers()),
        round=number,
        duration=about["duration"].maybe() or 0.0,
        details=details,
    )


def _metrics(about: DocumentPlace, values: tuple[float, ...]) -> list[Metric]:
    unit = about["unit"].text("second")
    loops = int((about["loops"].maybe() or 1) * (about["inner_loops"].maybe() or 1))
    each = f"the mean of {loops} calls" if loops > 1 else ""
    found = construction.latencies(values, each=each) if unit == "second" else [_in_unit(unit, values)]
    for key in ("command_max_rss", "mem_max_rss"):
        if about[key].maybe() is not None:
            return [*found, *construction.reported_metrics("rss_peak", "B", Better.LOWER, about[key].maybe(), what=key)]
    return found


def _in_unit(unit: str, values: tuple[float, ...]) -> Metric:
    name, ours = _NAMED.get(unit, ("value", unit))
    mean = construction.mean_of(values)
    found = Metric(name=name, unit=ours, better=Better.LOWER, estimate=mean, count=len(values))
    return replace(found, values=values)


def _environment(about: DocumentPlace) -> Environment:
    platform = about["platform"].text("")
    return construction.environment(
        Pyperf.name,
        about["perf_version"].text(""),
        machine={"cpu": about["cpu_model_name"].text(""), "threads": about["cpu_count"].value()},
        system={
            "os": platform.partition("-")[0],
            "architecture": construction.architecture(platform),
            "platform": platform,
            "host": about["hostname"].text(""),
            "python": about["python_version"].text("").partition(" ")[0],
            "python_implementation": about["python_implementation"].text(""),
            "python_build": about["python_compiler"].text(""),
        },
        knobs={name: about[name].value() for name in _KNOBS if name in about.mapping()},
    )
