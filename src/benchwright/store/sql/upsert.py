"""Results that may be there already, several in one transaction: each is new, the same again, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from benchwright.errors import StoreError
from benchwright.store.sql import read, tables, write
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import find
from benchwright.store.sql.rows import SqlRows
from benchwright.store.sql.write import Upload

Outcome = bool | Exception  # whether it is new, or why it is refused


def put_all(connection: Connection, known: write.KnownIds, place: str, uploads: Sequence[Upload]) -> list[Outcome]:
    """What came of each, in order. Their ids differ. Nothing is written of one that is refused."""
    present = {name for (name,) in find(connection, tables.results, ("result",), [upload.name for upload in uploads])}
    homes = write.homes(SqlRows(connection), (upload.run_id for upload in uploads))
    outcomes: list[Outcome] = []
    new: list[tuple[write.OwningRun, write.PreparedResult]] = []
    for upload in uploads:
        try:
            if upload.instead_of or upload.name in present:
                outcomes.append(_put(connection, known, place, upload))
            else:
                new.append((write.home_of(homes, place, upload.run_id), upload.prepared))
                outcomes.append(True)
        except StoreError as error:
            outcomes.append(error)
    if new:
        write.add_prepared(SqlRows(connection), known, new)
    return outcomes


def _put(connection: Connection, known: write.KnownIds, place: str, upload: Upload) -> bool:
    result_id = upload.prepared.result.id
    kept = read.find_result(connection, result_id)
    if kept is None or (upload.instead_of == result_id and not _is_same(connection, kept, upload)):
        write.add(SqlRows(connection), known, place, upload)
        return True
    if _is_same(connection, kept, upload):
        return False
    raise StoreError(f"{place}: another result has the id {result_id!r}", remedy="give the result an id of its own")


def _is_same(connection: Connection, kept: read.KeptResult, upload: Upload) -> bool:
    result = upload.whole()
    if (kept.run, kept.result) != (plain(upload.run_id), replace(result, samples=())):
        return False
    return read.kept_heads(connection, kept.number) == read.heads(result.samples)
