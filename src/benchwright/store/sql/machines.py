"""Who measured what, and when that is not judged. Inside the connection's transaction."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from benchwright import schema
from benchwright.errors import OptionError, UserError
from benchwright.records import CALIBRATION, CONTROL, Environment, Status
from benchwright.records.machines import Machine, Quarantine, Quarantines
from benchwright.store.sql import codec, read, tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.counts import Sums, Tally
from benchwright.store.sql.engine import among, lock_findings, parts

_FAILED = (Status.FAILED.value, Status.TIMEOUT.value, Status.KILLED.value)
_Group = tuple[int, str, str]  # environment, case, status
_Sums = tuple[int, int, int]  # results, first and last instant


@dataclass(slots=True)
class _Work:
    """What one machine did: changed while it is added up."""

    results: int = 0
    failed: int = 0
    first: int = 2**63
    last: int = -(2**63)
    newest: int = 0  # the row of its newest environment
    cases: dict[str, int] = field(default_factory=dict)  # the last instant of each

    def add(self, group: _Group, sums: _Sums) -> None:
        """Adds what one group of results amounts to."""
        (environment, case, status), (count, first, last) = group, sums
        self.results += count
        self.failed += count if status in _FAILED else 0
        self.first = min(self.first, first)
        if (last, environment) > (self.last, self.newest):
            self.last, self.newest = last, environment
        self.cases[case] = max(self.cases.get(case, last), last)


class Machines:
    """The machines of a store. Environments are kept for ever and never change, so each is read once.

    What settled results amount to is added up once; only those that came since are added to it each time.
    """

    def __init__(self) -> None:
        self.results: Tally[_Group, _Sums] = Tally(_group_results, _add_sums)
        self._known: dict[int, tuple[str, Environment]] = {}  # by row
        self._lock = threading.Lock()
        self._settled: tuple[Mapping[_Group, _Sums], dict[str, _Work]] | None = None  # what of, and what
        self._made: tuple[Sums[_Group, _Sums], dict[str, _Work], list[Machine]] | None = None

    def keys(self, connection: Connection) -> dict[int, str]:
        """Returns the machine of each row of environments: its `schema.environment_key`."""
        return {number: key for number, (key, _) in self._environments(connection).items()}

    def all(self, connection: Connection) -> list[Machine]:
        """Every machine, the one that measured last first."""
        return [*self._look(connection)[1]]

    def last_measured(self, connection: Connection) -> dict[str, Mapping[str, int]]:
        """Of each machine's cases the instant of the newest result."""
        return {key: work.cases for key, work in self._look(connection)[0].items()}

    def _look(self, connection: Connection) -> tuple[dict[str, _Work], list[Machine]]:
        results, made = self.results(connection), self._made
        if made and made[0] is results:  # a moment ago
            return made[1], made[2]
        known = self._environments(connection)
        settled = self._settled
        if settled is None or settled[0] is not results.settled:
            settled = (results.settled, _add_up(results.settled, known, {}))
            # A group whose environment is younger than our look at them shows when they are looked at again.
            if all(environment in known for environment, _, _ in results.settled):
                self._settled = settled
        work = _add_up(results.recent, known, settled[1])
        found = [_machine(key, one, known) for key, one in work.items()]
        found.sort(key=lambda machine: (-machine.last_at, machine.key))
        self._made = (results, work, found)
        return work, found

    def _environments(self, connection: Connection) -> dict[int, tuple[str, Environment]]:
        table = tables.environments
        with self._lock:
            there = connection.scalars(select(table.c.id)).all()
            if missing := [number for number in there if number not in self._known]:
                # All at once when many are new, which is when a store was just opened.
                query = select(table.c.id, table.c.document)
                query = query.where(among(connection, table.c.id, missing)) if len(missing) < 500 else query
                for row in connection.execute(query):
                    try:
                        environment = codec.read_environment(row.document, where=f"environment {row.id}")
                    except UserError:  # the results measured there have a machine that nobody knows
                        environment = Environment(machine={}, system={})
                    self._known[row.id] = (schema.environment_key(environment), environment)
            return dict(self._known)


def _add_up(
    groups: Mapping[_Group, _Sums], environments: Mapping[int, tuple[str, Environment]], before: Mapping[str, _Work]
) -> dict[str, _Work]:
    """What machines did before and in these groups; `before` is left as it is."""
    found = dict(before)
    own: set[str] = set()
    for group, sums in groups.items():
        if group[0] not in environments:  # it came a moment ago: the next look shows it
            continue
        key = environments[group[0]][0]
        if key not in own:
            own.add(key)
            known = before.get(key)
            found[key] = _Work() if known is None else replace(known, cases=dict(known.cases))
        found[key].add(group, sums)
    return found


def _machine(key: str, work: _Work, environments: Mapping[int, tuple[str, Environment]]) -> Machine:
    return Machine(
        key=key,
        environment=environments[work.newest][1],
        results=work.results,
        failed=work.failed,
        cases=len(work.cases),
        first_at=work.first,
        last_at=work.last,
    )


