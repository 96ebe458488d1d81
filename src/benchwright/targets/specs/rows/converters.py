"""Which reader fits: by a converter's name, or by the framework whose program prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from benchwright.errors import LoadError, did_you_mean
from benchwright.records import Value
from benchwright.targets.specs.rows.entries import BadRowError, CustomRow, Entries, PrintedRow
from benchwright.targets.specs.rows.json_rows import JsonRows
from benchwright.targets.specs.rows.text_blocks import TextBlocks
from benchwright.targets.specs.rows.tflite import TfliteText
from benchwright.worker.tasks.lines import Lines

CAFFE2, PYTORCH = "Caffe2Observer ", "PyTorchObserver "
LONGEST = 1 << 20  # bytes of a line; a row may hold the shapes of a large model
_SHOWN = 80


class Reader(Protocol):
    """Turns lines into rows. A line without its `sign` means nothing to it, and need not be given."""

    @property
    def sign(self) -> str:
        """What is in every line that matters; empty when any may."""
        ...

    def feed(self, line: str) -> Sequence[PrintedRow | CustomRow]:
        """The rows that are complete with this line; a `BadRowError` says why one was left out."""
        ...

    def finish(self) -> Sequence[PrintedRow | CustomRow]:
        """The rows that are complete now that all has been read."""
        ...


_JSON = "json_converter"
_MARKED = "json_with_identifier_converter"
_NAMED: dict[str, Callable[[str], list[Reader]]] = {
    _JSON: lambda marker: [JsonRows()],
    "json_data_converter": lambda marker: [JsonRows()],
    _MARKED: lambda marker: [JsonRows(marker)],
    "text_block_converter": lambda marker: [TextBlocks(marker or CAFFE2)],
    "tflite_converter": lambda marker: [TfliteText()],
}


def check(converter: str) -> None:
    """Raises a `LoadError` for a converter that nobody knows."""
    if converter and converter not in _NAMED:
        raise LoadError(f"unknown converter {converter!r}", remedy=did_you_mean(converter, _NAMED))


def readers(
    converter: str = "", args: Mapping[str, Value] | None = None, *, framework: str = "", seed: bool = False
) -> list[Reader]:
    """Readers in the order in which they are believed: the first that finds a row has read it all.

    A converter by name is the only one. A framework's own form comes before its marker, before the other marker, and
    before rows without any, so a program of one's own need not know about markers.
    """
    check(converter)
    marker = str((args or {}).get("identifier", ""))
    if converter and (marker or converter != _MARKED):
        return _NAMED[converter](marker)
    markers = (CAFFE2, PYTORCH) if framework == "caffe2" else (PYTORCH, CAFFE2)
    found: list[Reader] = [*map(JsonRows, markers), JsonRows(bare=True)]
    if framework == "tflite":
        found.insert(0, TfliteText())
    if seed:
        found.insert(0, TextBlocks(CAFFE2))
    return found


class RowCollector:
    """Reads the output of one execution while it comes, cut anywhere, with every reader that may still be believed."""

    def __init__(self, candidates: Sequence[Reader], limit: int = -1) -> None:
        self._lines = Lines(LONGEST)
        self._attempts = [_Attempt(reader, limit) for reader in candidates]

    def feed(self, data: bytes) -> None:
        """Reads the next piece of the output."""
        self._read(self._lines.feed(data))

    def finish(self) -> Entries:
        """The entries of the reader that fits the output best."""
        self._read(self._lines.finish())
        for attempt in self._attempts:
            attempt.end()
        return self._best.entries.drop_beyond_limit()

    @property
    def bad(self) -> int:
        """How many rows were left out."""
        return self._best.bad

    @property
    def example(self) -> str:
        """The first row that was left out, and why."""
        return self._best.example

    def latest(self) -> str:
        """The last value of the whole model, or of any entry, for whoever watches; empty when there is none."""
        with_values = [entry for entry in self._best.entries if entry.values]
        nets = [entry for entry in with_values if entry.type.startswith("NET")]
        for entry in nets or with_values[-1:]:
            return f"{entry.key} {entry.values[-1]:.6g} {entry.unit}".rstrip()
        return ""

    @property
    def _best(self) -> _Attempt:
        found = (each for each in self._attempts if each.has_rows)
        return next(found, None) or next((each for each in self._attempts if each.bad), self._attempts[0])

    def _read(self, block: bytes) -> None:
        text = block.decode("utf-8", "replace")
        lines: list[str] = []
        for place, attempt in enumerate(self._attempts):
            if attempt.sign in text:  # whole blocks of other lines cost next to nothing
                lines = lines or text.split("\n")[:-1]
                attempt.read(lines)
            if attempt.has_rows:
                del self._attempts[place + 1 :]  # whatever they find, they are not believed
                break


class _Attempt:
    """One reader and what it made of the output."""

    def __init__(self, reader: Reader, limit: int) -> None:
        self._reader, self.entries = reader, Entries(limit)
        self.sign = reader.sign
        self.bad, self.example = 0, ""

    @property
    def has_rows(self) -> bool:
        return bool(len(self.entries) or self.entries.custom)

    def read(self, lines: Sequence[str]) -> None:
        for line in lines:
            if self.sign in line:
                try:
                    rows = self._reader.feed(line)
                except BadRowError as error:
                    self._leave_out(line, error)
                else:
                    self._take(rows, line)

    def end(self) -> None:
        try:
            rows = self._reader.finish()
        except BadRowError as error:
            self._leave_out("the end of the output", error)
        else:
            self._take(rows, "the end of the output")

    def _take(self, rows: Sequence[PrintedRow | CustomRow], where: str) -> None:
        for row in rows:
            try:
                self.entries.take(row)
            except BadRowError as error:
                self._leave_out(where, error)

    def _leave_out(self, where: str, error: BadRowError) -> None:
        self.bad += 1
        shown = where.strip()
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
        self.example = self.example or f"{shown!r}: {error}"
