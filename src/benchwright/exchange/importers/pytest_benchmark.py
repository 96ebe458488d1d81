"""pytest-benchmark's JSON (`--benchmark-json=FILE`, or what `--benchmark-autosave` leaves)."""

from __future__ import annotations

from collections.abc import Mapping

from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, document
from benchwright.exchange.importers.source_file import Given
from benchwright.records import Better, Case, Metric, Result, Revision, Run, Scalar

_SUMMARIES = (("latency", "mean"), ("latency_p50", "median"), ("latency_min", "min"), ("latency_max", "max"))
_OBJECT = "UNSERIALIZABLE["
_UNKNOWN = ("", "unknown", "unversioned", "(unknown)", "(error)")


class PytestBenchmark:
    """One result for each test; the rounds that pytest-benchmark timed are its values, where they were saved."""

    name = "pytest-benchmark"

    def fits(self, what: Given) -> bool:
        """Whether the file names a machine and benchmarks by pytest-benchmark's keys."""
        data = what.data
        return isinstance(data, dict) and "machine_info" in data and isinstance(data.get("benchmarks"), list)

    def runs(self, what: Given) -> list[Run]:
        """The one run that the file holds."""
        whole = document(what)
        told = _provenance(whole, what)
        return [construction.run(told, what.data, [_result(told, row) for row in whole["benchmarks"]])]


def _provenance(whole: DocumentPlace, what: Given) -> Provenance:
    about, dated = whole["machine_info"], construction.instant(whole["datetime"].text(""))
    cpu = about["cpu"] if isinstance(about["cpu"].data, dict) else DocumentPlace({}, "cpu")
    environment = construction.environment(
        PytestBenchmark.name,
        whole["version"].text(""),
        machine={
            "cpu": cpu["brand_raw"].text("") or cpu["brand"].text("") or about["processor"].text(""),
            "vendor": cpu["vendor_id_raw"].text(""),
            "threads": cpu["count"].value(),
        },
        system={
            "os": about["system"].text(""),
            "architecture": about["machine"].text(""),
            "kernel": about["release"].text(""),
            "host": about["node"].text(""),
            "python": about["python_version"].text(""),
            "python_implementation": about["python_implementation"].text(""),
            "python_build": about["python_compiler"].text(""),
        },
    )
    return Provenance(
        tool=PytestBenchmark.name,
        environment=environment,
        started_at=dated or what.modified_at,
        revision=_revision(whole["commit_info"]),
        warnings=() if dated else (construction.undated_warning(PytestBenchmark.name),),
    )


def _revision(commit: DocumentPlace) -> Revision | None:
    if commit["id"].text("") in _UNKNOWN:
        return None
    branch = commit["branch"].text("")
    return Revision(
        vcs="git",
        id=commit["id"].text(),
        branch="" if branch in _UNKNOWN else branch,
        dirty=bool(commit["dirty"].data),
        committed_at=construction.instant(commit["time"].text("")),
    )


def _result(told: Provenance, row: DocumentPlace) -> Result:
    stats = row["stats"]
    loops = stats["iterations"].maybe() or 1.0
    details = {"options": row["options"].value(), "extra_info": row["extra_info"].value()}
    details |= {"iterations": stats["iterations"].value(), "stddev": stats["stddev"].value()}
    return construction.result(
        told,
        _case(row),
        metrics=_metrics(stats),
        duration=(stats["total"].maybe() or 0.0) * loops,
        details={name: value for name, value in details.items() if value},
    )


def _metrics(stats: DocumentPlace) -> list[Metric]:
    values = stats["data"].numbers()
    if values:
        loops = int(stats["iterations"].maybe() or 1)
        return construction.latencies(values, each=f"the mean of {loops} calls" if loops > 1 else "")
    rounds = int(stats["rounds"].maybe() or 1)
    return [
        metric
        for name, key in _SUMMARIES
        for metric in construction.reported_metrics(
            name, "s", Better.LOWER, stats[key].number(), what=f"{key} of {rounds} rounds", count=rounds
        )
    ]


def _case(row: DocumentPlace) -> Case:
    """Makes the case of a test: its name without what stands in brackets, which is in the params."""
    name = row["fullname"].text("") or row["name"].text()
    params = _params(row, name)
    group = row["group"].text("")
    bare = name.partition("[")[0] if params and name.endswith("]") else name
    return construction.case(PytestBenchmark.name, bare, params, tags=(group,) if group else ())


def _params(row: DocumentPlace, name: str) -> dict[str, Scalar]:
    """The test's parameters; an object is called as in the test's id, since its text may hold a memory address."""
    given = dict(row["params"].items())
    told = row["param"].scalar()
    if not given:
        return {} if told is None else {"param": told}
    objects = [key for key, value in given.items() if _is_object(value.data)]
    params = {key: value.scalar() for key, value in given.items() if key not in objects}
    if not objects:
        return params
    called = str(told) if told is not None else name.partition("[")[2].removesuffix("]")
    parts = _parts(called, given, params)
    if parts is None:
        return {**params, "param": called}
    return {key: parts[key] if key in objects else params[key] for key in given}


def _is_object(data: object) -> bool:
    """Whether pytest-benchmark could write no more than the text of it, or of something in it."""
    if isinstance(data, str):
        return data.startswith(_OBJECT)
    if isinstance(data, dict):
        return any(map(_is_object, data.values()))
    return isinstance(data, list) and any(map(_is_object, data))


def _parts(called: str, given: Mapping[str, DocumentPlace], plain: Mapping[str, Scalar]) -> dict[str, str] | None:
    """The parts of a test's id by parameter, where those that can be checked agree; None where they do not."""
    found = [called] if len(given) == 1 else called.split("-")
    if len(found) != len(given):
        return None
    parts = dict(zip(given, found, strict=True))
    return parts if all(parts[key] == str(value) for key, value in plain.items()) else None
