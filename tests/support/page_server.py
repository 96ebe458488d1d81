"""A server of pages for tests that look at them in a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from benchwright.server.app import create_app
from benchwright.server.process import address_of, listen, server_for
from benchwright.server.settings import ServerSettings

PATIENCE = 60  # seconds: a busy machine is no failure


def serving(settings: ServerSettings) -> Iterator[str]:
    """A server in a thread of this process."""
    listening = listen(settings.host, 0)
    server = server_for(create_app(settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    ends = time.monotonic() + PATIENCE
    while not server.started and thread.is_alive() and time.monotonic() < ends:
        time.sleep(0.01)
    try:
        yield address_of(listening, settings.host)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()
