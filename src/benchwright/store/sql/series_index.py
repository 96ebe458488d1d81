"""Which series there are, in memory: what a database would look through row by row for every search.

Rows of series are never deleted and their names never change, so each is read once. A hundred thousand series take some
tens of megabytes and less than a second.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from sqlalchemy import Connection, Select, func, select

from benchwright.records.findings import wildcard
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import among, parts

_LASTS = 5.0  # seconds until rows are looked for whose numbers are older than the newest


@dataclass(slots=True)
class _Group:
    """The series of one case with its params on one machine, by metric."""

    case: str
    machine: str
    text: str  # of case and params, in small letters
    metrics: dict[str, list[int]] = field(default_factory=dict)  # -> numbers of rows


class SeriesIndex:
    """The names of every series by number. Used by several threads."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, str], _Group] = {}
        self._metrics: set[str] = set()
        self._texts: tuple[int, str, list[int]] = (0, "", [])  # of how many groups, joined; where each begins
        self._known: set[int] = set()
        self._upto = 0
        self._looked = 0.0
        self._lock = threading.Lock()
        self._names: tuple[int, list[str], list[str]] = (0, [], [])  # of how many series: cases, metrics
        self._cases: tuple[int, Mapping[tuple[str, str], Sequence[tuple[str, int]]]] = (0, {})

    def find(self, connection: Connection, chosen: SeriesFilter) -> list[int]:
        """The numbers of the series that fit patterns, words and the machine, in order, from `after` on."""
        words = plain(chosen.words).casefold().split()
        machine = plain(chosen.machine)
        has_name = _matcher(chosen.case)
        found: list[int] = []
        with self._lock:
            self._read_new(connection)
            metrics = {*filter(_matcher(chosen.metric), self._metrics)}
            told = {word: {name for name in metrics if word in name.casefold()} for word in words}
            for group in self._groups_with([word for word in words if not told[word]]):
                if (machine and group.machine != machine) or not has_name(group.case):
                    continue
                missing = [told[word] for word in words if word not in group.text]
                for name, numbers in group.metrics.items():
                    if name in metrics and all(name in names for names in missing):
                        found += numbers
        return sorted(number for number in found if number > chosen.after)

    def rows(self, connection: Connection, known: int = -1) -> list[tuple[int, str, str, str, str]] | None:
        """Number, case, params, metric and machine of every series; None while there are as many as `known`."""
        with self._lock:
            self._read_new(connection)
            if len(self._known) == known:
                return None
            return [
                (number, case, params, metric, machine)
                for (case, params, machine), group in self._groups.items()
                for metric, numbers in group.metrics.items()
                for number in numbers
            ]

    def _groups_with(self, words: Sequence[str]) -> Iterable[_Group]:
        """The groups whose texts have all these words. The longest is looked for in all texts at once."""
        groups = [*self._groups.values()]
        if not words:
            return groups
        if self._texts[0] != len(groups):
            starts = [0, *accumulate(len(group.text) + 1 for group in groups)]
            self._texts = (len(groups), "\n".join(group.text for group in groups), starts)
        _, whole, starts = self._texts
        first, *others = sorted(words, key=len, reverse=True)
        found: list[_Group] = []
        at = whole.find(first)
        while at >= 0:
            place = bisect_right(starts, at) - 1
            if all(word in groups[place].text for word in others):
                found.append(groups[place])
            at = whole.find(first, starts[place + 1])
        return found

    def case_names(self, connection: Connection) -> list[str]:
        """Every name a case was measured under, in order of the alphabet."""
        return [*self._all_names(connection)[1]]

    def metric_names(self, connection: Connection) -> list[str]:
        """Every metric that has a series, in order of the alphabet."""
        return [*self._all_names(connection)[2]]

    def by_case(self, connection: Connection) -> Mapping[tuple[str, str], Sequence[tuple[str, int]]]:
        """(case, machine) -> (metric, number) of its series. The very same mapping while no series is new."""
        with self._lock:
            self._read_new(connection)
            if self._cases[0] != len(self._known):
                found: dict[tuple[str, str], list[tuple[str, int]]] = {}
                for group in self._groups.values():
                    there = found.setdefault((group.case, group.machine), [])
                    there += ((name, number) for name, numbers in group.metrics.items() for number in numbers)
                self._cases = (len(self._known), found)
            return self._cases[1]

    def _all_names(self, connection: Connection) -> tuple[int, list[str], list[str]]:
        with self._lock:
            self._read_new(connection)
            if self._names[0] != len(self._known):
                cases = {group.case for group in self._groups.values()}
                self._names = (len(self._known), sorted(cases), sorted(self._metrics))
            return self._names

    def _read_new(self, connection: Connection) -> None:
        """Adds the series whose numbers are larger than all known, and now and then others that are missing.

        A transaction that began earlier may end later, and its series have smaller numbers.
        """
        table = tables.series
        if (connection.scalar(select(func.max(table.c.id))) or 0) > self._upto:
            self._add(connection.execute(_select().where(table.c.id > self._upto)))
        if time.monotonic() - self._looked < _LASTS:
            return
        self._looked = time.monotonic()
        if connection.scalar(select(func.count()).select_from(table)) == len(self._known):
            return
        missing = sorted(set(connection.scalars(select(table.c.id))) - self._known)
        for part in parts(missing):
            self._add(connection.execute(_select().where(among(connection, table.c.id, part))))

    def _add(self, rows: Iterable[Any]) -> None:
        for number, case, params, metric, machine in rows:
            name = (case, params, machine)
            group = self._groups.get(name)
            if group is None:
                text = f"{case} {params}".casefold()
                group = self._groups[name] = _Group(case=case, machine=machine, text=text)
            group.metrics.setdefault(sys.intern(metric), []).append(number)
            self._metrics.add(sys.intern(metric))
            self._known.add(number)
            self._upto = max(self._upto, number)


def _select() -> Select[Any]:
    table = tables.series
    return select(table.c.id, table.c.case_name, table.c.params, table.c.metric, table.c.machine)


def _matcher(name: str) -> Callable[[str], object]:
    """What says whether a name fits one in which `*` is a wildcard; "" fits all."""
    if not name or name == "*":
        return lambda text: True
    return pattern(name).fullmatch if "*" in name else plain(name).__eq__


def pattern(name: str) -> re.Pattern[str]:
    """Returns the regular expression of a name in which only `*` is special."""
    return wildcard(plain(name))
