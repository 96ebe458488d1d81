"""The server as a process: a port, signals, one line that says where it is."""

from __future__ import annotations

import errno
import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from fastapi import FastAPI

from benchwright.errors import OptionError, StoreError
from benchwright.server.app import create_app
from benchwright.server.connections import Connection
from benchwright.server.context import RequestContext
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore

BACKLOG = 2048
SWITCH = 0.001  # seconds that a thread may hold the interpreter while others wait; 0.005 unless said
GRACE = 1  # seconds that requests under way are given at the end


def serve(settings: ServerSettings, *, port: int, ready: Callable[[str], None]) -> None:
    """Answers requests until Ctrl-C or SIGTERM. `ready` is told the address once it can be asked."""
    with listen(settings.host, port) as listening:  # first: where this fails, no store has been made
        app = create_app(settings)
        make_ready(app)
        ready(address_of(listening, settings.host))
        server_for(app).run(sockets=[listening])


def make_ready(app: FastAPI) -> None:
    """Does what need not be done in the middle of requests."""
    gc.collect()
    gc.freeze()  # what is there now stays: looking through it in the middle of a request takes tens of milliseconds
    gc.set_threshold(20_000, 20, 20)  # one answer is made of thousands of records, and leaves none behind
    sys.setswitchinterval(SWITCH)  # who has a moment's work, such as the loop, waits that long for each who has much
    # A store of ten million points is counted in seconds: the first visitor need not wait for all of them.
    threading.Thread(target=_look_ahead, args=(app.state.context.store,), daemon=True).start()


def _look_ahead(store: SqlStore) -> None:
    """Has the store count what every page tells, and read which series there are."""
    with suppress(StoreError):  # a page that needs it will say what is wrong
        store.totals()
        store.series_by_case()


def server_for(app: FastAPI) -> uvicorn.Server:
    """A uvicorn server that ends streams when it ends, and writes no access log: query strings may hold secrets."""
    return ServerLoop(options_for(app), app.state.context)


def options_for(app: FastAPI) -> uvicorn.Config:
    """Returns what uvicorn is told of the application."""
    here = app.state.context
    assert isinstance(here, RequestContext)
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        http=Connection,
        ws="none",
        backlog=BACKLOG,
        limit_concurrency=here.settings.limits.connections,
        timeout_graceful_shutdown=GRACE,
    )


def listen(host: str, port: int) -> socket.socket:
    """Opens a socket at that address; port 0 is any free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise OptionError(f"--address {host}: {error.strerror}", remedy="give an address of this machine") from None
    opened = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # elsewhere it would let two servers have the same port
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(BACKLOG)
    except OSError as error:
        opened.close()
        raise _explain_os_error(host, port, error) from None
    return opened


def address_of(listening: socket.socket, host: str) -> str:
    """Returns the address for a browser on this machine: 0.0.0.0 and :: cannot be opened everywhere."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}/"


def _explain_os_error(host: str, port: int, error: OSError) -> OptionError:
    if error.errno == errno.EADDRINUSE:
        return OptionError(
            f"port {port} is in use on {host}", remedy="is a server running already? --port 0 takes a free port"
        )
    if error.errno == errno.EACCES:
        return OptionError(f"port {port} may not be used", remedy="give a port above 1023, and let a proxy have 443")
    return OptionError(f"{host}:{port}: {error.strerror}", remedy="give an address of this machine with --address")


class ServerLoop(uvicorn.Server):
    """uvicorn's server, which tells streams when it ends."""

    def __init__(self, options: uvicorn.Config, here: RequestContext) -> None:
        super().__init__(options)
        self._here = here

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends streams, and then all connections."""
        self._here.stopping.set()
        self._here.lab.ring()  # agents that wait for work are answered
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ends well at the first signal. Unlike the original it is not raised once more when all is over."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
