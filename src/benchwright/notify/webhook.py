"""`webhook+https://host/path`: findings as JSON to a server of yours, signed.

The signature is that of the Standard Webhooks specification: HMAC-SHA256 over `id.timestamp.body`, in base64, in the
headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. Its libraries check it in any language.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import time
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from benchwright import schema
from benchwright.errors import OptionError
from benchwright.notify.addresses import NotifyAddress
from benchwright.notify.messages import Message, Notice
from benchwright.notify.senders import check_accepted, check_server
from benchwright.system.http import call

SECRET = "BENCHWRIGHT_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
_PREFIX = "whsec_"  # of secrets that are base64


class Webhook:
    """Posts messages to one address."""

    name = "webhook"
    pictures = True
    updates = True  # a program wants to know of every finding

    def __init__(self, address: NotifyAddress) -> None:
        parts = urlsplit(address.url)
        login, _, host = parts.netloc.rpartition("@")
        self._url = urlunsplit(parts._replace(scheme=parts.scheme.partition("+")[2], netloc=host, fragment=""))
        self._shown = address.shown
        check_server(self._url, what=self._shown, secure=False)
        self._secret = _bytes_of(unquote(login.strip(":")) or os.environ.get(SECRET, "").strip(), self._shown)

    def send(self, message: Message) -> str:
        """Posts the message; says whether it was signed."""
        body = json.dumps(_document(message), ensure_ascii=False, allow_nan=False).encode()
        stamp = str(int(time.time()))
        headers = {"Content-Type": "application/json", "webhook-id": message.id, "webhook-timestamp": stamp}
        if self._secret:
            headers["webhook-signature"] = signature(self._secret, message.id, stamp, body)
        answer = check_accepted(call("POST", self._url, headers=headers, body=body), self._shown)
        return f"{answer.said}, {'signed' if self._secret else f'not signed: {SECRET} is not set'}"


def signature(secret: bytes, identifier: str, timestamp: str, body: bytes) -> str:
    """What the header `webhook-signature` must be: compare it with `hmac.compare_digest`."""
    signed = hmac.new(secret, f"{identifier}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def _bytes_of(secret: str, where: str) -> bytes:
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise OptionError(f"{where}: its secret starts with {_PREFIX} but is not base64 after it") from None


def _document(message: Message) -> dict[str, Any]:
    kind = "test" if message.test else "resolved" if message.resolved else "joined" if message.joined else "findings"
    return {
        "type": f"benchwright.{kind}",
        "version": 1,
        "id": message.id,
        "title": message.title,
        "text": message.text,
        "causes": [*dict.fromkeys(notice.finding.cause for notice in message.notices if notice.finding.cause)],
        "findings": [_entry(notice) for notice in message.notices],
    }


def _entry(notice: Notice) -> dict[str, Any]:
    return {
        "finding": json.loads(schema.dumps(notice.finding)),
        "commit": notice.commit,
        "link": notice.link,
        "code_link": notice.code_link,
        "sketch": notice.sketch,
        "picture": base64.b64encode(notice.picture).decode(),
    }
