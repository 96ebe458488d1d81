"""One POST of JSON to a server: answered, refused, or in trouble that may pass. It is never led elsewhere."""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
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
from benchwright.system.http import PASSING, PassingError, in_words, opener
from benchwright.system.masking import mask_url

MOST_ANSWER = 1 << 20  # bytes
# Refusals of whoever sends, or of the address. Any other 4xx that does not pass is of what was sent.
_OF_THE_SENDER = frozenset({401, 403, 404, 405, 407})

__all__ = ["Endpoint", "PassingError", "RefusedError", "endpoint", "post"]


class RefusedError(UploadError):
    """The server will never take this. It may well take something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where results go, and under which category."""

    url: str
    category: str

    @property
    def shown(self) -> str:
        """The address as it may be printed."""
        return mask_url(self.url)

    @property
    def key(self) -> str:
        """A short name for files that belong to it."""
        return hashlib.sha256(f"{self.url}|{self.category}".encode()).hexdigest()[:16]


def endpoint(address: str) -> Endpoint:
    """Reads `host/path|category`: https, unless it says http:// and is this machine."""
    url, bar, category = (part.strip() for part in address.partition("|"))
    if not (url and bar and category) or "|" in category:
        raise OptionError(f"{mask_url(address)!r} names no place for results", remedy="write host/path|category")
    if "://" not in url:
        url = f"https://{url}"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        raise OptionError(
            f"{mask_url(url)} is not an address that results can be sent to", remedy="write host/path|category"
        )
    if parts.scheme == "http" and not _is_here(host):
        raise OptionError(
            f"{mask_url(url)} would get the access token in the clear", remedy="leave http:// out: https is used"
        )
    return Endpoint(url=url, category=category)


def post(to: Endpoint, body: Mapping[str, Any], *, timeout: float) -> Any:
    """The server's answer, as JSON.

    A refusal is an `UploadError`; a `RefusedError` when it is for ever; trouble that may pass is a `PassingError`.
    """
    headers = {"Content-Type": "application/json", "User-Agent": f"benchwright/{VERSION}"}
    request = urllib.request.Request(to.url, data=json.dumps(body).encode(), headers=headers, method="POST")  # noqa: S310 - the opener knows http and https alone
    try:
        # Without redirects: what is posted holds a token, and is meant for one server.
        with opener().open(request, timeout=timeout) as response:
            text = http_answers.read(response, most=MOST_ANSWER)
    except http_answers.TooLargeError as error:
        raise UploadError(f"{to.shown} answered {error}", remedy="is it the server that it should be?") from None
    except urllib.error.HTTPError as error:
        with error:
            said = f"{error.code} {http.client.responses.get(error.code, '')}".strip()
            if error.code in PASSING:
                raise PassingError(f"the server answered {said}") from None
            is_final = 400 <= error.code < 500 and error.code not in _OF_THE_SENDER
            raise (RefusedError if is_final else UploadError)(f"{to.shown} answered {said}") from None
    except urllib.error.URLError as error:
        raise PassingError(error.reason if isinstance(error.reason, str) else in_words(error.reason)) from None
    except (http.client.HTTPException, OSError) as error:
        raise PassingError(in_words(error)) from None
    try:
        return json_value(text, finite=False)
    except ValueError:
        raise UploadError(f"{to.shown} answered something that is not JSON") from None


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
