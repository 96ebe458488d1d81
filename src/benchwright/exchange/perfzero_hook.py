"""A hook for PerfZero's flag `--result_upload_methods=benchwright.interop.posting.perfzero`: each summary to a server.

The server is `BENCHWRIGHT_STORE`, the token `BENCHWRIGHT_TOKEN`. Standard library only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from benchwright.errors import UploadError
from benchwright.system.http import HttpAnswer, PassingError, call
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
    headers = {"Content-Type": "application/json"}
    if token := parts.username or os.environ.get("BENCHWRIGHT_TOKEN", ""):
        headers["Authorization"] = f"Bearer {token}"
    where, body = mask_url(url.geturl()), json.dumps(dict(summary)).encode()
    try:
        answer = call("POST", url.geturl(), headers=headers, body=body, timeout=TIMEOUT, most=MOST_ANSWER)
    except PassingError as error:
        raise UploadError(f"{where} cannot be reached: {error}") from None
    if not answer.ok:
        raise UploadError(f"{where} answered {answer.status}: {_reason(answer)}")


def _reason(answer: HttpAnswer) -> str:
    told = answer.json()
    return str(told["error"]) if isinstance(told, dict) and "error" in told else answer.said.partition(" ")[2]
