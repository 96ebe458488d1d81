"""One POST of JSON to a server: answered, refused, or in trouble that may pass. It is never led elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from benchwright.errors import OptionError, UploadError
from benchwright.schema.parsing import json_value
from benchwright.system.addresses import http_host, is_loopback
from benchwright.system.http import PassingError, call
from benchwright.system.masking import mask_url

MOST_ANSWER = 1 << 20  # bytes
# Refusals of whoever sends, or of the address. Any other 4xx that does not pass is of what was sent.
_OF_THE_SENDER = frozenset({401, 403, 404, 405, 407})

__all__ = ["Endpoint", "PassingError", "PostRefusedError", "parse_endpoint", "post"]


class PostRefusedError(UploadError):
    """The server will never take this. It may well take something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where results go, and under which category."""

    url: str
    category: str

    @property
    def masked_url(self) -> str:
        """The address as it may be printed."""
        return mask_url(self.url)

    @property
    def key(self) -> str:
        """A short name for files that belong to it."""
        return hashlib.sha256(f"{self.url}|{self.category}".encode()).hexdigest()[:16]


def parse_endpoint(address: str) -> Endpoint:
    """Reads `host/path|category`: https, unless it says http:// and is this machine."""
    url, bar, category = (part.strip() for part in address.partition("|"))
    if not (url and bar and category) or "|" in category:
        raise OptionError(f"{mask_url(address)!r} names no place for results", remedy="write host/path|category")
    if "://" not in url:
        url = f"https://{url}"
    host = http_host(url)
    if not host:
        raise OptionError(
            f"{mask_url(url)} is not an address that results can be sent to", remedy="write host/path|category"
        )
    if urlsplit(url).scheme == "http" and not is_loopback(host):
        raise OptionError(
            f"{mask_url(url)} would get the access token in the clear", remedy="leave http:// out: https is used"
        )
    return Endpoint(url=url, category=category)


def post(to: Endpoint, body: Mapping[str, Any], *, timeout: float) -> Any:
    """The server's answer, as JSON.

    A refusal is an `UploadError`; a `RefusedError` when it is for ever; trouble that may pass is a `PassingError`.
    """
    headers = {"Content-Type": "application/json"}
    answer = call("POST", to.url, headers=headers, body=json.dumps(body).encode(), timeout=timeout, most=MOST_ANSWER)
    if answer.may_pass:
        raise PassingError(f"the server answered {answer.said}")
    if not answer.ok:
        is_final = 400 <= answer.status < 500 and answer.status not in _OF_THE_SENDER
        raise (PostRefusedError if is_final else UploadError)(f"{to.masked_url} answered {answer.said}")
    try:
        return json_value(answer.text, finite=False)
    except ValueError:
        raise UploadError(f"{to.masked_url} answered something that is not JSON") from None
