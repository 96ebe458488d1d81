"""What is being measured now: server-sent events for pages, one look for programs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from benchwright.errors import StoreError
from benchwright.pages.live import LiveView
from benchwright.pages.shapes import Live
from benchwright.pages.view_json import dumps
from benchwright.server.access import Reads
from benchwright.server.context import answer, archive, context_of, stop_event
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with

EVENTS = "text/event-stream"
PERIOD = 0.5  # seconds between two looks at the database, while anybody listens
HEARTBEAT = 15.0  # seconds of silence that proxies bear
LONGEST = 3600.0  # seconds; a browser then comes back by itself, and shows its token again
_HEAD = b"retry: 2000\n\n"
_ALIVE = b": alive\n\n"


def _live_answers() -> dict[int | str, dict[str, Any]]:
    found = answers_with(Live)
    found[200]["content"][EVENTS] = {"schema": {"type": "string"}}
    return found


router = APIRouter()


@router.get("/live", responses=_live_answers(), summary="What is being measured now", tags=["pages"])
async def live(request: Request, visitor: Reads) -> Response:
    """What runs do that are under way.

    Asked for `text/event-stream`, it goes on: an event named `live` with the whole of it whenever something changed.
    """
    if EVENTS not in request.headers.get("accept", ""):
        look = LiveView(archive(request)).look
        return await run_in_threadpool(lambda: answer(request, look()))
    broadcast = _broadcast(request)
    if broadcast.listeners >= context_of(request).settings.limits.listeners:
        raise refusal(503, "too many clients listen already", "come back later", {"Retry-After": "60"})
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(broadcast.events(), media_type=EVENTS, headers=headers)


class Broadcast:
    """Looks at the database while somebody listens, once for all listeners."""

    def __init__(self, look: Callable[[], bytes], stopping: asyncio.Event) -> None:
        self._look, self._stopping = look, stopping
        self._changed = asyncio.Condition()
        self._latest = b""
        self._number = 0
        self.listeners = 0  # streams that are open
        self._looking: asyncio.Task[None] | None = None

    async def events(self) -> AsyncIterator[bytes]:
        """The bytes of one listener's stream; ends when the server does."""
        self.listeners += 1
        try:
            if self._looking is None:
                self._looking = asyncio.create_task(self._go_on())
            yield _HEAD
            end, seen = time.monotonic() + LONGEST, self._number - bool(self._latest)
            while self._looking is not None and time.monotonic() < end:
                if await self._is_new(seen):
                    seen = self._number
                    yield b"event: live\ndata: " + self._latest + b"\n\n"
                elif self._looking is not None:
                    yield _ALIVE
        finally:
            self.listeners -= 1

    async def _is_new(self, seen: int) -> bool:
        """Waits for what this listener has not seen, for the end, or until it is time to show a sign of life."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT), self._changed:
                await self._changed.wait_for(lambda: self._number > seen or self._looking is None)
        return self._number > seen

    async def _go_on(self) -> None:
        try:
            while self.listeners and not self._stopping.is_set():
                with contextlib.suppress(StoreError):  # a database that is away for a moment
                    await self._publish(await run_in_threadpool(self._look))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), PERIOD)
        finally:
            self._looking, self._latest = None, b""  # before anything is waited for: who comes now begins anew
            async with self._changed:
                self._changed.notify_all()

    async def _publish(self, look: bytes) -> None:
        if look == self._latest:
            return
        async with self._changed:
            self._latest, self._number = look, self._number + 1
            self._changed.notify_all()


def _broadcast(request: Request) -> Broadcast:
    """Returns the one broadcast of this server."""
    state = request.app.state
    if not hasattr(state, "broadcast"):
        looking = LiveView(archive(request))
        state.broadcast = Broadcast(lambda: dumps(looking.look()), stop_event(request))
    return cast(Broadcast, state.broadcast)
