"""One request to a server that is told something: answered, refused, or in trouble that may pass.

It is never led elsewhere: what is sent may hold a token, and is meant for one server.
"""

from __future__ import annotations

import http.client
import ipaddress
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from benchwright._version import VERSION
from benchwright.errors import OptionError, UploadError
from benchwright.schema.parsing import json_value
from benchwright.system import http_answers
from benchwright.system.http import PASSING, PassingError, in_words
from benchwright.system.masking import mask_url
from benchwright.units import whole_number

TIMEOUT = 20.0  # seconds to connect, and of silence
MOST_ANSWER = 4 << 20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server said."""

    status: int
    headers: Mapping[str, str]  # names in small letters
    text: bytes

    @property
    def ok(self) -> bool:
        """Whether it did what it was asked."""
        return 200 <= self.status < 300

    @property
    def said(self) -> str:
        """The status in words."""
        return f"{self.status} {http.client.responses.get(self.status, '')}".strip()

    def json(self) -> Any:
        """The answer as JSON; None when it is none."""
        try:
            return json_value(self.text)
        except ValueError:
            return None


def call(method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
    """The server's answer, whatever its status. Trouble on the way there is a `PassingError`."""
    told = {"User-Agent": f"benchwright/{VERSION}", "Accept": "application/json"} | dict(headers)
    try:
        request = urllib.request.Request(url, data=body, headers=told, method=method)  # noqa: S310 - the opener knows http and https alone
        with _opener(request.host).open(request, timeout=TIMEOUT) as response:
            names = {name.lower(): value for name, value in response.headers.items()}
            return Answer(status=response.status, headers=names, text=http_answers.read(response, most=MOST_ANSWER))
    except http_answers.TooLargeError as error:
        raise UploadError(f"{mask_url(url)} answered {error}", remedy="is it the server that it should be?") from None
    except urllib.error.URLError as error:
        raise PassingError(error.reason if isinstance(error.reason, str) else in_words(error.reason)) from None
    except (http.client.HTTPException, OSError) as error:
        raise PassingError(in_words(error)) from None


def accepted(answer: Answer, what: str) -> Answer:
    """The answer, when it is a yes; `what` names what was asked for in the error."""
    if answer.ok:
        return answer
    pause = _pause(answer)
    if answer.status in PASSING or (answer.status == 403 and pause):
        raise PassingError(f"{what}: the server answered {answer.said}", pause)
    remedy = "check its token: what it may do, and whether it is still good" if answer.status in (401, 403) else ""
    if 300 <= answer.status < 400:
        remedy = "it has moved; write its new address"
    raise UploadError(f"{what}: the server answered {answer.said}", remedy=remedy or "check the address of the target")


def check_server(url: str, *, what: str, secure: bool) -> None:
    """Raises when `url` is not one of http or https, or when a secret would go to another machine in the clear."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        raise OptionError(f"{what}: not an address of a server", remedy="it starts with https:// and a host")
    if secure and parts.scheme == "http" and not _is_here(host):
        raise OptionError(f"{what}: {host} would get the token in the clear", remedy="use https://")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pause(answer: Answer) -> float:
    """How many seconds the server asks to wait; GitHub says 403 and that nothing is left of an hour's share."""
    after = answer.headers.get("retry-after", "")
    if (seconds := whole_number(after)) is not None:
        return float(seconds)
    return 600.0 if answer.headers.get("x-ratelimit-remaining") == "0" else 0.0


def _opener(host: str) -> urllib.request.OpenerDirector:
    """One that follows no redirect and hands out every status. No proxy reaches this machine's own loopback."""
    proxies = urllib.request.ProxyHandler({} if _is_here(urlsplit(f"//{host}").hostname or "") else None)
    opener = urllib.request.OpenerDirector()
    for handler in (proxies, *http_answers.handlers(http_answers.QUICK)):
        opener.add_handler(handler)
    return opener
