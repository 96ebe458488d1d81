"""A hook for PerfZero's flag `--result_upload_methods=benchwright.interop.posting.perfzero`: each summary to a server.

The server is `BENCHWRIGHT_STORE`, the token `BENCHWRIGHT_TOKEN`. Standard library only.
"""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from benchwright._version import VERSION
from benchwright.errors import UploadError
from benchwright.schema.parsing import json_value
from benchwright.system import http_answers
from benchwright.system.http import in_words, opener
from benchwright.system.masking import mask_url

TIMEOUT = 60.0  # seconds
MOST_ANSWER = 1 << 20  # bytes
HOOK = "api/v1/hooks/perfzero"


def perfzero(summary: Mapping[str, Any]) -> None:
    """Sends a summary. Sent again, it is kept once. An `UploadError` says why it did not arrive."""
    server = os.environ.get("BENCHWRIGHT_STORE", "")
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UploadError("no server is named", remedy="set BENCHWRIGHT_STORE to its address, https://bench.example/")
    url = parts._replace(netloc=parts.netloc.rpartition("@")[2], path=f"{parts.path.rstrip('/')}/{HOOK}", query="")
    headers = {"Content-Type": "application/json", "User-Agent": f"benchwright/{VERSION}"}
    if token := parts.username or os.environ.get("BENCHWRIGHT_TOKEN", ""):
        headers["Authorization"] = f"Bearer {token}"
    body = json.dumps(dict(summary)).encode()
    request = urllib.request.Request(url.geturl(), data=body, headers=headers, method="POST")  # noqa: S310 - checked above
    _post(request, mask_url(url.geturl()))


def _post(request: urllib.request.Request, where: str) -> None:
    try:
        with opener().open(request, timeout=TIMEOUT):  # without redirects: the token is for this server
            return
    except urllib.error.HTTPError as error:
        with error:
            raise UploadError(f"{where} answered {error.code}: {_said(error)}") from None
    except urllib.error.URLError as error:
        reason = error.reason if isinstance(error.reason, str) else in_words(error.reason)
        raise UploadError(f"{where} cannot be reached: {reason}") from None
    except (http.client.HTTPException, OSError) as error:
        raise UploadError(f"{where} cannot be reached: {in_words(error)}") from None


def _said(error: urllib.error.HTTPError) -> str:
    try:
        told = json_value(http_answers.read(error, most=MOST_ANSWER))
        return str(told["error"])
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return http.client.responses.get(error.code, "")
