"""hyperfine's JSON (`--export-json FILE`)."""

from __future__ import annotations

from collections.abc import Sequence

from benchwright.exchange.importers import construction
from benchwright.exchange.importers.construction import Provenance
from benchwright.exchange.importers.place import DocumentPlace, document
from benchwright.exchange.importers.source_file import Given
from benchwright.records import Better, Estimate, Failure, Metric, Result, Run, Scalar

_SUMMARIES = (("latency", "mean"), ("latency_p50", "median"), ("latency_min", "min"), ("latency_max", "max"))


class Hyperfine:
    """One result for each command; its values are the times of its calls."""

    name = "hyperfine"

    def fits(self, what: Given) -> bool:
        """Whether the file has hyperfine's results of commands."""
        rows = what.data.get("results") if isinstance(what.data, dict) else None
        return isinstance(rows, list) and bool(rows) and all(isinstance(r, dict) and "command" in r for r in rows)

    def runs(self, what: Given) -> list[Run]:
        """The one run that the file holds. hyperfine tells neither when nor where it measured."""
        whole = document(what)
        told = Provenance(
            tool=self.name,
            environment=construction.environment(self.name, "", machine={}, system={}),
            started_at=what.modified_at,
            warnings=(construction.undated_warning(self.name), construction.unplaced_warning(self.name)),
        )
        return [construction.run(told, what.data, [_result(told, row) for row in whole["results"]], sorts=False)]


def _result(told: Provenance, row: DocumentPlace) -> Result:
    times = row["times"].numbers()
    params: dict[str, Scalar] = {name: construction.scalar(value.text()) for name, value in row["parameters"].items()}
    codes = [code.data for code in row["exit_codes"]]
    return construction.result(
        told,
        construction.case(Hyperfine.name, row["command"].text(), params),
        metrics=[*_times(row, times), *_others(row, len(times))],
        failure=_failure(codes),
        duration=sum(times),
    )


def _times(row: DocumentPlace, times: Sequence[float]) -> list[Metric]:
    if times:
        return construction.latencies(times)
    return [
        metric
        for name, key in _SUMMARIES
        for metric in construction.reported_metrics(
            name, "s", Better.LOWER, row[key].maybe(), what=f"{key} of the calls"
        )
    ]


def _others(row: DocumentPlace, count: int) -> list[Metric]:
    found: list[Metric] = []
    for name, key in (("cpu_user", "user"), ("cpu_system", "system")):
        found += construction.reported_metrics(
            name, "s", Better.LOWER, row[key].maybe(), what="mean of the calls", count=count or 1
        )
    if memory := row["memory_usage_byte"].numbers():
        peak = Estimate(point=max(memory), low=None, high=None, method="exact")
        found.append(
            Metric(name="rss_peak", unit="B", better=Better.LOWER, estimate=peak, count=len(memory), values=memory)
        )
    return found


def _failure(codes: Sequence[object]) -> Failure | None:
    """A command that failed may have failed early: its times are kept, and say little."""
    bad = [code for code in codes if code != 0]
    if not bad:
        return None
    shown = ", ".join(dict.fromkeys("a signal" if code is None else str(code) for code in bad))
    return Failure(
        kind="exit",
        message=f"{len(bad)} of {len(codes)} calls ended with another exit code than 0: {shown}",
        remedy="hyperfine was told to ignore this; see whether the command does its work",
    )
