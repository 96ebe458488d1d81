"""What goes wrong between a client and Amazon's cloud: a proxy in front of moto that refuses, loses answers, or kills.

moto makes a second machine of a repeated ClientToken; with `remembers_tokens` the proxy answers as Amazon does.
"""

from __future__ import annotations

import http.client
import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore.config import Config

import emulators
from http_peer import serving_peer

SECRET = "a-secret-that-nobody-may-see"
SESSION = "a-session-token-that-nobody-may-see"
REGION = "eu-central-1"
Answer = tuple[int, bytes]


@dataclass(frozen=True)
class Call:
    """One question: `action` is its name, `RunInstances?` for one that is only tried."""

    action: str
    words: dict[str, str]
    number: int  # of all, from 1


@dataclass
class Faults:
    """What the proxy does; a test sets it."""

    before: Callable[[Call], Answer | None] = lambda call: None  # an answer that moto does not see
    after: Callable[[Call], bool] = lambda call: False  # True: the answer gets lost
    change: Callable[[Call, bytes], bytes] = lambda call, answer: answer
    remembers_tokens: bool = False
    calls: list[Call] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)

    def actions(self) -> list[str]:
        return [call.action for call in self.calls]


class Cloud(http.server.ThreadingHTTPServer):
    """The proxy; `faults` is what it does now."""

    daemon_threads = True

    def __init__(self, moto: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.moto = urlsplit(moto).netloc
        self.faults = Faults()
        self.lock = threading.Lock()

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server_port}",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": SESSION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/nonexistent",
            "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        }

    @cached_property
    def client(self) -> Any:
        """A client that speaks to moto itself."""
        return boto3.client(
            "ec2",
            region_name=REGION,
            endpoint_url=f"http://{self.moto}",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"total_max_attempts": 1}),
        )

    def machines(self) -> dict[str, dict[str, Any]]:
        """Every machine that is there and not ended, by id."""
        states = {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}
        told = self.client.describe_instances(Filters=[states])["Reservations"]
        return {one["InstanceId"]: one for reservation in told for one in reservation["Instances"]}


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Cloud

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        faults = self.server.faults
        with self.server.lock:
            call = self._call(body, len(faults.calls) + 1)
            faults.calls.append(call)
        answer = faults.before(call)
        if answer is None:
            answer = self._answer(call, body, faults)
            if faults.after(call):
                self.close_connection = True
                return
        status, text = answer
        self.send_response(status)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _answer(self, call: Call, body: bytes, faults: Faults) -> Answer:
        token = call.words.get("ClientToken", "") if call.action == "RunInstances" else ""
        if faults.remembers_tokens and token in faults.answers:
            return faults.answers[token]
        connection = http.client.HTTPConnection(self.server.moto, timeout=30)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            connection.request("POST", self.path, body, headers)
            told = connection.getresponse()
            answer = told.status, faults.change(call, told.read())
        finally:
            connection.close()
        if token:
            faults.answers[token] = answer
        return answer

    def _call(self, body: bytes, number: int) -> Call:
        target = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        words = {} if target else {name: values[0] for name, values in parse_qs(body.decode()).items()}
        action = target or words.get("Action", "")
        return Call(action + ("?" if words.get("DryRun") == "true" else ""), words, number)

    def log_message(self, *_: object) -> None:
        pass


def refusal(code: str, message: str = "no", status: int = 400) -> Answer:
    """How EC2 says no."""
    text = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors></Response>"
    return status, text.encode()


@contextmanager
def serving_aws() -> Iterator[Cloud]:
    """moto, and the proxy in front of it, for as long as the block lasts."""
    with emulators.aws() as moto:
        cloud = Cloud(moto)
        try:
            with serving_peer(cloud):
                yield cloud
        finally:
            cloud.server_close()
