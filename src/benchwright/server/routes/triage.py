"""What people make of findings, and what they write beside series."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from benchwright.errors import DecodeError
from benchwright.pages.findings import finding_view
from benchwright.pages.shapes import FindingView, Note
from benchwright.server.access import Triages
from benchwright.server.answers import NewNote, Triage
from benchwright.server.bodies import Small
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import LONGEST_ID, check_text, check_wish, record_of
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes
from benchwright.server.remarks import describe_changes, now, sign
from benchwright.store.archive import RELEASE, Annotation, SeriesFilter

router = APIRouter(tags=["triage"])
_INSTANTS = range(-62_135_596_800_000, 253_402_300_800_000)  # milliseconds: the years 1 to 9999


@router.patch(
    "/findings/{finding_id}",
    responses=answers_with(FindingView),
    openapi_extra=takes(Triage),
    summary="What becomes of a finding",
)
def change(
    request: Request, visitor: Triages, finding_id: Annotated[str, Path(max_length=LONGEST_ID)], body: Small
) -> Response:
    """Sets its state or its assignee, and adds what was said to its story."""
    wish = record_of(Triage, body, context_of(request).settings.limits)
    check_wish(wish)
    store = archive(request)
    before = store.finding(finding_id)
    for found in store.triage_findings([before.id], wish, who=sign(visitor), at=now()):
        record(request, visitor, f"finding {found.remarks[-1].what}", f"{found.id}: {describe_changes(before, found)}")
    return answer(request, finding_view(store, before.id))


@router.post(
    "/series/{key}/notes",
    responses=answers_with(Note, status=201, note="The note as it is kept."),
    openapi_extra=takes(NewNote),
    status_code=201,
    summary="Write something beside a series",
)
def write(request: Request, visitor: Triages, key: Annotated[str, Path(max_length=64)], body: Small) -> Response:
    """A note at an instant of a series, or of every series."""
    note = record_of(NewNote, body, context_of(request).settings.limits)
    check_text(note.text, "body.text")
    if not note.text.strip():
        raise DecodeError("body: the note is empty", remedy="write something")
    if note.at not in _INSTANTS:
        raise DecodeError(f"body: {note.at} is not an instant", remedy="give milliseconds since 1970")
    store = archive(request)
    if not note.everywhere:
        _require_series(request, key)
    kept = store.annotate(
        Annotation(
            id=0,
            series="" if note.everywhere else key,
            at=note.at * 1000,
            text=note.text,
            who=sign(visitor),
            made_at=now(),
            kind=RELEASE if note.release else "",
        )
    )
    record(request, visitor, "note", f"{kept.id} {kept.series or 'every series'}")
    view = Note(id=kept.id, at=note.at, text=kept.text, who=kept.who, everywhere=note.everywhere, release=note.release)
    return answer(request, view, status=201)


@router.delete("/notes/{number}", status_code=204, summary="Take a note away")
def erase(request: Request, visitor: Triages, number: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> Response:
    """Takes a note away, whoever wrote it."""
    if not archive(request).drop_annotation(number):
        raise refusal(404, f"no note {number}", "somebody may have taken it away already")
    record(request, visitor, "note removed", str(number))
    return Response(status_code=204)


def _require_series(request: Request, key: str) -> None:
    if not archive(request).series(SeriesFilter(keys=(key,), limit=1)):
        raise refusal(404, f"no series {key!r}", "GET series lists them")
