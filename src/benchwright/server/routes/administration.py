"""What admins see and do: tokens of programs, people who are signed in, and who changed what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from benchwright.pages.lines import milliseconds
from benchwright.pages.shapes import AuditLine, AuditPage, PeoplePage, PersonLine, TokenLine, TokensPage
from benchwright.server.access import Admins, session_cookie
from benchwright.server.answers import MadeToken, NewToken
from benchwright.server.bodies import Small
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import LONGEST_NAME, record_of
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes
from benchwright.server.people import role_of
from benchwright.store.archive import PersonSession, Token
from benchwright.units import parse_expiry

router = APIRouter(tags=["server"])
Part = Annotated[str, Query(max_length=LONGEST_NAME)]


@router.get("/tokens", responses=answers_with(TokensPage), summary="Tokens of programs")
def list_tokens(request: Request, visitor: Admins) -> Response:
    """Who has one, what it allows and when it was used last; the tokens themselves are kept nowhere."""
    return answer(request, TokensPage(tokens=[_token_line(one) for one in archive(request).tokens()]))


@router.post(
    "/tokens",
    responses=answers_with(MadeToken, status=201),
    openapi_extra=takes(NewToken),
    status_code=201,
    summary="Make a token",
)
def make_token(request: Request, visitor: Admins, body: Small) -> Response:
    """The answer holds the token, this once."""
    wish = record_of(NewToken, body, context_of(request).settings.limits)
    until = parse_expiry(wish.expires, "body.expires")
    store = archive(request)
    if any(token.name == wish.name for token in store.tokens()):
        raise refusal(409, f"there is a token {wish.name[:60]!r} already", "revoke it first, or choose another name")
    token = store.token_add(wish.name, wish.scope, expires_at=until)
    record(request, visitor, "token", f"{wish.name}: {wish.scope}, {f'until {until[:10]}' if until else 'for ever'}")
    made = MadeToken(name=wish.name, scope=wish.scope, expires_at=until, token=token)
    return answer(request, made, status=201)


@router.delete("/tokens/{name:path}", status_code=204, summary="Revoke a token")
def revoke_token(request: Request, visitor: Admins, name: Annotated[str, Path(max_length=LONGEST_NAME)]) -> Response:
    """It is useless from the next request on."""
    before = next((token for token in archive(request).tokens() if token.name == name), None)
    if before is None or not archive(request).token_drop(name):
        raise refusal(404, f"there is no token {name[:60]!r}", "GET tokens lists them")
    record(request, visitor, "token revoked", f"{name}: {before.scope}")
    return Response(status_code=204)


@router.get("/people", responses=answers_with(PeoplePage), summary="Who is signed in")
def list_people(request: Request, visitor: Admins) -> Response:
    """Sessions of browsers, the one that was used last first."""
    settings = context_of(request).settings.sign_in
    if settings is None:
        return answer(request, PeoplePage(people=[], sign_in=""))
    store, held = archive(request), request.cookies.get(session_cookie(request), "")
    mine = store.session_find(held, idle=settings.idle) if held else None
    people = [
        _person_line(one, role_of(one.groups, settings), is_you=mine is not None and one.name == mine.name)
        for one in store.sessions(idle=settings.idle)
    ]
    return answer(request, PeoplePage(people=people, sign_in=settings.issuer))


@router.delete("/people/{name}", status_code=204, summary="End somebody's session")
def end_session(request: Request, visitor: Admins, name: Annotated[str, Path(max_length=LONGEST_NAME)]) -> Response:
    """They have to sign in again, from the next request on. Whether they can, the provider says."""
    settings, store = context_of(request).settings.sign_in, archive(request)
    known = store.sessions(idle=settings.idle) if settings else []
    before = next((one for one in known if one.name == name), None)
    if before is None or not store.session_end(name):
        raise refusal(404, f"there is no session {name[:60]!r}", "GET people lists them")
    record(request, visitor, "session ended", f"{before.who}: {name}")
    return Response(status_code=204)


@router.get("/audit", responses=answers_with(AuditPage), summary="Who changed what")
def audit(
    request: Request,
    visitor: Admins,
    before: int = Query(0, ge=0, le=2**63 - 1, description="Lines older than this one; 0 for the newest."),
    limit: int = Query(100, ge=1, le=1000),
    who: Part = "",
    action: Part = "",
    words: Annotated[str, Query(max_length=LONGEST_NAME, description="Each must occur in the line.")] = "",
) -> Response:
    """Changes and refusals, the newest first. Needs the scope admin. `who` and `action` are parts of the names."""
    entries = archive(request).audit(limit=limit, before=before, who=who, action=action, words=words)
    lines = [
        AuditLine(id=e.id, at=e.at // 1000, who=e.who, address=e.address, action=e.action, what=e.what) for e in entries
    ]
    return answer(request, AuditPage(lines=lines, next=str(lines[-1].id) if len(lines) == limit else ""))


def _token_line(token: Token) -> TokenLine:
    return TokenLine(
        name=token.name,
        scope=token.scope,
        made_at=milliseconds(token.made_at),
        expires_at=milliseconds(token.expires_at) if token.expires_at else 0,
        used_at=milliseconds(token.used_at) if token.used_at else 0,
    )


def _person_line(session: PersonSession, role: str, *, is_you: bool) -> PersonLine:
    return PersonLine(
        name=session.name,
        who=session.who,
        role=role,
        groups=session.groups,
        made_at=session.made_at // 1000,
        seen_at=session.seen_at // 1000,
        ends_at=session.ends_at // 1000,
        is_you=is_you,
    )
