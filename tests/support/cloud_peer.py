"""A cloud's HTTP interface on the loopback: keeps requests, plays faults, and can lose an answer after the deed."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class CloudRequest:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in small letters
    body: Any

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(slots=True)
class Fault:
    """What happens to the next requests that fit: an answer instead of the deed, or a line that is cut."""

    line: str  # a pattern of METHOD PATH
    answer: tuple[int, dict[str, str], Any] | None = None
    cut: str = ""  # "before" the deed or "after" it
    times: int = 1


@dataclass(slots=True)
class RefusalError(Exception):
    """An answer that is no success."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


class CloudPeer:
    """`answer` of a subclass makes (status, headers, body) of a request, or raises a `RefusalError`."""

    def __init__(self) -> None:
        self.requests: list[CloudRequest] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()
        self.url = ""

    def answer(self, request: CloudRequest) -> tuple[int, dict[str, str], Any]:
        raise NotImplementedError

    def count(self, line: str) -> int:
        """How many requests fitted a pattern of METHOD PATH."""
        return sum(bool(re.search(line, request.line)) for request in self.requests)

    def serve(self, request: CloudRequest) -> tuple[int, dict[str, str], Any] | None:
        """The answer; None where the line is cut."""
        with self.lock:
            self.requests.append(request)
            fault = next((one for one in self.faults if one.times > 0 and re.search(one.line, request.line)), None)
            if fault is not None:
                fault.times -= 1
                if fault.answer is not None:
                    return fault.answer
                if fault.cut == "before":
                    return None
            try:
                answered = self.answer(request)
            except RefusalError as refused:
                answered = refused.status, refused.headers, refused.body
            return None if fault is not None else answered


@contextmanager
def serving_cloud(peer: CloudPeer, context: ssl.SSLContext | None = None) -> Iterator[None]:
    """Answers at `peer.url` for as long as the block lasts; over TLS where there is a context."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(peer))
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    peer.url = f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(peer: CloudPeer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            answered = peer.serve(
                CloudRequest(
                    method=self.command,
                    path=parts.path,
                    query=dict(parse_qsl(parts.query)),
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=json.loads(body) if body else None,
                )
            )
            self.close_connection = True
            if answered is None:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, headers, document = answered
            text = b"" if document is None else json.dumps(document).encode()
            self.send_response(status)
            usual = {"Content-Type": "application/json", "Content-Length": str(len(text)), "Connection": "close"}
            for name, value in {**usual, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _serve  # noqa: N815 - names of the library

        def log_message(self, *_: object) -> None:
            pass

    return Handler
