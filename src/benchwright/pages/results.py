"""One result: everything that was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchwright import schema
from benchwright.analysis.live_values import TASK, live_values, round_band
from benchwright.analysis.rows import rows
from benchwright.errors import StoreError
from benchwright.pages import at_once
from benchwright.pages.distributions import distributions
from benchwright.pages.lines import milliseconds
from benchwright.pages.machines import quarantine_line
from benchwright.pages.requests import requests_view
from benchwright.pages.shapes import QuarantineLine, ResultView, ValueBand
from benchwright.records import Result, Run, Status
from benchwright.records.machines import Quarantines
from benchwright.schema.parsing import json_mapping
from benchwright.schema.series_identity import series_key_of
from benchwright.store.archive import Archive
from benchwright.units import whole_number

AGED = "The individual calls of this result were removed to save space; its metrics are kept."
_ROUNDS = 50  # whose calls, or printed values, are put together, beside one
_SLOTS = 120  # steps of time of a band
FOLDED = "The individual calls were condensed to save space: their durations are kept, their order is not."


@at_once
def result_view(archive: Archive, reference: str, *, together: bool = False) -> ResultView:
    """The result of that id, or of the row's number that a series names.

    With `together`, the distributions are those of all rounds of its case, in its run and on its machine.
    """
    run_id, result = _find_result(archive, reference)
    result = replace(result, samples=archive.samples(result.id))
    run = archive.header(run_id)
    rounds = [
        (one.round, one.result)
        for one in archive.outcomes([run_id])
        if one.case == result.case.name and json_mapping(one.params) == dict(result.case.params)
    ]
    case = result.case
    others = _other_rounds(archive, result, [name for _, name in rounds]) if together else []
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
        series={metric.name: series_key_of(result, metric.name) for metric in result.metrics},
        distributions=distributions(result, others),
        distributed=1 + len(others),
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
        quarantine=_quarantine(archive, result),
        requests=requests_view(result),
        bands=_bands(archive, run, result, [name for _, name in rounds]),
    )


def _bands(archive: Archive, run: Run, result: Result, names: Sequence[str]) -> list[ValueBand]:
    """What all rounds of a task printed over time, where there are enough of them for a band."""
    if result.case.target.runtime != TASK or not result.timelines:
        return []
    others = [archive.result(name)[1] for name in names[:_ROUNDS] if name != result.id]
    [row, *_] = rows(replace(run, results=(result, *others)))
    found = ((one, round_band(one, _SLOTS)) for one in live_values(row))
    return [
        ValueBand(
            name=one.name,
            rounds=len(one.rounds),
            seconds=band.seconds.tolist(),
            low=band.low.tolist(),
            middle=band.middle.tolist(),
            high=band.high.tolist(),
        )
        for one, band in found
        if band is not None
    ]


def _other_rounds(archive: Archive, result: Result, names: Sequence[str]) -> list[Result]:
    """The other results of these names that are of the same machine and have calls, the first of them."""
    found = list[Result]()
    for name in names:
        if name != result.id and len(found) < _ROUNDS:
            other = archive.result(name)[1]
            if schema.environment_key(other.environment) == schema.environment_key(result.environment):
                found.append(replace(other, samples=archive.samples(name)))
    return [other for other in found if other.samples]


def _quarantine(archive: Archive, result: Result) -> QuarantineLine | None:
    machine = schema.environment_key(result.environment)
    held = Quarantines(archive.quarantines(machine))
    found = held.covering(machine, milliseconds(result.started_at) * 1000)
    return quarantine_line(found) if found else None


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
