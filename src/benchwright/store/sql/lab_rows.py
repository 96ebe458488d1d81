"""Rows of the lab as records, and back. Every function works inside the transaction of the connection it is given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, or_, select

from benchwright import schema
from benchwright.errors import DecodeError, OptionError
from benchwright.records import MORE_ROUNDS, Environment, Failure, Result, Status
from benchwright.records.lab import PLAN, PREFIX, JobState, LabHold, LabJob, LabMachine, LabSubmission, LabWork
from benchwright.schema.parsing import TextError, json_value
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import parts

MOST_REASONS = 10
LONGEST_REASON = 500  # characters
_RECENT = 5  # jobs of a case from whose times the next one's is foretold

_jobs = tables.lab_jobs
# Everything but what is to be measured, which is long.
JOB_COLUMNS = [column for column in _jobs.c if column.name not in ("document", "case_key", "answer")]
_first_selector = select(func.min(_jobs.c.selector)).where(_jobs.c.state == JobState.QUEUED.value)


def machine_of(row: Row[Any]) -> LabMachine:
    """The machine of a row."""
    return LabMachine(
        name=row.name,
        agent=row.agent,
        kind=row.kind,
        key=row.key,
        version=row.version,
        facts=_words(row.facts),
        labels=_words(row.labels),
        trouble=row.trouble,
        who=row.who,
        registered_at=row.registered_at,
        seen_at=row.seen_at,
        is_offered=bool(row.is_offered),
        control_at=row.control_at,
    )


def machine_row(machine: LabMachine, *, who: str, now: int) -> dict[str, Any]:
    """The row of a machine that is registered now."""
    return {
        "name": plain(machine.name),
        "agent": plain(machine.agent),
        "who": plain(who),
        "kind": plain(machine.kind),
        "key": plain(machine.key),
        "version": plain(machine.version),
        "facts": json.dumps({plain(name): plain(value) for name, value in machine.facts.items()}),
        "labels": json.dumps({plain(name): plain(value) for name, value in machine.labels.items()}),
        "trouble": plain(machine.trouble),
        "registered_at": now,
        "seen_at": now,
        "is_offered": 1,
    }


def machines(connection: Connection) -> list[LabMachine]:
    """Every machine that was ever registered and not forgotten, by name."""
    return [machine_of(row) for row in connection.execute(select(tables.lab_machines).order_by("name"))]


def holds(connection: Connection, *, at: int) -> list[LabHold]:
    """The holds that last at an instant."""
    table = tables.lab_holds
    query = select(table).where(or_(table.c.until.is_(None), table.c.until > at)).order_by("machine", "kind")
    return [
        LabHold(machine=row.machine, kind=row.kind, who=row.who, reason=row.reason, since=row.since, until=row.until)
        for row in connection.execute(query)
    ]


def set_hold(connection: Connection, hold: LabHold) -> None:
    """Keeps a hold, in the place of the one of its machine and kind."""
    drop_hold(connection, hold.machine, hold.kind)
    row = {"machine": plain(hold.machine), "kind": hold.kind, "since": hold.since, "until": hold.until}
    row |= {"who": plain(hold.who), "reason": plain(hold.reason)[:LONGEST_REASON]}
    connection.execute(insert(tables.lab_holds), row)


def drop_hold(connection: Connection, machine: str, kind: str) -> bool:
    """Ends a hold; False when there was none."""
    table = tables.lab_holds
    gone = connection.execute(delete(table).where(table.c.machine == plain(machine), table.c.kind == kind))
    return gone.rowcount > 0


def job_of(row: Row[Any]) -> LabJob:
    """The job of a row that has `JOB_COLUMNS`."""
    return LabJob(
        id=row.id,
        run=row.run,
        case=row.title,
        selector=row.selector,
        state=_state(row.state),
        who=row.who,
        priority=-row.rank,
        machine=row.machine,
        prefers=row.prefers,
        avoid=tuple(row.avoid.split()) if row.avoid else (),
        attempt=row.attempt,
        losses=row.losses,
        fence=row.fence,
        leased_to=row.leased_to,
        since=row.since,
        until=row.until,
        phase=row.phase,
        reasons=reasons_of(row),
        queued_at=row.queued_at,
        ended_at=row.ended_at,
        parcel=row.parcel,
        rounds=row.rounds,
        expected=row.expected,
    )


def reasons_of(row: Row[Any]) -> tuple[str, ...]:
    """Why a job was given back, each time."""
    try:
        found = json_value(row.reasons)
    except TextError:
        return (row.reasons,)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def work_of(document: str, *, job: int) -> LabWork:
    """What a job is about."""
    try:
        return schema.decode(LabWork, json_value(document), where=f"job {job}")
    except TextError as error:
        raise DecodeError(f"job {job}: {error}") from None


def submission_of(row: Row[Any]) -> LabSubmission:
    """The submission of a row."""
    return LabSubmission(
        run=row.run, who=row.who, at=row.at, selector=row.selector, where=row.spread, priority=row.priority
    )


def past_of(connection: Connection, keys: Iterable[str]) -> Mapping[str, tuple[str, float]]:
    """By case key the machine that measured the case last, and the seconds that it usually took."""
    found: dict[str, tuple[str, float]] = {}
    query = select(_jobs.c.leased_to, _jobs.c.seconds).order_by(_jobs.c.id.desc()).limit(_RECENT)
    for key in dict.fromkeys(keys):
        done = query.where(_jobs.c.case_key == key, _jobs.c.state == JobState.DONE.value)
        if rows := connection.execute(done).all():
            found[key] = (rows[0].leased_to, sum(row.seconds for row in rows) / len(rows))
    return found


def waiting_selectors(connection: Connection) -> Iterator[str]:
    """The selectors of what waits, each once: one look into the index for each, however many jobs have it."""
    found = connection.scalar(_first_selector)
    while found is not None:
        yield found
        found = connection.scalar(_first_selector.where(_jobs.c.selector > found))


def parcels(connection: Connection, digests: Sequence[str]) -> dict[str, str]:
    """Lists of files by their digests, as JSON."""
    table = tables.lab_parcels
    found: dict[str, str] = {}
    for some in parts(sorted({*digests})):
        rows = connection.execute(select(table.c.digest, table.c.document).where(table.c.digest.in_(some)))
        found |= {row.digest: row.document for row in rows}
    return found


def unmeasured_results(row: Row[Any], *, status: Status, kind: str, message: str, remedy: str) -> list[Result]:
    """The records of a job of which nothing was measured, one for each round, and why; none of one that plans."""
    if row.run.startswith(PLAN):
        return []
    work = work_of(row.document, job=row.id)
    began = datetime.now(UTC).isoformat(timespec="milliseconds")
    return [
        Result(
            id=f"{row.run}-{row.id}.{kind}-{number}",
            case=work.case,
            round=number,
            status=status,
            environment=Environment(machine={}, system={}),
            started_at=began,
            duration=0.0,
            error=Failure(kind=kind, message=message, remedy=remedy),
            details=dict(work.notes),
        )
        for number in range(work.rounds)
    ]


def check_results(job: Row[Any], machine: Row[Any], results: Sequence[Result]) -> None:
    """Refuses what cannot come of a job on a machine: another case, ids of others, another machine's series."""
    if any(schema.case_key(result.case) != job.case_key for result in results):
        raise OptionError("these are results of another case", remedy="deliver what the job names")
    own, ids = f"{job.run}-{job.id}.", {result.id for result in results}
    if len(ids) < len(results) or not all(name.startswith(own) for name in ids):
        raise OptionError("these results have ids of others", remedy=f"ids of this job begin with {own}, and differ")
    if len(results) > job.rounds * MORE_ROUNDS:
        raise OptionError(f"{len(results)} results of {job.rounds} rounds", remedy="deliver what the job names")
    for result in results:
        if result.metrics and not _is_of(machine, result.environment):
            raise OptionError(
                f"the result {result.id} is not told to be of {machine.name}",
                remedy="an agent delivers what its own machines measured, under their names",
            )


def _is_of(machine: Row[Any], environment: Environment) -> bool:
    """Whether an environment names the machine, so that what was measured there is among its own series."""
    host, device = environment.system.get("host"), environment.system.get("device")
    if machine.kind == "phone":
        return isinstance(device, dict) and device.get("serial") == _words(machine.facts).get("serial")
    return isinstance(host, dict) and host.get("name") == f"{PREFIX}{machine.name}"


def _state(text: str) -> JobState:
    try:
        return JobState(text)
    except ValueError:
        return JobState.FAILED  # a cell that something changed


def _words(document: str) -> dict[str, str]:
    try:
        found = json_value(document)
    except TextError:
        return {}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}
