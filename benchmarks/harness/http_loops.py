"""What our client is held against: a plain aiohttp loop, and a bare protocol class on httptools."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

USERS = 16


def by_aiohttp(url: str, body: bytes, count: int) -> float:
    """Seconds of CPU for each request of USERS tasks that share a session and note each latency."""
    return asyncio.run(_with_session(lambda session: _ask_often(session, url, body, count)))


def events_by_aiohttp(url: str, count: int) -> float:
    """Seconds of CPU for each event of streams whose events are stamped and parsed as they come."""
    return asyncio.run(_with_session(lambda session: _stream_often(session, url, count)))


def by_protocol(host: str, port: int, request: bytes, count: int) -> float:
    """Seconds of CPU for each request of USERS connections that note each latency, and keep nothing else."""
    import httptools
    import uvloop

    now, loop = time.perf_counter_ns, uvloop.new_event_loop()
    done, latencies = loop.create_future(), []

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport, self.parser = transport, httptools.HttpResponseParser(self)

        def ask(self) -> None:
            self.sent = now()
            self.transport.write(request)

        def data_received(self, data: bytes) -> None:
            self.arrived = now()
            self.parser.feed_data(data)

        def on_message_complete(self) -> None:
            latencies.append(self.arrived - self.sent)
            if len(latencies) <= count - USERS:
                self.ask()
            elif len(latencies) == count:
                done.set_result(None)

    async def run() -> float:
        lines = [(await loop.create_connection(Connection, host, port))[1] for _ in range(USERS)]
        begin = time.process_time()
        for line in lines:
            line.ask()
        await done
        return (time.process_time() - begin) / count

    return loop.run_until_complete(run())


async def _with_session(work: Callable[[Any], Awaitable[float]]) -> float:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        return await work(session)


async def _ask_often(session: Any, url: str, body: bytes, count: int) -> float:
    latencies = []
    headers = {"Content-Type": "application/json"}

    async def ask() -> None:
        begin = time.perf_counter_ns()
        async with session.post(url, data=body, headers=headers) as answer:
            await answer.read()
        latencies.append(time.perf_counter_ns() - begin)

    await _share(ask, USERS)
    begin = time.process_time()
    await _share(ask, count)
    return (time.process_time() - begin) / count


async def _stream_often(session: Any, url: str, count: int) -> float:
    instants = []

    async def ask() -> None:
        async with session.get(url) as answer:
            async for line in answer.content:
                if line.startswith(b"data: "):
                    instants.append(time.perf_counter_ns())
                    if not line.startswith(b"data: [DONE]"):
                        json.loads(line[6:])

    await _share(ask, USERS)
    instants.clear()
    begin = time.process_time()
    await _share(ask, count)
    return (time.process_time() - begin) / len(instants)


async def _share(ask: Callable[[], Awaitable[None]], count: int) -> None:
    """USERS tasks that ask `count` times together."""
    turns = iter(range(count))

    async def user() -> None:
        for _ in turns:
            await ask()

    await asyncio.gather(*(user() for _ in range(USERS)))
