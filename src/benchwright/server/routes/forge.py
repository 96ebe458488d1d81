"""Findings at the forge: what an issue about one says, and an issue or a comment that the server makes."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from benchwright.errors import DecodeError
from benchwright.notify.issues import ForgeEntry, can_send
from benchwright.pages.issues import issue_draft
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import IssueDraft
from benchwright.records.causes import PREFIX
from benchwright.records.code import safe_link
from benchwright.records.findings import Finding
from benchwright.server.access import Reads, Triages, Visitor
from benchwright.server.answers import NewIssue
from benchwright.server.bodies import Small
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import LONGEST_ID, check_text, record_of
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes
from benchwright.server.remarks import new_remark
from benchwright.system.addresses import is_loopback
from benchwright.workflows.forge_issues import (
    COMMENTED,
    ISSUE,
    IssueDesk,
    findings_meant,
    note_entry,
)

router = APIRouter(tags=["triage"])
LONGEST = 1000  # characters of an address
Name = Annotated[str, Path(max_length=LONGEST_ID)]
Cause = Annotated[str, Path(max_length=LONGEST_ID, pattern=f"^{PREFIX}")]
Page = Annotated[str, Query(max_length=LONGEST, description="The address of the page that is looked at.")]
_NUMBERS = range(10**9)


@router.get("/findings/{finding}/issue", responses=answers_with(IssueDraft), summary="A finding as an issue")
def draft(request: Request, visitor: Reads, finding: Name, page: Page = "") -> Response:
    """Its title and text, and the address of the forge's form with both filled in. Nothing is sent anywhere."""
    return answer(request, _draft(request, *findings_meant(archive(request), finding), page))


@router.get("/causes/{cause}/issue", responses=answers_with(IssueDraft), summary="A cause as an issue")
def draft_of_cause(request: Request, visitor: Reads, cause: Cause, page: Page = "") -> Response:
    """The same of a cause: all findings of it that are not resolved or ignored."""
    return answer(request, _draft(request, *findings_meant(archive(request), cause), page))


@router.post(
    "/findings/{finding}/issue",
    responses=answers_with(IssueDraft),
    openapi_extra=takes(NewIssue),
    summary="Open an issue about a finding",
)
def open_issue(request: Request, visitor: Triages, finding: Name, body: Small) -> Response:
    """Opens it at the forge, with the server's token; one that is there already is not opened twice."""
    return _open_issue(request, visitor, finding, body)


@router.post(
    "/causes/{cause}/issue",
    responses=answers_with(IssueDraft),
    openapi_extra=takes(NewIssue),
    summary="Open an issue about a cause",
)
def open_issue_of_cause(request: Request, visitor: Triages, cause: Cause, body: Small) -> Response:
    """The same of a cause: one issue, whose address stands in the story of each of its findings."""
    return _open_issue(request, visitor, cause, body)


@router.post(
    "/findings/{finding}/pull-request-comment",
    responses=answers_with(IssueDraft),
    openapi_extra=takes(NewIssue),
    summary="Comment on a pull request with a finding",
)
def comment(request: Request, visitor: Triages, finding: Name, body: Small) -> Response:
    """Comments at the forge, with the server's token; a comment that is there already is not made twice."""
    return _comment(request, visitor, finding, body)


@router.post(
    "/causes/{cause}/pull-request-comment",
    responses=answers_with(IssueDraft),
    openapi_extra=takes(NewIssue),
    summary="Comment on a pull request with a cause",
)
def comment_of_cause(request: Request, visitor: Triages, cause: Cause, body: Small) -> Response:
    """The same of a cause."""
    return _comment(request, visitor, cause, body)


def _open_issue(request: Request, visitor: Visitor, reference: str, body: bytes) -> Response:
    wish = _wish(request, body)
    found, identity = findings_meant(archive(request), reference)
    entry = _desk(request, wish.page).open_issue(found, identity)
    return _noted(request, visitor, found, identity, wish, ISSUE, entry)


def _comment(request: Request, visitor: Visitor, reference: str, body: bytes) -> Response:
    wish = _wish(request, body)
    found, identity = findings_meant(archive(request), reference)
    desk = _desk(request, wish.page)
    number = wish.pull_request or desk.request_of(found[0])
    if not number:
        raise refusal(422, f"no pull request is known of {identity}", "send its number: pull_request")
    entry = desk.comment_on(number, found, identity)
    return _noted(request, visitor, found, identity, wish, COMMENTED, entry)


def _noted(
    request: Request,
    visitor: Visitor,
    found: list[Finding],
    identity: str,
    wish: NewIssue,
    what: str,
    entry: ForgeEntry,
) -> Response:
    """Adds a line to each story and to the audit log, and answers with the draft as it is now."""
    found = note_entry(archive(request), found, new_remark(visitor, what, entry.url))
    record(request, visitor, f"finding {what}", f"{identity}: {entry.url}{'' if entry.made else ' was there'}")
    return answer(request, _draft(request, found, identity, wish.page))


def _wish(request: Request, body: bytes) -> NewIssue:
    wish = record_of(NewIssue, body, context_of(request).settings.limits)
    check_text(wish.page, "body.page", LONGEST)
    if wish.pull_request not in _NUMBERS:
        raise DecodeError(f"body.pull_request: {wish.pull_request} is not the number of a pull request")
    return wish


def _draft(request: Request, found: list[Finding], identity: str, page: str) -> IssueDraft:
    desk = _desk(request, page)
    project = desk.projects.project_of(found[0].repository)
    return issue_draft(desk.subject(found, identity), can_send=can_send(project))


def _desk(request: Request, page: str) -> IssueDesk:
    here = context_of(request)
    return IssueDesk(
        projects=here.settings.projects,
        link=here.settings.notify.link or _public_page(request, page),
        is_server=True,
        machines=machine_names(archive(request)),
        claims=archive(request),
    )


def _public_page(request: Request, page: str) -> str:
    """The address of a finding's page here, as others reach it: {id} is filled in; "" on one's own machine.

    The browser knows how it reached the server; an address of another server is not believed.
    """
    base = context_of(request).settings.public_url or page.partition("#")[0]
    host = request.headers.get("host", "") if base == page.partition("#")[0] else urlsplit(base).netloc
    if not safe_link(base) or urlsplit(base).netloc != host or is_loopback(urlsplit(base).hostname or ""):
        return ""
    plain = base.replace("{", "%7B").replace("}", "%7D")
    return f"{plain}#/findings/{{id}}"
