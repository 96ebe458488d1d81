"""One result: everything that was recorded."""

from __future__ import annotations

from dataclasses import replace

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.pages import at_once
from benchwright.pages.distributions import distributions
from benchwright.pages.lines import milliseconds
from benchwright.pages.shapes import ResultView
from benchwright.records import Result, Status
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Archive
from benchwright.units import whole_number

AGED = "The single calls of this result were removed to save space; its metrics stay."
FOLDED = "The single calls were folded to save space: how long they took is still known, in which order is not."


@at_once
def result_view(archive: Archive, reference: str) -> ResultView:
    """The result of that id, or of the row's number that a series names."""
    run_id, result = _find_result(archive, reference)
    result = replace(result, samples=archive.samples(result.id))
    run = archive.header(run_id)
    rounds = [
        (one.round, one.result)
        for one in archive.outcomes([run_id])
        if one.case == result.case.name and json_mapping(one.params) == dict(result.case.params)
    ]
    case = result.case
    return ResultView(
        id=result.id,
        run=run_id,
        case=case.name,
        params=dict(case.params),
        runtime=case.target.runtime,
        device=case.target.device,
        precision=case.target.precision,
        uri=case.target.uri,
        load=schema.encode(case.load),
        inputs=schema.encode(case.inputs),
        round=result.round,
        status=result.status,
        started_at=milliseconds(result.started_at),
        duration=result.duration,
        revision=result.revision or run.revision,
        metrics=[replace(metric, values=()) for metric in result.metrics],
        series={metric.name: schema.series_key(case, result.environment, metric.name) for metric in result.metrics},
        distributions=distributions(result),
        note=_note(result),
        timelines=result.timelines,
        operators=result.operators,
        warnings=result.warnings,
        error=result.error,
        log_tail=result.log_tail or (result.error.log_tail if result.error else ""),
        artifacts=result.artifacts,
        details=dict(result.details),
        instrument=dict(result.instrument),
        environment=schema.encode(result.environment),
        command=run.command,
        rounds=[name for _, name in sorted(rounds)],
    )


def _find_result(archive: Archive, reference: str) -> tuple[str, Result]:
    try:
        return archive.result(reference)
    except StoreError:
        number = whole_number(reference)
        name = archive.result_ids([number]).get(number, "") if number else ""
        if not name:
            raise
    return archive.result(name)


def _note(result: Result) -> str:
    """The note on calls that were recorded and are no longer in the store; "" where all are."""
    if result.samples:
        return FOLDED if any(copy.calls and not copy.columns for copy in result.samples) else ""
    recorded = result.instrument.get("recorded_calls")
    return AGED if result.status is Status.OK and isinstance(recorded, int) and recorded > 0 else ""
