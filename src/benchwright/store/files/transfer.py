"""Runs to a file and back: JSON Lines (one document per line, `.gz` when the name ends so) or Parquet.

What is read back equals what was written, raw samples included. Each run is one transaction: a line that cannot be read
stops the import with its place, the runs before it stay, and running the import again changes nothing that is there.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from benchwright import schema
from benchwright.errors import DecodeError, OptionError, StoreError, TargetError, UserError
from benchwright.records import Run
from benchwright.schema.parsing import TextError
from benchwright.store import Store
from benchwright.system import streams
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
    runs = _read(store, run_ids, samples, skipped)
    if path == STANDARD:
        if kind not in ("", "jsonl"):
            raise OptionError(f"{kind} cannot be written to standard output", remedy="name a file")
        return write_lines(runs, sys.stdout.buffer)
    kind = kind or _kind(path)
    with new_file(Path(path), force=force) as file:
        if kind == "parquet":
            from benchwright.store.files import parquet

            return parquet.write(runs, file)
        if kind == "jsonl.gz":
            # No time and no name inside: the same runs give the same bytes.
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                return write_lines(runs, cast(BinaryIO, packed))
        return write_lines(runs, file)


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


def import_runs(store: Store, path: str) -> ImportSummary:
    """Adds every run of the file that the store does not hold yet."""
    return add_all(store, read_runs(path))


def add_all(store: Store, runs: Iterable[Run]) -> ImportSummary:
    """Adds every run that the store does not hold yet."""
    added: list[str] = []
    present: list[str] = []
    for run in runs:
        (added if store.add_run(run) else present).append(run.id)
    return ImportSummary(added=tuple(added), present=tuple(present))


def read_runs(path: str) -> Iterator[Run]:
    """The runs of a file, one at a time."""
    if path == STANDARD:
        yield from read_lines(sys.stdin.buffer, "standard input")
        return
    kind = _kind(path)
    if not Path(path).is_file():
        raise TargetError(f"{path}: no such file")
    if kind == "parquet":
        from benchwright.store.files import parquet

        yield from parquet.read(path)
        return
    with Path(path).open("rb") as file:
        yield from read_lines(file, path, packed=kind == "jsonl.gz")


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
    number = 0
    parts = streams.pieces(file)
    try:
        for number, line in enumerate(streams.split_lines(streams.gunzip(parts) if packed else parts), 1):
            if line.strip():
                yield schema.loads(line, Run, where=f"{name}:{number}")
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
