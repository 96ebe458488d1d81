"""A client of gRPC: bytes that are ready go out, bytes come back; what they mean is read when nothing is timed."""

from __future__ import annotations

import asyncio
import math
import re
import ssl
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from benchwright.errors import LoadError
from benchwright.system import streams
from benchwright.system.texts import shorten
from benchwright.worker.endpoints.client import CONNECT_TIMEOUT, LOOK, ClientSettings, make_loop
from benchwright.worker.endpoints.connection import MOST_BODY
from benchwright.worker.endpoints.dialect import LONGEST_REASON
from benchwright.worker.endpoints.traffic import ClientHealth, Outcome, RequestLog

STREAMS = 64  # requests at a time on one connection; servers allow about a hundred, and queue the others in silence
ANSWERED = 200  # the status of HTTP that comes with every answer of gRPC
_MOST_ROOTS = 16 * 2**20  # bytes of a file of certificates
_OPTIONS = (
    ("grpc.max_receive_message_length", MOST_BODY),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # a request that was sent twice in silence is not what was asked to be measured
    ("grpc.enable_http_proxy", 0),  # as over HTTP
    ("grpc.use_local_subchannel_pool", 1),  # else channels to one address share one connection
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 310_000),  # servers hang up on whoever asks more often than every five minutes
    ("grpc.keepalive_timeout_ms", 20_000),
)
_NO_CONNECTION = re.compile("failed to connect|connection refused", re.IGNORECASE)
_OF_HTTP = ("accept", "content-type", "user-agent")
_TOO_LARGE = re.compile(r"larger than max \((\d+) vs\. (\d+)\)")
_OUTCOMES = {
    grpc.StatusCode.DEADLINE_EXCEEDED: Outcome.TIMEOUT,
    grpc.StatusCode.UNAVAILABLE: Outcome.CUT,
    grpc.StatusCode.CANCELLED: Outcome.CUT,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Outcome.THROTTLED,
    grpc.StatusCode.DATA_LOSS: Outcome.MALFORMED,
}


