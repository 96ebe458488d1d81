"""Who looks, at what, and what they may do."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from benchwright.pages.shapes import About
from benchwright.server.access import Anyone, describe_visitor
from benchwright.server.context import answer
from benchwright.server.openapi import answers_with

router = APIRouter(tags=["server"])


@router.get("/about", responses=answers_with(About), summary="Who looks, and what they may do")
def about(request: Request, visitor: Anyone) -> Response:
    """Answers everyone, also those who may read nothing: a page must know whether to ask for a token."""
    return answer(request, describe_visitor(request, visitor), is_own=True)
