"""FAI-PEP's rule for regressions: the two newest commits against ten before them, read from a local reporter's files.

The rule sees large changes only, and slower ones only; `benchwright watch` judges better. It is here for those whose
dashboards and thresholds were made for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchwright.compat.harness.documents import HarnessDocument
from benchwright.compat.harness.local_reporter import META, OURS, file_name
from benchwright.schema.parsing import json_value
from benchwright.system import streams
from benchwright.units import whole_number

COMMITS = 12  # that are looked at, the present one among them
LEAST = 5  # commits before the two in question, or nothing is said
METRIC = "delay"  # the only one that is judged
SUMMARY, DIFFERENCE = "summary", "diff_summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPoint:
    """What the newest run of a test says of one commit."""

    commit: str
    control: str = ""
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by key, as in a document
    command: tuple[str, ...] = ()  # that made it


def read_points(root: Path, document: HarnessDocument, commits: Sequence[str]) -> list[CommitPoint]:
    """What is kept below `root` of the document's test, on its device, for those of the commits that have results."""
    names = ("platform", "framework", "net_name", "metric", "identifier")
    test = root.joinpath(*(file_name(str(document.meta[name])) for name in names))
    found = (_read_point(test, commit) for commit in commits[:COMMITS])
    return [point for point in found if point is not None]


def find_regressed(newest_first: Sequence[CommitPoint]) -> list[str]:
    """Returns the entries in which both newest points are slower than the rest allows."""
    if len(newest_first) < 2 + LEAST:
        return []
    newest, second, history = newest_first[0], newest_first[1], newest_first[2:]
    which = DIFFERENCE if len({point.control for point in newest_first}) == 1 and newest.control else SUMMARY
    return [
        key
        for key in newest.entries
        if (most := threshold([_value(point, key, which, "p90") for point in history])) is not None
        and all(_exceeds(point, key, which, most) for point in (newest, second))
    ]


def threshold(p90s: Sequence[float | None]) -> float | None:
    """What a median must exceed: the 90th percentile of the p90s and a tenth of their range; None with too few."""
    known = sorted(value for value in p90s if value is not None)
    if len(known) < LEAST:
        return None
    return known[int(0.9 * len(known))] + int((known[-1] - known[0]) / 10)


def _exceeds(point: CommitPoint, key: str, which: str, most: float) -> bool:
    median = _value(point, key, which, "p50")
    return median is not None and median > most


def _value(point: CommitPoint, key: str, which: str, name: str) -> float | None:
    entry = point.entries.get(key, {})
    summary = entry.get(which) or entry.get(SUMMARY) or {}
    value = summary.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# ---- files ----


def _read_point(test: Path, commit: str) -> CommitPoint | None:
    """Reads the newest results of a commit, whichever date its folder was made for."""
    runs = [run for run in test.glob(f"*/*/*/{file_name(commit)}/*") if whole_number(run.name) is not None]
    if not runs:
        return None
    read = [_read_folder(run) for run in sorted(runs, key=lambda run: int(run.name))]
    meta, data = next(((meta, data) for meta, data in reversed(read) if data), read[-1])  # a failed test has no data
    command = meta.get("command")
    return CommitPoint(
        commit=commit,
        control=str(meta.get("control_commit") or ""),
        entries=data,
        command=tuple(map(str, command)) if isinstance(command, list) else (),
    )


def _read_folder(folder: Path) -> tuple[Mapping[str, Any], dict[str, Mapping[str, Any]]]:
    """A run's folder, ours or the older harness's, which holds a file for each entry."""
    whole = _read_object(folder / OURS)
    if whole:
        return whole.get("meta") or {}, whole.get("data") or {}
    files = [file for file in folder.glob("*.txt") if file.stem != META]
    entries = [entry for entry in map(_read_object, sorted(files)) if "type" in entry]
    keyed = {" ".join(str(entry[name]) for name in ("type", "metric") if name in entry): entry for entry in entries}
    return _read_object(folder / f"{META}.txt"), dict(keyed)


def _read_object(file: Path) -> dict[str, Any]:
    """Reads a JSON object from a file; {} when the file is gone, or holds something else."""
    try:
        found = json_value(streams.read_text(file), finite=False)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
