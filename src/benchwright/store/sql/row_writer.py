"""What writes rows of tables, and rows that are there once: environments, series, methods, commits.

Every function works inside the transaction of the writer it is given. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from benchwright.errors import DecodeError
from benchwright.records import Revision
from benchwright.store.sql import codec
from benchwright.store.sql.codec import plain

Row = dict[str, Any]
Key = tuple[str, ...]
ListName = tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # case, machine; names, units, directions


class RowWriter(Protocol):
    """Writes rows of tables that are given by name. Lists may be of any length."""

    def add_missing(self, table: str, rows: Sequence[Row]) -> None:
        """Adds rows, all with the same columns; leaves those alone which are there already."""
        ...

    def add_unless_there(self, table: str, row: Row) -> int | None:
        """Adds a row and returns its number; None where one of its unique name is there already."""
        ...

    def add_new(self, table: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Mapping[Any, int]:
        """Adds rows with these columns, unless one of the same unique name is there; the numbers of those that were
        added, by their first column.
        """
        ...

    def add_tuples(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Adds rows with all columns, in the table's order."""
        ...

    def add_numbered(self, table: str, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Mapping[Any, int]:
        """Adds rows with these columns; the numbers that they were given, by their first column, which is unique."""
        ...

    def find(self, table: str, key: tuple[str, ...], values: Sequence[Key], *names: str) -> list[tuple[Any, ...]]:
        """Of the rows whose `key` is one of the values the columns of the key, and those of `names`."""
        ...

    def change(self, table: str, number: int, column: str, value: str) -> None:
        """Sets one column of the row of that number."""
        ...

    def remove(self, table: str, column: str, numbers: Sequence[int]) -> None:
        """Takes away the rows whose column holds one of the numbers."""
        ...


class KnownIds:
    """Ids that this process has seen. Rows that carry them are never deleted, so they need not be asked for again.

    Ids learnt in a transaction that is rolled back are wrong; whoever rolls back starts with a new `Known`.
    """

    def __init__(self) -> None:
        self.environments: dict[str, int] = {}  # by hash
        self.methods: dict[str, int] = {}
        self.series: dict[Key, int] = {}  # by case key, environment key, metric and unit
        self.series_rows: dict[Key, int] = {}  # by the table's key and unit
        self.better: dict[Key, str] = {}  # the same, -> direction
        self.lists: dict[ListName, tuple[int, ...]] = {}  # the series of all metrics of a result
        self.revisions: set[Revision] = set()


def learn_environments(rows: RowWriter, known: KnownIds, documents: Mapping[str, bytes]) -> None:
    """Makes `known` hold the environments of these hashes; those that are new are added."""
    wanted: dict[Key, Row] = {
        (found,): {"hash": found, "document": document}
        for found, document in documents.items()
        if found not in known.environments
    }
    numbers = numbers_of(rows, "environments", ("hash",), wanted)
    known.environments |= {key: number for (key,), (number,) in numbers.items()}


def learn_revisions(rows: RowWriter, revisions: Sequence[Revision]) -> None:
    """Keeps when these commits were made, where it is known, and the repository's tags of them."""
    dated = [{"revision": plain(one.id), "committed_at": at} for one in revisions if (at := _committed_at(one))]
    tagged = sorted({(plain(one.id), plain(tag)) for one in revisions for tag in one.tags})
    if dated:
        rows.add_missing("revisions", dated)
    if tagged:
        rows.add_missing("revision_tags", [{"revision": revision, "tag": tag} for revision, tag in tagged])


def _committed_at(revision: Revision) -> int:
    """Microseconds since 1970; 0 where nobody knows, or what is written there is not an instant."""
    try:
        return codec.microseconds(revision.committed_at, where="committed_at") if revision.committed_at else 0
    except DecodeError:
        return 0


SERIES = ("key", "unit", "case_name", "params", "metric", "better", "machine")


def learn_series_rows(rows: RowWriter, known: KnownIds, wanted: Iterable[tuple[str, ...]]) -> None:
    """Makes `known` hold the series of these rows, with their columns in the order of `SERIES`."""
    missing = {row[:2]: row for row in wanted if row[:2] not in known.series_rows}
    found = numbers_of(
        rows,
        "series",
        ("key", "unit"),
        {key: dict(zip(SERIES, row, strict=True)) for key, row in missing.items()},
        "better",
    )
    for key, (number, better) in found.items():
        known.series_rows[key] = number
        if better != missing[key][5]:  # what is stated last holds
            rows.change("series", number, "better", missing[key][5])
            known.better = {}
            known.lists.clear()


def learn_methods(rows: RowWriter, known: KnownIds, methods: Iterable[str]) -> None:
    """Makes `known` hold these methods; those that are new are added."""
    missing = {method: (plain(method),) for method in methods if method not in known.methods}
    wanted: dict[Key, Row] = {key: {"method": key[0]} for key in missing.values()}
    found = numbers_of(rows, "methods", ("method",), wanted)
    known.methods |= {method: found[key][0] for method, key in missing.items()}


def numbers_of(
    rows: RowWriter, table: str, key: tuple[str, ...], wanted: Mapping[Key, Row], *names: str
) -> dict[Key, tuple[Any, ...]]:
    """The number of the row of every key, and these columns of it; a row that is not there yet is made first.

    They go in sorted, so that two writers who want the same ones wait for each other instead of deadlocking.
    """
    ordered = sorted(wanted)
    if not ordered:
        return {}
    rows.add_missing(table, [wanted[each] for each in ordered])
    return {row[: len(key)]: row[len(key) :] for row in rows.find(table, key, ordered, "id", *names)}
