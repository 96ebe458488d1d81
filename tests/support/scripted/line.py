"""One connection of the scripted server: reads requests, plays the scripts that answer them."""

from __future__ import annotations

import asyncio
import http
import socket
import struct
from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, cast

from scripted import routes
from scripted.reading import Reader, Request, UnreadableError
from scripted.script import FOREVER, Piece, Script
from scripted.seen import MOST_WRITES, Connection, Exchange

if TYPE_CHECKING:
    from scripted.house import House, Stage

UNREADABLE = Script(pieces=(Piece(b"no request of HTTP/1"),), status=400, framing="length", after="close")


class GoneError(Exception):
    """The client has left."""


class Line(asyncio.Protocol):
    """Answers the requests of one connection, one after the other."""

    def __init__(self, house: House, seen: Connection) -> None:
        self.seen = seen
        self._house = house
        self._reader = Reader()
        self._waiting: deque[tuple[Request, Exchange, Stage, Script]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._drops = ""
        self._flushed = asyncio.Event()
        self._flushed.set()

    # ---- what the event loop calls ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._house.lines.add(self)
        # A write counts when the kernel has taken it. With TLS, asyncio takes an empty buffer for a full one at 0.
        self._transport.set_write_buffer_limits(high=1 if self.seen.tls else 0, low=0)
        if self._house.door == "slam":
            self.end("leave")
        elif self._house.door == "reset":
            self.end("reset")

    def data_received(self, data: bytes) -> None:
        now = perf_counter_ns()
        if self._leaving:
            self._leaving.cancel()
            self._leaving = None
        try:
            for request in self._reader.feed(data, now):
                self.seen.requests += 1
                self._waiting.append((request, *self._house.book(self.seen, request)))
        except UnreadableError:
            self._waiting.append(self._house.book_unreadable(self.seen, data, now, UNREADABLE))
        if self._waiting and self._task is None:
            self._task = self._house.loop.create_task(self._answer_all())

    def pause_writing(self) -> None:
        self._flushed.clear()

    def resume_writing(self) -> None:
        self._flushed.set()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.seen.closed_ns:
            self.seen.closed_ns, self.seen.closed_by = perf_counter_ns(), "client"
        if self._leaving:
            self._leaving.cancel()
        if self._task:
            self._task.cancel()
        for _, exchange, _, _ in self._waiting:
            self._house.close(exchange, "gone")
        self._waiting.clear()
        self._house.lines.discard(self)

    # ---- answers ----

    async def _answer_all(self) -> None:
        try:
            while self._waiting:
                request, exchange, stage, script = self._waiting.popleft()
                await self._answer(request, exchange, stage, script)
        finally:
            self._task = None

    async def _answer(self, request: Request, exchange: Exchange, stage: Stage, script: Script) -> None:
        if self._drops:
            self._house.close(exchange, "dropped")
            self.end("reset" if self._drops == "reset" else "leave")
            return
        try:
            async with self._house.turn(stage, request.method):
                exchange.started_ns = perf_counter_ns()
                played = routes.answer(request, script, self._house) if script.pieces is None else script
                await self._play(played, exchange)
        except (GoneError, asyncio.CancelledError):
            self._house.close(exchange, "gone")
        except Exception as error:  # a server that breaks must not look like one that is silent
            self._house.errors.append(f"{request.method} {request.path}: {error!r}")
            self._house.close(exchange, "failed")
            self.end("reset")
        else:
            self._house.close(exchange, "whole")
            if stage.closes_after and self.seen.requests >= stage.closes_after:
                self.end("leave")
            else:
                self._finish(played, request)

    async def _play(self, script: Script, exchange: Exchange) -> None:
        await _pause(script.wait)
        for status in script.interim:
            await self._write(exchange, f"HTTP/{script.version} {status} {_phrase(status)}\r\n\r\n".encode())
        pieces = script.pieces or ()
        held = b"" if script.framing == "raw" else _head(script)
        if held and not (script.joins_head and pieces):
            await self._write(exchange, held)
            held = b""
        mark = b"0\r\n\r\n" if script.framing == "chunked" and script.whole else b""
        for index, piece in enumerate(pieces):
            data = b"%x\r\n%b\r\n" % (len(piece.data), piece.data) if script.framing == "chunked" else piece.data
            if script.joins_tail and index == len(pieces) - 1:
                data, mark = data + mark, b""
            for _ in range(piece.times):
                await _pause(piece.gap)
                await self._write(exchange, held + data)
                held = b""
        await _pause(script.tail)
        if mark:
            await self._write(exchange, mark)

    async def _write(self, exchange: Exchange, data: bytes) -> None:
        if self._transport.is_closing():
            raise GoneError
        now = perf_counter_ns()
        self._transport.write(data)
        exchange.written += len(data)
        if len(exchange.writes) < MOST_WRITES:
            exchange.writes.append((now, len(data)))
        await self._flushed.wait()

    # ---- how it goes on ----

    def _finish(self, script: Script, request: Request) -> None:
        self._drops = script.drops_next
        if script.after == "keep":
            if request.headers.get("connection", "").lower() == "close" and script.whole:
                self.end("leave")  # as the client wants it
            return
        if script.linger:
            self._leaving = self._house.loop.call_later(script.linger / 1000, self.end, script.after)
        else:
            self.end(script.after)

    def end(self, how: str) -> None:
        """Closes the connection; with `reset` the client hears of an error, not of an end."""
        if not self.seen.closed_ns:
            self.seen.closed_ns, self.seen.closed_by = perf_counter_ns(), "server"
        if how == "reset":
            line = self._transport.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        else:
            self._transport.close()


async def _pause(milliseconds: float) -> None:
    if milliseconds == FOREVER:
        await asyncio.get_running_loop().create_future()
    elif milliseconds:
        await asyncio.sleep(milliseconds / 1000)


def _head(script: Script) -> bytes:
    named = {name.lower() for name in script.headers}
    lines = [f"HTTP/{script.version} {script.status} {_phrase(script.status)}"]
    lines += [f"{name}: {value}" for name, value in script.headers.items()]
    if script.framing == "chunked" and "transfer-encoding" not in named:
        lines.append("Transfer-Encoding: chunked")
    if script.framing == "length" and "content-length" not in named:
        real = sum(len(piece.data) * piece.times for piece in script.pieces or ())
        lines.append(f"Content-Length: {real if script.length is None else script.length}")
    if script.after == "close" and "connection" not in named:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
