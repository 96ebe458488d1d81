"""Results that may be there already, several in one transaction: each is new, the same again, or refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from benchwright.errors import StoreError, StoreLostError
from benchwright.store.sql import read, tables, write
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import find

Outcome = bool | Exception  # whether it is new, or why it is refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A result on its way into a run, perhaps in the place of another."""

    run_id: str
    prepared: write.PreparedResult
    instead_of: str = ""

    @property
    def name(self) -> str:
        """The result's id, as the tables hold it."""
        return plain(self.prepared.result.id)


def put_all(connection: Connection, known: write.KnownIds, place: str, uploads: Sequence[Upload]) -> list[Outcome]:
    """What came of each, in order. Their ids differ. Nothing is written of one that is refused."""
    present = {name for (name,) in find(connection, tables.results, ("result",), [upload.name for upload in uploads])}
    homes = _homes(connection, uploads)
    outcomes: list[Outcome] = []
    new: list[tuple[write.Home, write.PreparedResult]] = []
    for upload in uploads:
        try:
            if upload.instead_of or upload.name in present:
                outcomes.append(_put(connection, known, place, upload))
            else:
                new.append((_home(homes, place, upload.run_id), upload.prepared))
                outcomes.append(True)
        except StoreError as error:
            outcomes.append(error)
    if new:
        write.add_prepared(connection, known, new)
    return outcomes


def add(connection: Connection, known: write.KnownIds, place: str, upload: Upload) -> None:
    """Adds a result, in the place of another if one is named."""
    run, result_id = home(connection, place, upload.run_id), upload.prepared.result.id
    gone = [_number(connection, run, place, upload)] if upload.instead_of else []
    if upload.instead_of == result_id:
        write.remove_results(connection, gone)
    write.add_prepared(connection, known, [(run, upload.prepared)])
    # The old one goes last, so that SQLite does not give its number to the new one: `newest` grows.
    write.remove_results(connection, gone if upload.instead_of != result_id else [])


def home(connection: Connection, place: str, run_id: str) -> write.Home:
    """The run of that id, which results are to be added to."""
    rows = find(connection, tables.runs, ("run", "id", "revision"), [plain(run_id)])
    return _home({run: write.Home(number=number, revision=revision) for run, number, revision in rows}, place, run_id)


def _put(connection: Connection, known: write.KnownIds, place: str, upload: Upload) -> bool:
    result_id = upload.prepared.result.id
    kept = read.find_result(connection, result_id)
    if kept is None or (upload.instead_of == result_id and not _is_same(connection, kept, upload)):
        add(connection, known, place, upload)
        return True
    if _is_same(connection, kept, upload):
        return False
    raise StoreError(f"{place}: another result has the id {result_id!r}", remedy="give it an id of its own")


def _is_same(connection: Connection, kept: read.KeptResult, upload: Upload) -> bool:
    result = upload.prepared.result
    if (kept.run, kept.result) != (plain(upload.run_id), replace(result, samples=())):
        return False
    return read.kept_heads(connection, kept.number) == read.heads(result.samples)


def _homes(connection: Connection, uploads: Iterable[Upload]) -> dict[str, write.Home]:
    names = list({plain(upload.run_id) for upload in uploads})
    rows = find(connection, tables.runs, ("run", "id", "revision"), names)
    return {run: write.Home(number=number, revision=revision) for run, number, revision in rows}


def _home(homes: dict[str, write.Home], place: str, run_id: str) -> write.Home:
    home = homes.get(plain(run_id))
    if home is None:
        raise StoreLostError(f"{place}: no run {run_id!r} to add a result to", remedy="call begin(run) first")
    return home


def _number(connection: Connection, home: write.Home, place: str, upload: Upload) -> int:
    table = tables.results
    query = select(table.c.id).where(table.c.run_id == home.number, table.c.result == plain(upload.instead_of))
    number: int | None = connection.scalar(query)
    if number is None:
        raise StoreError(
            f"{place}: run {upload.run_id!r} has no result {upload.instead_of!r} any more",
            remedy="is somebody else resuming the same run?",
        )
    return number
