"""A web server that misbehaves as told, and a git of nobody's."""

from __future__ import annotations

import http.server
import os
import re
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from benchwright.fetch import web


@dataclass
class Site:
    """Files by path, and what to do instead of serving them: `script` is used up, one entry for each request."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    script: list[Callable[[Answer], None]] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)
    validators: tuple[str, ...] = ("ETag",)

    def url(self, path: str) -> str:
        return f"{self.address}{path}"


class Answer(http.server.BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        self.site.requests.append({"path": self.path} | {name.lower(): value for name, value in self.headers.items()})
        step = self.site.script.pop(0) if self.site.script else Answer.serve
        step(self)

    def serve(self, *, cut: int | None = None, ranges: bool = True, if_range: bool = True, extra: int = 0) -> None:
        """The file; only its first `cut` bytes, without ranges, or with `extra` bytes promised that never come."""
        body = self.site.files.get(self.path.partition("?")[0])
        if body is None:
            return self.refuse(404)
        tag = f'"{hash(body)}"'
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")) if ranges else None
        if if_range and asked and self.headers.get("If-Range") not in (tag, "Mon, 02 Feb 2026 00:00:00 GMT"):
            asked = None
        start = int(asked[1]) if asked else 0
        if asked and start >= len(body):
            return self.refuse(416)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if "ETag" in self.site.validators:
            self.send_header("ETag", tag)
        if "Last-Modified" in self.site.validators:
            self.send_header("Last-Modified", "Mon, 02 Feb 2026 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body) - start + extra))
        self.end_headers()
        self.wfile.write(body[start:] if cut is None else body[start : start + cut])
        return None

    def refuse(self, code: int, **headers: str) -> None:
        """An error, with a page that must never be taken for the file."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        page = b"<html>this is not the file</html>"
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        with suppress(ConnectionError):  # who is refused may not wait for the page
            self.wfile.write(page)

    def redirect(self, to: str) -> None:
        self.refuse(302, Location=to)

    def chunked(self, pieces: list[bytes], *, whole: bool = True) -> None:
        self.protocol_version = "HTTP/1.1"
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if whole:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server on the loopback; nobody waits between attempts."""
    monkeypatch.setattr(web, "PAUSE", 0.0)
    monkeypatch.setenv("NO_PROXY", "*")
    with serving(Site()) as site:
        yield site


@pytest.fixture
def safe_site(site: Site, tmp_path: Path) -> Iterator[Site]:
    """The same files over https; its certificate is in `tmp_path / "trust.pem"`."""
    key, trust = tmp_path / "key.pem", tmp_path / "trust.pem"
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *name]
    subprocess.run([*command, "-keyout", key, "-out", trust], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trust, key)
    with serving(Site(files=site.files), context) as safe:
        yield safe


@contextmanager
def serving(site: Site, context: ssl.SSLContext | None = None) -> Iterator[Site]:
    handler = type("Handler", (Answer,), {"site": site})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        site.address = f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git without anybody's configuration."""
    for name, value in {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }.items():
        monkeypatch.setenv(name, value)
