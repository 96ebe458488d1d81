"""As many results as a server takes: one of 27 metrics at a time, from eight clients, each with a token of its own.

    python benchmarks/server/flood.py [--seconds 10] [--clients 8] [--together 1,50] [--database sqlite|postgresql]
                                      [--processes 2]

Bodies are made before the clock starts and written to sockets as they are, so that the clients cost little: they share
the machine with the server and its database. Each client sends the next request when what it sent before is on the
disk: one result, or as many as `--together` says, which is what a spool sends that has some waiting. The yardstick is
the same rows in the same tables, added by hand by one process, as many in a transaction as clients send.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import scale
import uploads

from benchwright import schema
from benchwright.records import Run
from benchwright.store.sql import SqlStore, engine, tables, write

METRICS = 27
LEAST = 1000.0  # results a second
POINTS_ALONE = 0  # raw samples are of another size in every result: here there are none


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--together", default="1,50", help="results in a request")
    parser.add_argument("--database", choices=uploads.DATABASES, action="append")
    parser.add_argument("--processes", "--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--no-judge", action="store_true", help="do not judge what arrives meanwhile")
    given = parser.parse_args(arguments)
    flags = ("--server-processes", str(given.processes), *(("--no-judge",) if given.no_judge else ()))
    missed, table = 0, list[str]()
    kinds = [(name, int(one)) for name in given.database or uploads.DATABASES for one in given.together.split(",")]
    for database, together in kinds:
        with tempfile.TemporaryDirectory(prefix="benchwright-flood-") as folder:
            Path(folder).chmod(0o755)  # as root, PostgreSQL runs under another user
            is_missed, line = flood(database, Path(folder), given.seconds, given.clients, together, *flags)
            missed += is_missed
            table.append(line)
    server = f"{given.clients} clients, {given.processes} process{'es' * (given.processes > 1)}"
    print(f"\n| results of {METRICS} metrics, {server} | a second, bar {LEAST:,.0f} | p50 / p99 ", end="")
    print("| CPU of each: server, database, clients |\n| --- | --- | --- | --- |")
    print("\n".join(table))
    return 1 if missed and given.seconds >= 5 else 0


def flood(database: str, folder: Path, seconds: float, clients: int, together: int, *flags: str) -> tuple[bool, str]:
    """One database; whether the bar was missed, and a line of the table."""
    with ExitStack() as stack:
        url = f"sqlite:///{folder / 'results.db'}"
        if database == "postgresql":
            url = stack.enter_context(uploads.postgresql(folder))
        with closing(SqlStore(url)) as store:
            tokens = [store.token_add(f"client-{i}", "write") for i in range(clients)]
            for i in range(clients):
                store.begin(Run(id=f"run-{i}", started_at="2026-03-01T10:00:00+00:00", harness="1"))
        server = stack.enter_context(uploads.Server(url, folder / "artifacts", *flags))
        server.start()
        given = [server.address, str(seconds), str(together), *tokens]
        postmaster = scale.postmaster(url) if database == "postgresql" else 0
        before = scale.cpu_seconds(server.pid, answering=True), scale.cpu_seconds(postmaster) if postmaster else 0.0
        client = subprocess.Popen([sys.executable, __file__, "--as-clients", *given], stdout=subprocess.PIPE)
        told = json.loads(client.communicate(timeout=10 * seconds + 120)[0])
        used = scale.cpu_seconds(server.pid, answering=True) - before[0]
        behind = scale.cpu_seconds(postmaster) - before[1] if postmaster else 0.0
        with closing(SqlStore(url)) as store:
            held = store.info().counts["results"]
            by_hand = _by_hand(store, url, clients, seconds)
    rate = told["added"] / told["seconds"]
    verdict = "ok" if rate >= LEAST and held == told["added"] else "missed"
    each, base, sent = (f"{1e6 * one / max(1, told['added']):.0f} µs" for one in (used, behind, told["cpu"]))
    print(f"{database:11} {clients} clients, {together} in a request, {METRICS} metrics each: ", end="")
    print(f"{rate:,.0f}/s (bar {LEAST:,.0f}/s)  {verdict}")
    print(f"{'':11} p50 {told['p50']:.1f} ms, p99 {told['p99']:.1f} ms; {held - told['added']} lost or doubled")
    print(f"{'':11} CPU of each: server {each}, database {base}, clients {sent}")
    print(f"{'':11} by hand {by_hand:,.0f}/s, ours {rate / by_hand:.2f} of that", flush=True)
    cells = [
        f"{database}, {together} in a request",
        f"{rate:,.0f}",
        f"{told['p50']:.1f} / {told['p99']:.1f} ms",
        f"{each}, {base}, {sent}",
    ]
    return verdict != "ok", f"| {' | '.join(cells)} |"


def _by_hand(store: SqlStore, url: str, size: int, seconds: float) -> float:
    """How many results a second one process adds in transactions of that size, with everything made before."""
    draw = random.Random(5)
    store.begin(Run(id="by-hand", started_at="2026-03-01T10:00:00+00:00", harness="1"))
    some = [uploads.result(f"by-hand-{i}", i, draw, metrics=METRICS, calls=POINTS_ALONE) for i in range(200)]
    store.add_all("by-hand", some[:10])  # series and environments are there
    prepared = write.prepare(some)
    connected = engine.connect(url, timeout=60.0)
    added, began = 0, time.perf_counter()
    with connected.connect() as connection:
        names = ("result", "run_id", "environment_id", "case_name", "at", "round", "status", "started_at", "revision")
        run = connection.exec_driver_sql("SELECT id FROM runs WHERE run = 'by-hand'").scalar()
        environment = connection.exec_driver_sql("SELECT max(id) FROM environments").scalar()
        series = [row[0] for row in connection.exec_driver_sql("SELECT id FROM series ORDER BY id LIMIT 27")]
        method = connection.exec_driver_sql("SELECT max(id) FROM methods").scalar()
        connection.rollback()
        while time.perf_counter() - began < seconds / 3:
            with engine.writing(connection).begin():
                batch = [prepared[(added + i) % len(prepared)] for i in range(size)]
                rows: list[tuple[Any, ...]] = [
                    (f"h{added + i}", run, environment, "c", one.at, 0, "ok", "", "") for i, one in enumerate(batch)
                ]
                numbers = engine.insert_numbered(connection, tables.results, names, rows)
                ids = [numbers[row[0]] for row in rows]
                documents = [(number, 1, one.document) for number, one in zip(ids, batch, strict=True)]
                points = [(one, number, number, 1.0, 0.9, 1.1, 0.95, method) for number in ids for one in series]
                engine.insert_tuples(connection, tables.documents, documents)
                engine.insert_tuples(connection, tables.points, points)
            added += size
    rate = added / (time.perf_counter() - began)
    connected.dispose()
    return rate


# ---- clients ----


def send(address: str, seconds: float, together: int, tokens: Sequence[str]) -> None:
    """A thread for each token: sends one request after the other; prints how many results, and how long they took."""
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    enough = round(4000 * seconds / len(tokens) / together)
    draw = random.Random(4)
    # The same numbers under other ids: making them takes longer than sending them.
    model = [
        schema.dumps(uploads.result("@", i, draw, metrics=METRICS, calls=POINTS_ALONE)).encode() for i in range(100)
    ]
    taken: list[list[float]] = [[] for _ in tokens]

    def client(number: int) -> None:
        place = f"/api/v1/runs/run-{number}/results"
        kind = "application/json" if together == 1 else "application/x-ndjson"
        with socket.create_connection((host, int(port))) as line:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(enough):
                names = [f"{number}-{i}-{k}" for k in range(together)]
                body = b"\n".join(
                    model[(i + k) % len(model)].replace(b'"@"', f'"{name}"'.encode(), 1) for k, name in enumerate(names)
                )
                asked = f"PUT {place}/{names[0]}" if together == 1 else f"POST {place}"
                head = (
                    f"{asked} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                    f"Authorization: Bearer {tokens[number]}\r\nContent-Type: {kind}\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n"
                )
                began = time.perf_counter()
                if began - zero > seconds:
                    return
                line.sendall(head.encode() + body)
                answer = line.recv(65536)
                while not answer.endswith(b"}"):
                    answer += line.recv(65536)
                taken[number].append(1000 * (time.perf_counter() - began))
                assert answer.startswith(b"HTTP/1.1 20"), answer

    threads = [threading.Thread(target=client, args=(number,)) for number in range(len(tokens))]
    zero, begun = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - zero
    every = sorted(one for several in taken for one in several)
    told = {
        "added": together * len(every),
        "seconds": took,
        "p50": every[len(every) // 2],
        "p99": every[len(every) * 99 // 100],
        "cpu": time.process_time() - begun,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-clients"]:
        send(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
        sys.exit()
    sys.exit(main())
