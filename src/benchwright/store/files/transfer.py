"""Runs to a file and back: JSON Lines (one document per line, `.gz` when the name ends so) or Parquet.

What is read back equals what was kept, raw samples included, but for e-mail addresses of authors of commits. A run is
added whole or not at all: a line that cannot be read stops the import with its place, the runs before it stay, and
running the import again changes nothing that is there.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol, cast, runtime_checkable

from benchwright import schema
from benchwright.errors import DecodeError, OptionError, StoreError, TargetError, UserError
from benchwright.records import Revision, Run
from benchwright.records.quarantine_marks import mark_run
from benchwright.schema import quick_results
from benchwright.schema.parsing import TextError
from benchwright.store import Store
from benchwright.store.files.second_reader import WORTH, can_help, read_with_help
from benchwright.store.one_ahead import OneAhead
from benchwright.store.sql import write
from benchwright.system import streams
from benchwright.system.garbage import rare_collections
from benchwright.system.masking import name_people
from benchwright.system.whole_files import new_file

STANDARD = "-"  # standard output or input, as JSON Lines
KINDS = ("jsonl", "jsonl.gz", "parquet")  # also the endings of names


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSummary:
    """The outcome of an import: how many runs were added, and how many were there already."""

    added: tuple[str, ...]  # run ids
    present: tuple[str, ...]  # there already, and left as they were


def export_runs(
    store: Store,
    run_ids: Iterable[str],
    path: str,
    *,
    samples: bool = True,
    force: bool = False,
    kind: str = "",
    skipped: Callable[[str, UserError], None] | None = None,
) -> int:
    """Writes the runs, in the order given, and says how many. One run is in memory at a time.

    `kind` is one of KINDS; without it, the ending of the name says so. With `skipped`, a run that cannot be read is
    left out, and `skipped` is called with its id and the reason.
    """
    runs = map(_without_addresses, _read(store, run_ids, samples, skipped))
    if path == STANDARD:
        if kind not in ("", "jsonl"):
            raise OptionError(f"{kind} cannot be written to standard output", remedy="name a file")
        return write_lines(runs, sys.stdout.buffer)
    kind = kind or _kind(path)
    with new_file(Path(path), force=force) as file:
        if kind == "parquet":
            from benchwright.store.files import parquet

            known = store.quarantines()
            return parquet.write((mark_run(run, known) for run in runs), file)
        if kind == "jsonl.gz":
            # No time and no name inside: the same runs give the same bytes.
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                return write_lines(runs, cast(BinaryIO, packed))
        return write_lines(runs, file)


def _without_addresses(run: Run) -> Run:
    """The run as others may read it: commits name their authors, and tell no e-mail address."""

    def named(revision: Revision | None) -> Revision | None:
        if revision is None or "@" not in f"{revision.author}{revision.subject}":
            return revision
        return replace(revision, author=name_people(revision.author), subject=name_people(revision.subject))

    results = tuple(
        one if (told := named(one.revision)) is one.revision else replace(one, revision=told) for one in run.results
    )
    return replace(run, revision=named(run.revision), results=results)


def _read(
    store: Store, run_ids: Iterable[str], samples: bool, skipped: Callable[[str, UserError], None] | None
) -> Iterator[Run]:
    for run_id in run_ids:
        try:
            run = store.run(run_id, samples=samples)
        except (StoreError, DecodeError) as error:
            if skipped is None:
                raise
            skipped(run_id, error)
            continue
        yield run


def export_text(text: str, path: str, *, force: bool = False) -> int:
    """Writes the text of an exported run to a file, whole or not at all."""
    if path == STANDARD:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    else:
        with new_file(Path(path), force=force) as file:
            file.write(text.encode())
    return 1


RunParts = write.RunOfParts


@runtime_checkable
class RunPartsStore(Protocol):
    """A store that takes several runs at once, with results as they were read from a document: every database."""

    def add_runs(self, runs: Sequence[RunParts]) -> list[bool]:
        """Keeps whole runs in one transaction; of each whether it is new. Those before one that fails stay."""
        ...

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process does the work of keeping: then this one can read on meanwhile."""
        ...


def import_runs(store: Store, path: str) -> ImportSummary:
    """Adds every run of the file that the store does not hold yet."""
    if not isinstance(store, RunPartsStore) or (path != STANDARD and _kind(path) == "parquet"):
        return add_all(store, read_runs(path))
    if path != STANDARD and Path(path).is_file() and Path(path).stat().st_size >= WORTH and can_help():
        helped = read_with_help(lambda: _prepare_parts(path), lambda done: _parts_of(path, done), together=_TOGETHER)
        with closing(helped):
            return _add_parts(store, helped)
    return _add_parts(store, _parts_of(path))


