"""One request over `http` or `https`: answered, refused for good, or in trouble that may pass; bounded in any case."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from benchwright._version import VERSION
from benchwright.errors import FetchError, UploadError
from benchwright.schema.parsing import json_value
from benchwright.system import http_answers
from benchwright.system.addresses import http_host, is_loopback
from benchwright.system.http_answers import AnswerLimits
from benchwright.system.masking import mask_url
from benchwright.units import whole_number

MOST_REDIRECTS = 10
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses that another attempt may not meet again

TIMEOUT = 20.0  # seconds to connect, and of silence
MOST_ANSWER = 4 << 20  # bytes

_CONTINUING = ("Range", "If-Range")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What a server said, whatever its status."""

    status: int
    headers: Mapping[str, str]  # names in small letters
    text: bytes

    @property
    def ok(self) -> bool:
        """Whether the server did what the request asked."""
        return 200 <= self.status < 300

    @property
    def may_pass(self) -> bool:
        """Whether another attempt may be answered otherwise."""
        return self.status in PASSING

    @property
    def said(self) -> str:
        """The status in words."""
        return _describe_status(self.status)

    @property
    def pause(self) -> float:
        """How many seconds the server asks to wait."""
        return float(whole_number(self.headers.get("retry-after", "")) or 0)

    def json(self) -> Any:
        """The value of the answer's JSON; None when the answer is not JSON."""
        try:
            return json_value(self.text)
        except ValueError:
            return None


class PassingError(Exception):
    """Something that another attempt may not meet; `pause` is how many seconds the server asked to wait."""

    def __init__(self, what: str, pause: float = 0.0) -> None:
        super().__init__(what)
        self.pause = pause


class StaleError(Exception):
    """The bytes that are here are not of what the server has now."""


def call(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    timeout: float = TIMEOUT,
    most: int = MOST_ANSWER,
) -> HttpAnswer:
    """Sends one request to an address that was checked, and returns the answer.

    It is never led elsewhere: what is sent may hold a token, and is meant for one server. Trouble on the way is a
    `PassingError`, an answer of more than `most` bytes an `UploadError`.
    """
    told = {"User-Agent": f"benchwright/{VERSION}", "Accept": "application/json"} | dict(headers)
    try:
        request = urllib.request.Request(url, data=body, headers=told, method=method)  # noqa: S310 - the opener knows http and https alone
        # No proxy reaches this machine's own loopback.
        proxies = urllib.request.ProxyHandler({} if is_loopback(http_host(url)) else None)
        with _opener(proxies, patience=http_answers.QUICK).open(request, timeout=timeout) as response:
            names = {name.lower(): value for name, value in response.headers.items()}
            return HttpAnswer(status=response.status, headers=names, text=http_answers.read_body(response, most=most))
    except http_answers.TooLargeError as error:
        raise UploadError(
            f"{mask_url(url)} answered {error}", remedy="check that this is the address of the right server"
        ) from None
    except (http.client.HTTPException, OSError) as error:
        raise _trouble(error) from None


