"""What may go when it is old: raw samples, and whole runs.

Raw samples that age out are folded into histograms, which `records.Samples` has for calls beyond the engine's limit
anyway: the distribution stays, within a tenth of a per cent; the order of the calls is gone. Such samples have calls
but no columns, which is how a reader knows. Points and results stay whatever becomes of their samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from sqlalchemy import Connection, delete, func, select, update

from benchwright import config
from benchwright.errors import OptionError
from benchwright.records import Histogram, Int64s, Samples
from benchwright.records.findings import State
from benchwright.stats import histogram
from benchwright.store.sql import codec, findings, read, tables, write
from benchwright.store.sql.engine import parts
from benchwright.store.sql.rows import SqlRows
from benchwright.units import parse_quantity

FOLDED = ("latency", "lateness", "service")  # columns that are distributions; the others are instants
_CARED_FOR = (State.OPEN, State.ACKNOWLEDGED)
_LONGEST = 1e10  # seconds: three centuries
_AT_ONCE = 20  # results in a transaction: others wait for it

Connect = Callable[[], AbstractContextManager[Connection]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRules:
    """How long things are kept, in seconds since their run began; None is for ever.

    Runs that an open or acknowledged finding tells of keep everything; so do runs with a tag when `keep_tagged` is set.
    """

    samples: float | None = None
    runs: float | None = None
    keep_tagged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneSummary:
    """The outcome of pruning: the runs and samples that were removed, or would be."""

    runs: tuple[str, ...]  # oldest first
    results: int  # of those runs
    aged: int  # other results whose raw samples were folded
    sample_bytes: int  # of raw samples, compressed
    given_back: int = 0  # bytes that the file became smaller


class Prunable(Protocol):
    """A store that can remove old runs and samples: every database."""

    def prune(self, rules: RetentionRules, *, dry_run: bool = False) -> PruneSummary:
        """Removes the runs and samples that are too old by the rules."""
        ...


def rules_of(told: config.Retention) -> RetentionRules:
    """The rules that `[retention]` in benchwright.toml states."""
    return RetentionRules(
        samples=_age("samples", told.samples), runs=_age("runs", told.runs), keep_tagged=told.keep_tagged
    )


def _age(name: str, text: str) -> float | None:
    if not text:
        return None
    age = parse_quantity(text, "s", what=f"retention of {name}")
    if not 0 <= age < _LONGEST:
        raise OptionError(f"retention of {name}: {text}", remedy="give a time above zero, such as 90d or 2y")
    return age


def apply(store: Prunable, rules: RetentionRules) -> PruneSummary | None:
    """Prunes a store, as a server does once a day; None when the rules remove nothing."""
    return None if rules.samples is None and rules.runs is None else store.prune(rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPlan:
    """The runs and samples that are too old, by the numbers of their rows."""

    runs: tuple[tuple[int, str], ...]  # with their ids, oldest first
    results: int
    aged: tuple[int, ...]
    sample_bytes: int


def plan(connection: Connection, rules: RetentionRules) -> RetentionPlan:
    """Returns the runs and samples that the rules remove now."""
    gone = dict(_old_runs(connection, rules, rules.runs))
    thinned = [number for number, _ in _old_runs(connection, rules, rules.samples) if number not in gone]
    raw = dict(_raw_sizes(connection, thinned))
    return RetentionPlan(
        runs=tuple(gone.items()),
        results=sum(len(_results(connection, part)) for part in parts([*gone])),
        aged=tuple(raw),
        sample_bytes=sum(size for _, size in _raw_sizes(connection, [*gone])) + sum(raw.values()),
    )


def carry_out(writing: Connect, planned: RetentionPlan) -> None:
    """Deletes what was planned in many small transactions, so that other writers wait little.

    An interrupted one can be begun again.
    """
    for number, _ in planned.runs:
        with writing() as connection:
            write.remove_results(SqlRows(connection), _results(connection, [number]))
            connection.execute(delete(tables.run_tags).where(tables.run_tags.c.run_id == number))
            connection.execute(delete(tables.runs).where(tables.runs.c.id == number))
    for part in parts(planned.aged, _AT_ONCE):
        with writing() as connection:
            for number in part:
                _fold(connection, number)


def fold_samples(samples: Samples) -> Samples:
    """Samples without raw calls: their distributions alone."""
    counted = {name: _fold_column(samples.columns[name]) for name in FOLDED if name in samples.columns}
    return replace(samples, columns={}, chunks={}, histograms={**counted, **samples.histograms})


def aged_out(samples: Samples) -> bool:
    """Whether the samples had raw calls once that are gone now."""
    return samples.calls > 0 and not samples.columns


def _fold_column(values: Int64s) -> Histogram:
    import numpy

    found, counts = numpy.unique(numpy.frombuffer(values, dtype=numpy.int64), return_counts=True)
    return histogram.fold_counts(dict(zip(found.tolist(), counts.tolist(), strict=True)))


def _fold(connection: Connection, number: int) -> None:
    heads, columns = tables.samples, tables.sample_columns
    copies = read.samples_of(connection, number, f"result in row {number}")
    for position, row in enumerate(codec.samples_rows(tuple(map(fold_samples, copies)))):
        where = (heads.c.result_id == number, heads.c.position == position)
        connection.execute(update(heads).where(*where).values(document=row.document))
    connection.execute(delete(columns).where(columns.c.result_id == number))


def _old_runs(connection: Connection, rules: RetentionRules, age: float | None) -> list[tuple[int, str]]:
    """Rows and ids of the runs older than that which nobody cares for any more, oldest first."""
    if age is None:
        return []
    runs = tables.runs
    query = select(runs.c.id, runs.c.run).where(runs.c.at < time.time_ns() // 1000 - round(age * 1_000_000))
    if rules.keep_tagged:
        query = query.where(runs.c.id.not_in(select(tables.run_tags.c.run_id)))
    wanted = set(_runs_cared_for(connection))
    rows = connection.execute(query.order_by(runs.c.at, runs.c.id))
    return [(number, name) for number, name in rows if name not in wanted]


def _runs_cared_for(connection: Connection) -> Iterator[str]:
    for finding in findings.newest(connection, states=_CARED_FOR, limit=1_000_000):
        yield from (codec.plain(run) for run in (finding.run, *finding.runs))


def _results(connection: Connection, runs: Sequence[int]) -> list[int]:
    table = tables.results
    return list(connection.scalars(select(table.c.id).where(table.c.run_id.in_(runs))))


def _raw_sizes(connection: Connection, runs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(result, bytes of its raw samples) of those that have any."""
    results, columns = tables.results, tables.sample_columns
    for part in parts(runs):
        query = (
            select(results.c.id, func.sum(func.length(columns.c.data)))
            .join_from(results, columns, columns.c.result_id == results.c.id)
            .where(results.c.run_id.in_(part))
            .group_by(results.c.id)
            .order_by(results.c.id)
        )
        yield from ((number, int(size)) for number, size in connection.execute(query))
