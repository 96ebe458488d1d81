"""Requests out of the bytes of a connection, each with the instants of its first and last byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_HEAD = 2**20  # bytes
MOST_BODY = 2**28


class UnreadableError(Exception):
    """What arrived is no request."""


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request."""

    method: str
    path: str
    headers: dict[str, str]  # names in small letters
    body: bytes
    raw: bytes  # all of it, as it came
    first_ns: int  # when the first of its bytes were read
    complete_ns: int


class Reader:
    """Takes bytes as they arrive, gives requests as soon as they are whole."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._needed = 0  # bytes that the buffer must hold before it is worth another look
        self._first_ns = 0

    def feed(self, data: bytes, now: int) -> Iterator[Request]:
        """Every request that is complete with these bytes."""
        if not self._buffer:
            self._first_ns = now
        self._buffer += data
        while self._buffer and len(self._buffer) >= self._needed:
            request = self._take(now)
            if request is None:
                return
            yield request
            self._needed, self._first_ns = 0, now

    def _take(self, now: int) -> Request | None:
        end = self._buffer.find(b"\r\n\r\n") + 4
        if end < 4:
            if len(self._buffer) > MOST_HEAD:
                raise UnreadableError("the head does not end")
            return None
        method, path, headers = _head(bytes(self._buffer[: end - 4]))
        if "chunked" in headers.get("transfer-encoding", ""):
            found = _chunked(self._buffer, end)
            if found is None:
                return None
            body, size = found
        else:
            size = end + _length(headers)
            if len(self._buffer) < size:
                self._needed = size
                return None
            body = bytes(self._buffer[end:size])
        raw = bytes(self._buffer[:size])
        del self._buffer[:size]
        return Request(method, path, headers, body, raw, self._first_ns, now)


def _head(data: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = data.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise UnreadableError(f"no request line: {first[:80]!r}")
    pairs = (line.partition(":") for line in lines)
    return words[0], words[1], {name.strip().lower(): value.strip() for name, _, value in pairs}


def _length(headers: dict[str, str]) -> int:
    text = headers.get("content-length", "0")
    if not re.fullmatch("[0-9]{1,12}", text) or int(text) > MOST_BODY:
        raise UnreadableError(f"content-length: {text[:80]}")
    return int(text)


def _chunked(buffer: bytearray, begin: int) -> tuple[bytes, int] | None:
    """The body, and where the request ends; None where it is not there yet."""
    body = bytearray()
    while (end := buffer.find(b"\r\n", begin)) >= 0:
        text = bytes(buffer[begin:end]).split(b";")[0].strip()
        if not re.fullmatch(b"[0-9a-fA-F]{1,8}", text):
            raise UnreadableError(f"no size of a chunk: {text[:80]!r}")
        size, begin = int(text, 16), end + 2
        if not size:
            return (bytes(body), begin + 2) if buffer[begin : begin + 2] == b"\r\n" else None
        if len(buffer) < begin + size + 2:
            return None
        body += buffer[begin : begin + size]
        begin += size + 2
    return None
