"""What an adapter that sends messages offers, and which one an address means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from benchwright import plugins
from benchwright.errors import BenchwrightError, OptionError, UploadError
from benchwright.notify import addresses
from benchwright.notify.addresses import NotifyAddress
from benchwright.notify.messages import Message
from benchwright.system.addresses import http_host, is_loopback
from benchwright.system.http import HttpAnswer, PassingError


class Sender(Protocol):
    """What an adapter of the group `benchwright.notifiers` offers. Its name is the scheme of its addresses.

    It is made with a `NotifyAddress`, and raises an `OptionError` when it can do nothing with it.
    """

    name: str
    pictures: bool  # whether it wants PNGs drawn

    def send(self, message: Message) -> str:
        """Sends the message and says in a few words what happened.

        Raises `PassingError` for trouble that may pass, `UploadError` for a refusal. Neither may show a secret.
        """
        ...


@runtime_checkable
class Withdrawing(Protocol):
    """What an adapter offers beside `send` when its messages stay until they are taken back: the status of a commit."""

    def withdraw(self, message: Message) -> str:
        """Takes back what was said of the findings of the message: none of them stands any more. Raises as `send`."""
        ...


def deliver(send: Callable[[Message], str], message: Message, shown: str) -> str:
    """Sends a message and returns what `send` says; an error that `send` does not promise becomes an `UploadError`."""
    try:
        return send(message)
    except (BenchwrightError, PassingError):
        raise
    except Exception as error:  # the border to services of every kind; what it says may hold the address
        raise UploadError(f"{shown}: {type(error).__name__}", remedy="check the address of the target") from None


def sender_at(text: str) -> Sender:
    """The adapter for an address, ready to send; an `OptionError` when the address or its secret is wrong."""
    address = addresses.read_address(text)
    kind = _kind(address)
    if kind != "apprise":
        addresses.check_login(text, address.url)
    adapter: Callable[[NotifyAddress], Sender] = plugins.load("notifiers", kind)
    return adapter(address)


def withdraws(text: str) -> bool:
    """Whether what the target is told can be taken back there; nothing is sent. An `OptionError` as of `sender_at`."""
    return hasattr(plugins.load("notifiers", _kind(addresses.read_address(text))), "withdraw")


def takes_updates(text: str) -> bool:
    """Whether the target is to hear of each series that joins a cause it was told of. An `OptionError` as above."""
    adapter = plugins.load("notifiers", _kind(addresses.read_address(text)))
    return bool(getattr(adapter, "updates", False))


def _kind(address: NotifyAddress) -> str:
    kind = address.scheme.partition("+")[0]
    known = kind in plugins.BUILTIN["notifiers"] or kind in plugins.names("notifiers")
    return kind if known else "apprise"


# ---- what servers answer to messages, and which of them may get a token ----


def check_accepted(answer: HttpAnswer, what: str) -> HttpAnswer:
    """Returns the answer when the server accepted; `what` names what was asked for in the error."""
    if answer.ok:
        return answer
    pause = _pause(answer)
    if answer.may_pass or is_throttled(answer):
        raise PassingError(f"{what}: the server answered {answer.said}", pause)
    remedy = "check its token: what it may do, and whether it is still good" if answer.status in (401, 403) else ""
    if 300 <= answer.status < 400:
        remedy = "it has moved; write its new address"
    raise UploadError(f"{what}: the server answered {answer.said}", remedy=remedy or "check the address of the target")


def is_throttled(answer: HttpAnswer) -> bool:
    """Whether the server refuses only because it was asked too often, which passes."""
    return answer.status == 403 and bool(_pause(answer))


def check_server(url: str, *, what: str, secure: bool) -> None:
    """Raises when `url` is not one of http or https, or when a secret would go to another machine in the clear."""
    host = http_host(url)
    if not host:
        raise OptionError(f"{what}: not an address of a server", remedy="it starts with https:// and a host")
    if secure and urlsplit(url).scheme == "http" and not is_loopback(host):
        raise OptionError(f"{what}: the token would go to {host} without encryption", remedy="use https://")


def _pause(answer: HttpAnswer) -> float:
    """How many seconds the server asks to wait; GitHub says 403 and that nothing is left of an hour's share."""
    if answer.pause or answer.headers.get("x-ratelimit-remaining") != "0":
        return answer.pause
    return 600.0
