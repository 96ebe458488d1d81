"""Results that have arrived and are not judged yet, in the tables; and what is known of judging them.

Every result is put there in the transaction that keeps it, and goes when its series were looked at: so none is
forgotten, whatever ends in between. Every function works inside the transaction of the connection it is given.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, insert, literal, select, update

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records import CALIBRATION_TAG, CONTROL_TAG, Status
from benchwright.records.branches import is_on_line, main_line
from benchwright.schema.series_identity import is_series_of_races
from benchwright.store.arrivals import ArrivedBatch, ArrivedRun, JudgingState, JudgingTrouble, UntoldFinding
from benchwright.store.live import STALE_AFTER
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import insert_missing, parts

LONGEST_WAIT = 600.0  # seconds after which a run is judged although results of it still arrive
_JUDGED, _OLDER, _FAILING, _TROUBLES = "judged", "older", "failing", "troubles"  # names in the table `judging`
_LOOK = "look "  # and there the name of a run that is being looked at follows
_MOST_TROUBLES = 50  # that are kept
_LONGEST_WHY = 500  # characters
_MOST_CASES = 10_000  # of a batch: SQLite takes 32,766 parameters


def arrived(connection: Connection, *, limit: int = 20_000, quiet: float = 0.0) -> ArrivedBatch | None:
    """Results that wait to be judged, those of one case all together; None when none is ready.

    A look at a series sees all of its values. So where more than `limit` results wait, some cases are taken with all
    their runs, and not some runs with all their cases: then each series is looked at once, however many runs arrived.
    """
    arrivals, results = tables.arrivals, tables.results
    is_ready = _is_ready(quiet)
    joined = arrivals.join(results, results.c.id == arrivals.c.result_id)
    columns = (arrivals.c.result_id, results.c.run_id, results.c.case_name, arrivals.c.at)
    query = select(*columns).select_from(joined).where(is_ready)
    if _count(connection) > limit:
        query = query.where(results.c.case_name.in_(_first_cases(connection, is_ready, limit)))
    rows = connection.execute(query.order_by(arrivals.c.result_id).limit(10 * limit)).all()
    if not rows:
        return None
    numbers = [row.result_id for row in rows]
    return ArrivedBatch(
        results=tuple(numbers),
        latest=max(row.at for row in rows),
        of_runs=len({row.run_id for row in rows}),
        cases=len({row.case_name for row in rows}),
        runs=tuple(_looks(connection, numbers)),
    )


def settle(connection: Connection, batch: ArrivedBatch, troubles: Sequence[JudgingTrouble] = ()) -> int:
    """Takes a batch from the list, and counts it."""
    table = tables.arrivals
    # SQLite gives the number of a result that was removed to a new one, which arrived later.
    settled = sum(
        connection.execute(delete(table).where(table.c.result_id.in_(part), table.c.at <= batch.latest)).rowcount
        for part in parts(batch.results)
    )
    _add_judged(connection, settled)
    known = _read_troubles(connection)
    looked = frozenset(key for run in batch.runs for key in run.series)
    fresh = {trouble.series: trouble for trouble in troubles}
    if fresh or any(trouble.series in looked for trouble in known):
        _keep_troubles(connection, [*fresh.values(), *(one for one in known if one.series not in looked)])
    return settled


def mark_judged(connection: Connection, run_id: str) -> int:
    """Takes the results of a run from the list, and counts them."""
    table, results, runs = tables.arrivals, tables.results, tables.runs
    mine = select(results.c.id).join(runs, runs.c.id == results.c.run_id).where(runs.c.run == plain(run_id))
    settled = connection.execute(delete(table).where(table.c.result_id.in_(mine))).rowcount
    if settled:
        _add_judged(connection, settled)
    return settled


def list_again(connection: Connection) -> int:
    """Puts every result on the list that has values; what is on it stays as it is."""
    table, results = tables.arrivals, tables.results
    now = literal(time.time_ns() // 1000)
    there = select(table.c.result_id)
    missing = select(results.c.id, now).where(results.c.status == Status.OK.value, results.c.id.not_in(there))
    connection.execute(insert(table).from_select(["result_id", "at"], missing))
    connection.execute(delete(tables.judging).where(tables.judging.c.name == _OLDER))
    return _count(connection)


def state(connection: Connection) -> JudgingState:
    """How far everything is judged. However long the list is, this takes a moment."""
    facts = {row.name: row for row in connection.execute(select(tables.judging))}
    first = connection.execute(
        select(tables.arrivals.c.result_id, tables.arrivals.c.at).order_by(tables.arrivals.c.result_id).limit(1)
    ).one_or_none()
    failing = facts.get(_FAILING)
    return JudgingState(
        waiting=_count(connection) if first else 0,
        since=first.at if first else 0,
        until=_judged_until(connection, first.result_id if first else None),
        judged=facts[_JUDGED].number if _JUDGED in facts else 0,
        older=facts[_OLDER].number if _OLDER in facts else 0,
        failing=failing.document if failing else "",
        failing_since=failing.at if failing else 0,
        troubles=tuple(_decode_troubles(facts[_TROUBLES].document) if _TROUBLES in facts else ()),
    )


def note_failure(connection: Connection, why: str) -> None:
    """Notes since when nothing is judged, and why; "" when that is over."""
    table = tables.judging
    if why:
        _set(connection, _FAILING, plain(why[:_LONGEST_WHY]))
    else:
        connection.execute(delete(table).where(table.c.name == _FAILING))


def begin_look(connection: Connection, run_id: str) -> int:
    """Notes that a run is about to be looked at; returns how many such looks came to no end, this one counted."""
    table, name = tables.judging, plain(f"{_LOOK}{run_id}")
    row = {"name": name, "number": 0, "at": time.time_ns() // 1000, "document": ""}
    connection.execute(insert_missing(connection.dialect, table), row)
    connection.execute(update(table).where(table.c.name == name).values(number=table.c.number + 1))
    return connection.scalar(select(table.c.number).where(table.c.name == name)) or 1


def end_look(connection: Connection, run_id: str) -> None:
    """Notes that the look at a run has come to its end."""
    connection.execute(delete(tables.judging).where(tables.judging.c.name == plain(f"{_LOOK}{run_id}")))


# ---- findings that people are to be told of ----


def note_untold(connection: Connection, finding: str, run: str) -> None:
    """Notes that people are to be told of a finding."""
    row = {"finding": plain(finding), "run": plain(run), "at": time.time_ns() // 1000}
    connection.execute(insert_missing(connection.dialect, tables.untold), row)


def untold(connection: Connection) -> list[UntoldFinding]:
    """The findings that people are to be told of, those that wait longest first."""
    table = tables.untold
    rows = connection.execute(select(table).order_by(table.c.at, table.c.finding))
    return [UntoldFinding(finding=row.finding, run=row.run, at=row.at) for row in rows]


def drop_untold(connection: Connection, findings: Sequence[str]) -> None:
    """Notes that people need not be told of these any more."""
    for part in parts([plain(finding) for finding in findings]):
        connection.execute(delete(tables.untold).where(tables.untold.c.finding.in_(part)))


# ---- which results, and which runs are to be looked at for them ----


def _is_ready(quiet: float) -> ColumnElement[bool]:
    """Whether the run of a result is complete, as far as can be told."""
    arrivals, results, runs, progress = tables.arrivals, tables.results, tables.runs, tables.progress
    now = time.time_ns() // 1000
    spoke = progress.c.at > now - _micro(STALE_AFTER)
    live = select(runs.c.id).join(progress, progress.c.run == runs.c.run).where(spoke)
    ready = results.c.run_id.not_in(live)
    if quiet <= 0:
        return ready
    mine = results.alias()
    joined = arrivals.join(mine, mine.c.id == arrivals.c.result_id)
    is_fresh = and_(arrivals.c.at > now - _micro(quiet), arrivals.c.at <= now)  # a clock that is ahead holds nothing up
    fresh = select(mine.c.run_id).select_from(joined).where(is_fresh)
    growing = (
        select(mine.c.run_id)
        .select_from(joined)
        .where(mine.c.run_id.in_(fresh))
        .group_by(mine.c.run_id)
        .having(func.min(arrivals.c.at) > now - _micro(LONGEST_WAIT))
    )
    return and_(ready, results.c.run_id.not_in(growing))


def _first_cases(connection: Connection, is_ready: ColumnElement[bool], limit: int) -> list[str]:
    """Names of cases, those that wait longest first, with about so many results that wait.

    By the alphabet, what never stops arriving for the first cases would keep the last ones waiting for ever.
    """
    arrivals, results = tables.arrivals, tables.results
    query = (
        select(results.c.case_name, func.count())
        .select_from(arrivals.join(results, results.c.id == arrivals.c.result_id))
        .where(is_ready)
        .group_by(results.c.case_name)
        .order_by(func.min(arrivals.c.at), results.c.case_name)
    )
    chosen: list[str] = []
    total = 0
    for name, count in connection.execute(query):
        if chosen and (total + count > limit or len(chosen) >= _MOST_CASES):
            break
        chosen.append(name)
        total += count
    return chosen


def _looks(connection: Connection, numbers: Sequence[int]) -> Iterable[ArrivedRun]:
    """For every series that these results have values in, the newest of their runs; the oldest run first.

    Where they are of several branches, it is the newest of the series' main line, which is what is judged.
    """
    results, points, runs, series = tables.results, tables.points, tables.runs, tables.series
    touched: dict[int, set[int]] = {}  # run -> series
    for part in parts(numbers):
        query = select(results.c.run_id, points.c.series_id).join_from(
            results, points, points.c.result_id == results.c.id
        )
        for run, number in connection.execute(query.where(results.c.id.in_(part)).distinct()):
            touched.setdefault(run, set()).add(number)
    tags = tables.run_tags
    aside = frozenset(connection.scalars(select(tags.c.run_id).where(tags.c.tag == CALIBRATION_TAG)))
    tagged = select(tags.c.run_id).where(tags.c.tag == CONTROL_TAG)
    control = {
        run for part in parts(sorted(touched)) for run in connection.scalars(tagged.where(tags.c.run_id.in_(part)))
    }
    known = _by_number(connection, select(runs.c.id, runs.c.at, runs.c.run, runs.c.branch), runs.c.id, [*touched])
    ordered = sorted((run for run in touched if run not in aside), key=lambda run: (known[run].at, run))
    branches: dict[int, set[str]] = {}  # series -> of the runs that touched it
    for run in ordered:
        for number in touched[run]:
            branches.setdefault(number, set()).add(known[run].branch)
    lines = _main_lines(connection, sorted(number for number, names in branches.items() if len(names) > 1))
    covered: set[int] = set()
    chosen: list[tuple[int, set[int]]] = []
    for run in reversed(ordered):
        mine = touched[run] - covered
        if mine := {one for one in mine if one not in lines or is_on_line(known[run].branch, lines[one])}:
            chosen.append((run, mine))
            covered |= mine
    named = _by_number(connection, select(series.c.id, series.c.key, series.c.params), series.c.id, sorted(covered))
    keys = {number: row.key for number, row in named.items() if not is_series_of_races(row.params)}
    looks = ((run, frozenset(keys[one] for one in mine if one in keys)) for run, mine in reversed(chosen))
    return [ArrivedRun(run=known[run].run, series=own, is_control=run in control) for run, own in looks if own]


def _main_lines(connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
    """Of each of these series the branch that is its main line; those whose points have no branch are left out."""
    results, points, runs = tables.results, tables.points, tables.runs
    counts: dict[int, dict[str, int]] = {}
    for part in parts(numbers):
        branch = tables.branch_of_point().label("branch")
        query = (
            select(points.c.series_id, branch, func.count())
            .join_from(points, results, points.c.result_id == results.c.id)
            .join(runs, results.c.run_id == runs.c.id)
            .where(points.c.series_id.in_(part))
            .group_by(points.c.series_id, branch)
        )
        for number, name, count in connection.execute(query):
            counts.setdefault(number, {})[name] = count
    return {number: line for number, named in counts.items() if (line := main_line(named))}


def _by_number(
    connection: Connection, query: Select[Any], column: ColumnElement[int], numbers: Sequence[int]
) -> Mapping[int, Any]:
    return {row.id: row for part in parts(numbers) for row in connection.execute(query.where(column.in_(part)))}


# ---- facts ----


def _count(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(tables.arrivals)) or 0


def _judged_until(connection: Connection, first: int | None) -> str:
    """The run that was added last of those before the first result that waits: up to there everything is judged."""
    results, runs = tables.results, tables.runs
    query = select(runs.c.run).join_from(results, runs, runs.c.id == results.c.run_id)
    if first is not None:
        mine = select(results.c.run_id).where(results.c.id == first).scalar_subquery()
        query = query.where(results.c.id < first, results.c.run_id != mine)
    return connection.scalar(query.order_by(results.c.id.desc()).limit(1)) or ""


def _add_judged(connection: Connection, count: int) -> None:
    table = tables.judging
    row = {"name": _JUDGED, "number": 0, "at": time.time_ns() // 1000, "document": ""}
    connection.execute(insert_missing(connection.dialect, table), row)
    connection.execute(
        update(table).where(table.c.name == _JUDGED).values(number=table.c.number + count, at=time.time_ns() // 1000)
    )


def _set(connection: Connection, name: str, document: str) -> None:
    """Sets the document of a fact; when it was set first stays."""
    table = tables.judging
    row = {"name": name, "number": 0, "at": time.time_ns() // 1000, "document": document}
    connection.execute(insert_missing(connection.dialect, table), row)
    connection.execute(update(table).where(table.c.name == name).values(document=document))


def _read_troubles(connection: Connection) -> list[JudgingTrouble]:
    table = tables.judging
    return _decode_troubles(connection.scalar(select(table.c.document).where(table.c.name == _TROUBLES)) or "[]")


def _decode_troubles(document: str) -> list[JudgingTrouble]:
    try:
        return [schema.decode(JudgingTrouble, one, where="troubles") for one in json.loads(document)]
    except (ValueError, TypeError, DecodeError):  # a cell that was damaged costs this list, not the page it is on
        return []


def _keep_troubles(connection: Connection, troubles: Sequence[JudgingTrouble]) -> None:
    now = time.time_ns() // 1000
    kept = [replace(one, why=one.why[:_LONGEST_WHY], at=one.at or now) for one in troubles[:_MOST_TROUBLES]]
    _set(connection, _TROUBLES, json.dumps(schema.encode(kept)))


def _micro(seconds: float) -> int:
    return round(seconds * 1_000_000)
