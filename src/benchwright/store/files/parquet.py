"""Runs as Parquet: one row per result, with columns to query and the whole record beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from benchwright import schema
from benchwright.errors import DecodeError, NotInstalledError
from benchwright.records import Result, Run
from benchwright.records.quarantine_marks import is_marked, unmark

_ROWS_AT_ONCE = 1000  # a row group; smaller when samples are large
_BYTES_AT_ONCE = 64 << 20


def write(runs: Iterable[Run], file: BinaryIO) -> int:
    """Writes the runs and says how many. A run without results has one row, whose `result` is null.

    What `quarantine_marks` marked is in quarantine in a column of its own; the document is as the store keeps it.
    """
    pa, pq = _pyarrow()
    layout = _layout(pa)
    count, size, rows = 0, 0, []
    with pq.ParquetWriter(file, layout, compression="zstd") as writer:
        for run in runs:
            count += 1
            for row in _rows(run):
                rows.append(row)
                size += len(row["result"] or "")
                if len(rows) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
                    writer.write_table(pa.Table.from_pylist(rows, schema=layout))
                    size, rows = 0, []
        if rows:
            writer.write_table(pa.Table.from_pylist(rows, schema=layout))
    return count


def read(path: str) -> Iterator[Run]:
    """The inverse of `write`; errors name the row. Only the columns `run` and `result` are read."""
    pa, pq = _pyarrow()
    try:
        with pq.ParquetFile(path) as file:
            _check_columns(file.schema_arrow, path)
            yield from _group_runs(_documents(file), path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # not all that Arrow raises is its own
        message = str(error).strip().splitlines()[0]
        raise DecodeError(f"{path}: not a Parquet file that can be read: {message}") from None


def _check_columns(layout: Any, path: str) -> None:
    for name in ("run", "result"):
        kind = str(layout.field(name).type) if name in layout.names else "absent"
        if kind not in ("string", "large_string", "string_view", "null"):
            raise DecodeError(
                f"{path}: column {name!r} is {kind}, not text", remedy="was it written by benchwright export?"
            )


def _documents(file: Any) -> Iterator[tuple[str | None, str | None]]:
    for batch in file.iter_batches(batch_size=100, columns=["run", "result"]):
        yield from zip(batch.column("run").to_pylist(), batch.column("result").to_pylist(), strict=True)


def _group_runs(documents: Iterable[tuple[str | None, str | None]], path: str) -> Iterator[Run]:
    """Groups rows into runs: rows that follow each other with the same run belong together."""
    header: str | None = None
    run: Run | None = None
    results: list[Result] = []
    for number, (run_text, result_text) in enumerate(documents, 1):
        where = f"{path}: row {number}"
        if run_text is None:
            raise DecodeError(f"{where}: the column 'run' is empty")
        if run is None or run_text != header:
            if run is not None:
                yield replace(run, results=tuple(results))
            header, run, results = run_text, schema.loads(run_text, Run, where=where), []
        if result_text is not None:
            results.append(schema.loads(result_text, Result, where=where))
    if run is not None:
        yield replace(run, results=tuple(results))


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    header = {
        "run_id": run.id,
        "tags": list(run.tags),
        "run": schema.dumps(replace(run, results=())),
    }
    if not run.results:
        yield {**dict.fromkeys(_RESULT_COLUMNS), **header}
    for result in run.results:
        yield {**header, **_result_columns(result, run)}


def _result_columns(result: Result, run: Run) -> dict[str, Any]:
    revision = result.revision or run.revision
    return {
        "result_id": result.id,
        "case": result.case.name,
        "params": json.dumps(schema.encode(result.case.params)),
        "runtime": result.case.target.runtime,
        "round": result.round,
        "status": result.status.value,
        "started_at": result.started_at,
        "duration": float(result.duration),
        "revision": revision.id if revision else "",
        "metrics": [
            {
                "name": metric.name,
                "unit": metric.unit,
                "point": float(metric.estimate.point),
                "low": metric.estimate.low,
                "high": metric.estimate.high,
                "count": metric.count,
            }
            for metric in result.metrics
        ],
        "result": schema.dumps(unmark(result)),
        "quarantined": is_marked(result),
    }


_RESULT_COLUMNS = (
    *("result_id", "case", "params", "runtime", "round", "status", "started_at", "duration", "revision"),
    *("metrics", "result", "quarantined"),
)


def _layout(pa: Any) -> Any:
    text = pa.string()
    metric = pa.struct(
        [
            *((name, text) for name in ("name", "unit")),
            *((name, pa.float64()) for name in ("point", "low", "high")),
            ("count", pa.int64()),
        ]
    )
    return pa.schema(
        [
            *(("run_id", text), ("tags", pa.list_(text))),
            *((name, text) for name in ("result_id", "case", "params", "runtime")),
            *(("round", pa.int64()), ("status", text), ("started_at", text)),
            *(("duration", pa.float64()), ("revision", text)),
            ("metrics", pa.list_(metric)),
            *(("run", text), ("result", text), ("quarantined", pa.bool_())),
        ]
    )


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise NotInstalledError("pyarrow, which Parquet needs,", "'benchwright[parquet]'") from None
    return pyarrow, pyarrow.parquet
