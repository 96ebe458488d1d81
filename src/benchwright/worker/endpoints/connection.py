"""One connection of HTTP/1.1: it writes bytes that are ready, stamps what arrives once, and keeps it as it came."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol, cast

import httptools

from benchwright.worker.endpoints.traffic import Outcome, Pieces

IDLE = -1  # the entry of a connection that waits for a request
MOST_BODY = 64 * 2**20  # bytes of one answer
MOST_HEAD = 256 * 2**10  # bytes of the headers of an answer
_INTERIM = 200  # statuses below are followed by another answer


class Owner(Protocol):
    """Who is told how the request on a connection ended."""

    def finish(self, connection: HttpConnection) -> None:
        """Takes a whole answer."""
        ...

    def lose(self, connection: HttpConnection, outcome: Outcome, reason: str) -> None:
        """Takes an answer that will not be whole, or an idle connection that has ended."""
        ...


class HttpConnection(asyncio.Protocol):
    """A connection and the request that it carries. Nothing is parsed but what tells where an answer ends."""

    __slots__ = (
        "_keep",
        "_owner",
        "_parser",
        "entry",
        "first",
        "head",
        "now",
        "pieces",
        "rested",
        "sent",
        "size",
        "transport",
        "used",
    )

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self.entry = IDLE
        self.used = 0  # requests that it has carried
        self.rested = False  # it lay idle before the present request: the server may have closed it meanwhile
        self.sent = self.first = self.now = self.size = 0
        self.head = b""
        self.pieces: Pieces = []
        self._keep = True
        self.transport: asyncio.Transport

    def send(self, entry: int, payload: bytes) -> None:
        """Sends the request of an entry; the instant is that before the first byte is handed over."""
        self.entry = entry
        self.used += 1
        self.first = self.size = 0
        self.head = b""
        self.pieces = []
        self._parser = httptools.HttpResponseParser(self)
        self.sent = time.perf_counter_ns()
        self.transport.write(payload)

    @property
    def status(self) -> int:
        """The status of the answer so far; 0 before its first line."""
        return int(self._parser.get_status_code()) if self.first else 0

    @property
    def reusable(self) -> bool:
        """Whether the server will take another request on it."""
        return self._keep and not self.transport.is_closing()

    @property
    def has_length(self) -> bool:
        """Whether the answer's headers say where its body ends; without that the end of the connection is its end."""
        head = self.head.partition(b"\r\n\r\n")[0].lower()
        return b"\ncontent-length:" in head or b"\ntransfer-encoding:" in head

    # ---- asyncio's side ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class

    def data_received(self, data: bytes) -> None:
        self.now = now = time.perf_counter_ns()
        if self.entry == IDLE:
            self.transport.abort()  # nobody asked
            return
        if not self.size:  # the headers, and perhaps the beginning of the body
            self.first = self.first or now
            self.head += data
            if len(self.head) > MOST_HEAD and not self.pieces:
                self._fail(Outcome.OVERSIZED, f"headers of more than {MOST_HEAD} bytes")
                return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if self.entry != IDLE:
                self._fail(Outcome.MALFORMED, f"not HTTP: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        if self.entry != IDLE and exc is None and b"\r\n\r\n" in self.head and not self.has_length:
            self._keep = False
            self.now = time.perf_counter_ns()
            self._owner.finish(self)
            return
        why = "" if exc is None else f": {exc}"
        self._owner.lose(self, Outcome.CUT, f"the connection ended before the answer did{why}")

    # ---- the parser's side ----

    def on_body(self, body: bytes) -> None:
        self.pieces.append((self.now, body))
        self.size += len(body)
        if self.size > MOST_BODY:
            self._fail(Outcome.OVERSIZED, f"an answer of more than {MOST_BODY >> 20} MiB")

    def on_message_complete(self) -> None:
        if self.entry == IDLE:
            return
        if self._parser.get_status_code() < _INTERIM:
            self.head = b""
            return
        self._keep = self._parser.should_keep_alive()
        self._owner.finish(self)

    def _fail(self, outcome: Outcome, reason: str) -> None:
        self._owner.lose(self, outcome, reason)
        self.transport.abort()
