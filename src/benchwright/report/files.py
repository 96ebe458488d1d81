"""Which runs a person means: references into a store, or files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from benchwright import schema
from benchwright.errors import DecodeError, OptionError
from benchwright.records import Run


class Finder(Protocol):
    """The part of a store that is needed here."""

    def find(self, reference: str) -> str:
        """The id that a reference names."""
        ...

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """The run of that id."""
        ...

    def close(self) -> None:
        """Ends the connection."""
        ...


Opener = Callable[[], Finder]
Reader = Callable[[str], Iterable[Run]]


def find_runs(reference: str, opened: Opener, read: Reader, *, samples: bool = True) -> list[Run]:
    """The runs of a file, when `reference` is the path of one; otherwise the run that the store knows by it.

    `read` yields the runs of an exported file. A `.json` file is a document that `show --json` printed.
    """
    path = Path(reference)
    if path.is_file():
        return [_document(path)] if path.suffix == ".json" else list(read(reference))
    if path.suffix in (".json", ".jsonl", ".gz", ".parquet"):
        raise OptionError(f"{reference}: no such file", remedy="give a file that exists, or a run: `benchwright list`")
    store = opened()
    try:
        return [store.run(store.find(reference), samples=samples)]
    finally:
        store.close()


def find_run(reference: str, opened: Opener, read: Reader, *, samples: bool = True) -> Run:
    """The one run that `reference` names."""
    runs = find_runs(reference, opened, read, samples=samples)
    if len(runs) != 1:
        raise OptionError(
            f"{reference}: holds {len(runs)} runs, and one is needed",
            remedy="export the one run alone, or import the file and name the run",
        )
    return runs[0]


def _document(path: Path) -> Run:
    try:
        return schema.loads(path.read_bytes(), Run, where=str(path))
    except OSError as error:
        raise DecodeError(f"{path}: cannot be read: {error.strerror}") from None
