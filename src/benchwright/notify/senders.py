"""What an adapter that sends messages offers, and which one an address means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from benchwright import plugins
from benchwright.errors import BenchwrightError, UploadError
from benchwright.fetch.transport import PassingError
from benchwright.notify import addresses
from benchwright.notify.addresses import Address
from benchwright.notify.messages import Message


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


def deliver(sender: Sender, message: Message, shown: str) -> str:
    """`sender.send`, from which nothing else comes than what it promises: any other error is an `UploadError`."""
    try:
        return sender.send(message)
    except (BenchwrightError, PassingError):
        raise
    except Exception as error:  # the border to services of every kind; what it says may hold the address
        raise UploadError(f"{shown}: {type(error).__name__}", remedy="check the address of the target") from None


def sender_at(text: str) -> Sender:
    """The adapter for an address, ready to send; an `OptionError` when the address or its secret is wrong."""
    address = addresses.read(text)
    kind = address.scheme.partition("+")[0]
    if kind not in plugins.BUILTIN["notifiers"] and kind not in plugins.names("notifiers"):
        kind = "apprise"
    if kind != "apprise":
        addresses.check_login(text)
    adapter: Callable[[Address], Sender] = plugins.load("notifiers", kind)
    return adapter(address)