def _parts_of(path: str, done: int = 0) -> Iterator[RunParts]:
    """The runs of a file behind the first ones."""
    with _open_lines(path) as lines:
        for line, where in islice(lines, done, None):
            yield _read_parts(line, where)


def _prepare_parts(path: str) -> Iterator[RunParts]:
    """The same, with results that are ready to be written."""
    for run, quick in _parts_of(path):
        yield replace(run, results=()), write.prepare_to_send([*run.results, *quick])


def add_all(store: Store, runs: Iterable[Run]) -> ImportSummary:
    """Adds every run that the store does not hold yet."""
    if isinstance(store, RunPartsStore):
        return _add_parts(store, ((run, ()) for run in runs))
    added: list[str] = []
    present: list[str] = []
    for run in runs:
        (added if store.add_run(run) else present).append(run.id)
    return ImportSummary(added=tuple(added), present=tuple(present))


def _read_parts(line: bytes, where: str) -> RunParts:
    found = quick_results.read_run(quick_results.open_quickly(line, "run"))
    return found if found is not None else (schema.loads(line, Run, where=where), ())


def _add_parts(store: RunPartsStore, runs: Iterable[RunParts]) -> ImportSummary:
    """Adds runs, as many in one transaction as have some results: a disk is waited for once for all of them."""
    added: list[str] = []
    present: list[str] = []
    waiting: list[RunParts] = []
    # SQLite works in this process, and gives the interpreter away for every row: a second thread would slow both down.
    with rare_collections(), OneAhead() if store.is_elsewhere else nullcontext() as ahead:

        def add() -> None:
            several = waiting.copy()
            waiting.clear()
            if several and ahead:
                ahead.begin(lambda: keep(several))
            elif several:
                keep(several)

        def keep(several: Sequence[RunParts]) -> None:
            for (run, _), is_new in zip(several, store.add_runs(several), strict=True):
                (added if is_new else present).append(run.id)

        try:
            for run, results in runs:
                waiting.append((run, results))
                if sum(len(one.results) + len(quick) for one, quick in waiting) >= _RESULTS or len(waiting) >= _RUNS:
                    add()
        except Exception:  # what was read before stays
            add()
            raise
        add()
    return ImportSummary(added=tuple(added), present=tuple(present))


_RESULTS, _RUNS = 500, 100  # that are added at once
_TOGETHER = 4  # runs that another process hands over in one piece


def read_runs(path: str) -> Iterator[Run]:
    """The runs of a file, one at a time."""
    if path != STANDARD and _kind(path) == "parquet":
        from benchwright.store.files import parquet

        _require_file(path)
        yield from parquet.read(path)
        return
    with _open_lines(path) as lines:
        for line, where in lines:
            yield schema.loads(line, Run, where=where)


@contextmanager
def _open_lines(path: str) -> Iterator[Iterator[tuple[bytes, str]]]:
    """The lines of a file or of standard input that hold something, each with its place."""
    if path == STANDARD:
        yield _split_lines(sys.stdin.buffer, "standard input")
        return
    kind = _kind(path)
    _require_file(path)
    with Path(path).open("rb") as file:
        yield _split_lines(file, path, packed=kind == "jsonl.gz")


def _require_file(path: str) -> None:
    if not Path(path).is_file():
        raise TargetError(f"{path}: no such file")


def write_lines(runs: Iterable[Run], file: BinaryIO) -> int:
    """Each run as a versioned document on a line of its own; says how many."""
    count = 0
    for run in runs:
        file.write(schema.dumps(run).encode("ascii") + b"\n")
        count += 1
    file.flush()
    return count


def read_lines(file: streams.ByteStream, name: str, *, packed: bool = False) -> Iterator[Run]:
    """The inverse of `write_lines`; errors name the line. One run is in memory at a time, however many there are."""
    for line, where in _split_lines(file, name, packed=packed):
        yield schema.loads(line, Run, where=where)


def _split_lines(file: streams.ByteStream, name: str, *, packed: bool = False) -> Iterator[tuple[bytes, str]]:
    number = 0
    parts = streams.pieces(file)
    try:
        for number, line in enumerate(streams.split_lines(streams.gunzip(parts) if packed else parts), 1):
            if line.strip():
                yield line, f"{name}:{number}"
    except TextError as error:
        raise streams.refusal_of(error, f"{name}:{number + 1}", "was it copied to its end?") from None


def is_ours(path: str) -> bool:
    """Whether a name is one that exports of ours have: by its ending, or standard input."""
    return path == STANDARD or path.endswith(tuple(f".{kind}" for kind in KINDS))


def _kind(path: str) -> str:
    for kind in KINDS:
        if path.endswith(f".{kind}"):
            return kind
    raise OptionError(
        f"{path}: the name of the file ends in no known format", remedy="use .jsonl, .jsonl.gz or .parquet"
    )
