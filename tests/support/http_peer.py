"""A server on the loopback that plays whoever is told of findings."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Peer(http.server.ThreadingHTTPServer):
    """Keeps requests. `answer` makes (status, headers, body) of one."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []
        self.answer: Callable[[Request], tuple[int, dict[str, str], Any]] = lambda _: (200, {}, [])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Peer

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body)
        self.server.requests.append(request)
        status, more, answer = self.server.answer(request)
        text = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {**more, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = _serve  # noqa: N815 - names of the standard library

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving_peer(server: socketserver.BaseServer) -> Iterator[None]:
    """Answers requests, in a thread, for as long as the block lasts."""
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
