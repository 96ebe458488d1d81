"""What servers answer to messages: taken, refused, or trouble that may pass; and which of them may get a token."""

from __future__ import annotations

from urllib.parse import urlsplit

from benchwright.errors import OptionError, UploadError
from benchwright.system.addresses import http_host, is_loopback
from benchwright.system.http import HttpAnswer, PassingError


def check_accepted(answer: HttpAnswer, what: str) -> HttpAnswer:
    """Returns the answer, when it is a yes; `what` names what was asked for in the error."""
    if answer.ok:
        return answer
    pause = _pause(answer)
    if answer.may_pass or (answer.status == 403 and pause):
        raise PassingError(f"{what}: the server answered {answer.said}", pause)
    remedy = "check its token: what it may do, and whether it is still good" if answer.status in (401, 403) else ""
    if 300 <= answer.status < 400:
        remedy = "it has moved; write its new address"
    raise UploadError(f"{what}: the server answered {answer.said}", remedy=remedy or "check the address of the target")


def check_server(url: str, *, what: str, secure: bool) -> None:
    """Raises when `url` is not one of http or https, or when a secret would go to another machine in the clear."""
    host = http_host(url)
    if not host:
        raise OptionError(f"{what}: not an address of a server", remedy="it starts with https:// and a host")
    if secure and urlsplit(url).scheme == "http" and not is_loopback(host):
        raise OptionError(f"{what}: {host} would get the token in the clear", remedy="use https://")


def _pause(answer: HttpAnswer) -> float:
    """How many seconds the server asks to wait; GitHub says 403 and that nothing is left of an hour's share."""
    if answer.pause or answer.headers.get("x-ratelimit-remaining") != "0":
        return answer.pause
    return 600.0
