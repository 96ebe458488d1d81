"""Who asks, and what they may do.

A token comes as `Authorization: Bearer ...`, from a browser as a cookie that scripts cannot read. Without one, a server
on one's own machine trusts everyone who reaches it; elsewhere it lets everyone read; with `require_token`, nobody.
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
from benchwright.server.context import context_of
from benchwright.server.errors import refusal
from benchwright.server.traffic import neighbourhood
from benchwright.store.archive import SCOPES
from benchwright.system.masking import mask_url

COOKIE = "benchwright_token"
WHO = "benchwright.who"  # in a request's scope: the name of the token, for the audit log
# A request that bears one of these came through a proxy, from who knows where, however near the proxy is.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")

_bearer = HTTPBearer(auto_error=False, description="A token that `benchwright token create` printed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who sends a request: a token's name, what it allows, and an address."""

    name: str  # the token's; "" without one
    scopes: tuple[str, ...]
    address: str


async def find_visitor(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None
) -> Visitor:
    """Returns who sent a request. Refuses a wrong token, slowly, and whoever asks too often."""
    cookie = request.cookies.get(COOKIE, "")
    found = await find_token_owner(request, given.credentials if given else cookie)
    if found is None and given:
        raise await refuse_wrong_token(request)
    # A browser whose cookie is out of date is somebody without a token: it can still read what everyone can.
    someone = found or Visitor(name="", scopes=_open_scopes(request), address=client_address(request))
    request.scope[WHO] = someone.name
    _limit_rate(request, someone)
    return someone


async def find_token_owner(request: Request, token: str) -> Visitor | None:
    """Returns the visitor whose token this is, or None."""
    if not token or len(token) > 200:
        return None
    found = await run_in_threadpool(context_of(request).store.token_find, token)
    if found is None:
        return None
    scopes = SCOPES[: SCOPES.index(found.scope) + 1]
    return Visitor(name=found.name, scopes=scopes, address=client_address(request))


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
    return About(
        version=VERSION,
        store=mask_url(context_of(request).settings.store_url) if is_known else "",
        who=someone.name,
        scopes=someone.scopes,
        static=False,
        generated_at=time.time_ns() // 1_000_000,
    )


def _open_scopes(request: Request) -> tuple[str, ...]:
    settings = context_of(request).settings
    if settings.require_token:
        return ()
    forwarded = any(name in request.headers for name in _FORWARDED)
    return SCOPES if settings.trusts_everyone and not forwarded else ("read",)


def _limit_rate(request: Request, someone: Visitor) -> None:
    key = f"token {someone.name}" if someone.name else f"address {neighbourhood(someone.address)}"
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
    reason = f"the token {someone.name!r} has the scope {someone.scopes[-1]!r}; {what} needs {scope!r}"
    raise refusal(403, reason, "use another token")


@dataclass(frozen=True, slots=True)
class RequiredScope:
    """A dependency: a visitor with this scope, or a refusal."""

    scope: str

    async def __call__(self, someone: Annotated[Visitor, Depends(find_visitor)]) -> Visitor:
        return require(someone, self.scope)


Anyone = Annotated[Visitor, Depends(find_visitor)]
Reads = Annotated[Visitor, Depends(RequiredScope("read"))]
Triages = Annotated[Visitor, Depends(RequiredScope("triage"))]
Writes = Annotated[Visitor, Depends(RequiredScope("write"))]
Admins = Annotated[Visitor, Depends(RequiredScope("admin"))]
