"""CSV: one line for each result and metric, in base units, or one line for each call."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from benchwright.analysis.request_failures import kind_of
from benchwright.records import Result, Run, Samples, Scalar
from benchwright.records.quarantine_marks import is_marked
from benchwright.worker.endpoints.reading import NEVER

COLUMNS = ("run", "result", "round", "started_at", "case", "status", "metric", "unit", "better")
OF_SAMPLES = ("copy", "loops")
NUMBERS = ("value", "low", "high", "confidence", "count")
LAST = ("error", "quarantined")
_CALL = "call"  # of chunks: which request they belong to
_PLAIN = frozenset(["outcome", "status", "kind", "size", "tokens"])  # raw columns that hold no times


def run_csv(run: Run) -> str:
    """Tidy CSV in base units; a result without numbers has one line with its status and an empty metric."""
    names = _param_names(run)
    return _csv([*COLUMNS, *NUMBERS, *names, *LAST], _lines(run, names))


def samples_csv(run: Run) -> str:
    """Every recorded sample of `loops` calls, nanoseconds as the clock gave them. Folded calls have no line.

    Of requests to served models the outcome is a word, what never happened is empty, and the columns of chunks hold a
    number for each event of the answer, with spaces between them.
    """
    names = _param_names(run)
    columns = list(dict.fromkeys(c for r in run.results for s in r.samples for c in s.columns))
    chunks = [c for c in dict.fromkeys(c for r in run.results for s in r.samples for c in s.chunks) if c != _CALL]
    taken = {*map(_head_of, columns)}
    params = [f"param_{name}" if name in taken else name for name in names]
    head = ["run", "result", "round", "case", *OF_SAMPLES, *params, *map(_head_of, columns)]
    return _csv([*head, *(f"chunk_{_head_of(c)}" for c in chunks)], _calls(run, names, columns, chunks))


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


def _calls(run: Run, names: list[str], columns: list[str], chunks: list[str]) -> Iterator[list[Scalar]]:
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
            held = [(column, samples.columns.get(column)) for column in columns]
            of_requests = "outcome" in samples.columns
            events = _events(samples, chunks)
            for i in range(len(samples.columns.get("latency", ()))):
                cells = [_cell(column, values[i], of_requests) if values else None for column, values in held]
                yield [*start, *cells, *(events.get(i, {}).get(chunk) for chunk in chunks)]


def _events(samples: Samples, chunks: list[str]) -> dict[int, dict[str, str]]:
    """The events of each request: of each column the numbers, with spaces between them."""
    found: dict[int, dict[str, list[str]]] = {}
    for place, call in enumerate(samples.chunks.get(_CALL, ())):
        own = found.setdefault(call, {chunk: [] for chunk in chunks if chunk in samples.chunks})
        for chunk, values in own.items():
            values.append(str(samples.chunks[chunk][place]))
    return {call: {chunk: " ".join(values) for chunk, values in own.items()} for call, own in found.items()}


def _head_of(column: str) -> str:
    """The head of a raw column: one that holds nanoseconds says so."""
    return column if column in _PLAIN or column.endswith("_tokens") else f"{column}_ns"


def _cell(column: str, value: int, of_requests: bool) -> Scalar:
    if column == "outcome":
        return kind_of(value)
    return None if of_requests and value == NEVER else value


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
