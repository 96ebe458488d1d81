"""Rows written as JSON, one to a line, behind a marker or bare."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchwright.records import Value
from benchwright.schema import soundness
from benchwright.targets.specs.rows.entries import BadRowError, CustomRow, PrintedRow

CUSTOM_TABLE = "Custom Output"
MOST_DEPTH = 64  # of what a row holds; all that comes after it can follow that deep
_DECODER = json.JSONDecoder()


class JsonRows:
    """Reads what follows `marker` in a line. Without one, any line with braces; `bare`: those that begin with one."""

    def __init__(self, marker: str = "", *, bare: bool = False) -> None:
        self._marker, self._bare = marker, bare
        self.sign = marker or "{"

    def feed(self, line: str) -> Sequence[PrintedRow | CustomRow]:
        """The rows of a line, none for a line of another kind; a `BadRowError` for a row that makes no sense."""
        if self._marker:
            _, found, line = line.partition(self._marker)
            if not found:
                return ()
        begin, end = line.find("{"), line.rfind("}")
        if begin < 0 or (self._bare and line[:begin].strip()):
            if self._marker:
                raise BadRowError("there is no {...} in it")
            return ()
        try:
            told, behind = _DECODER.raw_decode(line, begin)
        except (ValueError, RecursionError):
            behind = -1
        if behind != end + 1:  # nor are two objects in one line
            raise BadRowError("it is not JSON")
        try:
            return rows_of(told)
        except RecursionError:
            raise BadRowError("it is nested too deeply") from None

    def finish(self) -> Sequence[PrintedRow | CustomRow]:
        """A line stands for itself, so nothing is left."""
        return ()


def rows_of(told: Mapping[str, Any]) -> Sequence[PrintedRow | CustomRow]:
    """The rows of one JSON object: a row of today, the nested form before it, or a custom output."""
    if "custom_output" in told:
        return (CustomRow(table=str(told.get("table_name", CUSTOM_TABLE)), output=_json_value(told["custom_output"])),)
    if "type" in told and "metric" in told and "unit" in told:
        return (_row(str(told["type"]), str(told["metric"]), told),)
    nested = [
        _row(kind, metric, facts)
        for kind, metrics in told.items()
        if isinstance(metrics, dict)
        for metric, facts in metrics.items()
        if isinstance(facts, dict) and "unit" in facts
    ]
    if not nested:
        raise BadRowError("it has no type, metric and unit")
    return nested


def _row(kind: str, metric: str, told: Mapping[str, Any]) -> PrintedRow:
    if not kind.strip() or not metric.strip():
        raise BadRowError("its type or metric is empty")
    if not ("value" in told or "info_string" in told or "summary" in told):
        raise BadRowError("it has no value, info_string or summary")
    summary = told.get("summary")
    if summary is not None and not isinstance(summary, dict):
        raise BadRowError("its summary is not an object")
    return PrintedRow(
        type=kind,
        metric=metric,
        unit=str(told["unit"]),
        value=number(told["value"]) if "value" in told else None,
        info=_text(told["info_string"]) if "info_string" in told else None,
        summary=None if summary is None else {str(name): _json_value(value) for name, value in summary.items()},
        runs=int(number(told["num_runs"])) if "num_runs" in told and summary is not None else None,
    )


def number(value: object) -> float:
    """A finite number, also one that is written as text; a `BadRowError` for anything else."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        found = float(value)
    except (ValueError, OverflowError):
        raise BadRowError(f"{str(value)[:40]!r} is not a number") from None
    if not soundness.is_sane(found):
        raise BadRowError(f"{str(value)[:40]!r} is not a finite number")
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(_json_value(value))


def _json_value(value: Any, depth: int = 0) -> Value:
    """JSON that JSON can hold: what is not finite becomes null; a `BadRowError` for what is nested without end."""
    if depth > MOST_DEPTH:
        raise BadRowError(f"it is nested more than {MOST_DEPTH} deep")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _json_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_value(item, depth + 1) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
