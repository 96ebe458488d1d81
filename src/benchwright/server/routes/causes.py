"""Causes: what the findings of one commit are in all, and what people make of several findings at once."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from benchwright.pages.causes import cause_view, causes_page
from benchwright.pages.shapes import CausesPage, CauseView
from benchwright.records.causes import PREFIX, FindingHead, head_of
from benchwright.records.findings import Finding, State, Triage
from benchwright.server.access import Reads, Triages, Visitor
from benchwright.server.answers import ChangedFinding, ChosenFindings, SeveralTriage, TriagedFindings
from benchwright.server.bodies import Small
from benchwright.server.choices import Facets, NarrowedFindings, Place, Words
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import check_text, check_wish, record_of
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes
from benchwright.server.remarks import now, sign
from benchwright.workflows.triage import chosen_of

router = APIRouter(tags=["triage"])
MOST = 2000  # findings and causes that one request names
LONGEST = 200  # characters of an id
Name = Annotated[str, Path(max_length=LONGEST)]
Limit = Annotated[int, Query(ge=1, le=500)]


@router.get("/causes", responses=answers_with(CausesPage), summary="Causes of findings, the newest first")
def list_causes(
    request: Request,
    visitor: Reads,
    chosen: NarrowedFindings,
    words: Words = "",
    limit: Limit = 100,
    after: Place = "",
    facets: Facets = False,
) -> Response:
    """Those of findings in one of the states, and whatever else is chosen. One commit that touched 300 series is one
    cause; where something is chosen, it is told of the findings that fit.
    """
    states = [State(state) for state in chosen.states]
    page = causes_page(archive(request), states, limit=limit, after=after, chosen=chosen, words=words, facets=facets)
    return answer(request, page)


@router.get("/causes/{cause}", responses=answers_with(CauseView), summary="One cause with its findings")
def one_cause(request: Request, visitor: Reads, cause: Name, limit: Limit = 100, after: Place = "") -> Response:
    """`cause` is an id, or the beginning of one. The largest change stands first."""
    return answer(request, cause_view(archive(request), cause, limit=limit, after=after))


@router.patch(
    "/findings",
    responses=answers_with(TriagedFindings),
    openapi_extra=takes(SeveralTriage),
    summary="What becomes of several findings, or of all of a cause",
)
def change_several(request: Request, visitor: Triages, body: Small) -> Response:
    """Sets their state or who looks after them, and adds what was said to the story of each: all of it or nothing.

    Of a cause, those findings are meant that it is for; with `only` just those of them that fit.
    """
    asked = record_of(SeveralTriage, body, context_of(request).settings.limits)
    _check_count(asked.findings)
    wish = Triage(state=asked.state, assignee=asked.assignee, comment=asked.comment)
    check_wish(wish)
    store = archive(request)
    before = {head.id: State(head.state) for name in asked.findings for head in _heads(request, name)}
    meant = asked.findings if asked.only is None else chosen_of(store, asked.findings, wish, asked.only)
    changed = store.triage_findings(meant, wish, who=sign(visitor), at=now())
    if changed:
        _record(request, visitor, f"finding {changed[0].remarks[-1].what}", changed)
    told = [ChangedFinding(id=one.id, before=before.get(one.id, one.state), state=one.state) for one in changed]
    return answer(request, TriagedFindings(changed=told))


@router.post(
    "/causes",
    responses=answers_with(CauseView, status=201, note="The new cause."),
    openapi_extra=takes(ChosenFindings),
    status_code=201,
    summary="Split findings from their cause",
)
def split(request: Request, visitor: Triages, body: Small) -> Response:
    """Gives these findings a cause of their own. What is found later does not join it by itself."""
    asked = _chosen(request, body)
    moved = archive(request).split_findings(asked.findings, who=sign(visitor), at=now(), comment=asked.comment)
    _record(request, visitor, "finding split", moved)
    cause = moved[0].cause if moved else archive(request).finding(asked.findings[0]).cause
    return answer(request, cause_view(archive(request), cause), status=201)


@router.post(
    "/causes/{cause}/findings",
    responses=answers_with(CauseView),
    openapi_extra=takes(ChosenFindings),
    summary="Join findings, or a whole cause, to a cause",
)
def join(request: Request, visitor: Triages, cause: Name, body: Small) -> Response:
    """Gives these findings this cause. What is found later joins it where it would have joined theirs."""
    asked, store = _chosen(request, body), archive(request)
    into = store.find_cause(cause)
    moved = store.join_findings([into, *asked.findings], who=sign(visitor), at=now(), comment=asked.comment)
    _record(request, visitor, "finding joined", moved)
    return answer(request, cause_view(store, into))


def _chosen(request: Request, body: bytes) -> ChosenFindings:
    asked = record_of(ChosenFindings, body, context_of(request).settings.limits)
    _check_count(asked.findings)
    check_text(asked.comment, "body.comment")
    return asked


def _check_count(names: tuple[str, ...]) -> None:
    if not 1 <= len(names) <= MOST:
        raise refusal(400, f"body.findings: {len(names)} are named", f"name 1 to {MOST} findings or causes")


def _heads(request: Request, name: str) -> list[FindingHead]:
    """What is known of a finding, or of each of a cause, before it is changed."""
    store = archive(request)
    if name.startswith(PREFIX):
        return store.finding_heads(cause=store.find_cause(name), limit=1_000_000)
    return [head_of(store.finding(name))]


def _record(request: Request, visitor: Visitor, action: str, changed: list[Finding]) -> None:
    if changed:
        names = ", ".join(one.id for one in changed)
        record(request, visitor, action, f"{len(changed)} of {changed[0].cause}: {names}")
