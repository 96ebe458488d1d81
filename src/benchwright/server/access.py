"""Who asks, and what they may do.

A program's token comes as `Authorization: Bearer ...`. A browser shows a cookie that scripts cannot read: that of a
person who signed in, or a token. Without one, a server on one's own machine trusts everyone who reaches it; elsewhere
it lets everyone read; with `require_token`, nobody.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from benchwright._version import VERSION
from benchwright.pages.shapes import About
from benchwright.pages.views import home_address
from benchwright.server.context import SCOPES_KEY, context_of
from benchwright.server.errors import refusal
from benchwright.server.people import role_of
from benchwright.server.traffic import neighbourhood
from benchwright.store.archive import AGENT, SCOPES, Token
from benchwright.system.masking import mask_url

COOKIE = "benchwright_token"
SESSION = "benchwright_session"
WHO = "benchwright.who"  # in a request's scope: the name of the token or of the person, for the audit log
_UNCHANGING = frozenset({"GET", "HEAD", "OPTIONS"})
_LONGEST = 200  # characters of what a cookie holds
# A request that bears one of these came through a proxy, from who knows where, however near the proxy is.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")

_bearer = HTTPBearer(auto_error=False, description="A token that `benchwright token create` printed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who sends a request: the name of a token or of a person, what they may do, and an address."""

    name: str  # "" without a token and a sign-in
    scopes: tuple[str, ...]
    address: str
    is_person: bool = False  # who signed in


async def find_visitor(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None
) -> Visitor:
    """Returns who sent a request. Refuses a wrong token, slowly, and whoever asks too often."""
    found = None if given else await find_person(request)
    if found is None:
        cookie = request.cookies.get(COOKIE, "")
        found = await find_token_owner(request, given.credentials if given else cookie)
    if found is None and given:
        raise await refuse_wrong_token(request)
    # A browser whose cookie is out of date is somebody without a token: it can still read what everyone can.
    return admit(request, found or find_stranger(request))


def find_stranger(request: Request) -> Visitor:
    """Returns the visitor who shows nothing."""
    return Visitor(name="", scopes=_open_scopes(request), address=client_address(request))


def admit(request: Request, someone: Visitor) -> Visitor:
    """Notes who it is; refuses whoever asks too often."""
    request.scope[WHO], request.scope[SCOPES_KEY] = someone.name, someone.scopes
    _limit_rate(request, someone)
    return someone


async def find_person(request: Request) -> Visitor | None:
    """Returns the person whose browser asks, or None. A change must come from a page of this server.

    The middleware refuses what a browser says comes from elsewhere. Here silence is refused too: a browser sends its
    cookies with whatever any page makes it send.
    """
    settings = context_of(request).settings
    held = request.cookies.get(session_cookie(request), "")
    if settings.sign_in is None or not held or len(held) > _LONGEST:
        return None
    idle = settings.sign_in.idle
    session = await run_in_threadpool(lambda: context_of(request).store.session_find(held, idle=idle))
    if session is None or not session.subject.startswith(f"{settings.sign_in.issuer} "):
        return None
    role = role_of(session.groups, settings.sign_in)
    if not role:  # the configuration may have changed since
        return None
    if request.method not in _UNCHANGING and not {"origin", "sec-fetch-site"} & {*request.headers.keys()}:
        raise refusal(
            403, "this change does not say which page it comes from", "use the dashboard, or a program with a token"
        )
    return Visitor(name=session.who, scopes=scopes_of(role), address=client_address(request), is_person=True)


def scopes_of(role: str) -> tuple[str, ...]:
    """Returns the scope and those before it, which it includes; an agent's includes no other."""
    if role == AGENT:
        return (AGENT,)
    return SCOPES[: SCOPES.index(role) + 1]


def is_encrypted(request: Request) -> bool:
    """Whether the browser reaches the server over https: as the public address says, else as the request came."""
    public = context_of(request).settings.public_url
    return public.startswith("https://") if public else request.url.scheme == "https"


def session_cookie(request: Request) -> str:
    """Returns the name of the cookie of a person's session.

    Of one that begins with `__Host-` browsers promise that this very host set it, over https, and no neighbour.
    """
    return f"__Host-{SESSION}" if is_encrypted(request) else SESSION


