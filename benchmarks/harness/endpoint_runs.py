"""Our client of served models, driven as a load drives it: each function runs in a process of its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchwright.records import Load, Mode
from benchwright.worker.endpoints.client import ClientSettings, HttpClient
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.loads import Turns, run_closed, run_open
from benchwright.worker.endpoints.reading import ReadTraffic, read_traffic
from benchwright.worker.endpoints.traffic import RequestLog
from benchwright.worker.endpoints.wire import parse_address, request_bytes
from benchwright.worker.engine.arrivals import arrivals
from benchwright.worker.engine.engine import hold_off_collector
from benchwright.worker.runtimes.openai import OpenAiDialect, route_of
from harness import nginx
from harness.http_loops import USERS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from scripted import client as scripted
from scripted import events

BODY = b'{"x": "' + b"a" * 391 + b'"}'  # 400 B
HEADERS = {"Content-Type": "application/json"}
PACKED = {"Accept-Encoding": "gzip"}
CHAT = "/v1/chat/completions"
RATE = 2_000  # arrivals/s
HEAD_START = 5_000_000  # ns


def small(url: str, count: int) -> float:
    """Seconds of CPU for each request."""
    with _client(url) as client:
        _closed(client, _prepared(client, BODY), Load(samples=2_000, workers=USERS))
        traffic = _closed(client, _prepared(client, BODY), Load(samples=count, workers=USERS))
        assert set(traffic.status) == {200}
        return client.health.cpu / count


def streams(url: str, count: int) -> dict[str, float]:
    """Seconds of CPU for each event: while timing, and for reading it."""
    with _client(url) as client:
        payload = request_bytes(client.settings.address, b"", {"Accept": "text/event-stream"}, method="GET")
        _closed(client, payload, Load(samples=50, workers=USERS))
        traffic = _closed(client, payload, Load(samples=count, workers=USERS))
        begin = time.process_time()
        read = _read(traffic)
        took = time.process_time() - begin
        told = len(read.samples.chunks["call"])
        assert told == count * nginx.EVENTS and not read.failed
        return {"timed": client.health.cpu / told, "read": took / told}


def lone(count: int, gap: float) -> float:
    """Seconds of CPU for each event of USERS streams, each of whose events is written `gap` ms after the one before."""
    with scripted.running() as server:
        stage = server.play(events.stream(["a"] * count, gaps=[gap]))
        with _client(stage.url + CHAT) as client:
            traffic = _closed(client, _prepared(client, b"{}"), Load(samples=USERS, workers=USERS))
            return client.health.cpu / len(_read(traffic).samples.chunks["call"])


def late(url: str, seconds: float) -> dict[str, float]:
    """Quantiles of lateness in ns, Poisson arrivals."""
    with _client(url) as client:
        payload = _prepared(client, BODY)
        _closed(client, payload, Load(samples=2_000, workers=USERS))
        schedule = arrivals(Load(mode=Mode.OPEN, rate=RATE, samples=int(RATE * seconds)), copy=0)
        client.reset([payload])
        with hold_off_collector():
            zero = time.perf_counter_ns() + HEAD_START
            traffic = run_open(client, schedule, [Turns(numbers=(0,))], zero)
    ordered = sorted(sent - due for sent, due in zip(traffic.sent, traffic.scheduled, strict=True))
    return {"p50": ordered[len(ordered) // 2], "p99": ordered[len(ordered) * 99 // 100]}


def full(url: str, seconds: float) -> float:
    """Answers a second, of users who never pause."""
    with _client(url) as client:
        payload = request_bytes(client.settings.address, b"", PACKED, method="GET")
        _closed(client, payload, Load(samples=100, workers=USERS))
        zero = time.perf_counter_ns()
        traffic = _closed(client, payload, Load(duration=seconds, workers=USERS))
        assert set(traffic.status) == {200}
        return len(traffic) * 1e9 / (max(traffic.end) - zero)


def truth(count: int) -> dict[str, float]:
    """p99 in ns of stamp less write over events 3 ms apart, and of read less send over requests."""
    with scripted.running() as server:
        stage = server.play(events.stream(["a"] * 60, gaps=[3.0]))
        with _client(stage.url + CHAT) as client:
            traffic = _closed(client, _prepared(client, b"{}"), Load(samples=count))
        sent = list(traffic.sent)
        chunks = _read(traffic).samples.chunks
        stamped: list[int] = []
        seen = stage.log(count)
        for call, exchange in enumerate(seen):
            own = [at for at, of in zip(chunks["at"], chunks["call"], strict=True) if of == call]
            written = [instant for instant, _ in exchange.writes]
            assert len(written) == len(own) + 2  # the head before them, the mark of the end behind
            stamped += [at - write for at, write in zip(own, written[1:], strict=False)]
    read = sorted(exchange.first_ns - instant for exchange, instant in zip(seen, sent, strict=True))
    stamped.sort()
    return {"stamped": stamped[len(stamped) * 99 // 100], "read": read[len(read) * 99 // 100]}


@contextmanager
def _client(url: str) -> Iterator[HttpClient]:
    """A client with a connection for each user."""
    client = HttpClient(ClientSettings(address=parse_address(url)))
    try:
        client.run(client.open_connections(USERS))
        yield client
    finally:
        client.close()


def _prepared(client: HttpClient, body: bytes) -> bytes:
    return request_bytes(client.settings.address, body, HEADERS)


def _closed(client: HttpClient, payload: bytes, load: Load) -> RequestLog:
    """Runs users as a driver does."""
    client.reset([payload])
    with hold_off_collector():
        return run_closed(client, load, [Turns(numbers=(0,))], time.perf_counter_ns())


def _read(traffic: RequestLog) -> ReadTraffic:
    dialect = OpenAiDialect(route_of(f"http://127.0.0.1{CHAT}"), {"model": "m"})
    return read_traffic(traffic, dialect, [Exchange(messages=(("user", "x"),))], zero=0, copy=0)
