"""github-action-benchmark's custom formats: a list of values, for each direction that is better a file of its own."""

from __future__ import annotations

import json

from benchwright.exchange.exporters.rows import ExportRow, rows
from benchwright.records import Better, Run
from benchwright.units import format_number, format_value, scale_for


class SmallerIsBetter:
    """What the action's tool `customSmallerIsBetter` reads: times, memory."""

    name = "customSmallerIsBetter"

    def text(self, run: Run) -> str:
        """Writes every metric of which less is better."""
        return _text(run, Better.LOWER)


class BiggerIsBetter:
    """What the action's tool `customBiggerIsBetter` reads: throughput."""

    name = "customBiggerIsBetter"

    def text(self, run: Run) -> str:
        """Writes every metric of which more is better."""
        return _text(run, Better.HIGHER)


def _text(run: Run, better: Better) -> str:
    found = [_entry(row, run) for row in rows(run) if row.better is better]
    return json.dumps(found, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _entry(row: ExportRow, run: Run) -> dict[str, str | float]:
    """The value in its base unit: the action compares numbers and never looks at the unit."""
    estimate = row.estimate
    entry: dict[str, str | float] = {
        "name": f"{row.name} - {row.metric}",
        "unit": row.unit or "1",
        "value": estimate.point,
    }
    if estimate.low is not None and estimate.high is not None:
        factor, label = scale_for(estimate.point, row.unit)
        half = (estimate.high - estimate.low) / 2
        entry["range"] = f"± {format_number(half / factor)} {label}".rstrip()
    shown = format_value(estimate.point, row.unit)
    entry["extra"] = f"{shown}, {row.rounds} round{'s' * (row.rounds != 1)}, run {run.id}"
    return entry
