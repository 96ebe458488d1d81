"""All that waits on this machine, for whichever server."""

from __future__ import annotations

from contextlib import closing

from benchwright.store.remote import address, spool
from benchwright.store.remote.client import Caller
from benchwright.store.remote.sender import Outbox, Sent
from benchwright.store.remote.spool import Spool


def send(url: str | None = None, *, to: str | None = None, refused: bool = False) -> list[Sent]:
    """Sends what waits for the server at `url`, or for each; with `refused`, once more what a server refused.

    What waits for a server that will not come back can go `to` another one.
    """
    return [_send(server, to or server, refused=refused) for server in ([url] if url else spool.servers())]


def place_of(url: str) -> str:
    """Where what was just sent to the server at `url` is now: there, or here for the time being."""
    server = address.parse(url).url
    waiting = Spool(server)
    return server if waiting.is_empty else f"{waiting.folder} until {server} takes it"


def _send(server: str, to: str, *, refused: bool) -> Sent:
    with closing(Caller(address.parse(to))) as caller:
        outbox = Outbox(caller, Spool(address.parse(server).url))
        if refused:
            outbox.spool.take_back()
        return outbox.finish()
