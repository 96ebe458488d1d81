"""Rows put together: one entry for each thing that was measured, in the row's own unit and order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from benchwright.records import Value

MOST_VALUES = 100_000  # of one entry, where nobody said how many are wanted
MOST_ENTRIES = 20_000
MOST_CUSTOM = 10_000  # custom outputs, of all tables together
NETS = frozenset({"NET", "NET_DELAY"})  # the types that stand for the whole model


class BadRowError(ValueError):
    """A row that cannot be taken; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedRow:
    """One thing that a program told. Early rows have neither metric nor entry names made of two words."""

    type: str
    metric: str = ""
    unit: str = ""
    value: float | None = None
    info: str | None = None
    summary: Mapping[str, Value] | None = None
    runs: int | None = None  # what the summary is made of
    kind: str = ""  # of an operator, where the program tells
    is_sum: bool = False  # of other rows, so no operator of its own

    @property
    def key(self) -> str:
        """The name of the row's entry."""
        return f"{self.type} {self.metric}" if self.metric else self.type


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomRow:
    """Something of the program's own form, for a table of that name."""

    table: str
    output: Value


@dataclass(slots=True)
class RowEntry:
    """Every value of one key, in the order they came."""

    type: str
    metric: str
    unit: str
    values: list[float] = field(default_factory=list)
    info: str | None = None
    summary: dict[str, Value] | None = None
    runs: int | None = None
    kind: str = ""
    is_sum: bool = False

    @property
    def key(self) -> str:
        """The name of the entry: `NET latency`, or the type alone."""
        return f"{self.type} {self.metric}" if self.metric else self.type

    def as_details(self) -> dict[str, Value]:
        """The entry as a result's details hold it."""
        found: dict[str, Value] = {"type": self.type}
        if self.metric:
            found |= {"metric": self.metric, "unit": self.unit}
        found["values"] = [*self.values]
        if self.runs is not None:
            found["num_runs"] = self.runs
        if self.summary is not None:
            found["summary"] = dict(self.summary)
        if self.info is not None:
            found["info_string"] = self.info
        return found


class Entries:
    """Entries by key. Of each, at most the latest `limit` values are kept."""

    def __init__(self, limit: int = -1) -> None:
        self._limit = limit if limit > 0 else MOST_VALUES
        self._found: dict[str, RowEntry] = {}
        self.custom: dict[str, list[Value]] = {}
        self.dropped = 0  # values beyond what is kept when nobody set a limit
        self.left_out = 0  # rows of entries, and custom outputs, beyond what is kept
        self._customs = 0
        self._wanted = limit > 0

    def __iter__(self) -> Iterator[RowEntry]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: str) -> RowEntry | None:
        """The entry of that key, or None."""
        return self._found.get(key)

    def take(self, row: PrintedRow | CustomRow) -> None:
        """Adds a row; a `BadRowError` when it contradicts those before it."""
        if isinstance(row, CustomRow):
            self._take_custom(row.table, row.output)
            return
        entry = self._entry(row)
        if entry is None:
            self.left_out += 1
            return
        if entry.unit != row.unit:
            raise BadRowError(f"{row.key} came in {row.unit or 'no unit'} after {entry.unit or 'no unit'}")
        if entry.type != row.type:  # `A b` and `c`, or `A` and `b c`
            raise BadRowError(f"{row.key} came of type {row.type!r} after {entry.type!r}")
        entry.kind, entry.is_sum = entry.kind or row.kind, entry.is_sum or row.is_sum
        entry.info = row.info if entry.info is None else entry.info
        if row.summary is not None:
            entry.summary, entry.runs = dict(row.summary), row.runs
        if row.value is not None:
            entry.values.append(row.value)
            self._keep(entry, slack=self._limit)

    def add(self, others: Entries) -> list[str]:
        """Adds what others hold; returns the keys of entries that do not fit: in another unit, or of another type."""
        refused = []
        for other in others:
            entry = self._entry(other)
            if entry is None:
                self.left_out += 1
                continue
            if entry.unit != other.unit or entry.type != other.type:
                refused.append(other.key)
                continue
            entry.kind, entry.is_sum = entry.kind or other.kind, entry.is_sum or other.is_sum
            entry.info = other.info if entry.info is None else entry.info
            if other.summary is not None:
                entry.summary, entry.runs = other.summary, other.runs
            entry.values += other.values
            self._keep(entry)
        for table, outputs in others.custom.items():
            for output in outputs:
                self._take_custom(table, output)
        self.dropped += others.dropped
        self.left_out += others.left_out
        return refused

    def drop_beyond_limit(self) -> Entries:
        """Shortens every entry to the limit and returns the entries."""
        for entry in self:
            self._keep(entry)
        return self

    def values_of_runs(self) -> int:
        """How many executions of the model these entries tell of: the whole model's values, or the longest entry."""
        nets = [len(entry.values) for entry in self if entry.type in NETS and entry.values]
        return max(nets or (len(entry.values) for entry in self), default=0)

    def _entry(self, of: PrintedRow | RowEntry) -> RowEntry | None:
        """The entry that a row belongs to, made when it is the first; None when there are too many."""
        key = of.key
        entry = self._found.get(key)
        if entry is None and len(self._found) < MOST_ENTRIES:
            entry = self._found[key] = RowEntry(of.type, of.metric, of.unit)
        return entry

    def _take_custom(self, table: str, output: Value) -> None:
        if self._customs < MOST_CUSTOM:
            self._customs += 1
            self.custom.setdefault(table, []).append(output)
        else:
            self.left_out += 1

    def _keep(self, entry: RowEntry, slack: int = 0) -> None:
        beyond = len(entry.values) - self._limit
        if beyond > slack:  # cutting seldom keeps a long stream linear
            del entry.values[:beyond]
            self.dropped += 0 if self._wanted else beyond
