"""Calls what reads from the network: answers of servers, and what servers are sent. See `calls`."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from readers import seeds


def answered(path: Path, draw: random.Random) -> None:
    """Every verb of a store on a server, to which this is the answer."""
    from benchwright.errors import StoreError
    from benchwright.store import remote
    from benchwright.store.remote.client import Caller, ServerAnswer
    from benchwright.store.remote.spool import Spool

    class Told(Caller):
        def _once(self, request: Any, silence: float) -> ServerAnswer:
            return ServerAnswer(
                status=draw.choice((200, 200, 200, 404, 503)), reason="", headers={}, content=path.read_bytes()
            )

    before, remote.Caller = remote.Caller, Told  # type: ignore[attr-defined]
    try:
        with suppress(StoreError):
            remote.RemoteStore("http://127.0.0.1:1/")
        store = remote.RemoteStore.__new__(remote.RemoteStore)
        store._caller = Told(remote.address.parse("http://127.0.0.1:1/"))
        store._place, store._scopes = "http://127.0.0.1:1/", None
        store._outbox = remote.Outbox(store._caller, Spool(store._place))  # type: ignore[attr-defined]
        verb: Callable[[], Any] = draw.choice(
            (
                store.runs,
                store.case_names,
                store.findings,
                store.thresholds,
                store.mutes,
                lambda: list(store.run_ids()),
                lambda: store.history("*"),
                lambda: store.misses("*"),
                lambda: store.find("last"),
                lambda: store.run("a"),
                lambda: store.samples("a"),
                lambda: store.keep_finding(seeds.finding()),
            )
        )
        verb()
    finally:
        remote.Caller = before  # type: ignore[attr-defined]
        store._caller.close()


def posted(path: Path, draw: random.Random) -> None:
    """What a server is sent."""
    from fastapi import HTTPException

    from benchwright.server import documents
    from benchwright.server.settings import RequestLimits

    body = path.read_bytes()
    with suppress(HTTPException):
        documents.run_of(body, RequestLimits())
    with suppress(HTTPException):
        documents.result_of(body, RequestLimits())


def compressed_body(path: Path, draw: random.Random) -> None:
    from fastapi import HTTPException

    from benchwright.server import bodies

    with suppress(HTTPException):
        unpack = bodies._Gunzip(200)
        [*unpack(path.read_bytes())]
        unpack.end()


def notices(path: Path, draw: random.Random) -> None:
    from benchwright.exchange import perfzero_hook
    from benchwright.system.http import HttpAnswer

    perfzero_hook._reason(HttpAnswer(status=500, headers={}, text=path.read_bytes()))
