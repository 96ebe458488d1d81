"""Lists of runs: in other orders, and what they can be narrowed by. Inside the connection's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Select, case, func, select

from benchwright.errors import OptionError, did_you_mean
from benchwright.records import CALIBRATION_TAG, CONTROL_TAG
from benchwright.store import RunSummary
from benchwright.store.archive import RUN_ORDERS, FacetCounts
from benchwright.store.choices import facet_of
from benchwright.store.sql import read, tables
from benchwright.store.sql.browse import RunFilter, where_fits
from benchwright.store.sql.counts import Tally
from benchwright.store.sql.engine import among, parts

MOST_SORTED = 100_000  # runs: the newest
COUNTED = 2_000  # runs whose tags, branches and machines are counted: the newest
_REMEMBERED = 100_000  # runs
_BY_RESULTS = frozenset({"results", "failed"})


class KnownRuns:
    """What is remembered of runs: how much they measured, and where."""

    def __init__(self, amounts: read.RunAmounts) -> None:
        self.amounts = amounts
        self.results: Tally[int, tuple[int, int]] = Tally(_amounts, lambda a, b: (a[0] + b[0], a[1] + b[1]))
        self.environments: dict[int, int] = {}  # by rows: a run's results stay where they were measured

    def forget(self) -> None:
        """Drops what is remembered, after rows were deleted."""
        self.results.forget()
        self.environments.clear()


def sorted_page(
    connection: Connection, sought: RunFilter, known: KnownRuns, sort: str, *, before: str, limit: int
) -> list[RunSummary]:
    """The runs after the run `before` in an order of RUN_ORDERS, with `-` before it the largest first."""
    name = sort.removeprefix("-")
    if name not in RUN_ORDERS:
        raise OptionError(f"runs are not ordered by {name!r}", remedy=did_you_mean(name, RUN_ORDERS))
    runs = tables.runs
    query = where_fits(connection, select(runs.c.id, runs.c.revision), sought)
    rows = connection.execute(query.order_by(runs.c.id.desc()).limit(MOST_SORTED)).all()
    values: dict[int, Any] = {number: number if name == "run" else revision for number, revision in rows}
    if name in _BY_RESULTS:
        place = ("results", "failed").index(name)
        counted = known.results(connection)
        values = {number: counted.get(number, (0, 0))[place] for number in values}
    numbers = sorted(values, reverse=True)  # of equal ones the newest first
    numbers.sort(key=lambda number: values[number], reverse=sort.startswith("-"))
    start = numbers.index(last) + 1 if before and (last := read.number_of(connection, before)) in values else 0
    page = numbers[start : start + limit]
    found = read.summarise(
        connection, read.headers().where(among(connection, runs.c.id, page)), known.amounts, limit=limit
    )
    places = {row: place for place, row in enumerate(page)}
    ids = {
        run: number
        for number, run in connection.execute(select(runs.c.id, runs.c.run).where(among(connection, runs.c.id, page)))
    }
    return sorted(found, key=lambda summary: places[ids[summary.id]])


def _amounts(connection: Connection, above: int, upto: int) -> dict[int, tuple[int, int]]:
    """Results and failed results of runs, by row: of the results whose number is above one and at most the other."""
    results = tables.results
    failed = func.sum(case((results.c.status.in_(read.FAILED), 1), else_=0))
    query = select(results.c.run_id, func.count(), failed).where(results.c.id > above, results.c.id <= upto)
    return {run: (count, int(bad)) for run, count, bad in connection.execute(query.group_by(results.c.run_id))}


def facets(
    connection: Connection, sought: RunFilter, machines: Mapping[int, str], known: dict[int, int]
) -> FacetCounts:
    """What the newest of the runs can be narrowed by. `known` remembers where runs were measured, by rows."""
    runs, run_tags = tables.runs, tables.run_tags
    chosen = _newest(connection, sought)

    def besides(own: bool, without: RunFilter) -> list[int]:
        return _newest(connection, without) if own else chosen

    on = besides(bool(sought.branches), replace(sought, branches=()))
    tagged = besides(bool(sought.tags), replace(sought, tags=()))
    here = besides(bool(sought.keys), replace(sought, keys=(), machines=()))
    branches = _count(connection, select(runs.c.branch, func.count()).group_by(runs.c.branch), runs.c.id, on)
    tags = _count(connection, select(run_tags.c.tag, func.count()).group_by(run_tags.c.tag), run_tags.c.run_id, tagged)
    del tags[CALIBRATION_TAG], tags[CONTROL_TAG], branches[""]
    where = Counter(machines.get(row, "") for row in _environments(connection, here, known))
    del where[""]
    found = (
        facet_of("branch", branches.items(), sought.branches),
        facet_of("tag", tags.items(), sought.tags),
        facet_of("machine", where.items(), sought.keys),
    )
    return FacetCounts(total=len(chosen), facets=tuple(one for one in found if one.values))


def _newest(connection: Connection, sought: RunFilter) -> list[int]:
    query: Select[Any] = where_fits(connection, select(tables.runs.c.id), sought)
    return list(connection.scalars(query.order_by(tables.runs.c.id.desc()).limit(COUNTED)))


def _count(connection: Connection, query: Select[Any], column: Any, numbers: Sequence[int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for part in parts(numbers):
        for name, count in connection.execute(query.where(among(connection, column, part))):
            found[name] += count
    return found


def _environments(connection: Connection, numbers: Sequence[int], known: dict[int, int]) -> Iterable[int]:
    """Where each run was measured: of one result, as nearly every run is of one machine."""
    runs, results = tables.runs, tables.results
    if len(known) > _REMEMBERED:
        known.clear()
    one = select(results.c.environment_id).where(results.c.run_id == runs.c.id).limit(1).correlate(runs)
    query = select(runs.c.id, one.scalar_subquery())
    for part in parts([number for number in numbers if number not in known]):
        rows = connection.execute(query.where(among(connection, runs.c.id, part)))
        known.update({run: environment for run, environment in rows if environment is not None})
    return [known[number] for number in numbers if number in known]
