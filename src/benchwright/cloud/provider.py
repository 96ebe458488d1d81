"""What a cloud must be able to do: the protocol of `benchwright.clouds`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from benchwright.cloud.orders import Instance, MachineShape, Order


class CloudProvider(Protocol):
    """One cloud, through its vendor's library and its vendor's chain of credentials, which are never kept or shown.

    Made without arguments, and cheap to make: the library is imported when the first question is asked, and a
    `NotInstalledError` names the extra. Every failure is an `OptionError` (the request is wrong: an unknown shape, with
    the nearest ones) or a `CloudError`, whose kind says what can be done: what is `throttled` is asked again by the
    caller, and an answer that got `lost` is looked for by its label. So no method retries by itself for long, and a
    vendor's own retries of *creation* are switched off.
    """

    name: str  # aws, gcp, azure, oci, skypilot
    options: Mapping[str, str]  # words that it takes after `?` beside the common ones, and what each means

    def default_region(self) -> str:
        """The region of the vendor's own settings; an `OptionError` with the remedy where there is none."""

    def payer(self, region: str) -> str:
        """Who pays, in words: `AWS account 123456789012`. Fails with `login` where nobody is signed in."""

    def check(self, order: Order) -> MachineShape:
        """The shape of an order, which exists in that region (and zone); starts nothing.

        Also checks what else is known to be wrong before anything costs money: image, market, options, the login.
        """

    def create(self, order: Order) -> Instance:
        """Creates the machine of an order, with its labels, its user data, and ending (not stopping) on shutdown.

        The order's token goes along as the vendor's own idempotency token. A lost answer is a `CloudError` of the kind
        `lost`: whoever called looks for the label, and sends the same order again if there is no machine.
        """

    def instances(self, region: str, token: str = "") -> list[Instance]:
        """All machines there that carry `TOKEN_LABEL`, and no others; with a token, only those of that order.

        Those that ended a short while ago may be among them.
        """

    def get(self, instance_id: str, region: str) -> Instance | None:
        """A machine by its id; None where the cloud does not know it (any more)."""

    def start(self, instance_id: str, region: str) -> None:
        """Starts a machine that was stopped."""

    def stop(self, instance_id: str, region: str) -> None:
        """Stops a machine; its disk stays, and costs."""

    def end(self, instance_id: str, region: str) -> None:
        """Ends a machine and all that was made for it. Of one that is gone already nothing is said."""

    def will_be_taken(self, instance: Instance) -> str:
        """Why the cloud is about to take a spot machine away, or has done so; "" where it is not."""


@runtime_checkable
class KnowsZones(Protocol):
    """A cloud that can say in which zones of a region a shape is offered; it is tried in them one after the other."""

    def zones(self, order: Order) -> list[str]:
        """The zones of the order's region that offer its shape."""


@runtime_checkable
class OnlyStops(Protocol):
    """A cloud at which a machine that shuts down is not gone: something of it costs money until it is ended."""

    at_expiry: str  # what becomes of it, and what is to be done, as the end of a sentence
