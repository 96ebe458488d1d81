"""Reports for people and for files."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchwright.compat.neuronperf.reports import Report
from benchwright.errors import OptionError, did_you_mean
from benchwright.system import whole_files

SUMMARY_COLS = [
    *("throughput_avg", "latency_ms_p50", "latency_ms_p99", "n_models", "pipeline_size"),
    *("workers_per_model", "batch_size", "model_filename"),
]
REPORT_COLS = [
    *("model_name", "n_models", "workers_per_model", "pipeline_size", "batch_size"),
    *("throughput_avg", "throughput_peak"),
    *("latency_ms_p0", "latency_ms_p50", "latency_ms_p90", "latency_ms_p95", "latency_ms_p99", "latency_ms_p100"),
    *("cpu_avg_percent", "cpu_percent_p50", "mem_avg_percent", "mem_percent_p50"),
    *("e2e_avg_ms", "infer_avg_ms", "total_infs", "total_s"),
    *("performance_level", "model_filename", "device_type", "instance_type", "cost_per_1m_inf"),
]
PRINT_COLS, CSV_COLS = SUMMARY_COLS, REPORT_COLS
MISSING = "N/A"


def print_reports(
    reports: Iterable[Report],
    cols: Sequence[str] = SUMMARY_COLS,
    sort_by: str = "throughput_peak",
    reverse: bool = False,
) -> None:
    """Prints a table on stdout, sorted by a field, those without it last; below it, what did not finish and why."""
    listed = list(reports)
    if listed and not any(sort_by in report for report in listed) and not _is_number_field(sort_by):
        known = {key for report in listed for key in report}
        raise OptionError(f"sort_by: no report has {sort_by!r}", remedy=did_you_mean(sort_by, known))
    ordered = sorted((r for r in listed if r.get(sort_by) is not None), key=lambda r: r[sort_by], reverse=reverse)
    ordered += [report for report in listed if report.get(sort_by) is None]
    rows = [list(cols), *([_format_cell(report.get(name)) for name in cols] for report in ordered)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(cols))]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(line.rstrip() + "\n")
    for report in ordered:
        if report.get("reason"):
            what = f"n_models {report.get('n_models')}, workers {report.get('workers_per_model')}"
            sys.stdout.write(f"{report['status']}: {report['model_filename']}, {what}: {report['reason']}\n")


def write_csv(
    reports: Iterable[Report], filename: str | os.PathLike[str] | None = None, cols: Sequence[str] = REPORT_COLS
) -> str:
    """Writes one row for each report and returns the file's name."""
    listed = list(reports)
    path = Path(filename) if filename else Path(_default_name(listed, "csv"))
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(cols)
    for report in listed:
        writer.writerow([MISSING if report.get(name) is None else report[name] for name in cols])
    _write_text(path, table.getvalue())
    return str(path)


def write_json(reports: Iterable[Report], filename: str | os.PathLike[str] | None = None) -> str:
    """Writes the reports whole and returns the file's name."""
    listed = list(reports)
    path = Path(filename) if filename else Path(_default_name(listed, "json"))
    _write_text(path, json.dumps(listed, indent=2, allow_nan=False) + "\n")
    return str(path)


def _write_text(path: Path, text: str) -> None:
    """All of the text or, if that fails, what was there before. A link stays one; a device or pipe is written to."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", newline="")
        return
    whole_files.write_text(path.resolve(), text)


def _default_name(reports: Sequence[Report], ending: str) -> str:
    name = str(reports[0].get("model_name") or "model") if reports else "model"
    return f"{Path(name).name}.results-{datetime.now():%Y%m%d-%H%M%S}.{ending}"


def _is_number_field(name: str) -> bool:
    """Whether a field belongs to reports with numbers, even if none of these reports has it."""
    return name in REPORT_COLS or name.startswith(("latency_ms_", "infer_ms_"))


def _format_cell(value: Any) -> str:
    if value is None:
        return MISSING
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
