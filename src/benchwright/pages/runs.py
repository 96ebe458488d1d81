"""The list of runs, and one run with its cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchwright import schema
from benchwright.analysis import notes
from benchwright.analysis.judged_metrics import directions_of, in_order, judged_metrics
from benchwright.analysis.rows import Row, rows
from benchwright.pages import at_once
from benchwright.pages.lines import run_line
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import CaseLine, ObjectiveLine, RunsPage, RunView
from benchwright.records import Run, Status
from benchwright.store import RunSummary
from benchwright.store.archive import Archive

MOST = 200  # runs on a page
_LOOKED_BACK = 20  # runs, for one that measured the same
_FAILED = (Status.FAILED, Status.TIMEOUT, Status.KILLED, Status.REFUSED)


@at_once
def runs_page(
    archive: Archive,
    *,
    before: str = "",
    limit: int = 50,
    tag: str = "",
    case: str = "",
    revision: str = "",
    machine: str = "",
) -> RunsPage:
    """The newest runs older than the run `before`, at most `limit`."""
    wanted = max(1, min(limit, MOST))
    found = archive.runs_page(before=before, limit=wanted + 1, tag=tag, case=case, revision=revision, machine=machine)
    shown = found[:wanted]
    return RunsPage(runs=[run_line(one) for one in shown], next=shown[-1].id if len(found) > wanted else "")


@at_once
def run_view(archive: Archive, reference: str) -> RunView:
    """One run; `reference` is whatever `Store.find` knows."""
    run = archive.run(archive.find(reference), samples=False)
    keys = list(dict.fromkeys(schema.environment_key(result.environment) for result in run.results))
    names = machine_names(archive)
    table = rows(run)
    return RunView(
        line=run_line(_summary(run)),
        harness=run.harness,
        command=run.command,
        reason=run.reason,
        baseline=run.baseline,
        previous=_previous(archive, run, keys[0] if keys else ""),
        cases=[_case_line(row) for row in table],
        machines={key: names.get(key, "") for key in keys},
        objectives=[
            ObjectiveLine(objective=kept.objective, met=kept.met, verdict=kept.verdict)
            for kept in notes.objectives(table)
        ],
        rates=notes.rates(table),
    )


def case_lines(run: Run) -> list[CaseLine]:
    """The cases of a run, the rounds of each together."""
    return [_case_line(row) for row in rows(run)]


def _case_line(row: Row) -> CaseLine:
    return CaseLine(
        case=row.name,
        params=dict(row.case.params),
        label=row.label,
        runtime=row.case.target.runtime,
        device=row.case.target.device,
        statuses={status.value: count for status, count in row.statuses.items()},
        metrics=[replace(row.metrics[name], values=()) for name in _names(row)],
        results=[result.id for result in row.results],
        warnings=row.warnings,
        reason=row.failures[0][1].message if row.failures and not row.ok else "",
        failures=[failure for _, failure in row.failures],
    )


def _names(row: Row) -> list[str]:
    """The case's metrics: those that are judged first."""
    judged = judged_metrics(directions_of(row.metrics.values()))
    return list(dict.fromkeys([*judged, *in_order(row.metrics)]))


def _summary(run: Run) -> RunSummary:
    return RunSummary(
        id=run.id,
        started_at=run.started_at,
        cases=tuple(dict.fromkeys(result.case.name for result in run.results)),
        results=len(run.results),
        failed=sum(result.status in _FAILED for result in run.results),
        revision=run.revision,
        tags=run.tags,
        planned=run.planned,
    )


def _previous(archive: Archive, run: Run, machine: str) -> str:
    """The newest run before it that measured the same cases on the same machine."""
    cases: Sequence[str] = sorted({result.case.name for result in run.results})
    if not cases:
        return ""
    older = archive.runs_page(before=run.id, limit=_LOOKED_BACK, case=cases[0], machine=machine)
    return next((one.id for one in older if sorted(one.cases) == cases), "")
