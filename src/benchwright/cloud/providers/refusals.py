"""What the refusals of all clouds have in common: how they are told, and where the next place is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from benchwright.cloud.orders import Instance
from benchwright.errors import CloudError

LOST = "is the network up? `benchwright cloud list` tells what was done, `cloud sweep` ends what nobody looks after"
REFUSED = "this login was refused"  # instead of a cloud's own words, which may repeat what was sent
_LONGEST = 500  # characters of a cloud's own words


def make_refusal(cloud: str, doing: str, kind: str, message: str, remedies: Mapping[str, str]) -> CloudError:
    """The error for a person: what was asked, what the cloud says, what to do."""
    said = " ".join(message.split())[:_LONGEST]
    return CloudError(f"{cloud}: {doing}: {said}", kind=kind, remedy=remedies.get(kind, ""))


def kind_of_status(status: int) -> str:
    """What an HTTP status alone says of a refusal; "" where that is not enough."""
    if status in (401, 403):
        return "login"
    if status == 429:
        return "throttled"
    return "lost" if status >= 500 else ""  # it may have been done all the same


def create_in_first(places: Iterable[Any], create: Callable[[Any], Instance]) -> Instance:
    """The machine in the first place that has room for it; the last refusal where none has."""
    refused: CloudError | None = None
    for place in places:
        try:
            return create(place)
        except CloudError as error:
            if error.kind != "capacity":
                raise
            refused = error
    assert refused is not None
    raise refused
