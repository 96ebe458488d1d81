"""A server that is killed in the middle of a run, and started again; two clients that share a spool."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as made
from benchwright.store.remote import RemoteStore
from benchwright.store.remote.request import ServerRequest
from benchwright.store.remote.spool import Spool
from benchwright.store.sql import SqlStore


@pytest.mark.soak
def test_a_server_that_is_killed_and_started_again_has_everything_once_and_in_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    run = made.run_of(0, 0.01)
    results = [replace(run.results[0], id=f"r-{i}", round=i) for i in range(6)]
    with _server(tmp_path, port) as process:
        store = RemoteStore(address)
        store.begin(run)
        store.add(run.id, results[0])
        process.kill()
        process.wait()
    for result in results[1:5]:
        store.add(run.id, result)
    assert len(Spool(address)) == 4
    with _server(tmp_path, port):
        store.add(run.id, results[5])
        store.close()
        assert Spool(address).is_empty and "has everything" in caplog.messages[-1]
    database = SqlStore(f"sqlite:///{tmp_path / 'results.db'}")
    assert [result.id for result in database.run(run.id).results] == [result.id for result in results]
    database.close()


def test_two_clients_that_send_at_once_send_everything_once(desk: Any) -> None:
    spool = Spool(desk.address)
    for i in range(12):
        spool.add(ServerRequest(method="PUT", path=f"runs/{i:02}", body=b"{}"))
    clients = [RemoteStore(desk.address) for _ in range(2)]
    threads = [threading.Thread(target=client.close) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert desk.writes == [f"PUT runs/{i:02}" for i in range(12)]


@contextmanager
def _server(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """`benchwright serve` on that port; it answers when this begins."""
    command = [sys.executable, "-m", "benchwright", "serve", "--port", str(port), "--store", str(folder / "results.db")]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        assert process.poll() is None
        yield process
    finally:
        process.kill()
        process.wait()
