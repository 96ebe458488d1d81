"""Marks on results that were measured in quarantine: a warning, so that every table, report and file shows it.

A quarantine may be put and ended long after a result was kept. So the mark is no part of what a store keeps, but given
to a run when it is read to be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchwright import schema
from benchwright.records import CONTROL, Result, ResultWarning, Run
from benchwright.records.machines import Quarantine, Quarantines

CODE = "quarantine"
_REMEDY = "it is kept, but not judged: benchwright machines list names those in quarantine"


def mark_run(run: Run, known: Sequence[Quarantine]) -> Run:
    """The run with a mark on each result that was measured in one of these quarantines."""
    held = Quarantines(known)
    if not held:
        return run
    return replace(run, results=tuple(_mark(result, held) for result in run.results))


def _mark(result: Result, held: Quarantines) -> Result:
    if is_marked(result) or result.case.name.startswith(CONTROL):
        return result
    found = held.covering_result(schema.environment_key(result.environment), result.started_at)
    if found is None:
        return result
    seen = f"measured in quarantine: {found.reason or 'no reason given'}"
    return replace(result, warnings=(*result.warnings, ResultWarning(code=CODE, seen=seen, remedy=_REMEDY)))


def is_marked(result: Result) -> bool:
    """Whether a result has the mark."""
    return any(warning.code == CODE for warning in result.warnings)


def unmark(result: Result) -> Result:
    """The result as a store keeps it."""
    return replace(result, warnings=tuple(one for one in result.warnings if one.code != CODE))
