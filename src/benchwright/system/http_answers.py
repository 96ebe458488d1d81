"""Answers of servers over HTTP, within bounds on bytes and on time, whatever the server does.

A limit on silence alone is none: a server that says one byte before each silence ends is never late. So time is bounded
by how much has come: a start, then a pace that must be kept on average, and an end for all of it. Nor is a limit on the
body: a head, hundreds of answers "continue" before it, or what ends the body's chunks can go on without end. So what is
said around the body is bounded by the body.
"""

from __future__ import annotations

import functools
import http.client
import io
import math
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchwright.system import streams
from benchwright.system.streams import TooLargeError

KIB = 1 << 10
MOST_AROUND = 2048 * KIB  # bytes of an answer besides its body,
AROUND_EACH = 10  # and for each byte of the body: chunks of one byte each have six around them

__all__ = [
    "DOWNLOAD",
    "QUICK",
    "AnswerClock",
    "AnswerLimits",
    "SlowError",
    "TooLargeError",
    "handlers",
    "pieces",
    "read_body",
]


class SlowError(TimeoutError):
    """An answer that comes too slowly; the message names the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLimits:
    """The bounds on how long an answer may take. Times are seconds."""

    silence: float = 60.0  # between two pieces of it
    start: float = 60.0  # before its pace counts
    pace: float = 64.0 * KIB  # bytes a second, on average, from then on
    longest: float = 3600.0  # for all of it


class AnswerClock:
    """Watches one answer from its beginning."""

    def __init__(self, patience: AnswerLimits) -> None:
        self._patience = patience
        self._begun, self._bytes, self._body = time.monotonic(), 0, 0

    def seconds_left(self) -> float:
        """How long the next piece may take; a `SlowError` when the time is over, or when too little of it is a body."""
        if self._bytes - self._body > MOST_AROUND + AROUND_EACH * self._body:
            raise SlowError(f"the answer comes too slowly: {self._body:,} bytes of it in {self._bytes:,} that came")
        patience, passed = self._patience, time.monotonic() - self._begun
        allowed = patience.start + self._bytes / patience.pace
        if passed > min(allowed, patience.longest):
            raise SlowError(f"the answer comes too slowly: {self._bytes:,} bytes in {passed:.0f} s")
        return max(0.001, min(patience.silence, allowed - passed, patience.longest - passed))

    def saw(self, count: int) -> None:
        """Notes that so many bytes have come."""
        self._bytes += count

    def gave(self, count: int) -> None:
        """Notes that so many bytes of the body were handed on."""
        self._body += count


def handlers(patience: AnswerLimits) -> tuple[urllib.request.HTTPHandler, urllib.request.HTTPSHandler]:
    """For an opener of `urllib`: what is read through them, heads of answers included, is bounded in time."""
    return _Http(patience), _Https(patience)


def read_body(response: Any, *, most: int) -> bytes:
    """The body of an `http.client` answer; a `TooLargeError` when it is more than `most` bytes."""
    return streams.join_pieces(pieces(response), most=most)


def pieces(response: Any) -> Iterator[bytes]:
    """The body as it comes, without waiting for more of it."""
    while piece := response.read1(streams.PIECE):
        yield piece


class _Http(urllib.request.HTTPHandler):
    def __init__(self, patience: AnswerLimits) -> None:
        super().__init__()
        self._patience = patience

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        made = functools.partial(_connection, http.client.HTTPConnection, self._patience)
        return self.do_open(made, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, patience: AnswerLimits) -> None:
        super().__init__()
        self._patience = patience

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        made = functools.partial(_connection, http.client.HTTPSConnection, self._patience)
        return self.do_open(made, req)


def _connection(kind: Any, patience: AnswerLimits, host: str, **options: Any) -> Any:
    connection = kind(host, **options)
    connection.response_class = functools.partial(_Response, patience=patience)
    return connection


class _Response(http.client.HTTPResponse):
    """An answer whose every read, of its head too, has a limit that falls as time passes."""

    def __init__(self, sock: Any, *arguments: Any, patience: AnswerLimits, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        raw = self.fp.detach()
        self._clock = AnswerClock(patience)
        self.fp = io.BufferedReader(_TimedStream(raw, sock, self._clock))

    def read(self, amt: int | None = None) -> bytes:
        return self._note_given(super().read(amt))

    def read1(self, n: int = -1) -> bytes:
        return self._note_given(super().read1(n))

    def _note_given(self, body: bytes) -> bytes:
        self._clock.gave(len(body))
        return body


class _TimedStream(io.RawIOBase):
    def __init__(self, raw: Any, sock: Any, clock: AnswerClock) -> None:
        self._raw, self._sock, self._clock = raw, sock, clock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._clock.seconds_left())
        try:
            count: int | None = self._raw.readinto(buffer)
        except TimeoutError:
            self._clock.seconds_left()  # says so when it is not the silence, but all of it that took too long
            raise
        self._clock.saw(count or 0)
        return count

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
            super().close()


QUICK = AnswerLimits(silence=20.0, start=60.0, pace=64.0 * KIB, longest=120.0)  # for a short answer to a message
DOWNLOAD = AnswerLimits(silence=60.0, start=60.0, pace=1.0 * KIB, longest=math.inf)
