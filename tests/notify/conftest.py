"""Servers on the loopback that targets are played by, and findings to tell of."""

from __future__ import annotations

import socketserver
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding, Suspect
from http_peer import Peer, serving_peer


@dataclass
class Post:
    """An SMTP server's letters."""

    port: int = 0
    letters: list[str] = field(default_factory=list)


class _Smtp(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(b"220 post.example\r\n")
        for line in iter(self.rfile.readline, b""):
            word = line.split()[0].upper() if line.split() else b""
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.post.letters.append(b"".join(lines).decode())  # type: ignore[attr-defined]
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 fine\r\n")
            if word == b"QUIT":
                return


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Peer() as server, serving_peer(server):
        yield server


@pytest.fixture
def post() -> Iterator[Post]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Smtp) as server, serving_peer(server):
        server.post = Post(port=server.server_address[1])  # type: ignore[attr-defined]
        yield server.post  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _no_secrets_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN_FILE",
        "GITHUB_API_URL",
        "GITLAB_TOKEN",
        "GITLAB_TOKEN_FILE",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("CI_API_V4_URL", "BENCHWRIGHT_WEBHOOK_SECRET"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def found() -> Callable[..., Finding]:
    """Makes findings: 10 % slower at the commit c0ffee, unless told otherwise."""

    def make(id: str = "f1", **changes: Any) -> Finding:
        fields: dict[str, Any] = {
            "id": id,
            "series": "5e1e5",
            "case": "bench.py::encode",
            "params": '{"n":4}',
            "metric": "latency_p50",
            "unit": "s",
            "before": Estimate(point=0.001, low=0.00099, high=0.00101),
            "after": Estimate(point=0.0011, low=0.00109, high=0.00111),
            "effect": Estimate(point=1.1, low=1.08, high=1.12),
            "method": "changepoint",
            "verdict": Verdict.WORSE,
            "revisions": ("0ddba11", "badcafe", "c0ffee"),
            "suspects": (Suspect(revision="c0ffee", probability=0.97, subject="Use a list", author="Ann"),),
            "confidence": 0.999,
            "run": "run-2",
        }
        return Finding(**(fields | changes))

    return make
