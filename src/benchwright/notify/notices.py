"""What goes beside a finding: its link and the picture of its series."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from benchwright.analysis.judged_results import points_around
from benchwright.analysis.timeline import combine_rounds, rounds_by_run
from benchwright.errors import StoreError
from benchwright.notify.messages import Notice, headline
from benchwright.records.findings import Finding

if TYPE_CHECKING:
    from benchwright.records.code import CodeLinks
    from benchwright.report.change_picture import SeriesPicture
    from benchwright.store import Store


def notice(
    finding: Finding, store: Store | None, *, link: str, picture: bool, code: CodeLinks | None = None, at: str = ""
) -> Notice:
    """The finding with `link` filled in, and its series drawn when the store has it; as PNG if `picture`.

    `at` is the commit to speak of, where it is not the finding's own.
    """
    filled = link_to(finding, link)
    trace = trace_of(finding, store) if store is not None else None
    if trace is None:
        return Notice(finding=finding, link=filled, code=code, at=at)
    from benchwright.report.change_picture import png, sketch
    from benchwright.report.findings import graph

    return Notice(
        finding=finding,
        link=filled,
        sketch=sketch(trace),
        graph=graph(trace.values, trace.change, finding),
        picture=png(trace) if picture else b"",
        code=code,
        at=at,
    )


def link_to(finding: Finding, template: str) -> str:
    """`template` with `{id}`, `{cause}`, `{case}`, `{metric}`, `{run}`, `{revision}` filled in; other brackets stay."""
    values = {
        "id": finding.id,
        "cause": finding.cause or finding.id,
        "case": finding.case,
        "metric": finding.metric,
        "run": finding.run,
        "revision": Notice(finding=finding).commit,
    }
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return template


def trace_of(finding: Finding, store: Store) -> SeriesPicture | None:
    """The finding's series with one value for each run; None when the store does not have it."""
    from benchwright.report.change_picture import SeriesPicture

    try:
        known = store.history(finding.case, metrics=(finding.metric,))
    except StoreError:
        return None
    points = next((series.points for series in known if series.key == finding.series), ())
    rounds = rounds_by_run(points_around(points, finding.run))
    if finding.run not in rounds:
        return None
    values = tuple(combine_rounds(points).point for points in rounds.values())
    until = [*rounds].index(finding.drift.last) if finding.drift and finding.drift.last in rounds else 0
    change = [*rounds].index(finding.run)
    return SeriesPicture(values=values, change=change, title=headline(finding), unit=finding.unit, until=until)