def open_url(url: str, *, headers: dict[str, str], timeout: float) -> http.client.HTTPResponse:
    """The answer to a GET, after redirects; its status is below 300.

    A refusal is a `FetchError`, trouble that may pass a `PassingError`, and a range that the server cannot satisfy
    a `StaleError`. No message shows credentials or a query.
    """
    request = _request(url, headers)
    try:
        patience = replace(http_answers.DOWNLOAD, silence=timeout, start=max(timeout, http_answers.DOWNLOAD.start))
        proxies, default = urllib.request.ProxyHandler(), urllib.request.HTTPDefaultErrorHandler()
        opener = _opener(proxies, default, urllib.request.HTTPErrorProcessor(), _Redirects(), patience=patience)
        response: http.client.HTTPResponse = opener.open(request, timeout=timeout)
        return response
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error, url) from None
    except http.client.InvalidURL:
        raise FetchError(f"{mask_url(url)} is not an address") from None
    except (http.client.HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else None
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise FetchError(
                f"{mask_url(url)}: the server's certificate is not trusted: {reason.verify_message}",
                remedy="SSL_CERT_FILE names the authorities to trust",
            ) from None
        raise _trouble(error) from None


def describe_trouble(error: BaseException) -> str:
    """What went wrong on the way, without the address."""
    if isinstance(error, http_answers.SlowError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "the server was silent for too long"
    if isinstance(error, http.client.RemoteDisconnected):
        return "the server closed the connection without an answer"
    return (error.strerror if isinstance(error, OSError) else "") or type(error).__name__


def _trouble(error: Exception) -> PassingError:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return PassingError(reason if isinstance(reason, str) else describe_trouble(reason))


def _describe_status(status: int) -> str:
    return f"{status} {http.client.responses.get(status, '')}".strip()


def _refusal(error: urllib.error.HTTPError, url: str) -> Exception:
    where, said = mask_url(url), _describe_status(error.code)
    if error.code == 416:
        return StaleError()
    if error.code in PASSING:
        after = error.headers.get("Retry-After", "") if error.headers else ""
        return PassingError(f"the server answered {said}", float(whole_number(after) or 0))
    if 300 <= error.code < 400:
        return FetchError(f"{where} redirects without end", remedy=f"at most {MOST_REDIRECTS} redirects are followed")
    remedy = "the server wants credentials, or others" if error.code in (401, 403) else "check the address"
    return FetchError(f"{where} answered {said}", remedy=remedy)


def _request(url: str, headers: dict[str, str]) -> urllib.request.Request:
    try:
        parts = urlsplit(url)
        user, password, port = parts.username, parts.password, parts.port
    except ValueError:
        raise FetchError(f"{mask_url(url)} is not an address") from None
    if not parts.hostname:
        raise FetchError(f"{mask_url(url)} names no host")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path, query = (quote(text, safe="%/:=&?~+!$,;'@()*[]") for text in (parts.path or "/", parts.query))
    plain = urlunsplit((parts.scheme, host if port is None else f"{host}:{port}", path, query, ""))
    asked = {"User-Agent": f"benchwright/{VERSION}", "Accept": "*/*", "Accept-Encoding": "identity"} | headers
    request = urllib.request.Request(plain, headers=asked)  # noqa: S310 - the opener below knows http and https alone
    if user is not None:
        pair = f"{unquote(user)}:{unquote(password or '')}".encode()
        request.add_unredirected_header("Authorization", f"Basic {b64encode(pair).decode()}")
    return request


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a bounded number of redirects, never out of `https`, and takes credentials only to where they belong."""

    max_redirections = MOST_REDIRECTS
    max_repeats = 2

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request:
        if not newurl.lower().startswith("https://" if req.type == "https" else ("http://", "https://")):
            raise FetchError(
                f"{mask_url(req.full_url)} redirects to {mask_url(newurl)}, which is not as safe",
                remedy="give that address itself if you trust it",
            )
        fp.read = bytes  # the library would read the body of the redirect, however long it is
        new = _request(newurl, {name.title(): req.headers[name] for name in req.headers if name.title() in _CONTINUING})
        if (new.type, new.host) == (req.type, req.host) and "Authorization" in req.unredirected_hdrs:
            new.add_unredirected_header("Authorization", req.unredirected_hdrs["Authorization"])
        return new


def _opener(*more: urllib.request.BaseHandler, patience: AnswerLimits) -> urllib.request.OpenerDirector:
    """Builds an opener that takes http and https alone; without a handler for redirects it follows none.

    Each answer, its head included, is read within the bounds of `patience`.
    """
    found = urllib.request.OpenerDirector()
    for handler in (*http_answers.handlers(patience), *more):
        found.add_handler(handler)
    return found
