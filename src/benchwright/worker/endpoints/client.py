"""The client: an event loop, its connections, and which request goes on which of them."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from benchwright.errors import LoadError, MeasureError
from benchwright.worker.endpoints.connection import IDLE, HttpConnection
from benchwright.worker.endpoints.traffic import MOST_KEPT, MOST_REQUESTS, ClientHealth, Outcome, RequestLog
from benchwright.worker.endpoints.wire import Address, request_bytes

MOST_CONNECTIONS = 4096
SPARE_FILES = 64  # file descriptors left for whatever else the process opens
CONNECT_TIMEOUT = 10.0  # seconds
LOOK = 0.02  # seconds between two looks at requests that take too long
FEW = 3  # kept connections found dead before none is kept any more, when they are most of them


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How the client reaches the server."""

    address: Address
    insecure: bool = False
    timeout: float = 60.0  # seconds for one request
    connections: int = MOST_CONNECTIONS
    method: str = "POST"  # of HTTP


class HttpClient:
    """Sends prepared requests and keeps what comes back in `traffic`. `on_end` hears of each entry that has ended."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self.loop = make_loop()
        self.limit = min(settings.connections, _most_files() - SPARE_FILES)
        self.traffic, self.health = RequestLog(), ClientHealth()
        self.on_end: Callable[[int], None] = _ignore
        self.payloads: list[bytes] = []
        self._idle: list[HttpConnection] = []
        self._open: set[HttpConnection] = set()
        self._waiting: deque[int] = deque()  # entries that no connection could take yet
        self._again: set[int] = set()  # entries that were sent a second time
        self._tasks: set[asyncio.Task[None]] = set()
        self._connecting = 0
        self._keeps = True  # the server leaves connections open after an answer; some close them without a word
        self._kept_alive = self._died = (
            0  # requests on connections that had carried others, and those that found them dead
        )
        self._kept = 0
        self._ssl = _ssl_context(settings) if settings.address.tls else None
        self._place = self._resolve()

    def frame(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        """A whole request of HTTP/1.1."""
        return request_bytes(self.settings.address, body, headers, method=self.settings.method)

    def reset(self, payloads: list[bytes]) -> None:
        """Forgets what was; connections stay open."""
        self.traffic, self.payloads = RequestLog(), payloads
        self.health = ClientHealth(opened=len(self._open))
        self._again, self._kept, self.on_end = set(), 0, _ignore

    def begin(self, scheduled: int, number: int) -> int:
        """Sends the prepared request `number`, which was due at `scheduled`; returns its entry."""
        entry = self.traffic.add(scheduled, number)
        self._dispatch(entry)
        return entry

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs the event loop until the work is done."""
        return self.loop.run_until_complete(work)

    def call(self, payload: bytes) -> int:
        """Sends one request and waits for its answer; returns its entry in `traffic`, of which it is the only one."""
        self.reset([payload])
        done: asyncio.Future[None] = self.loop.create_future()
        self.on_end = lambda entry: None if done.done() else done.set_result(None)
        self.begin(time.perf_counter_ns(), 0)
        watch = self.loop.create_task(self.watch())
        try:
            self.loop.run_until_complete(done)
        finally:
            watch.cancel()
        return 0

    async def open_connections(self, count: int) -> None:
        """Opens connections before they are needed, until there are so many; a `LoadError` when none can be opened."""
        while (missing := min(count, self.limit) - len(self._open)) > 0:
            opened = await asyncio.gather(*(self._connect() for _ in range(min(missing, 64))), return_exceptions=True)
            for failure in opened:
                if isinstance(failure, BaseException):
                    raise _unreachable(self.settings.address, failure)

    async def watch(self) -> None:
        """Ends requests that take too long, and notes how late the loop comes to its work, until it is cancelled."""
        limit = int(self.settings.timeout * 1e9)
        while True:
            due = time.perf_counter_ns() + int(LOOK * 1e9)
            await asyncio.sleep(LOOK)
            now = time.perf_counter_ns()
            self.health.lags.append(max(0, now - due))
            for connection in [c for c in self._open if c.entry != IDLE and now - c.sent > limit]:
                self.lose(connection, Outcome.TIMEOUT, f"no whole answer in {self.settings.timeout:g} s")
                connection.transport.abort()

    def close(self) -> None:
        """Closes every connection and the loop."""
        for connection in list(self._open):
            connection.entry = IDLE
            connection.transport.abort()
        for task in self._tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    # ---- told by connections ----

    def finish(self, connection: HttpConnection) -> None:
        """Takes a whole answer."""
        entry, traffic, status = connection.entry, self.traffic, connection.status
        traffic.sent[entry] = traffic.sent[entry] or connection.sent
        traffic.first[entry] = connection.first
        traffic.end[entry] = connection.now
        traffic.status[entry] = status
        traffic.pieces[entry] = connection.pieces
        if status != 200 or connection.used == 1:  # a server that packs its answers packs them all
            traffic.heads[entry] = connection.head
        connection.entry = IDLE
        self._kept += connection.size
        if self._kept > MOST_KEPT or entry >= MOST_REQUESTS:
            self.health.bound_memory(self._kept, entry + 1)
        if self._keeps and connection.keep:
            self._take_back(connection)
        else:
            self._drop(connection)
        self.on_end(entry)

    def lose(self, connection: HttpConnection, outcome: Outcome, reason: str) -> None:
        """Takes what there is of an answer that will not be whole; a connection that died idle costs nothing."""
        entry = connection.entry
        self._drop(connection)
        if entry == IDLE:
            return
        connection.entry = IDLE
        traffic = self.traffic
        traffic.sent[entry] = traffic.sent[entry] or connection.sent
        died_idle = outcome is Outcome.CUT and not connection.first and connection.rested
        if died_idle and entry not in self._again:
            self._again.add(entry)
            self.health.reconnects += 1
            self._died += connection.used > 1
            self._keeps = self._keeps and (self._died < FEW or 2 * self._died < self._kept_alive)
            self._dispatch(entry)
            return
        traffic.first[entry], traffic.pieces[entry] = connection.first, connection.pieces
        traffic.status[entry] = connection.status_so_far
        self._kept += connection.size
        self.health.bound_memory(self._kept, entry + 1)
        self._fail(entry, outcome, reason)

    # ---- connections ----

    def _dispatch(self, entry: int) -> None:
        idle = self._idle
        while idle and entry not in self._again:  # others that rested may be as dead as the one that failed
            connection = idle.pop()
            if not connection.transport.is_closing():
                connection.rested = True
                self._send(connection, entry)
                if not self._keeps:
                    self._connect_soon()  # for the next one
                return
        self._waiting.append(entry)
        if not self._connect_soon():
            self.health.queued += 1

    def _connect_soon(self) -> bool:
        """Begins to open one more connection; false where no more are allowed."""
        if len(self._open) + self._connecting >= self.limit:
            return False
        self._connecting += 1
        task = self.loop.create_task(self._connect_for_waiting())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def _send(self, connection: HttpConnection, entry: int) -> None:
        if connection.used:
            self.health.reused += 1
            self._kept_alive += 1
        connection.send(entry, self.payloads[self.traffic.number[entry]])

    def _take_back(self, connection: HttpConnection) -> None:
        if self._waiting and self._suits(connection, self._waiting[0]):
            connection.rested = connection.used > 0
            self._send(connection, self._waiting.popleft())
        else:
            self._idle.append(connection)

    def _suits(self, connection: HttpConnection, entry: int) -> bool:
        """Whether a connection may carry an entry: one that is sent again gets a new one."""
        return not (connection.used and entry in self._again) and not connection.transport.is_closing()

    def _drop(self, connection: HttpConnection) -> None:
        self._open.discard(connection)
        if not connection.transport.is_closing():
            connection.transport.close()
        self._replace_lost()

    def _replace_lost(self) -> None:
        """Has nobody wait for a connection that is gone, or that could not be made."""
        if len(self._waiting) > self._connecting:
            self._connect_soon()

    async def _connect_for_waiting(self) -> None:
        try:
            await self._connect()
        except (OSError, TimeoutError, ssl.SSLError) as error:
            if self._waiting:
                self._fail(self._waiting.popleft(), Outcome.REFUSED, _reason(error, tls=self._ssl is not None))
        finally:
            self._connecting -= 1
        self._replace_lost()

    async def _connect(self) -> None:
        address, host = self.settings.address, self._place[0]
        name = address.host if self._ssl else None
        async with asyncio.timeout(CONNECT_TIMEOUT):
            _, connection = await self.loop.create_connection(
                lambda: HttpConnection(self), host, self._place[1], ssl=self._ssl, server_hostname=name
            )
        self._open.add(connection)
        self.health.opened += 1
        self._take_back(connection)

    def _fail(self, entry: int, outcome: Outcome, reason: str) -> None:
        self.traffic.end[entry] = time.perf_counter_ns()
        self.traffic.outcome[entry] = outcome
        self.traffic.reasons[entry] = reason
        self.on_end(entry)

    def _resolve(self) -> tuple[str, int]:
        """The address as numbers, asked once: no request waits for a name."""
        address = self.settings.address
        try:
            found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise LoadError(
                f"the name {address.host} is not known: {error.strerror}", remedy="check the address"
            ) from None
        return str(found[0][4][0]), address.port


