"""Which run a person means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select

from benchwright.errors import StoreError, did_you_mean
from benchwright.store.lookup import names_of
from benchwright.store.sql import tables
from benchwright.store.sql.case_names import is_named
from benchwright.store.sql.codec import plain
from benchwright.store.sql.read import is_run

_LAST = re.compile(r"last(?:~([0-9]{1,18}))?(?::(.+))?", re.DOTALL)  # a database counts to 2**63
_SHOWN = 5


def find(connection: Connection, reference: str) -> str:
    """The id of the run named by `last`, `last~N`, an id, a tag, a commit, or the beginning of a commit or an id.

    `last` is what was added last; `last:TARGET` and `last~N:TARGET` count only the runs that measured the target, which
    is named as for `benchwright history`. A tag or a commit with several runs means the one of them that was added
    last. A beginning must be of one commit or one run only. A try that was refused before anything was measured is
    found by its id, and by a tag or a commit without a run.
    """
    if match := _LAST.fullmatch(reference):
        back = int(match[1] or 0)
        return _nth_run_of(connection, back, match[2]) if match[2] else _nth_run(connection, back)
    word = plain(reference)
    table = tables.runs
    exact = (
        _newest_first().where(table.c.run == word),
        _newest_first().join(tables.run_tags).where(tables.run_tags.c.tag == word),
        _newest_first().where(table.c.revision == word),
    )
    for query in exact if word else ():
        if found := connection.scalar(query.where(is_run()).limit(1)) or connection.scalar(query.limit(1)):
            return str(found)
    return _by_beginning(connection, word, reference)


def _nth_run_of(connection: Connection, back: int, target: str) -> str:
    """The run that lies `back` runs before the newest one that measured the target."""
    table = tables.results
    for name in names_of(target):
        named = is_named(connection, table.c.case_name, name)
        measured = tables.runs.c.id.in_(select(table.c.run_id).where(named)) & is_run()
        there = connection.scalar(select(func.count()).select_from(tables.runs).where(measured)) or 0
        if there > back:
            return str(connection.scalar(_newest_first().where(measured).offset(back).limit(1)))
        if there:
            raise StoreError(
                f"there is no run {back} before the last of {target!r}: {_count(there)} in this store measured it",
                remedy="benchwright history TARGET shows them",
            )
    known = connection.scalars(select(table.c.case_name).distinct()).all()
    raise StoreError(
        f"no run in this store measured {target!r}",
        remedy=did_you_mean(Path(target).name, known) or "benchwright run TARGET makes one",
    )


def _nth_run(connection: Connection, back: int) -> str:
    found = connection.scalar(_newest_first().where(is_run()).offset(back).limit(1))
    if found is None:
        there = connection.scalar(select(func.count()).select_from(tables.runs).where(is_run()))
        raise StoreError(
            f"there is no run {back} before the last: the store holds {_count(there)}"
            if there
            else "the store holds no runs",
            remedy="benchwright list shows them" if there else "benchwright run TARGET makes one",
        )
    return str(found)


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def _by_beginning(connection: Connection, word: str, reference: str) -> str:
    table = tables.runs
    begins = or_(table.c.run.startswith(word, autoescape=True), table.c.revision.startswith(word, autoescape=True))
    meant: dict[str, str] = {}  # a commit or a run's id -> the newest run
    for run, revision in connection.execute(_newest_first().add_columns(table.c.revision).where(begins)):
        for name in (revision, run):
            if word and name.startswith(word):  # LIKE may have ignored case
                meant.setdefault(name, run)
    if not meant:
        raise StoreError(f"no run, tag or commit {reference!r} in this store", remedy=_suggestion(connection, word))
    if len(meant) > 1:
        names = ", ".join(list(meant)[:_SHOWN]) + (" ..." if len(meant) > _SHOWN else "")
        raise StoreError(f"{reference!r} may be any of {len(meant)} runs", remedy=f"write more of one of: {names}")
    return next(iter(meant.values()))


def _suggestion(connection: Connection, word: str) -> str:
    newest = connection.scalars(_newest_first().limit(_SHOWN)).all()
    if not newest:
        return "the store holds no runs; benchwright run TARGET makes one"
    tags = connection.scalars(select(tables.run_tags.c.tag).distinct()).all()
    return did_you_mean(word, ["last", *newest, *tags])


def _newest_first() -> Select[Any]:
    """Selects runs, the last added first: a clock that was ahead once must not decide which run is the last."""
    return select(tables.runs.c.run).order_by(tables.runs.c.id.desc())
