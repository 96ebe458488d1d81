"""The scripted server itself: which scripts are on, who is connected, what was seen."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import json
import re
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from scripted import script as scripts
from scripted import seen
from scripted.line import Line
from scripted.reading import Request, UnreadableError
from scripted.script import Script

MOST_EXCHANGES = 200_000  # kept
MOST_KEPT = 2**28  # bytes of requests
BACKLOG = 4096
MANY = 10**9
LONG = 20.0  # seconds for requests to arrive
CALM = 0.002  # seconds between looks whether all is answered


@dataclass(slots=True, kw_only=True)
class Stage:
    """Scripts under one name: the k-th request gets the k-th of them, and the last one is repeated."""

    name: str = ""
    scripts: tuple[Script, ...] = (Script(),)
    cycles: bool = False  # after the last one the first again
    methods: tuple[str, ...] = ("POST",)  # what else is asked for gets the answer that its path has by itself
    closes_after: int = 0  # requests on one connection, which is then closed without a word
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MANY))  # answered at a time
    taken: int = 0

    def next_script(self, method: str) -> Script:
        """The script of the next request."""
        if method not in self.methods:
            return Script()
        index, self.taken = self.taken, self.taken + 1
        return self.scripts[index % len(self.scripts) if self.cycles else min(index, len(self.scripts) - 1)]


class House:
    """Answers on one address, and on another one with TLS when it is asked to."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.door = "open"
        self.running = 0  # requests of a model that are being answered
        self.waiting = 0  # and those that wait for a slot
        self.requests = 0  # so far
        self.tokens = 0
        self.lines: set[Line] = set()
        self.errors: list[str] = []
        self.port = 0
        self._servers: list[asyncio.Server] = []
        self._opened = 0
        self._clear()

    def _clear(self) -> None:
        self._stages: dict[str, Stage] = {"": Stage()}
        self._exchanges: deque[seen.Exchange] = deque(maxlen=MOST_EXCHANGES)
        self._connections: deque[seen.Connection] = deque(maxlen=MOST_EXCHANGES)
        self._kept = 0
        self._stalls: list[tuple[int, int]] = []

    # ---- what connections ask for ----

    def book(self, connection: seen.Connection, request: Request) -> tuple[seen.Exchange, Stage, Script]:
        """A place in the log, and what is to be played."""
        found = re.match("/@([^/]+)", request.path)
        name = found[1] if found else ""
        stage = self._stages.get(name) or Stage(name=name)
        self.requests += request.method == "POST"
        try:
            given = request.headers.get("x-script", "")
            script = scripts.decode(json.loads(given)) if given else stage.next_script(request.method)
        except (ValueError, TypeError) as error:
            raise UnreadableError(f"x-script: {error}") from error
        return self._note(connection, stage.name, request), stage, script

    def book_unreadable(
        self, connection: seen.Connection, data: bytes, now: int, script: Script
    ) -> tuple[Request, seen.Exchange, Stage, Script]:
        """The same for bytes that are no request."""
        request = Request("", "", {}, b"", data, now, now)
        return request, self._note(connection, "", request), Stage(), script

    def _note(self, connection: seen.Connection, stage: str, request: Request) -> seen.Exchange:
        kept = request.raw[: seen.MOST_BYTES] if self._kept < MOST_KEPT else b""
        self._kept += len(kept)
        exchange = seen.Exchange(
            stage=stage,
            connection=connection.number,
            method=request.method,
            path=request.path,
            request=kept,
            size=len(request.raw),
            first_ns=request.first_ns,
            complete_ns=request.complete_ns,
        )
        self._exchanges.append(exchange)
        return exchange

    def close(self, exchange: seen.Exchange, how: str) -> None:
        """Notes that an exchange has ended."""
        if not exchange.ended:
            exchange.end_ns, exchange.ended = perf_counter_ns(), how

    @contextlib.asynccontextmanager
    async def turn(self, stage: Stage, method: str) -> AsyncIterator[None]:
        """Waits for a slot of the stage, and holds it."""
        counts = method == "POST"
        self.waiting += counts
        try:
            await stage.slots.acquire()
        finally:
            self.waiting -= counts
        self.running += counts
        try:
            yield
        finally:
            self.running -= counts
            stage.slots.release()

    # ---- doors ----

    async def listen(self, port: int = 0, context: ssl.SSLContext | None = None) -> int:
        """Opens a port of the loopback."""
        server = await self.loop.create_server(
            lambda: self._accept(tls=context is not None),
            "127.0.0.1",
            port,
            ssl=context,
            backlog=BACKLOG,
            reuse_address=True,
        )
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def _accept(self, *, tls: bool) -> Line:
        self._opened += 1
        connection = seen.Connection(number=self._opened, opened_ns=perf_counter_ns(), tls=tls)
        self._connections.append(connection)
        return Line(self, connection)

    # ---- what the test asks for ----

    async def obey(self, order: dict[str, Any]) -> Any:
        """Does what a line of JSON on standard input says."""
        action: Callable[..., Any] = getattr(self, f"_do_{order.pop('do')}")
        answer = action(**order)
        return await answer if asyncio.iscoroutine(answer) else answer

    def _do_play(self, name: str, scripts_given: list[dict[str, Any]], slots: int, **others: Any) -> None:
        given = tuple(map(scripts.decode, scripts_given))
        others["methods"] = tuple(others["methods"])
        self._stages[name] = Stage(name=name, scripts=given, slots=asyncio.Semaphore(slots or MANY), **others)

    async def _do_log(self, name: str | None, count: int, settle: float) -> list[dict[str, Any]]:
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline and len(self._named(name)) < count:
            await asyncio.sleep(CALM)
        deadline = time.monotonic() + settle
        while time.monotonic() < deadline and any(not one.ended for one in self._named(name)):
            await asyncio.sleep(CALM)
        return [seen.encode(one) for one in self._named(name)]

    def _named(self, name: str | None) -> list[seen.Exchange]:
        return [one for one in self._exchanges if name is None or one.stage == name]

    def _do_connections(self) -> list[dict[str, Any]]:
        return [dataclasses.asdict(one) for one in self._connections]

    async def _do_reset(self) -> list[str]:
        for line in list(self.lines):
            line.end("leave")
        await self._do_door("open")
        errors, self.errors = self.errors, []
        self._clear()
        gc.collect()
        return errors

    def _do_stall(self, begin_ns: int, length_ns: int) -> None:
        self.loop.call_at(self.loop.time() + (begin_ns - perf_counter_ns()) / 1e9, self._stall, length_ns)

    def _stall(self, length_ns: int) -> None:
        begin = perf_counter_ns()
        time.sleep(length_ns / 1e9)  # the whole server stands still, as in a pause of a collector
        self._stalls.append((begin, perf_counter_ns()))

    def _do_stalls(self) -> list[tuple[int, int]]:
        return self._stalls

    async def _do_door(self, state: str) -> None:
        if state == "shut":  # connections that there are go on; new ones are refused by the kernel
            self._servers.pop(0).close()
        elif self.door == "shut":
            await self.listen(self.port)
            self._servers.insert(0, self._servers.pop())
        self.door = state

    async def _do_tls(self, certificate: str, key: str) -> int:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        return await self.listen(context=context)
