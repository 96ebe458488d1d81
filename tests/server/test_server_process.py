"""The server as a process: one line that says where it is, and an end within a moment."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import series_of_runs as runs
from benchwright import schema
from benchwright.records import Run, Samples
from benchwright.server import connections
from benchwright.server.process import listen, server_for

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@contextmanager
def running(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`benchwright serve` on a free port, and what it says on standard output."""
    command = [sys.executable, "-m", "benchwright", "serve", "--port", "0", "--store", "results.db", *options]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def test_it_says_where_it_is_and_ends_at_a_signal_although_somebody_listens(tmp_path: Path) -> None:
    with running(tmp_path, "--json", "--log") as (process, line):
        assert json.loads(line)["kind"] == "server"
        address = urlsplit(json.loads(line)["data"]["address"])
        listening = http.client.HTTPConnection(address.netloc, timeout=30)
        listening.request("GET", "/api/v1/live", headers={"Accept": "text/event-stream"})
        stream = listening.getresponse()
        assert stream.status == 200 and stream.readline()
        asking = http.client.HTTPConnection(address.netloc, timeout=30)
        asking.request("GET", "/api/v1/about?token=secret")
        assert asking.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
        assert process.returncode == 0 and "Traceback" not in said and "Cancel" not in said
        assert "GET /api/v1/about 200" in said and "secret" not in said
        listening.close()
        asking.close()


def test_broken_requests_and_slow_bodies_are_answered(tmp_path: Path, serving: Any) -> None:
    server = serving(tmp_path, limits={"patience": 0.1})
    opened = listen("127.0.0.1", 0)
    running = server_for(server.made)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        ask = b"PUT /api/v1/runs/a HTTP/1.1\r\nHost: localhost\r\n"
        answers = [
            _answer(opened.getsockname(), request)
            for request in (
                ask + b"Content-Length: 10\r\n\r\n{",  # and nothing more
                ask + b"Content-Length: -1\r\n\r\n",
                ask + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
                ask + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
                b"GET / HTTP/1.1\r\n\r\n",
            )
        ]
        assert [line[9:12] for line in answers] == [b"408", b"400", b"400", b"400", b"403"]
        lines = f"{schema.dumps(runs.run_of(1, 0.5))}\n{schema.dumps(runs.run_of(2, 0.5))}\n".encode()
        with socket.create_connection(opened.getsockname(), timeout=10) as connection:
            head = f"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(lines)}\r\n\r\n"
            connection.sendall(head.encode() + lines[:-9])  # and is cut off
            deadline = time.monotonic() + 20
            while not (kept := [*server.store.run_ids()]) and time.monotonic() < deadline:
                time.sleep(0.01)
        assert kept == ["run-0001"]
    finally:
        running.should_exit = True
        thread.join(10)
    assert not thread.is_alive()
    assert [*server.store.run_ids()] == ["run-0001"]


def test_nobody_holds_a_connection_by_saying_nothing(
    tmp_path: Path, serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as server, listen("127.0.0.1", 0) as opened:
        running = server_for(server.made)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [opened]})
        thread.start()
        try:
            address = opened.getsockname()
            for begun in (b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "):
                for end in (b"", b"\r\n\r\n"):  # whether it goes on or has come to its end
                    for size in (connections.LONGEST, 100_000):
                        assert _answer(address, begun + b"a" * size + end).startswith(b"HTTP/1.1 431")
            short = b"GET /api/v1/about HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 60_000 + b"\r\n\r\n"
            assert _answer(address, short).startswith(b"HTTP/1.1 200")
            monkeypatch.setattr(connections, "PATIENCE", 0.1)
            for silent in (b"", b"GET / HTT", b"GET / HTTP/1.1\r\nHost: local"):
                assert _answer(address, silent) == b""
            refused = b"PUT /api/v1/runs/a HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n"
            with socket.create_connection(address, timeout=10) as connection, connection.makefile("rb") as answer:
                connection.sendall(refused)
                assert answer.readline().startswith(b"HTTP/1.1 403")
                connection.sendall(b"{")  # and never the rest
                answer.read()
        finally:
            running.should_exit = True
            thread.join(10)
    assert not thread.is_alive()


def test_nobody_shuts_the_others_out_with_connections_that_say_nothing(tmp_path: Path, serving: Any) -> None:
    with serving(tmp_path) as server, listen("127.0.0.1", 0) as opened:
        running = server_for(server.made)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [opened]})
        thread.start()
        address, held = opened.getsockname(), []
        asked = b"GET /api/v1/about HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        try:
            for number in range(600):  # more than `Limits.connections`
                held.append(socket.create_connection(address, timeout=10))
                held[-1].sendall(b"GET / HTTP/1.1\r\nHost: loc" if number % 2 else b"")
            assert _answer(address, asked).startswith(b"HTTP/1.1 200")
            held[0].settimeout(10)
            assert held[0].recv(1) == b""  # the oldest had to go
        finally:
            for connection in held:
                connection.close()
            running.should_exit = True
            thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    "begun",
    [
        b"POST /api/v1/store/find HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n",
        b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"GET /api/v1/results/%s/samples HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["body", "chunk", "unread"],
)
def test_nobody_shuts_the_others_out_with_half_a_body_or_an_answer_that_is_not_read(
    tmp_path: Path, serving: Any, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(connections, "SPARE", 4)
    run = _with_many_samples(runs.run_of(1, 0.5))
    with serving(tmp_path, limits={"connections": 8}) as server, listen("127.0.0.1", 0) as opened:
        server.store.add_run(run)
        begun = begun.replace(b"%s", run.results[0].id.encode())
        running = server_for(server.made)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [opened]})
        thread.start()
        address = opened.getsockname()
        asked = b"GET /api/v1/about HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        try:
            with ExitStack() as held:
                for _ in range(10):
                    held.enter_context(connection := _slow_reader(address)).sendall(begun)
                    deadline = time.monotonic() + 30
                    while not _is_held(running, connection) and time.monotonic() < deadline:
                        time.sleep(0.01)  # until the server waits for it
                assert _answer(address, asked).startswith(b"HTTP/1.1 200")
        finally:
            running.should_exit = True
            thread.join(20)
    assert not thread.is_alive()