async def find_token_owner(request: Request, token: str) -> Visitor | None:
    """Returns the visitor whose token this is, or None."""
    if not token or len(token) > _LONGEST:
        return None
    found = await context_of(request).tokens(token)
    return None if found is None else visitor_of(request, found)


def visitor_of(request: Request, token: Token) -> Visitor:
    """Returns the visitor who shows that token."""
    return Visitor(name=token.name, scopes=scopes_of(token.scope), address=client_address(request))


async def refuse_wrong_token(request: Request) -> HTTPException:
    """Returns the refusal of a token that nobody has. Right tokens are never shut out by somebody's wrong ones."""
    here = context_of(request)
    if wait := here.failed.take(neighbourhood(client_address(request))):
        return _refuse_for_now(wait, "too many wrong tokens")
    await asyncio.sleep(here.settings.limits.failure_delay)
    return _refuse_unauthorized("this token is not known here, was revoked, or has expired")


def client_address(request: Request) -> str:
    """Returns the address that a request comes from."""
    return request.client.host if request.client else ""


def describe_visitor(request: Request, someone: Visitor) -> About:
    """Describes the visitor, the server and what they may do. Only a known visitor is told where the store lies."""
    is_known = bool(someone.name) or "admin" in someone.scopes
    settings = context_of(request).settings
    return About(
        version=VERSION,
        store=mask_url(settings.store_url) if is_known else "",
        who=someone.name,
        scopes=someone.scopes,
        static=False,
        generated_at=time.time_ns() // 1_000_000,
        home=home_address(context_of(request).store) if "read" in someone.scopes else "",
        person=someone.is_person,
        sign_in=settings.sign_in.label if settings.sign_in else "",
    )


def _open_scopes(request: Request) -> tuple[str, ...]:
    settings = context_of(request).settings
    if settings.require_token:
        return ()
    forwarded = any(name in request.headers for name in _FORWARDED)
    return SCOPES if settings.trusts_everyone and not forwarded else ("read",)


def _limit_rate(request: Request, someone: Visitor) -> None:
    kind = "person" if someone.is_person else "token"
    key = f"{kind} {someone.name}" if someone.name else f"address {neighbourhood(someone.address)}"
    if wait := context_of(request).asked.take(key):
        raise _refuse_for_now(wait, "too many requests")


def _refuse_for_now(wait: float, what: str) -> HTTPException:
    seconds = max(1, math.ceil(wait))
    return refusal(429, what, f"wait {seconds} s", {"Retry-After": str(seconds)})


def _refuse_unauthorized(what: str) -> HTTPException:
    remedy = "benchwright token create NAME makes a token; send it as Authorization: Bearer TOKEN"
    return refusal(401, what, remedy, {"WWW-Authenticate": "Bearer"})


def require(someone: Visitor, scope: str, *, what: str = "this") -> Visitor:
    """Returns the visitor if they have the scope; else refuses, and says what needs it."""
    if scope in someone.scopes:
        return someone
    if not someone.name:
        raise _refuse_unauthorized(f"{what} needs a token with the scope {scope!r}")
    if someone.is_person:
        reason = f"{someone.name} has the role {someone.scopes[-1]!r}; {what} needs {scope!r}"
        raise refusal(403, reason, "ask the administrator of this server to change your groups")
    reason = f"the token {someone.name!r} has the scope {someone.scopes[-1]!r}; {what} needs {scope!r}"
    raise refusal(403, reason, "use another token")


@dataclass(frozen=True, slots=True)
class RequiredScope:
    """A dependency: a visitor with this scope, or a refusal."""

    scope: str

    async def __call__(self, someone: Annotated[Visitor, Depends(find_visitor)]) -> Visitor:
        return require(someone, self.scope)


async def require_agent(someone: Annotated[Visitor, Depends(find_visitor)]) -> Visitor:
    """Returns the visitor if they are an agent of the lab, or may do everything because they are on this machine."""
    is_trusted = not someone.name and "admin" in someone.scopes
    return someone if is_trusted else require(someone, AGENT)


Anyone = Annotated[Visitor, Depends(find_visitor)]
Reads = Annotated[Visitor, Depends(RequiredScope("read"))]
Triages = Annotated[Visitor, Depends(RequiredScope("triage"))]
Writes = Annotated[Visitor, Depends(RequiredScope("write"))]
Admins = Annotated[Visitor, Depends(RequiredScope("admin"))]
Agents = Annotated[Visitor, Depends(require_agent)]
