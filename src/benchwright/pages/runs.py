"""The list of runs, and one run with its cases."""

from __future__ import annotations

from collections.abc import Sequence

from benchwright.pages import at_once
from benchwright.pages.lines import NAMES, facet_lines, run_line, run_lines
from benchwright.pages.machines import quarantine_line
from benchwright.pages.names import machine_names
from benchwright.pages.run_tables import CASES, RunTable, choose_cases, machines_of, run_table
from benchwright.pages.shapes import QuarantineLine, RunsPage, RunView
from benchwright.records import Status
from benchwright.records.machines import Quarantines
from benchwright.store import RunSummary
from benchwright.store.archive import EVERY_RUN, Archive, RunChoice

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
    also: RunChoice = EVERY_RUN,
    facets: bool = False,
    cases: int | None = NAMES,
) -> RunsPage:
    """The runs after the run `before`, at most `limit`, each with the first names of its `cases`.

    With `facets` the first page counts what narrows them.
    """
    wanted = max(1, min(limit, MOST))
    found = archive.runs_page(
        before=before, limit=wanted + 1, tag=tag, case=case, revision=revision, machine=machine, also=also
    )
    shown = found[:wanted]
    counts = None
    if facets and not before:
        counts = archive.run_facets(tag=tag, case=case, revision=revision, machine=machine, also=also)
    return RunsPage(
        runs=run_lines(archive, shown, cases=cases),
        next=shown[-1].id if len(found) > wanted else "",
        facets=facet_lines(counts, machine_names(archive)) if counts else (),
        total=counts.total if counts else 0,
    )


@at_once
def run_view(
    archive: Archive, reference: str, *, after: int = 0, limit: int | None = CASES, words: str = "", sort: str = ""
) -> RunView:
    """One run with a page of its cases; `reference` is whatever `Store.find` knows. All cases for the limit None."""
    table = run_table(archive, archive.find(reference))
    run, keys, names = table.run, list(machines_of(table)), machine_names(archive)
    found = choose_cases(table, words=words, sort=sort)
    stop = len(found) if limit is None else after + max(1, limit)
    return RunView(
        line=run_line(_summary(table), held=archive.held_results([table.run.id]).get(table.run.id, 0)),
        harness=run.harness,
        command=run.command,
        reason=run.reason,
        baseline=run.baseline,
        previous=_previous(archive, table, keys[0] if keys else ""),
        cases=found[after:stop],
        next=str(stop) if stop < len(found) else "",
        case_count=len(table.lines),
        found=len(found),
        metrics=table.metrics,
        warned=table.warned,
        failing=table.failing,
        machines={key: names.get(key, "") for key in keys},
        objectives=table.objectives,
        rates=table.rates,
        training=table.training,
        quarantines=_quarantines(archive, table),
        advice=table.advice,
        cautions=table.cautions,
        by_machine=table.by_machine,
        prices=table.prices,
        leases=table.leases,
        instances=table.instances,
        speedups=table.speedups,
        sweeps=table.sweeps,
        requests=table.requests,
        race=None if after else table.race,
    )


def _quarantines(archive: Archive, table: RunTable) -> dict[str, QuarantineLine]:
    """Of each machine the quarantine that results of the run fell into."""
    held, found = Quarantines(archive.quarantines()), {}
    if held:
        for key, at in table.measured:
            one = held.covering(key, at)
            if one is not None:
                found[key] = quarantine_line(one)
    return found


def _summary(table: RunTable) -> RunSummary:
    run = table.run
    return RunSummary(
        id=run.id,
        started_at=run.started_at,
        cases=table.names,
        results=table.results,
        failed=sum(count for line in table.lines for status, count in line.statuses.items() if status in _FAILED),
        revision=run.revision,
        tags=run.tags,
        planned=run.planned,
        is_race=run.race is not None,
    )


def _previous(archive: Archive, table: RunTable, machine: str) -> str:
    """The newest run before it that measured the same cases on the same machine."""
    cases: Sequence[str] = sorted(table.names)
    if not cases:
        return ""
    older = archive.runs_page(before=table.run.id, limit=_LOOKED_BACK, case=cases[0], machine=machine)
    is_race = table.run.race is not None
    return next((one.id for one in older if sorted(one.cases) == cases and one.is_race is is_race), "")
