"""Who looks, at what, and what they may do."""

from __future__ import annotations

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from benchwright.pages.shapes import About
from benchwright.server.access import Admins, Anyone, describe_visitor
from benchwright.server.answers import AuditLine, AuditPage
from benchwright.server.context import answer, archive
from benchwright.server.openapi import answers_with

router = APIRouter(tags=["server"])


@router.get("/about", responses=answers_with(About), summary="Who looks, and what they may do")
def about(request: Request, visitor: Anyone) -> Response:
    """Answers everyone, also those who may read nothing: a page must know whether to ask for a token."""
    return answer(request, describe_visitor(request, visitor))


@router.get("/audit", responses=answers_with(AuditPage), summary="Who changed what")
def audit(
    request: Request,
    visitor: Admins,
    before: int = Query(0, ge=0, le=2**63 - 1, description="Lines older than this one; 0 for the newest."),
    limit: int = Query(100, ge=1, le=1000),
) -> Response:
    """Changes and refusals, the newest first. Needs the scope admin."""
    entries = archive(request).audit(limit=limit, before=before)
    lines = [
        AuditLine(id=e.id, at=e.at // 1000, who=e.who, address=e.address, action=e.action, what=e.what) for e in entries
    ]
    return answer(request, AuditPage(lines=lines, next=str(lines[-1].id) if len(lines) == limit else ""))
