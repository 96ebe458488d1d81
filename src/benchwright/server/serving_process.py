"""One of several processes of a server: it is handed connections, and ends when whoever hands them to it does."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import select
import socket
import sys
import threading
import time
import typing
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from benchwright import schema
from benchwright.server.app import create_app
from benchwright.server.connections import Connection
from benchwright.server.process import ServerLoop, make_ready, options_for
from benchwright.server.settings import ServerSettings
from benchwright.server.shared_state import SharedCounter, SharedState
from benchwright.server.traffic_files import SharedTraffic

READY, TAKEN = b"r", b"t"  # what it says: that it can take connections, and of each that it has taken it
LAST = 5.0  # seconds that it may take to end by itself: more than requests under way are given
_AT_ONCE = 32  # connections that are taken in one go


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServingJob:
    """What the process is told on its standard input: nobody else can read that, as it may hold secrets."""

    settings: ServerSettings
    number: int  # among the processes of this server
    processes: int
    traffic: str  # the folder in which requests are counted

    def encode(self) -> bytes:
        """Returns it as JSON."""
        given = {one.name: getattr(self.settings, one.name) for one in dataclasses.fields(self.settings)}
        told = {name: str(value) if isinstance(value, Path) else schema.encode(value) for name, value in given.items()}
        return json.dumps([told, self.number, self.processes, self.traffic]).encode()

    @classmethod
    def decode(cls, text: bytes) -> ServingJob:
        """Returns the job that `encode` wrote."""
        told, number, processes, traffic = json.loads(text)
        kinds = typing.get_type_hints(ServerSettings)
        values: dict[str, Any] = {
            name: Path(value) if kinds[name] is Path else schema.decode(kinds[name], value, where=name)
            for name, value in told.items()
        }
        return cls(settings=ServerSettings(**values), number=number, processes=processes, traffic=traffic)


def main(arguments: list[str]) -> None:
    """Answers requests over the connections that come through a socket, until its other end closes."""
    line = socket.socket(fileno=int(arguments[0]))
    shared = SharedState(int(arguments[1]))
    os.set_inheritable(line.fileno(), False)
    os.set_inheritable(shared.handle, False)
    job = ServingJob.decode(sys.stdin.buffer.read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    threading.Thread(target=_end_with, args=(line.fileno(),), name="lifeline", daemon=True).start()
    Connection.shares = job.processes  # bounds of one address hold for all processes together
    traffic = SharedTraffic(Path(job.traffic))
    traffic.start()
    app = create_app(job.settings, shared=shared, traffic=traffic)
    make_ready(app)
    try:
        _HandedConnections(app, line, shared.ended_connections(job.number)).run(sockets=[])
    finally:
        traffic.end()


def _end_with(line: int) -> None:
    """Ends this process some time after the other end has closed, whatever it does: a loop that hangs hears nothing."""
    waiting = select.poll()
    waiting.register(line, 0)  # for the end alone
    waiting.poll()
    time.sleep(LAST)
    os._exit(1)


class _HandedConnections(ServerLoop):
    """Takes connections that another process has accepted."""

    def __init__(self, app: FastAPI, line: socket.socket, ended: SharedCounter) -> None:
        super().__init__(options_for(app), app.state.context)
        self._line, self._ended = line, ended
        self._taken = 0
        self._opening: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Says that it is ready, and begins to take connections."""
        await super().startup(sockets)
        self._line.setblocking(False)
        asyncio.get_running_loop().add_reader(self._line.fileno(), self._take)
        self._line.send(READY)

    async def on_tick(self, counter: int) -> bool:
        """Tells how many connections have ended, ten times a second."""
        self._ended.set(self._taken - len(self._opening) - len(self.server_state.connections))
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Takes no more connections, and ends those that there are."""
        asyncio.get_running_loop().remove_reader(self._line.fileno())
        await super().shutdown(sockets)

    def _take(self) -> None:
        try:
            said, handles, _, _ = socket.recv_fds(self._line, _AT_ONCE, _AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            said, handles = b"", []
        for handle in handles:
            self._taken += 1
            task = asyncio.get_running_loop().create_task(self._open(socket.socket(fileno=handle)))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        if handles:
            with suppress(OSError):  # nobody is there to hear it
                self._line.send(TAKEN * len(handles))
        if not said:  # the other end has closed
            asyncio.get_running_loop().remove_reader(self._line.fileno())
            self.should_exit = True

    async def _open(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        accepted.setblocking(False)
        try:
            await loop.connect_accepted_socket(self._make_protocol, accepted)
        except OSError:  # it closed meanwhile
            accepted.close()

    def _make_protocol(self) -> Connection:
        return Connection(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