def test_an_answer_that_nobody_reads_holds_no_connection_for_ever(
    tmp_path: Path, serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 1.0)
    run = _with_many_samples(runs.run_of(1, 0.5))
    with serving(tmp_path) as server, listen("127.0.0.1", 0) as opened:
        server.store.add_run(run)
        running = server_for(server.made)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [opened]})
        thread.start()
        try:
            with _slow_reader(opened.getsockname()) as connection:
                asked = f"GET /api/v1/results/{run.results[0].id}/samples HTTP/1.1\r\nHost: localhost\r\n\r\n"
                connection.sendall(asked.encode())
                assert connection.recv(12) == b"HTTP/1.1 200"  # and never reads the rest
                deadline = time.monotonic() + 60
                while running.server_state.connections and time.monotonic() < deadline:
                    time.sleep(0.05)
                assert not running.server_state.connections
        finally:
            running.should_exit = True
            thread.join(20)
    assert not thread.is_alive()


def _with_many_samples(run: Run) -> Run:
    """The run with more raw samples than a kernel holds back for somebody who does not read."""
    columns = {"latency": array("q", os.urandom(8 << 20))}
    samples = (Samples(copy=0, calls=1 << 20, loops=1, elapsed=1000, columns=columns),)
    return replace(run, results=(replace(run.results[0], samples=samples),))


def _slow_reader(address: Any) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(10)
    made.connect(address)
    return made


def _is_held(running: Any, connection: socket.socket) -> bool:
    """Whether the server has begun with what came on this connection, and waits for the other end."""
    ours = [one for one in [*running.server_state.connections] if one.client == connection.getsockname()]
    return any(one.cycle is not None and (one.cycle.more_body or one.flow.write_paused) for one in ours)


def test_one_address_beyond_this_machine_has_a_bounded_number_of_connections(
    tmp_path: Path, serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST", 3)
    monkeypatch.setattr(connections, "is_loopback", lambda host: False)  # as if this machine were another one
    asked = b"GET /api/v1/about HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for proxies, expected in (("192.0.2.1", b"HTTP/1.1 503"), ("192.0.2.1, 127.0.0.1", b"HTTP/1.1 200")):
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", proxies)
        folder = tmp_path / expected.decode().replace("/", "")
        folder.mkdir()
        with serving(folder) as server, listen("127.0.0.1", 0) as opened, ExitStack() as held:
            running = server_for(server.made)
            thread = threading.Thread(target=running.run, kwargs={"sockets": [opened]})
            thread.start()
            try:
                for _ in range(3):
                    connection = held.enter_context(socket.create_connection(opened.getsockname(), timeout=10))
                    connection.sendall(asked)
                    assert connection.recv(12) == b"HTTP/1.1 200"
                assert _answer(opened.getsockname(), asked).startswith(expected)
            finally:
                running.should_exit = True
                thread.join(10)
        assert not thread.is_alive()


def _answer(address: Any, request: bytes) -> bytes:
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(request)
        return connection.makefile("rb").readline()


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do(inside: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = inside("serve", "--port", str(taken.getsockname()[1]))
    assert ended.returncode == 2 and "in use" in ended.stderr and "--port 0" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--address", "192.0.2.1", "--port", "0"), "--address"),
        (("--host", "no such host", "--port", "0"), "--address"),
        (("--store", "https://bench.example/", "--port", "0"), "database of its own"),
        (("--store", "missing-scheme://x", "--port", "0"), "missing-scheme"),
    ],
)
def test_what_cannot_be_served_is_an_error(inside: Call, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = inside("serve", *arguments)
    assert ended.returncode == 2 and said in ended.stderr and ended.stdout == ""
    assert [*tmp_path.iterdir()] == []  # no store was made


def test_tokens_are_made_listed_and_revoked(inside: Call) -> None:
    made = inside("token", "create", "ci", "--scope", "write", "--expires", "90d")
    assert made.returncode == 0 and made.stdout.startswith("bw_") and len(made.stdout) > 40
    listed = json.loads(inside("token", "list", "--json").stdout)["data"]
    assert [(one["name"], one["scope"]) for one in listed] == [("ci", "write")] and listed[0]["expires_at"]
    shown = inside("token", "list").stdout
    assert "ci" in shown and made.stdout.strip() not in shown
    assert inside("token", "create", "ci").returncode == 2
    assert inside("token", "revoke", "ic").stderr.startswith("benchwright: there is no token 'ic'")
    assert inside("token", "revoke", "ci").returncode == 0
    assert inside("token", "list").stdout.startswith("no tokens")


@pytest.mark.parametrize(
    "arguments", [("a\nb",), (" ",), ("a", "--expires", "soon"), ("a", "--expires", "-1d"), ("a", "--scope", "root")]
)
def test_a_token_that_makes_no_sense_is_refused(inside: Call, arguments: tuple[str, ...]) -> None:
    assert inside("token", "create", *arguments).returncode == 2


def test_tokens_of_a_server_elsewhere_are_made_there(inside: Call) -> None:
    ended = inside("token", "create", "a", "--store", "https://bench.example/")
    assert ended.returncode == 2 and "server's machine" in ended.stderr
