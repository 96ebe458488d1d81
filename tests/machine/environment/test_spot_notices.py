"""What the metadata service of a cloud says of taking a machine away, read from a server that stands in for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchwright.machine.environment.spot_notices import ask_notice

HEADERS = {
    "/latest/meta-data/spot/instance-action": ("X-aws-ec2-metadata-token", "a-token"),
    "/computeMetadata/v1/instance/preempted": ("Metadata-Flavor", "Google"),
    "/metadata/scheduledevents?api-version=2020-07-01": ("Metadata", "true"),
}


class Service(ThreadingHTTPServer):
    answers: dict[str, bytes]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    class Answer(BaseHTTPRequestHandler):
        server: Service

        def do_PUT(self) -> None:
            self.answer(b"a-token")

        def do_GET(self) -> None:
            name, value = HEADERS[self.path]
            self.answer(self.server.answers.get(self.path, b"") if self.headers.get(name) == value else b"")

        def answer(self, body: bytes) -> None:
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = Service(("127.0.0.1", 0), Answer)
    server.answers = {}
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("provider", "path", "body", "said"),
    [
        ("aws", 0, b'{"action": "terminate", "time": "2026-11-17T18:00:00Z"}', "terminate at 2026-11-17T18:00:00Z"),
        ("aws", 0, b"", ""),
        ("aws", 0, b"[1, 2", ""),
        ("aws", 0, b'["action"]', ""),
        ("gcp", 1, b"TRUE\n", "preempted, ends within 30 s"),
        ("gcp", 1, b"FALSE", ""),
        ("azure", 2, b'{"Events": [{"EventType": "Preempt", "NotBefore": "soon"}]}', "preempted not before soon"),
        ("azure", 2, b'{"Events": [{"EventType": "Reboot"}, 7]}', ""),
        ("azure", 2, b'{"Events": 3}', ""),
        ("oci", 2, b'{"Events": [{"EventType": "Preempt"}]}', ""),
    ],
)
def test_a_notice_is_read_and_anything_else_is_none(
    service: Service, provider: str, path: int, body: bytes, said: str
) -> None:
    service.answers = {list(HEADERS)[path]: body}
    assert ask_notice(provider, f"127.0.0.1:{service.server_port}") == said


def test_a_service_that_is_away_says_nothing() -> None:
    assert ask_notice("aws", "127.0.0.1:9") == ""
