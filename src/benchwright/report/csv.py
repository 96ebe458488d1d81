"""CSV: one line for each result and metric, in base units, or one line for each call."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from benchwright.records import Result, Run, Scalar
from benchwright.records.quarantine_marks import is_marked

COLUMNS = ("run", "result", "round", "started_at", "case", "status", "metric", "unit", "better")
OF_SAMPLES = ("copy", "loops")
NUMBERS = ("value", "low", "high", "confidence", "count")
LAST = ("error", "quarantined")


def run_csv(run: Run) -> str:
    """Tidy CSV in base units; a result without numbers has one line with its status and an empty metric."""
    names = _param_names(run)
    return _csv([*COLUMNS, *NUMBERS, *names, *LAST], _lines(run, names))


def samples_csv(run: Run) -> str:
    """Every recorded sample of `loops` calls, nanoseconds as the clock gave them. Folded calls have no line."""
    names = _param_names(run)
    columns = list(dict.fromkeys(c for r in run.results for s in r.samples for c in s.columns))
    head = ["run", "result", "round", "case", *OF_SAMPLES, *names, *(f"{column}_ns" for column in columns)]
    return _csv(head, _calls(run, names, columns))


def tidy(run: Run) -> Iterator[dict[str, Scalar]]:
    """The lines of `run_csv` as mappings, numbers still numbers."""
    for result in run.results:
        for metric in result.metrics or (None,):
            e = metric.estimate if metric else None
            yield {
                "run": run.id,
                "result": result.id,
                "round": result.round,
                "started_at": result.started_at,
                "case": result.case.name,
                "status": str(result.status),
                "metric": metric.name if metric else None,
                "unit": metric.unit if metric else None,
                "better": str(metric.better) if metric and metric.better else None,
                "value": e.point if e else None,
                "low": e.low if e else None,
                "high": e.high if e else None,
                "confidence": e.confidence if e else None,
                "count": metric.count if metric else None,
                **_params(result),
                "error": f"{result.error.kind}: {result.error.message}" if result.error else None,
                "quarantined": is_marked(result),
            }


def _params(result: Result) -> dict[str, Scalar]:
    """Params by name; one that is called like a column of ours gets `param_` before it."""
    taken = {*COLUMNS, *NUMBERS, *OF_SAMPLES, *LAST}
    return {(f"param_{k}" if k in taken else k): v for k, v in result.case.params.items()}


def _param_names(run: Run) -> list[str]:
    return list(dict.fromkeys(name for result in run.results for name in _params(result)))


def _lines(run: Run, names: list[str]) -> Iterator[list[Scalar]]:
    for line in tidy(run):
        yield [line.get(name) for name in (*COLUMNS, *NUMBERS, *names, *LAST)]


def _calls(run: Run, names: list[str], columns: list[str]) -> Iterator[list[Scalar]]:
    for result in run.results:
        params = _params(result)
        for samples in result.samples:
            start = [
                run.id,
                result.id,
                result.round,
                result.case.name,
                samples.copy,
                samples.loops,
                *map(params.get, names),
            ]
            held = [samples.columns.get(column) for column in columns]
            for i in range(len(samples.columns.get("latency", ()))):
                yield [*start, *(values[i] if values else None for values in held)]


def _csv(head: list[str], lines: Iterator[list[Scalar]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_field(value) for value in line] for line in lines)
    return out.getvalue()


def _field(value: Scalar) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value[:1] in ("=", "+", "@", "\t"):
        return f"'{value}"  # a spreadsheet would run it as a formula
    return value
