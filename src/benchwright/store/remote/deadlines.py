"""Bounds on the time that an answer of a server takes, its head included.

The library limits each silence alone. So its connections are watched: every read is given what is left of the time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore2
import httpx2

from benchwright.system.http_answers import AnswerClock, AnswerLimits, SlowError

_of_thread = threading.local()  # the clock of the request that this thread waits for


@contextlib.contextmanager
def allowing(patience: AnswerLimits) -> Iterator[None]:
    """Bounds the time of whatever is read by this thread inside. It begins anew with each piece that is sent."""
    _of_thread.patience, _of_thread.clock = patience, AnswerClock(patience)
    try:
        yield
    finally:
        _of_thread.patience = _of_thread.clock = None


def handed_on(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Hands on the pieces of a body, and counts their bytes, by which the rest of the answer is bounded."""
    for part in parts:
        if clock := getattr(_of_thread, "clock", None):
            clock.gave(len(part))
        yield part


def watch(client: httpx2.Client) -> None:
    """Lets every connection of a client keep to `allowing`, through proxies too.

    Where the library is built otherwise one day, its own limit on silence stays; a test says so.
    """
    for transport in (client._transport, *client._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if backend is not None:
            pool._network_backend = _Backend(backend)


class _Backend(httpcore2.NetworkBackend):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def connect_tcp(self, *arguments: Any, **options: Any) -> httpcore2.NetworkStream:
        return _Stream(self._inner.connect_tcp(*arguments, **options))

    def connect_unix_socket(self, *arguments: Any, **options: Any) -> httpcore2.NetworkStream:
        return _Stream(self._inner.connect_unix_socket(*arguments, **options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        clock: AnswerClock | None = getattr(_of_thread, "clock", None)
        if clock is None:
            return bytes(self._inner.read(max_bytes, timeout=timeout))
        left = _seconds_left(clock)
        try:
            data = bytes(self._inner.read(max_bytes, timeout=left if timeout is None else min(timeout, left)))
        except httpcore2.ReadTimeout:
            _seconds_left(clock)  # says so when it is not the silence, but all of it that took too long
            raise
        clock.saw(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout=timeout)
        if patience := getattr(_of_thread, "patience", None):
            _of_thread.clock = AnswerClock(patience)

    def close(self) -> None:
        self._inner.close()

    def start_tls(self, *arguments: Any, **options: Any) -> httpcore2.NetworkStream:
        return _Stream(self._inner.start_tls(*arguments, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _seconds_left(clock: AnswerClock) -> float:
    try:
        return clock.seconds_left()
    except SlowError as error:
        raise httpcore2.ReadTimeout(str(error)) from None
