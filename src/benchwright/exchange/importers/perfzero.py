"""PerfZero's summary, one for each method and trial, as a run."""

from __future__ import annotations

import math
from typing import Any

from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace
from benchwright.records import Better, Environment, Failure, Metric, Result, ResultWarning, Revision, Run
from benchwright.worker.runtimes.classes import entries, reports

TOOL = "perfzero"


def run_of(summary: Any, *, received_at: str, where: str = "summary") -> Run:
    """One run with one result. The same summary is the same run."""
    whole = DocumentPlace(summary, where)
    dated = construction.since_1970(whole["execution_timestamp"].maybe())
    told = Provenance(
        tool=TOOL,
        environment=_environment(whole),
        started_at=dated or received_at,
        revision=_revision(whole["benchmark_info"]["site_package_info"]),
    )
    label = whole["benchmark_info"]["execution_label"].text("")
    return construction.run(told, summary, [_result(told, whole)], sorts=bool(dated), tags=(label,) if label else ())


def _result(told: Provenance, whole: DocumentPlace) -> Result:
    outcome = whole["benchmark_result"]
    failed = bool(whole["benchmark_info"]["has_exception"].data)
    metrics, warnings = ([], []) if failed else _metrics(outcome)
    trial = outcome["trial_id"].maybe()
    return construction.result(
        told,
        construction.case(TOOL, outcome["name"].text()),
        metrics=[*metrics, *_memory(whole["process_info"])],
        failure=Failure(kind="exception", message="the method failed", remedy="its perfzero.log says why")
        if failed
        else None,
        round=int(trial) - 1 if trial is not None and trial >= 1 else 0,
        duration=max(0.0, outcome["wall_time"].maybe() or 0.0),
        warnings=tuple(warnings),
        details={"perfzero": {"summary": whole.value()}},
    )


def _metrics(outcome: DocumentPlace) -> tuple[list[Metric], list[ResultWarning]]:
    """Reads the metrics, under the names that a class gets when it is measured here, with the bounds that it set."""
    entry = entries.ReportEntry(
        name=outcome["name"].text(),
        wall_time=_number(outcome["wall_time"]),
        metrics=tuple(
            entries.EntryMetric(
                name=metric["name"].text(),
                value=_number(metric["value"]),
                least=_bound(metric["min_value"]),
                most=_bound(metric["max_value"]),
            )
            for metric in outcome["metrics"]
        ),
    )
    return reports.metrics(reports.numbers_of_entry(entry))


def _memory(process: DocumentPlace) -> list[Metric]:
    """Reads the largest memory that was seen; 0 stands for a method that was too short to be looked at."""
    return construction.reported_metrics(
        "rss_peak", "B", Better.LOWER, process["max_rss"].maybe() or None, what="looked at now and then"
    )


def _number(place: DocumentPlace) -> float:
    """A number, or the word that stands for one that JSON cannot hold."""
    if isinstance(place.data, str):
        try:
            return float(place.data)
        except ValueError:
            raise place.error("is not a number") from None
    return math.nan if place.data is None else place.number()


def _bound(place: DocumentPlace) -> float | None:
    return None if place.data is None else _number(place)


def _revision(packages: DocumentPlace) -> Revision | None:
    """The one project under test; with several checked out, none of them is meant more than the others."""
    known = [about for _, about in packages.items() if about["hash"].text("")]
    if len(known) != 1:
        return None
    return Revision(vcs="git", id=known[0]["hash"].text(), branch=known[0]["branch"].text(""))


def _environment(whole: DocumentPlace) -> Environment:
    system, framework = whole["system_info"], whole["ml_framework_info"]
    model, name = system["accelerator_model"].text(""), framework["name"].text("")
    packages = whole["benchmark_info"]["site_package_info"]
    return construction.environment(
        TOOL,
        "",
        machine={
            "cpu": system["cpu_model"].text(""),
            "sockets": system["cpu_socket_count"].value(),
            "cores": system["physical_cpu_count"].value(),
            "threads": system["logical_cpu_count"].value(),
        },
        system={
            "host": system["hostname"].text(""),
            "platform": system["platform_name"].text("") or system["system_name"].text(""),
            "drivers": {"accelerator": driver} if (driver := system["accelerator_driver_version"].text("")) else None,
        },
        accelerators=({"name": model, "count": system["accelerator_count"].value()},) if model else (),
        runtimes={name: framework["version"].text("")} if name else {},
        packages={package: about["hash"].text("") for package, about in packages.items()},
    )
