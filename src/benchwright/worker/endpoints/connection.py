"""One connection of HTTP/1.1: it writes bytes that are ready, stamps what arrives once, and keeps it as it came."""

from __future__ import annotations

import asyncio
import os
import re
from time import perf_counter_ns
from typing import Protocol, cast

import httptools

from benchwright.worker.endpoints.traffic import Outcome, Pieces

IDLE = -1  # the entry of a connection that waits for a request
MOST_BODY = 64 * 2**20  # bytes of one answer
MOST_HEAD = 256 * 2**10  # bytes of the headers of an answer
_INTERIM = 200  # statuses below are followed by another answer
_NO_FILE = -1
_STATUS = re.compile(rb"HTTP/1\.\d (\d{3})")
_INTERIM_HEAD = re.compile(rb"(?:HTTP/1\.\d 1\d\d.*?\r\n\r\n)+", re.DOTALL)


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
        "_arrived",
        "_feed",
        "_file",
        "_is_whole",
        "_owner",
        "_parser",
        "entry",
        "first",
        "keep",
        "now",
        "pieces",
        "rested",
        "sent",
        "size",
        "status",
        "transport",
        "used",
    )

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._parser = httptools.HttpResponseParser(self)  # of all answers: to make one takes as long as to read one
        self._feed = self._parser.feed_data
        self._file = _NO_FILE  # its socket, where requests are written to it without a detour
        self._is_whole = False
        self._arrived = b""  # the headers, and what came with them
        self.entry = IDLE
        self.used = 0  # requests that it has carried
        self.keep = True  # whether the server will take another request on it
        self.rested = False  # it lay idle before the present request: the server may have closed it meanwhile
        self.sent = self.first = self.now = self.size = self.status = 0
        self.pieces: Pieces = []
        self.transport: asyncio.Transport

    def send(self, entry: int, payload: bytes) -> None:
        """Sends the request of an entry; the instant is that before the first byte is handed over."""
        self.entry = entry
        self.used += 1
        self.first = self.size = self.status = 0
        self.pieces = []
        self._is_whole = False
        self.sent = perf_counter_ns()
        if self._file == _NO_FILE:
            self.transport.write(payload)
        else:
            self._write_now(payload)

    @property
    def head(self) -> bytes:
        """The answer's status line and headers, without those of answers before the one that counts."""
        return self._final().partition(b"\r\n\r\n")[0]

    @property
    def status_so_far(self) -> int:
        """The status of an answer that is not whole; 0 before its first line."""
        found = _STATUS.match(self.head)
        return int(found[1]) if found else 0

    # ---- asyncio's side ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        if transport.get_extra_info("ssl_object") is None:
            self._file = transport.get_extra_info("socket").fileno()

    def data_received(self, data: bytes) -> None:
        self.now = now = perf_counter_ns()
        if self.entry == IDLE:
            self.transport.abort()  # nobody asked
            return
        if not self.first:
            self.first, self._arrived = now, data
        elif not self.pieces:  # the headers go on
            self._arrived += data
        self.size += len(data)
        try:
            self._feed(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._is_whole:
                self._fail(Outcome.MALFORMED, f"not HTTP: {error}")
                return
            self.keep = False
        if self._is_whole:
            self._owner.finish(self)
        elif self.size > MOST_HEAD:
            self._bound()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.entry != IDLE and exc is None and self._ends_with_connection():
            self.keep = False
            self.now, self.status = perf_counter_ns(), self.status_so_far
            self._owner.finish(self)
            return
        why = "" if exc is None else f": {exc}"
        self._owner.lose(self, Outcome.CUT, f"the connection ended before the answer did{why}")

    # ---- the parser's side ----

    def on_message_begin(self) -> None:
        if self._is_whole:
            raise ValueError("more than one answer")

    def on_body(self, body: bytes) -> None:
        self.pieces.append((self.now, body))

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= _INTERIM:
            self.status, self.keep, self._is_whole = status, self._parser.should_keep_alive(), True

    def _write_now(self, payload: bytes) -> None:
        """Writes past the transport, which may collect writes until the loop has nothing else to do."""
        try:
            written = os.write(self._file, payload)
        except OSError:  # the transport meets the same, and tells
            written = 0
        if written < len(payload):
            self._file = _NO_FILE  # nothing may overtake what the transport holds from here on
            self.transport.write(payload[written:])

    # ---- what is rare ----

    def _ends_with_connection(self) -> bool:
        """Whether the headers are there and do not say where the body ends: then its end is that of the connection."""
        head, end, _ = self._final().lower().partition(b"\r\n\r\n")
        return bool(end) and b"\ncontent-length:" not in head and b"\ntransfer-encoding:" not in head

    def _final(self) -> bytes:
        """What came first, from the status that counts on."""
        return _INTERIM_HEAD.sub(b"", self._arrived, count=1) if self.first else b""

    def _bound(self) -> None:
        if not self.pieces:
            self._fail(Outcome.OVERSIZED, f"headers of more than {MOST_HEAD} bytes")
        elif self.size > MOST_BODY:
            self._fail(Outcome.OVERSIZED, f"an answer of more than {MOST_BODY >> 20} MiB")

    def _fail(self, outcome: Outcome, reason: str) -> None:
        self._owner.lose(self, outcome, reason)
        self.transport.abort()
