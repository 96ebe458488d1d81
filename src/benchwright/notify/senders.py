"""What an adapter that sends messages offers, and which one an address means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from benchwright import plugins
from benchwright.errors import BenchwrightError, UploadError
from benchwright.notify import addresses
from benchwright.notify.addresses import NotifyAddress
from benchwright.notify.messages import Message
from benchwright.system.http import PassingError


class Sender(Protocol):
    """What an adapter of the group `benchwright.notifiers` offers. Its name is the scheme of its addresses.

    It is made with an `Address`, and raises an `OptionError` when it can do nothing with it.
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
    """What an adapter offers besides, whose word stands until it is taken back: such as the status of a commit."""

    def withdraw(self, message: Message) -> str:
        """Takes back what was said of the findings of the message: none of them stands any more. Raises as `send`."""
        ...


def deliver(send: Callable[[Message], str], message: Message, shown: str) -> str:
    """What `send` says, of which nothing else comes than it promises: any other error is an `UploadError`."""
    try:
        return send(message)
    except (BenchwrightError, PassingError):
        raise
    except Exception as error:  # the border to services of every kind; what it says may hold the address
        raise UploadError(f"{shown}: {type(error).__name__}", remedy="check the address of the target") from None


def sender_at(text: str) -> Sender:
    """The adapter for an address, ready to send; an `OptionError` when the address or its secret is wrong."""
    address = addresses.read(text)
    kind = _kind(address)
    if kind != "apprise":
        addresses.check_login(text, address.url)
    adapter: Callable[[NotifyAddress], Sender] = plugins.load("notifiers", kind)
    return adapter(address)


def withdraws(text: str) -> bool:
    """Whether what the target is told can be taken back there; nothing is sent. An `OptionError` as of `sender_at`."""
    return hasattr(plugins.load("notifiers", _kind(addresses.read(text))), "withdraw")


def _kind(address: NotifyAddress) -> str:
    kind = address.scheme.partition("+")[0]
    known = kind in plugins.BUILTIN["notifiers"] or kind in plugins.names("notifiers")
    return kind if known else "apprise"
