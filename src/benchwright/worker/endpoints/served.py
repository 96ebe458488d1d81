"""A server that this worker starts, waits for and ends: fresh for each process that measures. Standard library only.

What it prints goes to the worker's log. It is in a session of its own, so that all that it starts is ended with it; and
below the worker's keeper, so that nothing is left however the worker or whoever started it ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Mapping

from benchwright.errors import LoadError
from benchwright.system import process
from benchwright.worker.endpoints.serve_options import ServeOrder
from benchwright.worker.endpoints.wire import Address, parse_address

USUAL = ("/health", "/healthz", "/v2/health/ready", "/v1/models", "/")  # the first that answers 2xx will do
GRACE = 10.0  # seconds from SIGTERM to SIGKILL
PROBE = 2.0  # seconds for one look at a path
SHORTEST, LONGEST = 0.005, 0.25  # seconds between two looks
SHARE = 0.02  # of the time so far: what a pause adds to the time until it is seen to be ready
_MOST_LINE = 8192  # bytes of the line with the status


class ServedProcess:
    """The server of one attempt. Copies but the first start none, and only wait for it."""

    def __init__(
        self,
        order: ServeOrder,
        address: Address,
        headers: Mapping[str, str],
        *,
        insecure: bool = False,
        speaks_http: bool = True,
    ) -> None:
        self._order, self._address, self._headers = order, address, headers
        self._insecure, self._speaks_http = insecure, speaks_http
        self._process: subprocess.Popen[bytes] | None = None
        self.ready_after = 0.0  # seconds
        self.answered = ""  # the path that said so

    @property
    def pid(self) -> int:
        """Its process; 0 where another copy started it."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Starts the command; a `LoadError` where something answers at its address already, or it cannot start."""
        with contextlib.suppress(OSError), self._connect(self._address):
            raise LoadError(
                f"something answers at {self._address.origin} before the server is started",
                remedy="it would be measured instead: end it, or write {port} in the address and the command",
            )
        try:
            self._process = subprocess.Popen(
                self._order.command,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PORT": str(self._order.port)},
                start_new_session=True,
            )
        except OSError as error:
            raise LoadError(
                f"--serve: {self._order.command[0]} could not be started: {error.strerror}",
                remedy="is it installed where this is measured? It is started without a shell, in this folder",
            ) from None

    def wait_until_ready(self) -> None:
        """Waits until its health shows; a `LoadError` when it ends before, or takes too long."""
        begin, seen = time.perf_counter(), "nothing listens at its address"
        while True:
            ready, said = self._look()
            self.ready_after = time.perf_counter() - begin
            if ready:
                self.answered = said
                return
            seen = said or seen
            if ended := self.describe_end():
                raise LoadError(
                    f"{ended} before it was ready", remedy="what it printed is in the log; try the command by hand"
                )
            if self.ready_after > self._order.patience:
                raise LoadError(
                    f"the server was not ready after {self._order.patience:g} s: {seen}",
                    remedy="name the path that tells with --health PATH, or wait longer: --option serve_timeout=300s",
                )
            time.sleep(min(LONGEST, max(SHORTEST, SHARE * self.ready_after)))

    def describe_end(self) -> str:
        """How it ended by itself, in words; "" while it runs."""
        code = self._process.poll() if self._process else None
        if code is None:
            return ""
        if code >= 0:
            return f"the server ended with exit code {code}"
        try:
            return f"the server was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"the server was ended by signal {-code}"

    def end(self) -> None:
        """Ends it and its group: politely, and after a while not."""
        if self._process is None:
            return
        if self._process.poll() is None:
            process.signal_group(self._process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        process.signal_group(self._process.pid, signal.SIGKILL)
        self._process.wait()

    # ---- looking ----

    def _look(self) -> tuple[bool, str]:
        """Whether it is ready, and by which path; else what was seen, "" when nobody listens."""
        health = self._order.health
        if health:
            path = health if health.startswith("/") else parse_address(health).path
            status, said = self._ask(self._address if health.startswith("/") else parse_address(health), path)
            return 200 <= status < 300, path if 200 <= status < 300 else said
        if not self._speaks_http:
            return (True, "its port is open") if self._is_open() else (False, "")
        for path in USUAL:
            status, said = self._ask(self._address, path)
            if 200 <= status < 300:
                return True, path
            if not status or status >= 500:  # not there yet, or there and loading
                return False, said
        return True, "it answers, though at none of the usual paths"

    def _is_open(self) -> bool:
        """Whether its port accepts: all that can be seen of a server that speaks no HTTP/1."""
        try:
            self._connect(self._address).close()
        except OSError:
            return False
        return True

    def _ask(self, address: Address, path: str) -> tuple[int, str]:
        """The status that a GET gets, 0 without an answer; and what was seen, in words."""
        lines = [f"GET {path} HTTP/1.1", f"Host: {address.authority}", "Connection: close"]
        if address.origin == self._address.origin:  # a key is for the server that it was given for
            lines += [f"{name}: {value}" for name, value in self._headers.items() if name.lower() != "content-type"]
        try:
            with self._connect(address) as line:
                line.sendall("\r\n".join((*lines, "", "")).encode("latin-1"))
                status = _read_status(line)
        except ConnectionRefusedError:
            return 0, ""
        except OSError as error:  # a certificate that is not trusted, silence, a reset
            return 0, f"{path} gave no answer: {error.strerror or error}"
        return status, f"{path} answers with status {status}" if status else f"{path} gives no answer of HTTP"

    def _connect(self, address: Address) -> socket.socket:
        plain = socket.create_connection((address.host, address.port), timeout=PROBE)
        if not address.tls:
            return plain
        context = ssl.create_default_context()
        if self._insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            return context.wrap_socket(plain, server_hostname=address.host)
        except OSError:
            plain.close()
            raise


def _read_status(line: socket.socket) -> int:
    """The status of an answer; 0 where there is none."""
    until, data = time.monotonic() + PROBE, b""
    while b"\n" not in data and len(data) < _MOST_LINE:
        line.settimeout(max(0.001, until - time.monotonic()))
        piece = line.recv(_MOST_LINE)
        if not piece:
            break
        data += piece
    words = data.partition(b"\n")[0].split()
    if len(words) > 1 and words[0].startswith(b"HTTP/1") and words[1].isdigit() and len(words[1]) == 3:
        return int(words[1])
    return 0
