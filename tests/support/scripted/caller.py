"""Plain clients of the scripted server, for tests of that server itself."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import time
import urllib.parse
from typing import Any

from scripted.client import ScriptedServer, Stage

ASK = b"POST %b/v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"


class Caller:
    """A connection that keeps when which bytes arrived."""

    def __init__(self, server: ScriptedServer) -> None:
        self.line = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        self.got: list[tuple[int, bytes]] = []

    def ask(self, stage: Stage) -> int:
        """Sends a request; the instant before that."""
        now = time.perf_counter_ns()
        self.line.sendall(ASK % f"/@{stage.name}".encode())
        return now

    def read(self, until: bytes) -> bytes:
        """All that came, as soon as it ends like this."""
        while not self.data.endswith(until):
            data = self.line.recv(2**20)
            assert data, self.data
            self.got.append((time.perf_counter_ns(), data))
        return self.data

    def read_all(self) -> bytes:
        """All that came until the server closed."""
        while data := self.line.recv(2**20):
            self.got.append((time.perf_counter_ns(), data))
        return self.data

    def arrival(self, end: int) -> int:
        """When the first `end` bytes were there."""
        sizes = itertools.accumulate(len(data) for _, data in self.got)
        return next(instant for (instant, _), size in zip(self.got, sizes, strict=True) if size >= end)

    @property
    def data(self) -> bytes:
        """All that came."""
        return b"".join(data for _, data in self.got)


def fetch(base: str, path: str, document: Any = None, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """One request, a GET where there is no document."""
    parts = urllib.parse.urlsplit(base)
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    body = document if isinstance(document, bytes) else json.dumps(document)
    if document is None:
        line.request("GET", parts.path + path, headers=headers)
    else:
        line.request("POST", parts.path + path, body, headers)
    answer = line.getresponse()
    data = answer.read()
    line.close()
    return answer, data


def documents_of(body: bytes) -> list[Any]:
    """What the events of a stream carry."""
    found = [line.removeprefix("data: ") for line in body.decode().split("\n\n") if line]
    return [one if one == "[DONE]" else json.loads(one) for one in found]
