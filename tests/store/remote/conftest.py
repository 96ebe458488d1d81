"""A spool of each test's own, and a server that answers as it is told."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

ABOUT = {"version": "1", "scopes": ["read", "triage", "write", "admin"]}


@dataclass
class Desk:
    """A server that takes everything down; `answers`, as (status, headers, body), are used up before all is well."""

    address: str = ""
    is_old: bool = False  # it does not know requests that bring several results
    answers: list[tuple[int, dict[str, str], Any]] = field(default_factory=list)
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)  # method, path, headers, body

    @property
    def writes(self) -> list[str]:
        """What was asked for besides the introduction; of a request that brings several results, each of them."""
        found = []
        for method, path, _, body in self.seen:
            if method == "POST" and path.endswith("/results") and not self.is_old:
                found += [f"PUT {path.removeprefix('/api/v1/')}/{quote(name, safe='')}" for name in _ids(body)]
            elif "about" not in path:
                found.append(f"{method} {path.removeprefix('/api/v1/')}")
        return found

    def fail(self, times: int, status: int = 503, **headers: str) -> None:
        """Answers so, in our own words, from now on."""
        told = {"error": f"no ({status})", "remedy": ""}
        self.answers += [(status, {name.replace("_", "-"): text for name, text in headers.items()}, told)] * times


def _ids(body: bytes) -> list[str]:
    return [json.loads(line)["data"]["id"] for line in body.splitlines()]


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A server on this machine."""
    desk = Desk()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            desk.seen.append((self.command, self.path, dict(self.headers), body))
            status, headers, told = desk.answers.pop(0) if desk.answers else (200, {}, ABOUT)
            if told is ABOUT and self.command == "POST" and self.path.endswith("/results"):
                known = {"results": [{"id": name, "added": True, "status": 201} for name in _ids(body)]}
                status, told = (405, {"error": "no such request"}) if desk.is_old else (200, known)
            text = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    desk.address = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
    thread.start()
    yield desk
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def spool_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tests never touch the spool or the tokens of whoever runs them."""
    monkeypatch.delenv("BENCHWRIGHT_TOKEN", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("BENCHWRIGHT_SPOOL", str(tmp_path / "spool"))
    return tmp_path / "spool"


@dataclass
class Running:
    """A real server in a thread of this process."""

    address: str
    settings: Any
    server: Any
    thread: threading.Thread


@pytest.fixture(scope="session")
def serve() -> Callable[..., AbstractContextManager[Running]]:
    """`with serve(folder, require_token=True) as running`: the real application, on a store in that folder."""
    return _serve


@contextmanager
def _serve(folder: Path, **settings: Any) -> Iterator[Running]:
    import uvicorn

    from benchwright.server.app import create_app
    from benchwright.server.settings import ServerSettings

    chosen = ServerSettings(store_url=f"sqlite:///{folder / 'results.db'}", artifacts=folder / "artifacts", **settings)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(chosen), log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield Running(f"http://127.0.0.1:{listening.getsockname()[1]}/", chosen, server, thread)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
