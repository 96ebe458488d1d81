"""Bounds on connections: how long one may be silent, how long a request's head may be, how many an address may hold.

uvicorn bounds none of them, so that a few hundred silent connections, which need no token, would shut out everyone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from benchwright.server.traffic import neighbourhood
from benchwright.system.addresses import is_loopback

PATIENCE = 20.0  # seconds, for the head of a request and for whoever has connected and says nothing
LONGEST = 64 * 1024  # bytes of a head
MOST_SILENT = 64  # connections of one address that have no request under way; the next one ends the oldest of them
MOST = 192  # connections of one address in all; more are refused. A proxy, which speaks for many, is not counted so.
SPARE = 16  # of all connections: when fewer are left, one that waits for its other end makes room for the next

_TOO_LONG = b"The head of this request is longer than 64 KiB."
_TOO_MANY = b"This address has too many connections open: close some, or wait."


class Connection(HttpToolsProtocol):
    """uvicorn's connection within these bounds."""

    shares: ClassVar[int] = 1  # processes among which the connections of an address are spread
    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head = 0  # bytes so far
    _heard = 0.0  # when the last bytes came, on the loop's clock
    _unread = 0  # bytes that the other end had not read at the last look
    _is_ended = False

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

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._wait()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = 0
        if self._is_working and not self._in_head:
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():  # it was refused for a reason of ours, and that was said
            super().send_400_response(msg)

    @property
    def _is_working(self) -> bool:
        """Whether a request has come that is not answered yet. Bodies have a patience of their own."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _is_waiting(self) -> bool:
        """Whether nothing goes on until the other end sends more, or reads what it was sent."""
        return not self._is_working or self.cycle.more_body or self.flow.write_paused

    def _make_room(self) -> None:
        """Keeps one address from holding so many connections that none is left for the others."""
        self._end_the_longest_wait()
        if self.client is None:  # a socket of this machine's file system
            return
        here = self._place
        others = [
            other for other in map(_as_connection, self.connections) if other is not self and other._is_from(here)
        ]
        silent = [other for other in others if not other._is_working]
        if len(others) >= -(-MOST // self.shares) and not self._comes_through_a_proxy():
            self._refuse(b"503 Service Unavailable", _TOO_MANY)
        elif len(silent) >= -(-MOST_SILENT // self.shares):
            min(silent, key=lambda other: other._heard)._end()

    def _end_the_longest_wait(self) -> None:
        """Where hardly a connection is left, ends one that waits for its other end, of the address that holds most.

        Half a body, and an answer that nobody reads, hold a connection as silence does; and they come through a proxy,
        whose connections are not counted, as well.
        """
        held = [other for other in map(_as_connection, self.connections) if not other._is_ended]
        if self.limit_concurrency is None or len(held) <= self.limit_concurrency - SPARE:
            return
        waiting = [other for other in held if other is not self and other._is_waiting]
        counts = Counter(other._place for other in waiting)
        if waiting:
            max(waiting, key=lambda other: (counts[other._place], -other._heard))._end()

    @property
    def _place(self) -> str:
        return neighbourhood(self.client[0]) if self.client else ""

    def _is_from(self, here: str) -> bool:
        return self._place == here and not self.transport.is_closing()

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
        before, self._unread = self._unread, self.transport.get_write_buffer_size()
        is_read = self._unread < before  # slowly, but it is
        if is_read or (self._is_working and not self.flow.write_paused):  # the next request was begun before its turn
            self._wait()
        else:
            self._end()

    def _end(self) -> None:
        """Ends the connection at once: `close` would wait until what nobody reads is read."""
        self._is_ended = True
        self.transport.abort()


def _as_connection(connection: object) -> Connection:
    """One of `connections`, which uvicorn fills with those of its own protocols too; this server has only ours."""
    return cast(Connection, connection)