def make_loop() -> asyncio.AbstractEventLoop:
    """An event loop: uvloop's where it is installed, which takes a fifth of the time."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _ssl_context(settings: ClientSettings) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if settings.insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _most_files() -> int:
    """How many files this process may open; as many as the system allows it to ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return MOST_CONNECTIONS + SPARE_FILES if soft == resource.RLIM_INFINITY else soft


def _unreachable(address: Address, error: BaseException) -> MeasureError:
    remedy = "is the server running, and is this its address?"
    if isinstance(error, ssl.SSLCertVerificationError):
        remedy = "trust its certificate (SSL_CERT_FILE=ca.pem), or accept any with --insecure"
    elif address.tls and not isinstance(error, ConnectionRefusedError):
        remedy = "does the server speak TLS there? A plain one is addressed by http://"
    return LoadError(f"no connection to {address.origin}: {_reason(error, tls=address.tls)}", remedy=remedy)


def _reason(error: BaseException, *, tls: bool) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return f"no answer{' of TLS' if tls else ''} in {CONNECT_TIMEOUT:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):  # whose numbers are none of the system's
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    if isinstance(error, OSError) and error.errno is not None:
        import os

        return os.strerror(error.errno)
    return str(error) or type(error).__name__


def _ignore(entry: int) -> None:
    pass
