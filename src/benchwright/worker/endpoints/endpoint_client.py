"""What sends requests to a server, whatever the wire is: the face that the driver and the loads know of a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from benchwright.worker.endpoints.traffic import ClientHealth, RequestLog

if TYPE_CHECKING:
    from benchwright.worker.endpoints.client import ClientSettings


class EndpointClient(Protocol):
    """Sends prepared requests and keeps what comes back in `traffic`. `on_end` hears of each entry that has ended."""

    settings: ClientSettings
    loop: asyncio.AbstractEventLoop
    traffic: RequestLog
    health: ClientHealth
    on_end: Callable[[int], None]

    def frame(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        """A request as `reset` and `call` take it: its body with whatever the wire wants around it."""
        ...

    def reset(self, payloads: list[bytes]) -> None:
        """Forgets what was, and takes the requests that are to be sent; connections stay open."""
        ...

    def begin(self, scheduled: int, number: int) -> int:
        """Sends the prepared request `number`, which was due at `scheduled`; returns its entry."""
        ...

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs the event loop until the work is done."""
        ...

    def call(self, payload: bytes) -> int:
        """Sends one request and waits for its answer; returns its entry in `traffic`, of which it is the only one."""
        ...

    async def open_connections(self, count: int) -> None:
        """Opens connections for so many requests at a time; a `LoadError` when none can be opened."""
        ...

    async def watch(self) -> None:
        """Ends requests that take too long, and notes how late the loop comes to its work, until it is cancelled."""
        ...

    def close(self) -> None:
        """Closes every connection and the loop."""
        ...
