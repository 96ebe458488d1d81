"""Bounds on connections: how long one may be silent, how long a request's head may be, how many an address may hold.

uvicorn bounds none of them, so that a few hundred silent connections, which need no token, would shut out everyone.
"""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from benchwright.server.limits import neighbourhood
from benchwright.server.settings import is_loopback

PATIENCE = 20.0  # seconds, for the head of a request and for whoever has connected and says nothing
LONGEST = 64 * 1024  # bytes of a head
MOST_SILENT = 64  # connections of one address that have no request under way; the next one ends the oldest of them
MOST = 192  # connections of one address in all; more are refused. A proxy, which speaks for many, is not counted so.

_TOO_LONG = b"The head of this request is longer than 64 KiB."
_TOO_MANY = b"This address has too many connections open: close some, or wait."


class Connection(HttpToolsProtocol):
    """uvicorn's connection within these bounds."""

    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head = 0  # bytes so far
    _heard = 0.0  # when the last bytes came, on the loop's clock

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heard = self.loop.time()
        self._wait()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        only_head, before = self._in_head or not self._is_working, self.cycle
        super().data_received(data)
        if self.transport.is_closing():
            return
        if only_head and self.cycle is before:  # bytes that the parser holds back until a line is whole count as well
            self._head += len(data)
        if self._in_head and self._head > LONGEST:
            self._refuse(b"431 Request Header Fields Too Large", _TOO_LONG)
        elif not self._in_head and not self._is_working:
            self._wait()  # for the rest of a body that was refused

    def on_message_begin(self) -> None:
        self._in_head, self._head = True, 0
        self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_waiting()
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > LONGEST:
            # A head that came in one piece was never counted above.
            self._refuse(b"431 Request Header Fields Too Large", _TOO_LONG)
            raise ConnectionAbortedError  # the parser ends there, and nothing of the request is carried out
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():  # it was refused for a reason of ours, and that was said
            super().send_400_response(msg)

    @property
    def _is_working(self) -> bool:
        """Whether a request has come that is not answered yet. Bodies have a patience of their own."""
        return self.cycle is not None and not self.cycle.response_complete

    def _make_room(self) -> None:
        """Keeps one address from holding so many connections that none is left for the others."""
        if self.client is None:  # a socket of this machine's file system
            return
        here = neighbourhood(self.client[0])
        others = [other for other in map(_ours, self.connections) if other is not self and other._is_from(here)]
        silent = [other for other in others if not other._is_working]
        if len(others) >= MOST and not self._comes_through_a_proxy():
            self._refuse(b"503 Service Unavailable", _TOO_MANY)
        elif len(silent) >= MOST_SILENT:
            min(silent, key=lambda other: other._heard).transport.close()

    def _is_from(self, here: str) -> bool:
        return self.client is not None and neighbourhood(self.client[0]) == here and not self.transport.is_closing()

    def _comes_through_a_proxy(self) -> bool:
        """Whether many visitors may share this address: a proxy on this machine, or one whose word is believed."""
        assert self.client is not None
        named = self.config.forwarded_allow_ips
        trusted = named.split(",") if isinstance(named, str) else named or []
        return is_loopback(self.client[0]) or "*" in trusted or self.client[0] in {name.strip() for name in trusted}

    def _refuse(self, status: bytes, why: bytes) -> None:
        head = (b"HTTP/1.1 " + status, b"content-type: text/plain; charset=utf-8", b"connection: close")
        length = b"content-length: %d" % len(why)
        self.transport.write(b"\r\n".join((*head, length, b"", why)))
        self.transport.close()

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


def _ours(connection: object) -> Connection:
    """One of `connections`, which uvicorn fills with those of its own protocols too; this server has only ours."""
    return cast(Connection, connection)
