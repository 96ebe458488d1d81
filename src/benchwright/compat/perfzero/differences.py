"""`benchwright perfzero diff DIR`: summaries of two labels against each other, with every trial and its spread."""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchwright.compat.perfzero.workspace import SUMMARY
from benchwright.errors import OptionError
from benchwright.records import Better, Estimate, Verdict
from benchwright.schema.parsing import json_value
from benchwright.schema.printed import envelope
from benchwright.stats.compare import compare
from benchwright.system import streams
from benchwright.units import format_number

WALL_TIME = "wall_time"
UNLABELLED = "(no label)"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """One metric of the treatment against the control."""

    metric: str
    control: tuple[float, ...]  # one value for each trial
    treatment: tuple[float, ...]
    percent: float | None  # None where the control's is not a number to divide by
    low: float | None = None  # the 95 % interval of the change, from two trials on
    high: float | None = None
    verdict: Verdict = Verdict.UNCLEAR
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodDifference:
    """One method: its changes, or why there is nothing to compare."""

    method: str
    control: str = ""
    treatment: str = ""
    changes: tuple[MetricChange, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _SummarisedTrial:
    label: str
    failed: bool
    values: dict[str, float] = field(default_factory=dict)


def main(arguments: Sequence[str]) -> int:
    """Prints what differs below the folder that is named."""
    parser = argparse.ArgumentParser(
        prog="benchwright perfzero diff",
        description=f"Compare the two execution labels found in the {SUMMARY} files below DIR.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="A folder that holds summaries, at any depth.")
    parser.add_argument("--json", action="store_true", help="Print JSON instead of text.")
    given = parser.parse_args(arguments)
    found, problems = differences(given.folder)
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    if given.json:
        sys.stdout.write(envelope("perfzero-differences", found) + "\n")
    else:
        from benchwright.report.ascii import emit_text

        emit_text(sys.stdout, "\n\n".join("\n".join(_difference_lines(difference)) for difference in found) + "\n")
    return 0


def differences(folder: Path) -> tuple[list[MethodDifference], list[str]]:
    """Every method's difference, by name, and what is wrong with files that could not be used."""
    if not folder.is_dir():
        raise OptionError(f"{folder}: no such folder", remedy="name the folder that holds the outputs")
    methods: dict[str, list[_SummarisedTrial]] = defaultdict(list)
    problems = []
    for path in sorted(path for path in folder.rglob(f"*{SUMMARY}") if path.is_file()):
        try:
            name, trial = _read(json_value(streams.read_text(path), finite=False))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            problems.append(f"{path}: is not a summary, and is left out: {error!r}")
            continue
        methods[name].append(trial)
    if not methods:
        raise OptionError(f"{folder}: there is no {SUMMARY} below it", remedy="run something first, or name its output")
    return [_difference(name, trials) for name, trials in sorted(methods.items())], problems


def _read(summary: Any) -> tuple[str, _SummarisedTrial]:
    result, info = summary["benchmark_result"], summary.get("benchmark_info", {})
    pairs = [(WALL_TIME, result["wall_time"]), *((m["name"], m["value"]) for m in result.get("metrics", []))]
    values = {str(name): float(value) for name, value in pairs if isinstance(value, int | float)}
    label = str(info.get("execution_label") or UNLABELLED)
    return str(result["name"]), _SummarisedTrial(label=label, failed=bool(info.get("has_exception")), values=values)


def _difference(method: str, trials: list[_SummarisedTrial]) -> MethodDifference:
    labels = sorted({trial.label for trial in trials})
    if len(labels) != 2:
        why = "there is nothing to compare it with" if len(labels) == 1 else "two are needed"
        return MethodDifference(
            method=method, notes=(f"{_count_text(len(labels), 'label')}, {', '.join(labels)}: {why}",)
        )
    sides = [[trial for trial in trials if trial.label == label] for label in labels]
    notes = [
        f"{label}: {_count_text(bad, 'trial')} of {len(side)} failed and {'is' if bad == 1 else 'are'} left out"
        for label, side in zip(labels, sides, strict=True)
        if (bad := sum(trial.failed for trial in side))
    ]
    good = [[trial.values for trial in side if not trial.failed] for side in sides]
    changes = [] if not all(good) else [*_changes(*good)]
    notes += [] if all(good) else ["one side has no trial that ended well: nothing can be compared"]
    return MethodDifference(
        method=method, control=labels[0], treatment=labels[1], changes=tuple(changes), notes=tuple(notes)
    )


def _changes(control: list[dict[str, float]], treatment: list[dict[str, float]]) -> Iterator[MetricChange]:
    for metric in dict.fromkeys(name for values in (*control, *treatment) for name in values):
        a = tuple(values[metric] for values in control if metric in values)
        b = tuple(values[metric] for values in treatment if metric in values)
        if not a or not b:
            side = "treatment" if a else "control"
            yield MetricChange(metric=metric, control=a, treatment=b, percent=None, why=f"the {side} did not report it")
        elif not all(map(math.isfinite, (*a, *b))):
            yield MetricChange(metric=metric, control=(), treatment=(), percent=None, why="not every value is finite")
        else:
            yield _change(metric, a, b)


def _change(metric: str, a: tuple[float, ...], b: tuple[float, ...]) -> MetricChange:
    judged = compare(_points(a), _points(b), better=Better.LOWER if metric == WALL_TIME else None)
    ratio = judged.ratio
    if ratio is None:  # a logarithm needs values above zero; the means may still be divided
        base = statistics.fmean(a)
        percent = 100 * (statistics.fmean(b) - base) / abs(base) if base else None
        why = judged.why if base else "the control is 0: no percentage"
        return MetricChange(metric=metric, control=a, treatment=b, percent=percent, verdict=judged.verdict, why=why)
    several = len(a) + len(b) > 2
    return MetricChange(
        metric=metric,
        control=a,
        treatment=b,
        percent=100 * (ratio.point - 1),
        low=None if not several or ratio.low is None else 100 * (ratio.low - 1),
        high=None if not several or ratio.high is None else 100 * (ratio.high - 1),
        verdict=judged.verdict if several else Verdict.UNCLEAR,
        why=judged.why if several else "one trial each: no interval",
    )


def _points(values: tuple[float, ...]) -> list[Estimate]:
    return [Estimate(point=value, low=None, high=None) for value in values]


def _difference_lines(difference: MethodDifference) -> Iterator[str]:
    yield difference.method
    if difference.changes:
        yield f"  control: {difference.control}, treatment: {difference.treatment}"
    width = max((len(change.metric) for change in difference.changes), default=0)
    for change in difference.changes:
        means = " -> ".join(
            format_number(statistics.fmean(values), 4) if values else "-"
            for values in (change.control, change.treatment)
        )
        trials = f"{len(change.control)} and {len(change.treatment)} trials"
        yield f"  {change.metric:<{width}}  {_percent(change)}  {means}  ({trials}; {change.why})"
    yield from (f"  {note}" for note in difference.notes)


def _percent(change: MetricChange) -> str:
    if change.percent is None:
        return "-"
    interval = "" if change.low is None or change.high is None else f" [{change.low:+.2f}, {change.high:+.2f}]"
    return f"{change.percent:+.2f}%{interval}"


def _count_text(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
