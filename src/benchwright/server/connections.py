"""Connections that do not stay silent for ever, and heads of requests that do not grow for ever.

uvicorn bounds neither, so that a few hundred silent connections, which need no token, would shut out everyone else.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

PATIENCE = 20.0  # seconds, for the head of a request and for whoever has connected and says nothing
LONGEST = 64 * 1024  # bytes of a head


class Connection(HttpToolsProtocol):
    """uvicorn's, closed when the head of a request takes too long or is too long."""

    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head = 0  # bytes so far

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        only_head, before = self._in_head or not self._is_working, self.cycle
        super().data_received(data)
        if self.transport.is_closing():
            return
        if only_head and self.cycle is before:
            self._head += len(data)
        if self._in_head and self._head > LONGEST:
            self.send_400_response("The head of this request is too long.")
        elif not self._in_head and not self._is_working:
            self._wait()  # for the rest of a body that was refused

    def on_message_begin(self) -> None:
        self._in_head, self._head = True, 0
        self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    @property
    def _is_working(self) -> bool:
        """Whether a request has come that is not answered yet. Bodies have a patience of their own."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(PATIENCE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self._is_working:  # the next request was begun before this one is answered
            self._wait()
        else:
            self.transport.close()
