"""Badges: one value as a small picture, to be shown by a README or another site's page."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from benchwright.analysis.judged_metrics import in_order, judged_metrics
from benchwright.exchange.exporters import badge
from benchwright.records import Verdict
from benchwright.records.findings import State
from benchwright.server.access import Reads
from benchwright.server.context import archive, context_of, pack_response
from benchwright.store.archive import ListedSeries, SeriesFilter
from benchwright.units import format_value

router = APIRouter(tags=["badges"])
_MOST = 500  # series of one case
_SVG: dict[str, Any] = {"content": {"image/svg+xml": {}}, "description": "The picture."}
_RESPONSES: dict[int | str, dict[str, Any]] = {200: _SVG, 404: {**_SVG, "description": "A picture that says so."}}
# Images of other sites' pages may be this one, and nothing of it may act.
_HEADERS = {"Cross-Origin-Resource-Policy": "cross-origin", "Content-Security-Policy": "default-src 'none'; sandbox"}


@router.get("/badge/findings.svg", responses=_RESPONSES, summary="How many regressions are open")
def open_findings(request: Request, visitor: Reads) -> Response:
    """Green without one, red with any; improvements do not count."""
    found = archive(request).finding_heads(states=[State.OPEN])
    worse = sum(head.verdict == Verdict.WORSE.value for head in found)
    value = f"{worse} open" if worse else "none open"
    return _picture(request, "regressions", value, Verdict.WORSE if worse else Verdict.SAME)


@router.get("/badge/{case:path}.svg", responses=_RESPONSES, summary="The newest value of a case")
def newest(
    request: Request,
    visitor: Reads,
    case: Annotated[str, Path(max_length=1000)],
    metric: Annotated[str, Query(max_length=1000, description="The usual one without.")] = "",
    machine: Annotated[str, Query(max_length=1000, description="A machine's key; any without.")] = "",
    words: Annotated[str, Query(max_length=1000, description="Each occurs in the case's params.")] = "",
    label: Annotated[str, Query(max_length=200, description="Instead of the case's name.")] = "",
) -> Response:
    """The value measured last, with its unit: red while a regression of it is open."""
    store = archive(request)
    chosen = SeriesFilter(case=case, metric=metric, machine=machine, words=words, limit=_MOST)
    shown = None if not case or "*" in case + metric else _choose_series(store.series(chosen), metric)
    points = store.tails([shown.series.key], points=1).get(shown.series.key, ()) if shown else ()
    if shown is None or not points:
        return _picture(request, label or case, "not measured", Verdict.UNCLEAR, status=404)
    series = shown.series
    found = store.findings(states=[State.OPEN], series=[series.key])
    worse = any(finding.verdict is Verdict.WORSE for finding in found)
    value = format_value(points[-1], series.unit)
    return _picture(request, label or case, value, Verdict.WORSE if worse else Verdict.SAME)


def _choose_series(listed: list[ListedSeries], metric: str) -> ListedSeries | None:
    """The series that was measured last, of the metric that was named or of the most usual one."""
    known = {one.series.metric: one.series.better for one in listed}
    names = [metric] if metric else [*judged_metrics(known), *in_order(known)]
    for name in names:
        if found := [one for one in listed if one.series.metric == name and one.count]:
            return max(found, key=lambda one: one.last_at)
    return None


def _picture(request: Request, label: str, value: str, verdict: Verdict, *, status: int = 200) -> Response:
    body = badge.svg(label, value, verdict).encode()
    answer = pack_response(request, body, media_type="image/svg+xml", status=status, headers=_HEADERS)
    # Where everyone may read, whoever passes pictures on may keep one for a while: GitHub does.
    reach = "private" if context_of(request).settings.require_token else "public"
    answer.headers["Cache-Control"] = f"{reach}, max-age={300 if status == 200 else 60}"
    return answer
