"""Causes in the tables: which one a finding has, lists of them, and what people make of all findings of one.

`finding_heads` holds what lists need of each finding beside its document, `cause_places` the places by which findings
that come later find their cause. Every function works inside the transaction of the connection it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, delete, func, insert, select, update

from benchwright.errors import StoreError, did_you_mean
from benchwright.records import causes as rules
from benchwright.records.causes import PREFIX, Cause, FindingHead
from benchwright.records.findings import Finding, State
from benchwright.store.archive import RunLabels
from benchwright.store.choices import read_place
from benchwright.store.sql import cells, codec, tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import among, parts

MOST = 20_000  # findings that a list of causes is made of, the newest
_SHOWN = 5
_heads, _places = tables.finding_heads, tables.cause_places
_COLUMNS = ("finding", *FindingHead._fields[1:6], "case_name", *FindingHead._fields[7:])  # in the order of a head
_KINDS = [
    cells.NUMBER if name in ("size", "sure") else cells.WHOLE if name == "at" else cells.TEXT for name in _COLUMNS
]


# ---- which cause a finding has ----


def assign(connection: Connection, finding: Finding) -> Finding:
    """The finding with its cause: the one that it comes with, the one that shares a place with it, or a new one."""
    places = rules.places_of(finding)
    if not finding.cause:
        if cause := rules.choose(places, _places_near(connection, places)):
            return replace(finding, cause=cause)
        finding = replace(finding, cause=rules.new_id(finding, lambda name: _is_taken(connection, name)))
    if not rules.is_split(finding.cause) and not _is_taken(connection, finding.cause):
        _add_places(connection, finding.cause, places)
    return finding


def add_head(connection: Connection, number: int, finding: Finding) -> None:
    """Adds what lists need of a finding, whose row has that number."""
    connection.execute(insert(_heads), {"finding_id": number, **_row(finding)})


def change_head(connection: Connection, finding: Finding) -> None:
    """Brings what lists need of a finding up to date."""
    connection.execute(update(_heads).where(_heads.c.finding == plain(finding.id)).values(**_row(finding)))


def settle_places(connection: Connection, finding: Finding) -> None:
    """Lets the cause of a finding lie where its bisection says: what comes later joins it there, at no other commit."""
    found = {place: weight for place, weight in rules.places_of(finding).items() if rules.is_commit(place)}
    known = _places_of(connection, finding.cause)
    if found and known:  # one that was split off has no places, and nothing joins it by itself
        _drop_places(connection, finding.cause)
        _add_places(connection, finding.cause, {p: w for p, w in known.items() if not rules.is_commit(p)} | found)


def move_places(connection: Connection, old: str, new: str) -> None:
    """Lets what would have joined one cause join another."""
    moved = _places_of(connection, old)
    _drop_places(connection, old)
    _add_places(connection, new, {p: w for p, w in moved.items() if p not in _places_of(connection, new)})


def _places_near(connection: Connection, places: Iterable[str]) -> dict[str, dict[str, float]]:
    """All places of each cause that has one of these."""
    wanted = [plain(place) for place in places]
    near = connection.scalars(select(_places.c.cause).where(_places.c.place.in_(wanted)).distinct()) if wanted else ()
    return {cause: _places_of(connection, cause) for cause in list(near)}


def _places_of(connection: Connection, cause: str) -> dict[str, float]:
    rows = connection.execute(select(_places.c.place, _places.c.weight).where(_places.c.cause == plain(cause)))
    return {row.place: row.weight for row in rows}


def _add_places(connection: Connection, cause: str, places: Mapping[str, float]) -> None:
    rows = [{"place": plain(place), "cause": plain(cause), "weight": weight} for place, weight in places.items()]
    if rows:
        connection.execute(insert(_places), rows)


def _drop_places(connection: Connection, cause: str) -> None:
    connection.execute(delete(_places).where(_places.c.cause == plain(cause)))


def _is_taken(connection: Connection, cause: str) -> bool:
    """Whether there is such a cause, or was one."""
    asked = (select(table.c.cause).where(table.c.cause == plain(cause)).limit(1) for table in (_heads, _places))
    return any(connection.scalar(query) is not None for query in asked)


def _row(finding: Finding) -> dict[str, object]:
    return {
        name: plain(value) if isinstance(value, str) else value
        for name, value in zip(_COLUMNS, rules.head_of(finding), strict=True)
    }


# ---- lists ----


def heads(
    connection: Connection, *, states: Sequence[State] = (), cause: str = "", limit: int = MOST, until: int = 0
) -> list[FindingHead]:
    """What lists need of the newest findings, of these states and of this cause where any is named."""
    query = select(*(_heads.c[name] for name in _COLUMNS))
    if states:
        query = query.where(_heads.c.state.in_([state.value for state in states]))
    if cause:
        query = query.where(_heads.c.cause == plain(cause))
    if until:
        query = query.where(_heads.c.at <= until)
    cursor = connection.execute(query.order_by(_heads.c.at.desc(), _heads.c.finding_id.desc()).limit(limit)).cursor
    assert cursor is not None
    return [*map(FindingHead._make, cells.check_rows(cursor.fetchall(), _KINDS))]


def newest(
    connection: Connection, *, states: Sequence[State] = (), limit: int = 100, skip: int = 0, before: str = ""
) -> list[Cause]:
    """The causes of findings in these states, of those alone; the one that a finding joined last is the first.

    `before` is a `CausePlace` as text: only those behind it.
    """
    place = read_place(before) if before else None
    until = place.until if place else 0
    groups = rules.group(heads(connection, states=states, until=until))
    return fill(connection, rules.newest_first(groups, joined(connection, until=until), place)[skip : skip + limit])


def joined(connection: Connection, *, until: int = 0) -> dict[str, int]:
    """When a finding in any state joined each cause last."""
    query = select(_heads.c.cause, func.max(_heads.c.at)).group_by(_heads.c.cause)
    rows = connection.execute(query.where(_heads.c.at <= until) if until else query)
    return {cause: at for cause, at in rows if isinstance(at, int)}


def run_labels(connection: Connection, runs: Sequence[str]) -> dict[str, RunLabels]:
    """The branch and the tags of each of these runs."""
    table, tags = tables.runs, tables.run_tags
    found: dict[str, RunLabels] = {}
    for part in parts([plain(name) for name in runs]):
        tagged: dict[int, list[str]] = {}
        query = select(tags.c.run_id, tags.c.tag).join_from(tags, table, table.c.id == tags.c.run_id)
        for number, tag in connection.execute(query.where(among(connection, table.c.run, part))):
            tagged.setdefault(number, []).append(tag)
        for number, name, branch in connection.execute(
            select(table.c.id, table.c.run, table.c.branch).where(among(connection, table.c.run, part))
        ):
            found[name] = RunLabels(branch or "", tuple(sorted(tagged.get(number, ()))))
    return found


def fill(connection: Connection, groups: Sequence[Sequence[FindingHead]]) -> list[Cause]:
    """The causes of these groups of findings, with the documents of those that a cause shows."""
    named = [rules.find_culprit(members) for members in groups]
    wanted = {members[0].id for members in groups} | {head.id for head in named if head}
    known = {finding.id: finding for finding in documents(connection, sorted(wanted))}
    return [
        rules.make_cause(members, known[members[0].id], known[head.id].suspects[0] if head else None)
        for members, head in zip(groups, named, strict=True)
        if members[0].id in known
    ]


def documents(connection: Connection, ids: Sequence[str]) -> list[Finding]:
    """The findings of these ids, in their order; one that is not there is left out."""
    table = tables.findings
    query = select(table.c.finding, table.c.format, table.c.document)
    found: dict[str, Finding] = {}
    for part in parts([plain(name) for name in ids]):
        for row in connection.execute(query.where(among(connection, table.c.finding, part))):
            found[row.finding] = codec.read_finding(row.document, row.format, where=f"finding {row.finding}")
    return [found[plain(name)] for name in ids if plain(name) in found]


def count(connection: Connection, states: Sequence[State]) -> int:
    """How many causes have a finding in one of these states."""
    query = select(func.count(_heads.c.cause.distinct())).where(_heads.c.state.in_([state.value for state in states]))
    return connection.scalar(query) or 0


# ---- one of them ----


def find(connection: Connection, reference: str) -> str:
    """The id of the cause that is named, or of the only one whose id begins so."""
    word = plain(reference)
    query = select(_heads.c.cause).where(_heads.c.cause.startswith(word, autoescape=True)).distinct().limit(1000)
    begun: list[str] = [
        cause for cause in connection.scalars(query) if cause.startswith(word)
    ]  # LIKE may have ignored case
    exact = [cause for cause in begun if cause == word]
    if word.startswith(PREFIX) and len(exact or begun) == 1:
        return (exact or begun)[0]
    if begun:
        names = ", ".join(sorted(begun)[:_SHOWN]) + (" ..." if len(begun) > _SHOWN else "")
        raise StoreError(f"{reference!r} may be any of {len(begun)} causes", remedy=f"write more of one of: {names}")
    known = connection.scalars(select(_heads.c.cause).distinct().limit(1000)).all()
    remedy = did_you_mean(word, known) if known else "there are none; benchwright findings judge looks for some"
    raise StoreError(f"no cause {reference!r} in this store", remedy=remedy)


def members(connection: Connection, cause: str) -> list[Finding]:
    """Every finding of a cause, those with the largest change first."""
    found = sorted(heads(connection, cause=cause, limit=1_000_000), key=rules.by_size)
    return documents(connection, [head.id for head in found])