def _group_results(connection: Connection, above: int, upto: int) -> dict[_Group, _Sums]:
    table = tables.results
    names = (table.c.environment_id, table.c.case_name, table.c.status)
    query = (
        select(*names, func.count(), func.min(table.c.at), func.max(table.c.at))
        .where(table.c.id > above, table.c.id <= upto, table.c.case_name != CALIBRATION)
        .group_by(*names)
    )
    return {(row[0], row[1], row[2]): (row[3], row[4], row[5]) for row in connection.execute(query)}


def _add_sums(a: _Sums, b: _Sums) -> _Sums:
    return a[0] + b[0], min(a[1], b[1]), max(a[2], b[2])


def statuses(
    connection: Connection, keys: dict[int, str], *, since: int, cases: Sequence[str] = (), only_bad: bool = False
) -> list[tuple[str, str, str, Status, int, int]]:
    """(case, machine, newest run, status, count, newest at) of results of runs that began since an instant.

    Of these cases where any are named; with `only_bad` those that are neither ok nor skipped.
    """
    runs, table = tables.runs, tables.results
    newest = connection.execute(select(runs.c.id, runs.c.run).where(runs.c.at >= since, read.is_run()))
    names: dict[int, str] = {row.id: row.run for row in newest}
    group = (table.c.case_name, table.c.environment_id, table.c.status, table.c.run_id)
    query = select(*group, func.count(), func.max(table.c.at)).group_by(*group)
    if cases:
        query = query.where(table.c.case_name.in_([codec.plain(case) for case in cases]))
    if only_bad:
        query = query.where(table.c.status.not_in([Status.OK.value, Status.SKIPPED.value]))
    found: dict[tuple[str, str, str], Any] = {}
    # Runs by their numbers: given a join, SQLite looks through all results to have them in the order of the groups.
    for part in parts(sorted(names)):
        for case, environment, status, number, count, at in connection.execute(
            query.where(among(connection, table.c.run_id, part))
        ):
            key = (case, keys.get(environment, ""), status)
            run_, count_, at_ = found.get(key, ("", 0, -(2**63)))
            found[key] = (max((at_, run_), (at, names[number]))[1], count_ + count, max(at_, at))
    return [
        (case, machine, run, codec.read_status(status), count, at)
        for (case, machine, status), (run, count, at) in found.items()
    ]


# ---- quarantine ----


def quarantines(connection: Connection, machine: str = "") -> list[Quarantine]:
    """The quarantines of a machine, or of all, the latest first."""
    table = tables.quarantines
    query = select(table).order_by(table.c.since.desc(), table.c.machine)
    if machine:
        query = query.where(table.c.machine == plain(machine))
    return [
        Quarantine(
            machine=row.machine,
            since=row.since,
            until=row.until,
            reason=row.reason,
            who=row.who,
            made_at=row.made_at,
            released_by=row.released_by,
            finding=row.finding,
        )
        for row in connection.execute(query)
    ]


def held_results(connection: Connection, runs: Sequence[str], machines: Mapping[int, str]) -> dict[str, int]:
    """How many results of these runs were measured in quarantine; `machines` are those of rows of environments.

    A machine's control benchmark is judged in quarantine as well.
    """
    known = quarantines(connection)
    held, keys = Quarantines(known), {one.machine for one in known}
    rows = [row for row, key in machines.items() if key in keys]
    if not rows:
        return {}
    table, headers = tables.results, tables.runs
    query = (
        select(headers.c.run, table.c.environment_id, table.c.at)
        .join_from(table, headers, headers.c.id == table.c.run_id)
        .where(table.c.at >= min(one.since for one in known))
        .where(~table.c.case_name.startswith(CONTROL, autoescape=True))
    )
    found: Counter[str] = Counter()
    for some in parts([plain(run) for run in runs]):
        for part in parts(rows):
            chosen = query.where(headers.c.run.in_(some), table.c.environment_id.in_(part))
            found.update(run for run, row, at in connection.execute(chosen) if not held.is_judged(machines[row], at))
    return dict(found)


def quarantine(connection: Connection, quarantine: Quarantine) -> None:
    """Keeps a quarantine, in the place of one of the same machine that begins at the same instant."""
    if quarantine.until is not None and quarantine.until <= quarantine.since:
        raise OptionError("a quarantine ends after it begins", remedy="give a later end, or none")
    lock_findings(connection)  # what is judged meanwhile is judged wholly before or after
    table, row = tables.quarantines, {"machine": plain(quarantine.machine), "since": quarantine.since}
    connection.execute(delete(table).where(table.c.machine == row["machine"], table.c.since == row["since"]))
    row["until"] = quarantine.until
    row |= {name: plain(getattr(quarantine, name)) for name in ("reason", "who", "made_at", "released_by", "finding")}
    connection.execute(insert(table), row)


def release(connection: Connection, machine: str, at: int, who: str = "") -> int:
    """Ends every quarantine of the machine that lasts at an instant, there; returns how many there were.

    One that was to begin later, or begins at that very instant, never was.
    """
    lock_findings(connection)
    table = tables.quarantines
    lasting = (table.c.machine == plain(machine)) & or_(table.c.until.is_(None), table.c.until > at)
    never = connection.execute(delete(table).where(lasting, table.c.since >= at)).rowcount
    ended = update(table).where(lasting).values(until=at, released_by=plain(who))
    return never + connection.execute(ended).rowcount