class GrpcClient:
    """Sends prepared messages to one method of a server. It has the face of `caller.Caller`."""

    def __init__(self, settings: ClientSettings, *, method: str, headers: Mapping[str, str]) -> None:
        self.settings, self.method = settings, method
        self.loop = make_loop()
        self.traffic, self.health = RequestLog(), ClientHealth()
        self.on_end: Callable[[int], None] = _ignore
        self.payloads: list[bytes] = []
        self._metadata = tuple((name.lower(), value) for name, value in headers.items())
        self._channels: list[grpc.aio.Channel] = []
        self._calls: list[Callable[..., Any]] = []  # the method, on each of the channels
        self._used: list[int] = []  # requests that each channel has carried
        self._tasks: set[asyncio.Task[None]] = set()
        self._kept = 0

    def frame(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        """The message itself: the library frames it."""
        return body

    def reset(self, payloads: list[bytes]) -> None:
        """Forgets what was; connections stay open."""
        self.traffic, self.payloads = RequestLog(), payloads
        self.health = ClientHealth(opened=len(self._channels))
        self._kept, self.on_end = 0, _ignore

    def begin(self, scheduled: int, number: int) -> int:
        """Sends the prepared message `number`, which was due at `scheduled`; returns its entry."""
        entry = self.traffic.add(scheduled, number)
        place = entry % len(self._calls)
        if self._used[place]:
            self.health.reused += 1
        self._used[place] += 1
        self.traffic.sent[entry] = time.perf_counter_ns()
        call = self._calls[place](self.payloads[number], timeout=self.settings.timeout, metadata=self._metadata)
        task = self.loop.create_task(self._finish(entry, call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return entry

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs the event loop until the work is done."""
        return self.loop.run_until_complete(work)

    def call(self, payload: bytes) -> int:
        """Sends one message and waits for its answer; returns its entry in `traffic`, of which it is the only one."""
        return self.ask(self.method, payload)

    def ask(self, method: str, payload: bytes) -> int:
        """The same, to any method of the server."""
        self.reset([payload])
        calls, self._calls = self._calls, [self._channels[0].unary_unary(method)]
        try:
            self.run(self._call())
        finally:
            self._calls = calls
        return 0

    async def _call(self) -> None:
        self.begin(time.perf_counter_ns(), 0)
        await asyncio.gather(*self._tasks)

    async def open_connections(self, count: int) -> None:
        """Opens connections for so many requests at a time; a `LoadError` when one cannot be opened."""
        wanted = min(self.settings.connections, max(1, math.ceil(count / STREAMS)))
        while len(self._channels) < wanted:
            channel = self._make_channel()
            self._channels.append(channel)
            self._calls.append(channel.unary_unary(self.method))
            self._used.append(0)
            self.health.opened += 1
            await self._connect(channel)

    async def watch(self) -> None:
        """Notes how late the loop comes to its work, until it is cancelled. Deadlines are the library's."""
        while True:
            due = time.perf_counter_ns() + int(LOOK * 1e9)
            await asyncio.sleep(LOOK)
            self.health.lags.append(max(0, time.perf_counter_ns() - due))

    def close(self) -> None:
        """Closes every connection and the loop."""
        self.run(self._close())
        self.loop.close()

    async def _close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for channel in self._channels:
            await channel.close()

    async def _finish(self, entry: int, call: Any) -> None:
        traffic = self.traffic
        try:
            message = await call
        except grpc.aio.AioRpcError as error:
            traffic.end[entry] = time.perf_counter_ns()
            traffic.outcome[entry], traffic.reasons[entry] = classify(error.code(), error.details() or "")
        else:
            traffic.end[entry] = now = time.perf_counter_ns()
            traffic.status[entry] = ANSWERED
            traffic.pieces[entry] = [(now, message)]
            self._kept += len(message)
            self.health.bound_memory(self._kept, len(traffic))
        self.on_end(entry)

    # ---- connections ----

    def _make_channel(self) -> grpc.aio.Channel:
        address = self.settings.address
        host = f"[{address.host}]" if ":" in address.host else address.host
        if not address.tls:
            return grpc.aio.insecure_channel(f"{host}:{address.port}", options=_OPTIONS)
        credentials = grpc.ssl_channel_credentials(root_certificates=_read_roots())
        return grpc.aio.secure_channel(f"{host}:{address.port}", credentials, options=_OPTIONS)

    async def _connect(self, channel: grpc.aio.Channel) -> None:
        """Waits until the channel is connected, or has failed to connect once."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                while (state := channel.get_state(try_to_connect=True)) is not grpc.ChannelConnectivity.READY:
                    if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                        raise self._unreachable(await self._ask_why(channel))
                    await channel.wait_for_state_change(state)
        except TimeoutError:
            raise self._unreachable(f"no answer in {CONNECT_TIMEOUT:g} s") from None

    async def _ask_why(self, channel: grpc.aio.Channel) -> str:
        """The state of a channel has no words; a request on it has."""
        try:
            await channel.unary_unary(self.method)(b"", timeout=1.0)
        except grpc.aio.AioRpcError as error:
            return str(error.details() or error.code().name)
        return "it could not be connected at once"

    def _unreachable(self, why: str) -> LoadError:
        origin = self.settings.address.origin
        remedy = "is the server running, and is this its address?"
        if re.search("certificate|handshake|ssl", why, re.IGNORECASE):
            remedy = "trust its certificate: SSL_CERT_FILE=ca.pem; or is it a server without TLS: grpc://?"
        return LoadError(f"no connection to {origin}: {shorten(why, LONGEST_REASON)}", remedy=remedy)


def classify(code: grpc.StatusCode, details: str) -> tuple[Outcome, str]:
    """What became of a request that failed, and why. There are few codes for many reasons: the words tell more."""
    outcome = _OUTCOMES.get(code, Outcome.STATUS)
    if code is grpc.StatusCode.UNAVAILABLE and _NO_CONNECTION.search(details):
        outcome = Outcome.REFUSED
    elif code is grpc.StatusCode.INTERNAL and "RST_STREAM" in details:
        outcome = Outcome.CUT
    elif found := _TOO_LARGE.search(details):
        outcome = Outcome.OVERSIZED if int(found[2]) == MOST_BODY else Outcome.TOO_LONG
    reason = f"gRPC {code.name}: {' '.join(details.split())}".rstrip(": ")
    return outcome, shorten(reason, LONGEST_REASON)


def _read_roots() -> bytes | None:
    """The authorities that are trusted, where the system or SSL_CERT_FILE names a file; None: those of the library."""
    path = ssl.get_default_verify_paths().cafile
    return streams.read_file(Path(path), most=_MOST_ROOTS) if path else None


def metadata_of(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that go along as metadata: all but those that belong to HTTP."""
    return {name: value for name, value in headers.items() if name.lower() not in _OF_HTTP}


def _ignore(entry: int) -> None:
    pass
