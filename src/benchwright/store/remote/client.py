"""Requests to one server: answered, refused for good, or in trouble that may pass.

Nothing is led elsewhere: what is sent carries a token and is meant for one server.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright._version import VERSION
from benchwright.errors import NotInstalledError, StoreError
from benchwright.schema.parsing import VARIABLE, json_value
from benchwright.store.remote import deadlines
from benchwright.store.remote.address import TOKEN, ServerAddress, token_file
from benchwright.store.remote.request import JSON, ServerRequest
from benchwright.system import streams
from benchwright.system.http_answers import AnswerLimits
from benchwright.system.masking import mask_url
from benchwright.units import whole_number

try:
    import httpx2
except ImportError:
    raise NotInstalledError("httpx2, which talks to a server", "'benchwright[client]'") from None

API = "api/v1/"
CONNECT, SILENCE = 5.0, 60.0  # seconds
START = 30.0  # seconds beyond the longest silence before the pace of an answer counts
IDLE = 4.0  # seconds that a connection is kept: servers usually close them after five
MOST_WAIT = 3600.0  # seconds that a server can ask for
_CHUNK = 1 << 20
_MOST_SHOWN = 2000  # characters of what a server says; ours say at most half of that
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 507})
_DENIED = frozenset({401, 403})


class ServerAwayError(StoreError):
    """The server cannot be asked now, but the same request may do later; after `wait` seconds, when it says so."""

    wait: float = 0.0


class DeniedError(ServerAwayError):
    """One side does not trust the other: a token is missing, wrong or may not do this, or a certificate is unknown."""


class RefusedError(StoreError):
    """The server refused the request for good: sending it again would not help."""

    status: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAnswer:
    """What a server said, read to its end within bounds."""

    status: int
    reason: str
    headers: Mapping[str, str]  # by names in any spelling
    content: bytes

    @property
    def ok(self) -> bool:
        """Whether the server did what the request asked."""
        return 200 <= self.status < 300

    @property
    def leads_to(self) -> str:
        """Returns the address that the server redirects to; "" when it does not."""
        return self.headers.get("Location", "") if 300 <= self.status < 400 else ""


class Caller:
    """One server, over connections that are kept open. May be used by several threads."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        headers = {"User-Agent": f"benchwright/{VERSION}", "Accept": JSON, "Accept-Encoding": "gzip"}
        if address.token:
            headers["Authorization"] = f"Bearer {address.token}"
        try:
            self._client = httpx2.Client(
                base_url=address.url + API,
                headers=headers,
                limits=httpx2.Limits(max_connections=4, keepalive_expiry=IDLE),
                mounts={"http://": None, "https://": None} if address.is_near else None,  # no proxy leads there
                verify=_trust(address),
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise StoreError(f"{address.url}: {error}", remedy="write https://bench.example/") from None
        deadlines.watch(self._client)

    def introduce(self) -> Sequence[str]:
        """What whoever has this token may do, as the server says; a `StoreError` when it is no server of ours."""
        response = self._ask(ServerRequest(method="GET", path="about"))
        about = _json(response) if response.ok else None
        if not isinstance(about, dict) or not isinstance(about.get("scopes"), list):
            raise self._stranger(response)
        if not about["scopes"]:
            raise DeniedError(f"{self.address.url} asks for a token", remedy=self._without_access(401, ""))
        return [str(scope) for scope in about["scopes"]]

    def __call__(
        self,
        request: ServerRequest,
        *,
        silent: bool = False,
        silence: float = SILENCE,
        on_sent: Callable[[int], None] | None = None,
    ) -> Mapping[str, Any]:
        """Sends the request and returns the answer; an empty one only where the request allows it (`silent`).

        A server that says nothing for `silence` seconds is in trouble. Whatever is not in our own words, the page of a
        proxy that wants a login for example, counts as no answer. `on_sent` hears how many bytes of a file went.
        """
        response = self._ask(request, silence, on_sent)
        if silent and response.status == 204:
            return {}
        told = _json(response) if response.ok else None
        if isinstance(told, dict):
            return told
        raise self._complaint(response)

    def document(self, path: str) -> bytes:
        """Returns an answer that is a document of `schema`, undecoded."""
        response = self._ask(ServerRequest(method="GET", path=path))
        if response.ok:
            return response.content
        raise self._complaint(response)

    def download(self, path: str, take: Callable[[bytes], None]) -> None:
        """Hands on an answer that is a file of any size, piece by piece as it comes."""
        request = ServerRequest(method="GET", path=path)
        with self._explain_errors(request), deadlines.allowing(AnswerLimits(silence=SILENCE, start=SILENCE + START)):
            asked = self._client.build_request("GET", path, timeout=httpx2.Timeout(SILENCE, connect=CONNECT))
            response = self._client.send(asked, stream=True)
            try:
                if response.status_code == 200 and not response.headers.get("Content-Encoding"):
                    for piece in deadlines.handed_on(response.iter_raw(_CHUNK)):
                        take(piece)
                    return
                said = ServerAnswer(
                    status=response.status_code,
                    reason=response.reason_phrase,
                    headers=response.headers,
                    content=self._content(response, path),
                )
            finally:
                response.close()
        raise self._complaint(said)

    def close(self) -> None:
        """Ends the connections."""
        self._client.close()

    def _ask(
        self, request: ServerRequest, silence: float = SILENCE, on_sent: Callable[[int], None] | None = None
    ) -> ServerAnswer:
        """A connection that the server had just closed is no trouble yet: the second try has a new one."""
        with self._explain_errors(request):
            try:
                return self._ask_once(request, silence, on_sent)
            except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
                if not request.repeatable:
                    raise
                return self._ask_once(request, silence, on_sent)

    @contextlib.contextmanager
    def _explain_errors(self, request: ServerRequest) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # while a file was read; of the network's errors none comes so
            raise RefusedError(f"{error.filename or request.file}: {error.strerror}") from None
        except httpx2.TransportError as error:
            said = f"{self.address.url} cannot be reached: {_in_words(error)}"
            if "CERTIFICATE_VERIFY_FAILED" in said:
                raise DeniedError(said, remedy="SSL_CERT_FILE can name a file of further certificates") from None
            raise ServerAwayError(said, remedy="is the server up, and the address right?") from None
        except httpx2.HTTPError as error:  # an answer that cannot be unpacked
            raise ServerAwayError(
                f"{self.address.url}: {_in_words(error)}", remedy="is it a Benchwright server?"
            ) from None

    def _ask_once(self, request: ServerRequest, silence: float, on_sent: Callable[[int], None] | None) -> ServerAnswer:
        timeout = httpx2.Timeout(silence, connect=CONNECT)
        headers = {"Content-Type": request.kind} if request.body or request.file else {}
        if request.packed:
            headers["Content-Encoding"] = "gzip"
        content: bytes | Iterator[bytes] | None = request.body or None
        if request.file:
            _check_file(request)
            headers["Content-Length"] = str(request.size)
            content = _pieces(request, on_sent)
        asked = self._client.build_request(
            request.method, request.path, content=content, headers=headers, timeout=timeout
        )
        with deadlines.allowing(AnswerLimits(silence=silence, start=silence + START)):
            response = self._client.send(asked, stream=True)
            try:
                return ServerAnswer(
                    status=response.status_code,
                    reason=response.reason_phrase,
                    headers=response.headers,
                    content=self._content(response, request.path),
                )
            finally:
                response.close()

    def _content(self, response: httpx2.Response, path: str) -> bytes:
        """Returns the body, unpacked within bounds: the library would unpack without one."""
        packing = response.headers.get("Content-Encoding", "").strip().lower()
        parts: Iterator[bytes] = deadlines.handed_on(response.iter_raw(streams.PIECE))
        try:
            if packing in ("gzip", "x-gzip"):
                parts = streams.gunzip(parts)
            elif packing not in ("", "identity"):
                raise streams.DamagedError(f"the answer is packed with {packing[:20]!r}, which was not asked for")
            return streams.join_pieces(parts)
        except streams.TooLargeError as error:
            remedy = f"ask for less at once; or, if you trust the server, {VARIABLE}=MIB raises the bound"
            raise StoreError(
                f"{self.address.url}: the answer to {path.partition('?')[0]} is too large: {error}",
                remedy="is it a Benchwright server?" if isinstance(error, streams.BombError) else remedy,
            ) from None
        except streams.DamagedError as error:
            raise ServerAwayError(f"{self.address.url}: {error}", remedy="is it a Benchwright server?") from None

    def _complaint(self, response: ServerAnswer) -> StoreError:
        """What went wrong. Only what is said in our own words is final: anything else may be a proxy in between."""
        status = f"{response.status} {response.reason}".strip()
        told = _json(response)
        ours = isinstance(told, dict) and isinstance(told.get("error"), str)
        said = " ".join(told["error"].split())[:_MOST_SHOWN] if ours else status
        remedy = str(told.get("remedy") or "")[:_MOST_SHOWN] if ours else "is it a Benchwright server?"
        if response.status in _DENIED and (ours or response.status == 401):
            return DeniedError(f"{self.address.url}: {said}", remedy=self._without_access(response.status, remedy))
        if ours and response.status not in _PASSING and 400 <= response.status < 500:
            refused = RefusedError(said, remedy=remedy)
            refused.status = response.status
            return refused
        if response.leads_to:
            to = mask_url(response.leads_to)
            said, remedy = (
                f"the server redirects to {to}",
                "a token is not sent elsewhere: name that address as the store",
            )
        error = ServerAwayError(f"{self.address.url}: {said}", remedy=remedy)
        error.wait = _seconds(response.headers.get("Retry-After", ""))
        return error

    def _stranger(self, response: ServerAnswer) -> StoreError:
        """What answers, but not as we do: trouble that may pass, a token that is missing, or another kind of server."""
        complaint = self._complaint(response)
        if isinstance(complaint, DeniedError) or response.status in _PASSING:
            return complaint
        if response.leads_to:
            return StoreError(complaint.message, remedy=complaint.remedy)
        remedy = f"check the address; both sides must speak {API.rstrip('/')}: is one much older than the other?"
        return StoreError(f"{self.address.url} is no Benchwright server that this version understands", remedy=remedy)

    def _without_access(self, status: int, remedy: str) -> str:
        if status == 401:
            which = "another" if self.address.token else "a"
            return f"give {which} token: set {TOKEN}, or write it to {token_file()}"
        return remedy or "ask for a token with more rights: benchwright token create NAME --scope write"


def _trust(address: ServerAddress) -> ssl.SSLContext | bool:
    """Whose certificates are trusted. Without https there is nothing to verify, and it costs 30 ms."""
    if not address.url.startswith("https:") or not address.ca:
        return address.url.startswith("https:")
    try:
        return ssl.create_default_context(cafile=address.ca)
    except (OSError, ssl.SSLError) as error:
        said = f"{address.ca}: no certificates can be read from it: {error}"
        raise StoreError(said, remedy="give a file of certificates in PEM form") from None


def _pieces(request: ServerRequest, on_sent: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Reads the file in pieces, and stops when it is no longer the one that was recorded."""
    left = request.size
    with Path(request.file).open("rb") as file:
        while piece := file.read(_CHUNK):
            left -= len(piece)
            if left < 0:
                break
            yield piece
            if on_sent is not None:
                on_sent(request.size - left)
    if left:
        raise RefusedError(f"{request.file}: it changed while it was sent")


def _check_file(request: ServerRequest) -> None:
    try:
        size = Path(request.file).stat().st_size
    except OSError as error:
        raise RefusedError(f"{request.file}: {error.strerror}") from None
    if size != request.size:
        raise RefusedError(f"{request.file}: it has changed since it was recorded")


def _json(response: ServerAnswer) -> Any:
    try:
        return json_value(response.content)
    except ValueError:
        return None


def _in_words(error: Exception) -> str:
    """Returns the reason of an error, without the numbers of the operating system before it."""
    if isinstance(error, httpx2.TimeoutException):
        return str(error) if "slowly" in str(error) else "no answer in time"
    text = " ".join(str(error).split()) or type(error).__name__
    return text.partition("] ")[2] or text if text.startswith("[Errno") else text


def _seconds(text: str) -> float:
    """`Retry-After`, as seconds or as a date."""
    if (seconds := whole_number(text)) is not None:
        return min(float(seconds), MOST_WAIT)
    from email.utils import parsedate_to_datetime

    try:
        return min(max(0.0, parsedate_to_datetime(text).timestamp() - time.time()), MOST_WAIT)
    except (ValueError, OverflowError):  # none, or one that no clock shows
        return 0.0
