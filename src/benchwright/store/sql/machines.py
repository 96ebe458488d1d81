"""Who measured what. Inside the connection's transaction."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from benchwright import schema
from benchwright.errors import UserError
from benchwright.records import CALIBRATION, Environment, Status
from benchwright.store.archive import Machine
from benchwright.store.sql import codec, read, tables
from benchwright.store.sql.counts import Tally
from benchwright.store.sql.engine import parts

_FAILED = (Status.FAILED.value, Status.TIMEOUT.value, Status.KILLED.value)
_Group = tuple[int, str, str]  # environment, case, status
_Sums = tuple[int, int, int]  # results, first and last instant


class Machines:
    """The machines of a store. Environments are kept for ever and never change, so each is read once."""

    def __init__(self) -> None:
        self.results: Tally[_Group, _Sums] = Tally(_group_results, _add_sums)
        self._known: dict[int, tuple[str, Environment]] = {}  # by row
        self._lock = threading.Lock()
        self._made: tuple[Mapping[_Group, _Sums], list[Machine]] | None = None  # what of, and what

    def keys(self, connection: Connection) -> dict[int, str]:
        """Returns the machine of each row of environments: its `schema.environment_key`."""
        return {number: key for number, (key, _) in self._environments(connection).items()}

    def all(self, connection: Connection) -> list[Machine]:
        """Every machine, the one that measured last first."""
        results, made = self.results(connection), self._made
        if made and made[0] is results:  # a moment ago
            return [*made[1]]
        groups: dict[str, list[tuple[_Group, _Sums]]] = defaultdict(list)
        known = self._environments(connection)
        for group, sums in results.items():
            if group[0] in known:  # else it came a moment ago: the next look shows it
                groups[known[group[0]][0]].append((group, sums))
        found = [_machine(key, parts, known) for key, parts in groups.items()]
        found.sort(key=lambda machine: (-machine.last_at, machine.key))
        self._made = (results, found)
        return [*found]

    def _environments(self, connection: Connection) -> dict[int, tuple[str, Environment]]:
        table = tables.environments
        with self._lock:
            there = connection.scalars(select(table.c.id)).all()
            if missing := [number for number in there if number not in self._known]:
                # All at once when many are new, which is when a store was just opened.
                query = select(table.c.id, table.c.document)
                query = query.where(table.c.id.in_(missing)) if len(missing) < 500 else query
                for row in connection.execute(query):
                    try:
                        environment = codec.read_environment(row.document, where=f"environment {row.id}")
                    except UserError:  # the results measured there have a machine that nobody knows
                        environment = Environment(machine={}, system={})
                    self._known[row.id] = (schema.environment_key(environment), environment)
            return dict(self._known)


def _machine(key: str, parts: list[tuple[_Group, _Sums]], environments: dict[int, tuple[str, Environment]]) -> Machine:
    newest = max(parts, key=lambda part: (part[1][2], part[0][0]))
    return Machine(
        key=key,
        environment=environments[newest[0][0]][1],
        results=sum(count for _, (count, _, _) in parts),
        failed=sum(count for (_, _, status), (count, _, _) in parts if status in _FAILED),
        cases=len({case for (_, case, _), _ in parts}),
        first_at=min(first for _, (_, first, _) in parts),
        last_at=newest[1][2],
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
    connection: Connection, keys: dict[int, str], *, since: int
) -> list[tuple[str, str, str, Status, int, int]]:
    """(case, machine, newest run, status, count, newest at) of results of runs that began since an instant."""
    runs, table = tables.runs, tables.results
    newest = connection.execute(select(runs.c.id, runs.c.run).where(runs.c.at >= since, read.is_run()))
    names: dict[int, str] = {row.id: row.run for row in newest}
    group = (table.c.case_name, table.c.environment_id, table.c.status, table.c.run_id)
    query = select(*group, func.count(), func.max(table.c.at)).group_by(*group)
    found: dict[tuple[str, str, str], Any] = {}
    # Runs by their numbers: given a join, SQLite looks through all results to have them in the order of the groups.
    for part in parts(sorted(names)):
        for case, environment, status, number, count, at in connection.execute(query.where(table.c.run_id.in_(part))):
            key = (case, keys.get(environment, ""), status)
            run_, count_, at_ = found.get(key, ("", 0, -(2**63)))
            found[key] = (max((at_, run_), (at, names[number]))[1], count_ + count, max(at_, at))
    return [
        (case, machine, run, codec.read_status(status), count, at)
        for (case, machine, status), (run, count, at) in found.items()
    ]
