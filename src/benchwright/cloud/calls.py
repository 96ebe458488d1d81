"""Questions to a cloud that may have to be asked again: after a throttled one a wait, after a lost answer a look."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from benchwright.cloud.orders import Instance, Order
from benchwright.cloud.provider import CloudProvider
from benchwright.errors import CloudError

T = TypeVar("T")
Sleep = Callable[[float], None]

TRIES = 7  # of one question: some two minutes at most
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0  # seconds
LOOKS = 4  # for the machine of an order whose answer got lost: a cloud shows a new machine after some seconds


def ask_patiently(question: Callable[[], T], *, sleep: Sleep = time.sleep) -> T:
    """The answer to a question that may be asked again: after a throttled or lost one, with longer and longer waits."""
    for attempt in range(TRIES - 1):
        try:
            return question()
        except CloudError as error:
            if error.kind not in ("throttled", "lost"):
                raise
        sleep(_wait(attempt))
    return question()


@dataclass(slots=True)
class OrderAttempt:
    """How far an order has come: whether a machine may be there, whatever was said since."""

    may_exist: bool = False


def create_once(
    provider: CloudProvider, order: Order, *, sleep: Sleep = time.sleep, attempt: OrderAttempt | None = None
) -> Instance:
    """The one machine of an order. After a lost answer it is looked for by its label before the order is sent again.

    A cloud that made two of them all the same keeps the first; the others are ended. `attempt` tells afterwards, also
    after an error, whether a machine may be there.
    """
    sent, seen = 0, attempt or OrderAttempt()
    while True:
        try:
            created = provider.create(order)
            seen.may_exist = True
            return created if sent == 0 else _only_one(provider, order, sleep) or created
        except CloudError as error:
            sent += 1
            seen.may_exist |= error.kind == "lost"
            if error.kind not in ("throttled", "lost") or sent >= TRIES:
                raise
            is_lost = error.kind == "lost"
        if is_lost and (found := find_again(provider, order, sleep=sleep)):
            return found
        if not is_lost:
            sleep(_wait(sent - 1))


def find_again(provider: CloudProvider, order: Order, *, sleep: Sleep = time.sleep) -> Instance | None:
    """The machine of an order whose answer was not seen; None where none has appeared after several looks."""
    for look in range(LOOKS):
        if found := _only_one(provider, order, sleep):
            return found
        if look < LOOKS - 1:
            sleep(_wait(look))
    return None


def _only_one(provider: CloudProvider, order: Order, sleep: Sleep) -> Instance | None:
    all_of_it = ask_patiently(lambda: provider.instances(order.region, order.token), sleep=sleep)
    found = sorted((one for one in all_of_it if not one.is_gone), key=lambda one: (one.launched_at, one.id))
    for surplus in found[1:]:
        ask_patiently(lambda one=surplus: provider.end(one.id, one.region), sleep=sleep)  # type: ignore[misc]
    return found[0] if found else None


def _wait(attempt: int) -> float:
    """Longer from time to time, and never the same for two that were turned away together."""
    return min(LONGEST_WAIT, FIRST_WAIT * float(2**attempt)) * random.uniform(0.5, 1.0)
