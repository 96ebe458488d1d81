"""What TensorFlow Lite's `benchmark_model` prints: counts in microseconds, and a table of operators in run order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchwright.records import Value
from benchwright.targets.specs.rows.entries import BadRowError, CustomRow, PrintedRow
from benchwright.targets.specs.rows.json_rows import number

UNIT, METRIC = "us", "latency"
_PAIR = re.compile(r"\b(count|curr|min|max|avg|std)=(\S+)")
_NAMED = re.compile(r"\[(.+)\](?::\d+)?")
_COLUMN = re.compile(r"\[([^\]]*)\]")


class TfliteText:
    """The last line of counts stands for the model: those before it are warm-up."""

    sign = ""  # an empty line ends a table

    def __init__(self) -> None:
        self._counts: PrintedRow | None = None
        self._columns: Mapping[str, int] = {}
        self._starting = False  # inside what is told of the model's initialisation
        self._announced = False  # a table begins with its header in the next line
        self._nodes: dict[str, PrintedRow] = {}
        self._done = False

    def feed(self, line: str) -> Sequence[PrintedRow | CustomRow]:
        """Remembers a line; a `BadRowError` for numbers that are none."""
        if "Benchmark Initialization" in line:
            self._starting = True
        elif "Running benchmark for" in line or "Regular Benchmark Runs" in line:
            self._starting = False
        if "====" in line:
            self._end_table()
            self._announced = "Run Order" in line and not self._starting and not self._done
        elif self._announced and "[node type]" in line:
            self._announced = False
            self._columns = {name: place for place, name in enumerate(map(_column, _cells(line))) if name}
        elif self._columns:
            self._node(line)
        elif "count=" in line:
            self._count(dict(_PAIR.findall(line)))
        return ()

    def finish(self) -> Sequence[PrintedRow | CustomRow]:
        """The model, its operators, and their sums for each kind."""
        sums: dict[str, float] = {}
        for row in self._nodes.values():
            assert row.summary is not None
            sums[row.kind] = sums.get(row.kind, 0.0) + number(row.summary["mean"])
        totals = [
            PrintedRow(type=kind, metric=METRIC, unit=UNIT, summary={"mean": total}, is_sum=True)
            for kind, total in sums.items()
            if kind not in self._nodes
        ]
        return [*([self._counts] if self._counts else ()), *self._nodes.values(), *totals]

    def _count(self, told: Mapping[str, str]) -> None:
        if "count" not in told or not told.keys() & {"avg", "curr"}:
            return
        values = {name: number(text) for name, text in told.items()}
        only = values.get("avg", values.get("curr", 0.0))  # one run has no more to tell
        summary: dict[str, Value] = {
            "p0": values.get("min", only),
            "p100": values.get("max", only),
            "mean": only,
            "stdev": values.get("std", 0.0),
        }
        self._counts = PrintedRow(type="NET", metric=METRIC, unit=UNIT, summary=summary, runs=int(values["count"]))

    def _node(self, line: str) -> None:
        cells = _cells(line)
        if not line.strip() or len(cells) <= max(self._columns.values()):
            self._end_table()
            return
        try:
            kind, shown = cells[self._columns["node type"]], cells[self._columns["Name"]]
            average = number(cells[self._columns["avg ms"]]) * 1000
        except KeyError as error:
            self._columns = {}
            raise BadRowError(f"the table of operators has no column {error.args[0]!r}") from None
        named = _NAMED.fullmatch(shown)
        name = named[1] if named and named[1] not in self._nodes else shown
        self._nodes[name] = PrintedRow(type=name, metric=METRIC, unit=UNIT, summary={"mean": average}, kind=kind)

    def _end_table(self) -> None:
        self._done = self._done or bool(self._nodes)
        self._columns = {}


def _cells(line: str) -> list[str]:
    """The cells of a line: tabs part them, or at least two spaces."""
    return [cell.strip() for cell in (line.split("\t") if "\t" in line else re.split(r"\s{2,}", line.strip()))]


def _column(cell: str) -> str:
    match = _COLUMN.fullmatch(cell)
    return match[1] if match else ""
