"""Findings in the tables, and what people decided about findings to come: mutes and thresholds.

Every function works inside the transaction of the connection it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, delete, insert, or_, select, true
from sqlalchemy import update as update_rows

from benchwright import schema
from benchwright.errors import StoreError, did_you_mean
from benchwright.records import causes as cause_rules
from benchwright.records.causes import PREFIX
from benchwright.records.findings import BISECTED, Finding, FindingChanges, Mute, Remark, State, Threshold, Triage
from benchwright.store.sql import causes, codec, tables
from benchwright.store.sql.codec import plain
from benchwright.store.sql.engine import lock_findings, parts

_SHOWN = 5
_SERIES = 10_000  # series, or ids, that one statement names


def newest(
    connection: Connection,
    *,
    states: Sequence[State] = (),
    series: Sequence[str] = (),
    limit: int = 1000,
    cause: str = "",
    skip: int = 0,
    ids: Sequence[str] = (),
    before: str = "",
) -> list[Finding]:
    """The newest findings first, of these states, series, cause and ids where any are named, without the first few."""
    table = tables.findings
    query = _select_documents()
    if cause:
        heads = tables.finding_heads
        query = query.join(heads, heads.c.finding_id == table.c.id).where(
            heads.c.cause == causes.find(connection, cause)
        )
    if states:
        query = query.where(table.c.state.in_([state.value for state in states]))
    if before:
        query = query.where(_is_after(connection, before))
    query = query.order_by(table.c.at.desc(), table.c.id.desc())
    keys, names = (list(dict.fromkeys(map(plain, given))) for given in (series, ids))
    if len(keys) <= _SERIES and len(names) <= _SERIES:
        query = query.where(table.c.series.in_(keys)) if keys else query
        query = query.where(table.c.finding.in_(names)) if names else query
        return [_finding(row) for row in connection.execute(query.limit(limit).offset(skip))]
    # A look at a large run asks for more series than a statement takes parameters.
    query = query.add_columns(table.c.at, table.c.id).limit(skip + limit)
    of_series, of_ids = _conditions(table.c.series, keys), _conditions(table.c.finding, names)
    found = [row for a in of_series for b in of_ids for row in connection.execute(query.where(a, b))]
    found.sort(key=lambda row: (row.at, row.id), reverse=True)
    return [_finding(row) for row in found[skip : skip + limit]]


def _conditions(column: Column[str], values: Sequence[str]) -> list[ColumnElement[bool]]:
    """Whether the column holds one of the values, in as many conditions as statements are needed; none are all."""
    return [column.in_(part) for part in parts(values, _SERIES)] or [true()]


def _is_after(connection: Connection, finding: str) -> ColumnElement[bool]:
    """Whether a row comes after this finding, where the newest is the first."""
    table = tables.findings
    last = connection.execute(select(table.c.at, table.c.id).where(table.c.finding == plain(finding))).one_or_none()
    if last is None:
        raise StoreError(f"no finding {finding!r} in this store", remedy="begin with the newest findings again")
    return or_(table.c.at < last.at, and_(table.c.at == last.at, table.c.id < last.id))


def find(connection: Connection, reference: str) -> Finding:
    """The finding of that id, or of the only id that begins so."""
    table, word = tables.findings, plain(reference)
    rows = connection.execute(_select_documents().where(table.c.finding.startswith(word, autoescape=True))).all()
    begun = [row for row in rows if word and row.finding.startswith(word)]  # LIKE may have ignored case
    exact = [row for row in begun if row.finding == word]
    if len(exact or begun) == 1:
        return _finding((exact or begun)[0])
    if begun:
        names = ", ".join(row.finding for row in begun[:_SHOWN]) + (" ..." if len(begun) > _SHOWN else "")
        raise StoreError(f"{reference!r} may be any of {len(begun)} findings", remedy=f"write more of one of: {names}")
    known = connection.scalars(select(table.c.finding).order_by(table.c.at.desc()).limit(_SHOWN)).all()
    remedy = did_you_mean(word, known) if known else "there are none; benchwright findings judge looks for some"
    raise StoreError(f"no finding {reference!r} in this store", remedy=remedy)


def keep(connection: Connection, finding: Finding) -> Finding:
    """Keeps a finding, unless the same change is there: then that one is returned."""
    lock_findings(connection)
    known = newest(connection, series=(finding.series,), limit=1_000_000)
    for other in known:
        if other.id == finding.id or _is_same(other, finding):
            return other
    at = codec.microseconds(finding.found_at, where=f"finding {finding.id}: found_at")
    finding = causes.assign(connection, finding)
    row = {"finding": plain(finding.id), "series": plain(finding.series), "at": at}
    number = connection.scalar(insert(tables.findings).values(row | _content(finding)).returning(tables.findings.c.id))
    causes.add_head(connection, number, finding)
    return finding


def _is_same(known: Finding, new: Finding) -> bool:
    """Whether both are steps, or both drifts, in the same direction and at the same runs."""
    if known.verdict is not new.verdict or (known.drift is None) != (new.drift is None):
        return False
    return known.settles(new.revisions[-1] if new.revisions else "") and bool({*known.runs} & {*new.runs})


def update(
    connection: Connection, /, reference: str, remark: Remark | None = None, **changes: Unpack[FindingChanges]
) -> Finding:
    """Changes fields of a finding and adds a line to its story."""
    lock_findings(connection)
    known = find(connection, reference)
    if fixed := {"id", "series", "remarks", "cause"} & changes.keys():
        raise ValueError(f"the field {min(fixed)} of a finding cannot be changed")
    fields: dict[str, Any] = {**changes}
    if "why" in changes:
        fields["why"] = {**known.why, **changes["why"]}
    changed = _rewrite(connection, replace(known, **fields), [remark] if remark else [])
    if remark and remark.what == BISECTED:
        causes.settle_places(connection, changed)
    return changed


def _rewrite(connection: Connection, finding: Finding, remarks: Sequence[Remark] = ()) -> Finding:
    """Writes a finding that was changed, with these lines added to its story."""
    finding = replace(finding, remarks=(*finding.remarks, *remarks))
    table = tables.findings
    connection.execute(update_rows(table).where(table.c.finding == plain(finding.id)).values(**_content(finding)))
    causes.change_head(connection, finding)
    return finding


# ---- several at once ----


def triage(
    connection: Connection, references: Sequence[str], wish: Triage, *, who: str = "", at: str = ""
) -> list[Finding]:
    """Does with these findings, and those of these causes, what somebody wishes; returns those that it changed.

    Either all of it is done or nothing. Of a cause, only the findings are meant that `Triage.meant` names.
    """
    lock_findings(connection)
    changed = []
    for finding in _meant(connection, references, wish):
        if steps := wish.steps(finding, who, at):
            fields: dict[str, Any] = {name: value for _, changes in steps for name, value in changes.items()}
            changed.append(_rewrite(connection, replace(finding, **fields), [remark for remark, _ in steps]))
    return changed


def split(
    connection: Connection, references: Sequence[str], *, who: str = "", at: str = "", comment: str = ""
) -> list[Finding]:
    """Takes these findings out of their causes, into one of their own; what is found later does not join it."""
    lock_findings(connection)
    chosen = _meant(connection, references)
    if not chosen:
        raise StoreError("nothing to split", remedy="name the findings that have another cause")
    cause = cause_rules.split_id(finding.id for finding in chosen)
    return _move(connection, chosen, cause, Remark(at=at, who=who, what="split", text=comment))


def join(
    connection: Connection, references: Sequence[str], *, who: str = "", at: str = "", comment: str = ""
) -> list[Finding]:
    """Gives these findings, and those of these causes, the cause of the first; what is found later joins that."""
    lock_findings(connection)
    if len(references) < 2:
        raise StoreError("nothing to join", remedy="name two causes, or a cause and a finding")
    cause = _meant(connection, references[:1])[0].cause
    chosen = _meant(connection, references[1:])
    moved = _move(connection, chosen, cause, Remark(at=at, who=who, what="joined", text=comment))
    for other in {finding.cause for finding in chosen} - {cause}:
        if not causes.heads(connection, cause=other, limit=1):
            causes.move_places(connection, other, cause)
    return moved


def _move(connection: Connection, chosen: Sequence[Finding], cause: str, remark: Remark) -> list[Finding]:
    moved = []
    for finding in chosen:
        if finding.cause != cause:
            text = f"from {finding.cause} to {cause}. {remark.text}".removesuffix(" ").removesuffix(".")
            moved.append(_rewrite(connection, replace(finding, cause=cause), [replace(remark, text=text)]))
    return moved


def _meant(connection: Connection, references: Sequence[str], wish: Triage | None = None) -> list[Finding]:
    """The findings of these ids, and of the causes of these, each once."""
    found: dict[str, Finding] = {}
    for reference in references:
        if reference.startswith(PREFIX):
            members = causes.members(connection, causes.find(connection, reference))
            found |= {one.id: one for one in (wish.meant(members) if wish else members)}
        else:
            one = find(connection, reference)
            found[one.id] = one
    return list(found.values())


def _content(finding: Finding) -> dict[str, Any]:
    return {
        "state": finding.state.value,
        "format": schema.FORMAT,
        "document": codec.finding_document(finding),
    }


def _select_documents() -> Select[Any]:
    table = tables.findings
    return select(table.c.finding, table.c.format, table.c.document)


def _finding(row: Any) -> Finding:
    return codec.read_finding(row.document, row.format, where=f"finding {row.finding}")


# ---- mutes and thresholds ----


def mutes(connection: Connection) -> list[Mute]:
    """What is muted, in order of the alphabet."""
    rows = connection.execute(select(tables.mutes)).all()
    return sorted((Mute(what=r.what, who=r.who, at=r.at, reason=r.reason) for r in rows), key=lambda mute: mute.what)


def mute(connection: Connection, mute: Mute) -> None:
    """Adds a mute, in the place of one of the same name."""
    unmute(connection, mute.what)
    row = {"what": plain(mute.what), "who": plain(mute.who), "at": plain(mute.at), "reason": plain(mute.reason)}
    connection.execute(insert(tables.mutes), row)


def unmute(connection: Connection, what: str) -> bool:
    """Takes a mute away; False when there was none."""
    lock_findings(connection)
    return connection.execute(delete(tables.mutes).where(tables.mutes.c.what == plain(what))).rowcount > 0


def thresholds(connection: Connection) -> list[Threshold]:
    """Every threshold, in order of the alphabet."""
    rows = connection.execute(select(tables.thresholds)).all()
    found = (Threshold(case=r.case_name, metric=r.metric, smallest=r.smallest) for r in rows)
    return sorted(found, key=lambda threshold: (threshold.case, threshold.metric))


def set_threshold(connection: Connection, threshold: Threshold) -> None:
    """Adds a threshold, in the place of one for the same cases and metric."""
    drop_threshold(connection, threshold.case, threshold.metric)
    row = {"case_name": plain(threshold.case), "metric": plain(threshold.metric), "smallest": threshold.smallest}
    connection.execute(insert(tables.thresholds), row)


def drop_threshold(connection: Connection, case: str, metric: str = "") -> bool:
    """Takes a threshold away; False when there was none."""
    lock_findings(connection)
    table = tables.thresholds
    gone = delete(table).where(table.c.case_name == plain(case), table.c.metric == plain(metric))
    return connection.execute(gone).rowcount > 0
