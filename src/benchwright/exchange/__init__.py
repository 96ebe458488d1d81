"""Other tools' files: theirs as our runs, our runs as theirs.

An importer reads one tool's format, an exporter writes one; both are reached through `plugins`. What a file does not
tell is not made up: a value that is known only as a summary has no interval, and its method says who reported it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from benchwright import plugins
from benchwright.errors import DecodeError
from benchwright.exchange.importers.source_file import Given, read_source
from benchwright.records import Run


class UnknownFormatError(DecodeError):
    """No importer knows what was given."""

    def __init__(self, name: str, tried: Sequence[str], flaw: str = "") -> None:
        why = f" ({flaw})" if flaw else ""
        super().__init__(
            f"{name}: no known format{why}; tried {', '.join(tried)}",
            remedy="--format NAME says what is wrong with it; files that export wrote end in .jsonl, .jsonl.gz or "
            ".parquet",
        )
        self.tried = tuple(tried)


class Importer(Protocol):
    """Reads the files of one tool."""

    name: str

    def fits(self, what: Given) -> bool:
        """Whether what is given looks like a file or a folder of the importer's tool."""
        ...

    def runs(self, what: Given) -> Iterable[Run]:
        """Returns the runs of a file or folder. The same content gives the same ids, whenever it is read."""
        ...


class Exporter(Protocol):
    """Writes a run in the format of one tool."""

    name: str

    def text(self, run: Run) -> str:
        """Returns the run in the form that the exporter's tool reads."""
        ...


def read_runs(path: str, *, format: str = "") -> Iterator[Run]:  # noqa: A002 - the flag's name
    """The runs in a file or folder of another tool; "-" is standard input. Without a format it is recognised."""
    yield from runs_of(read_source(path), format=format)


def runs_of(what: Given, *, format: str = "") -> Iterator[Run]:  # noqa: A002 - the flag's name
    """The runs in what was read. Without a format it is recognised, or an `UnknownFormatError` is raised."""
    importer: Importer = plugins.load("importers", format)() if format else _recognise(what)
    number = 0
    for run in importer.runs(what):
        if run.results:
            number += 1
            yield run
    if not number:
        raise DecodeError(f"{what.name}: holds no results of {importer.name}")


def export_run(run: Run, format: str) -> str:  # noqa: A002 - the flag's name
    """A run in the format of another tool."""
    exporter: Exporter = plugins.load("exporters", format)()
    return exporter.text(run)


def _recognise(what: Given) -> Importer:
    tried = plugins.names("importers")
    for name in tried:
        importer: Importer = plugins.load("importers", name)()
        if importer.fits(what):
            return importer
    raise UnknownFormatError(what.name, tried, what.flaw)
