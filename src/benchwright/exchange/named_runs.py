"""Which runs a person means: references into a store, or files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from benchwright import schema
from benchwright.errors import DecodeError, OptionError
from benchwright.exchange.importers.source_file import is_of_other_tool
from benchwright.records import Run
from benchwright.records.machines import Quarantine
from benchwright.records.quarantine_marks import mark_run


class RunFinder(Protocol):
    """The part of a store that finds runs by reference."""

    def find(self, reference: str) -> str:
        """The id that a reference names."""
        ...

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        """The run of that id."""
        ...

    def quarantines(self, machine: str = "") -> list[Quarantine]:
        """The quarantines of a machine, or of all."""
        ...

    def close(self) -> None:
        """Ends the connection."""
        ...


_EXPORTED = (".jsonl", ".jsonl.gz", ".parquet")  # what `benchwright export` writes
_ENDINGS = (".json", ".jsonl", ".gz", ".parquet")
_OF_A_CASE = ("last:", "last~")  # `last:model.json` is a run, whatever it ends in

Opener = Callable[[], RunFinder]
Reader = Callable[[str], Iterable[Run]]


def find_runs(reference: str, opened: Opener, read: Reader, *, samples: bool = True) -> list[Run]:
    """The runs of a file, when `reference` is the path of one; otherwise the run that the store knows by it.

    What was measured in quarantine is marked.

    `read` yields the runs of an exported file, which its ending tells. Any other is a document that `show --json`
    printed, or the file of another tool that `benchwright import` reads; a folder needs a `/` in its name.
    """
    path = Path(reference)
    if path.is_file() or ("/" in reference and path.is_dir()):
        is_ours = reference.endswith(_EXPORTED) and not is_of_other_tool(reference)
        return list(read(reference)) if is_ours else _import_foreign(reference)
    if path.suffix in _ENDINGS and not reference.startswith(_OF_A_CASE):
        raise OptionError(f"{reference}: no such file", remedy="give a file that exists, or a run: `benchwright list`")
    store = opened()
    try:
        run = store.run(store.find(reference), samples=samples)
        return [mark_run(run, store.quarantines())]
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


def _import_foreign(reference: str) -> list[Run]:
    """What a document of ours holds, or a file of another tool: its content tells which."""
    from benchwright import exchange
    from benchwright.exchange.importers.source_file import read_source

    what = read_source(reference)
    if isinstance(what.data, dict) and {"format", "kind", "data"} <= what.data.keys():
        return [schema.loads(what.body, Run, where=reference)]
    try:
        return list(exchange.runs_of(what))
    except exchange.UnknownFormatError as error:
        if what.flaw:
            raise DecodeError(f"{reference}: {what.flaw}", remedy="was it written or copied to its end?") from None
        raise DecodeError(
            f"{reference}: neither a Benchwright document nor a file of {', '.join(error.tried)}",
            remedy="benchwright import FILE --format NAME says what is wrong with it",
        ) from None
