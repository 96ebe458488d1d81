"""Where a browser goes to sign in: to the provider, and back with a session."""

from __future__ import annotations

import html
import math
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.pages import view_json
from benchwright.schema.parsing import TextError, json_value
from benchwright.server.access import (
    COOKIE,
    Anyone,
    Visitor,
    client_address,
    is_encrypted,
    scopes_of,
    session_cookie,
)
from benchwright.server.context import archive, context_of, record, record_once
from benchwright.server.errors import refusal
from benchwright.server.people import Person, SignInAttempt, SignInError, person_of, role_of
from benchwright.server.settings import SignInSettings
from benchwright.server.traffic import neighbourhood

if TYPE_CHECKING:
    from benchwright.server.openid import OpenIdProvider

router = APIRouter(include_in_schema=False)  # pages for people, not for programs
PATIENCE = 600  # seconds that somebody may be at the provider
BACK = "sign-in/callback"
_ATTEMPT = "benchwright_sign_in"
_LONGEST_PLACE = 1000
_LONGEST = 4000  # characters of what a provider sends along with a browser
_Given = Annotated[str, Query(max_length=_LONGEST)]


@router.get("/sign-in")
def begin(
    request: Request, visitor: Anyone, place: Annotated[str, Query(alias="next", max_length=_LONGEST)] = ""
) -> Response:
    """Sends the browser to the provider. `next` is the place of the dashboard to come back to: `#/findings`."""
    provider, _ = _provider(request)
    if too_often := _limit_tries(request):
        return _page(too_often, root="")
    attempt = SignInAttempt.begin()
    try:
        url = provider.authorization_url(attempt, _base(request) + BACK)
    except SignInError as error:
        return _page(error, root="")
    response = RedirectResponse(url, status_code=302)
    response.set_cookie(
        _attempt_cookie(request),
        _pack(attempt, _own_place(place)),
        max_age=PATIENCE,
        httponly=True,
        samesite="lax",  # the provider's answer is a link from its site to ours
        secure=is_encrypted(request),
    )
    return response


@router.get(f"/{BACK}")
def finish(
    request: Request,
    visitor: Anyone,
    code: _Given = "",
    state: _Given = "",
    iss: _Given = "",
    error: _Given = "",
    error_description: _Given = "",
) -> Response:
    """Takes the provider's answer, and begins a session."""
    provider, settings = _provider(request)
    try:
        if too_often := _limit_tries(request):
            raise too_often
        attempt, place = _unpack(request.cookies.get(_attempt_cookie(request), ""))
        if not attempt.is_answered_by(state):
            raise SignInError("this answer belongs to another sign-in", "sign in again")
        if error or not code:
            said = ": ".join(word[:200] for word in (error, error_description) if word) or "no code came back"
            raise SignInError(f"the provider did not let you in ({said})", "sign in again", status=403)
        claims = provider.redeem(code, attempt, _base(request) + BACK, issuer=iss)
        response = _let_in(request, person_of(claims, settings), settings, place)
    except SignInError as problem:
        record_once(request, visitor, "sign-in refused", str(problem))
        response = _page(problem, root="../")
    response.delete_cookie(_attempt_cookie(request), httponly=True, samesite="lax", secure=is_encrypted(request))
    return response


def _let_in(request: Request, person: Person, settings: SignInSettings, place: str) -> Response:
    """Begins a new session, never one that the browser held before, and ends that."""
    role = role_of(person.groups, settings)
    if not role:
        raise SignInError(
            f"{person.who} is in none of the groups that may use this server",
            "ask the administrator of this server to change your groups",
            status=403,
        )
    store = archive(request)
    if before := request.cookies.get(session_cookie(request)):
        store.session_drop(before[:200])
    held = store.session_add(
        subject=person.subject, who=person.who, groups=person.groups, idle=settings.idle, longest=settings.longest
    )
    someone = Visitor(name=person.who, scopes=scopes_of(role), address=client_address(request), is_person=True)
    record(request, someone, "sign in", role)
    response = RedirectResponse(_base(request) + place, status_code=303)
    response.set_cookie(
        session_cookie(request),
        held,
        max_age=int(settings.longest),
        httponly=True,
        samesite="lax",
        secure=is_encrypted(request),
    )
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=is_encrypted(request))
    return response


def _provider(request: Request) -> tuple[OpenIdProvider, SignInSettings]:
    here = context_of(request)
    if here.provider is None or here.settings.sign_in is None:
        raise refusal(404, "nobody can sign in here: the server has no provider", "[server.sign_in] names one")
    return here.provider, here.settings.sign_in


def _limit_tries(request: Request) -> SignInError | None:
    """Returns the refusal of whoever tries too often: each try may ask something of the provider."""
    if wait := context_of(request).signing_in.take(neighbourhood(client_address(request))):
        return SignInError("too many sign-ins from this address", f"wait {math.ceil(wait)} s", status=429)
    return None


def _base(request: Request) -> str:
    """Returns the address of this server for browsers, with a slash at its end."""
    return context_of(request).settings.public_url or f"{request.url.scheme}://{request.url.netloc}/"


def _own_place(text: str) -> str:
    """Returns the place of the dashboard, or "" for anything else: what leads elsewhere cannot begin with `#/`."""
    fits = text.startswith("#/") and len(text) <= _LONGEST_PLACE and text.isascii() and text.isprintable()
    return text if fits and not {" ", '"', "<", ">", "\\"} & {*text} else ""


# ---- what the browser keeps meanwhile ----


def _attempt_cookie(request: Request) -> str:
    return f"__Host-{_ATTEMPT}" if is_encrypted(request) else _ATTEMPT


def _pack(attempt: SignInAttempt, place: str) -> str:
    kept = {"attempt": schema.encode(attempt), "place": place, "until": int(time.time()) + PATIENCE}
    return urlsafe_b64encode(view_json.dumps(kept)).decode().rstrip("=")


def _unpack(text: str) -> tuple[SignInAttempt, str]:
    """Returns the attempt that this browser began, and where it wants to go; a `SignInError` when it began none."""
    try:
        kept: Any = json_value(urlsafe_b64decode(text[:_LONGEST] + "=" * (-len(text) % 4)))
        attempt = schema.decode(SignInAttempt, kept["attempt"], where="cookie")
        if time.time() <= float(kept["until"]):
            return attempt, _own_place(str(kept["place"]))
    except (ValueError, KeyError, TypeError, TextError, DecodeError):
        pass
    raise SignInError(
        "this sign-in was not begun in this browser, or more than ten minutes ago",
        "sign in again; the browser has to accept cookies of this server",
    )


# ---- what a person sees when it did not work ----


def _page(error: SignInError, *, root: str) -> Response:
    what, remedy = html.escape(str(error)), html.escape(error.remedy)
    return HTMLResponse(
        f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign-in - Benchwright</title>
<link rel="stylesheet" href="{root}app.css">
</head>
<body>
<main class="stack">
<h1>You are not signed in</h1>
<p role="alert">{what[:1].upper()}{what[1:]}.</p>
<p>What to do: {remedy}.</p>
<p><a href="{root}sign-in">Sign in again</a> or <a href="{root or "./"}">go to the dashboard</a></p>
</main>
</body>
</html>
""",
        status_code=error.status,
    )
