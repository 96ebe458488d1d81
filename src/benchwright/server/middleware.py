"""What holds for every request, before any route sees it: names, origins, headers, one line in the log."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from functools import lru_cache
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from benchwright.errors import StoreError
from benchwright.server.access import WHO
from benchwright.server.context import RequestContext
from benchwright.server.errors import problem
from benchwright.server.settings import ServerSettings
from benchwright.server.traffic import neighbourhood
from benchwright.system.addresses import is_loopback

# A route may set a stricter one of its own.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_REFUSED = frozenset({401, 403, 429})


class Shield:
    """Refuses what comes under a foreign name or from a foreign page; HEAD is GET without a body."""

    def __init__(self, app: ASGIApp, here: RequestContext) -> None:
        self._app = app
        self._here = here

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sending = _HeaderSender(send, head=scope["method"] == "HEAD")
        started = time.perf_counter()
        try:
            await self._answer(scope, receive, sending)
        except Exception:
            # The process' border: the visitor is told nothing of our insides, the log everything.
            if not sending.status:
                await problem(500, "the server failed to answer this request", "its log says why")(
                    scope, receive, sending
                )
            raise
        finally:
            seconds = time.perf_counter() - started
            self._here.traffic.note(scope["method"], _route(scope), sending.status, seconds)
            if self._here.settings.log:
                took = seconds * 1e3
                # The query is left out: people put secrets there. The path is quoted: people put escapes there.
                sys.stderr.write(f"{scope['method']} {quote(scope['path'])} {sending.status} {took:.1f} ms\n")
        if sending.status in _REFUSED:
            await self._record(scope, sending.status)

    async def _answer(self, scope: Scope, receive: Receive, sending: _HeaderSender) -> None:
        headers = Headers(scope=scope)
        trouble = foreign_name(self._here.settings, headers)
        if trouble is None and scope["method"] not in SAFE:
            trouble = foreign_page(self._here.settings, headers)
        if trouble is not None:
            await problem(403, *trouble)(scope, receive, sending)
        elif sending.head:
            await self._app({**scope, "method": "GET"}, sending.until_started(receive), sending)
        else:
            await self._app(scope, receive, sending)

    async def _record(self, scope: Scope, status: int) -> None:
        client = scope.get("client")
        address = client[0] if client else ""
        if self._here.refused.take(neighbourhood(address)):  # somebody who hammers does not fill the log as well
            return
        what = f"{status} {scope['method']} {quote(scope['path'])}"[:500]
        with suppress(StoreError):  # the refusal stands, whatever becomes of the log
            await run_in_threadpool(
                self._here.store.audit_add, who=str(scope.get(WHO, "")), address=address, action="refused", what=what
            )


def _route(scope: Scope) -> str:
    """Returns the route's pattern without the API's prefix, which the router leaves here; "" when no route fitted."""
    return str(getattr(scope.get("route"), "path", "")).removeprefix("/api/v1")  # some versions name it, some do not


def foreign_name(settings: ServerSettings, headers: Headers) -> tuple[str, str] | None:
    """Returns what is wrong with the Host that a request names, or None.

    A page elsewhere can have its own name point to this machine; the browser then believes that we are that page's
    server, and only the name gives it away. It is checked where reaching us is what one is trusted for.
    """
    hosts = headers.getlist("host")
    if len(hosts) != 1:
        return "a request must name one host", "send one Host header"
    name = host_name(hosts[0])
    if name is None:
        return "the Host header cannot be read", "send the name or address of this server"
    if is_loopback(name) or name in settings.names or (not settings.on_loopback and not settings.names):
        return None
    return f"this server is not called {name!r}", "start it with --name NAME when it is reached under that name"


def foreign_page(settings: ServerSettings, headers: Headers) -> tuple[str, str] | None:
    """Returns why a page of another site may not send a change, or None. Programs send neither header."""
    site = headers.get("sec-fetch-site", "none")
    refused = "a page of another site may not change anything here", "use the dashboard, or a program with a token"
    if site not in ("same-origin", "none"):
        return refused
    origin = headers.get("origin")
    if origin is None:
        return None
    named = urlsplit(origin).netloc
    here = {headers.get("host", "").lower(), *settings.names}
    return None if named and (named.lower() in here or host_name(named) in settings.names) else refused


@lru_cache(maxsize=1000)
def host_name(text: str) -> str | None:
    """The name in `name`, `name:port` or `[address]:port`, in small letters; None for any other text."""
    try:
        parts = urlsplit(f"//{text}")
        _ = parts.port
    except ValueError:
        return None
    if parts.netloc != text or parts.username is not None or not parts.hostname:
        return None
    return parts.hostname.rstrip(".")


class _HeaderSender:
    """Adds our headers to an answer, and holds back its body when only the head was asked for."""

    def __init__(self, send: Send, *, head: bool) -> None:
        self._send = send
        self.head = head
        self.status = 0
        self._ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = message["headers"] = [*message.get("headers", ())]
            known = {name for name, _ in given}
            given += [header for header in _RAW_HEADERS if header[0] not in known]
            await self._send(message)
        elif not self.head:
            await self._send(message)
        elif not self._ended:
            self._ended = True
            await self._send({"type": "http.response.body", "body": b""})

    def until_started(self, receive: Receive) -> Receive:
        """Returns a `receive` that reports a disconnect once the head is sent, so that no stream goes on for nobody."""

        async def receive_or_end() -> Message:
            return {"type": "http.disconnect"} if self._ended else await receive()

        return receive_or_end
