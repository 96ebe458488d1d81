"""Views: pages with everything that was chosen on them, kept under a name; one of them opens first."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from benchwright.pages import views
from benchwright.pages.shapes import ViewLine, ViewsPage
from benchwright.server.access import Reads, Triages, Visitor, require
from benchwright.server.answers import NewView, ViewChanges
from benchwright.server.bodies import Small
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import record_of
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes
from benchwright.server.remarks import now, sign
from benchwright.store.archive import NamedView

router = APIRouter(tags=["views"])
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]


@router.get("/views", responses=answers_with(ViewsPage), summary="Pages that people keep under a name")
def list_views(request: Request, visitor: Reads) -> Response:
    """Every view by name, with who made it and when."""
    return answer(request, views.views_page(archive(request)))


@router.post(
    "/views",
    responses=answers_with(ViewLine, status=201, note="The view as it is kept."),
    openapi_extra=takes(NewView),
    status_code=201,
    summary="Keep a page under a name",
)
def keep(request: Request, visitor: Triages, body: Small) -> Response:
    """Needs the scope triage, and write to make it what opens first. 409 where another view has the name."""
    wish = record_of(NewView, body, context_of(request).settings.limits)
    if wish.is_home:
        require(visitor, "write", what="choosing the home page")
    _refuse_taken_name(request, wish.name)
    kept = archive(request).keep_view(
        NamedView(
            id=0,
            name=wish.name,
            address=views.clean_address(wish.address),
            who=sign(visitor),
            made_at=now(),
            is_home=wish.is_home,
        )
    )
    record(request, visitor, "view", f"{kept.id} {kept.name!r}: {kept.address}{', home' if kept.is_home else ''}")
    return answer(request, views.view_line(kept), status=201)


@router.patch(
    "/views/{number}", responses=answers_with(ViewLine), openapi_extra=takes(ViewChanges), summary="Change a view"
)
def change(request: Request, visitor: Triages, number: Number, body: Small) -> Response:
    """Renames it, gives it another page, makes it what opens first. Another's view, and the home page, need write."""
    wish = record_of(ViewChanges, body, context_of(request).settings.limits)
    before = _find_view(request, visitor, number, changes_home=wish.is_home is not None)
    if wish.name is not None and wish.name != before.name:
        _refuse_taken_name(request, wish.name, besides=number)
    address = None if wish.address is None else views.clean_address(wish.address)
    after = archive(request).change_view(number, name=wish.name, address=address, is_home=wish.is_home)
    record(request, visitor, "view changed", f"{number}: {views.describe_changes(before, after)}")
    return answer(request, views.view_line(after))


@router.delete("/views/{number}", status_code=204, summary="Remove a view")
def remove(request: Request, visitor: Triages, number: Number) -> Response:
    """One's own with the scope triage, another's and the home page with write."""
    view = _find_view(request, visitor, number)
    archive(request).drop_view(number)
    record(request, visitor, "view removed", f"{number} {view.name!r}: {view.address}")
    return Response(status_code=204)


def _find_view(request: Request, visitor: Visitor, number: int, *, changes_home: bool = False) -> NamedView:
    """The view of that number, where the visitor may change it."""
    view = next((one for one in archive(request).views() if one.id == number), None)
    if view is None:
        raise refusal(404, f"no view {number}", "somebody may have removed it; GET views lists them")
    if view.is_home or changes_home:
        require(visitor, "write", what="changing the home page")
    if view.who != sign(visitor):
        require(visitor, "write", what=f"changing a view of {view.who}")
    return view


def _refuse_taken_name(request: Request, name: str, besides: int = 0) -> None:
    if any(one.name == name.strip() and one.id != besides for one in archive(request).views()):
        raise refusal(409, f"another view is called {name.strip()!r}", "choose another name, or change that view")
