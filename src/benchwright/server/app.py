"""The application: one list of routers, one database, and what it does by itself once a day."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import cast

import anyio.to_thread
from fastapi import FastAPI

from benchwright.errors import BenchwrightError, OptionError
from benchwright.server import errors, openapi
from benchwright.server.context import RequestContext
from benchwright.server.middleware import Shield
from benchwright.server.routes import (
    about,
    artifacts,
    badges,
    dashboard,
    hooks,
    live,
    metrics,
    pages,
    session,
    triage,
    uploads,
    verbs,
)
from benchwright.server.settings import ServerSettings
from benchwright.server.traffic import Buckets
from benchwright.store import open_store
from benchwright.store.sql import SqlStore, retention

API = "/api/v1"

# Below /api/v1, in the order in which paths are tried; `pages` is last, since it takes what others leave.
ROUTERS = (about, session, uploads, artifacts, verbs, triage, live, hooks, pages)
# At the root; `dashboard` is last, for the same reason.
OTHERS: tuple[ModuleType, ...] = (metrics, badges, dashboard)
DAY = 86400.0


def create_app(settings: ServerSettings) -> FastAPI:
    """Returns the server's application, with its database open. The database closes when the application ends."""
    here = _make_context(settings)
    app = FastAPI(
        title="Benchwright",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=openapi.PROBLEMS,
        lifespan=_life,
        redirect_slashes=False,
    )
    app.state.context = here
    app.add_middleware(Shield, here=here)
    errors.handle_errors(app)
    for module in ROUTERS:
        app.include_router(module.router, prefix=API)
    for other in OTHERS:
        app.include_router(other.router)
    openapi.describe(app)
    return app


def _make_context(settings: ServerSettings) -> RequestContext:
    store = None if settings.store_url.startswith(("http://", "https://")) else open_store(settings.store_url)
    if not isinstance(store, SqlStore):
        raise OptionError(
            "a server keeps its results in a database of its own",
            remedy="give --store a file or a postgresql:// address",
        )
    limits = settings.limits
    return RequestContext(
        settings=settings,
        store=store,
        asked=Buckets(rate=limits.rate, burst=limits.burst),
        failed=Buckets(rate=limits.failures / 60, burst=limits.failures),
        refused=Buckets(rate=0.5, burst=30),
    )


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    here = cast(RequestContext, app.state.context)
    anyio.to_thread.current_default_thread_limiter().total_tokens = here.settings.limits.threads
    upkeep = Upkeep(here)
    upkeep.start()
    try:
        yield
    finally:
        here.stopping.set()
        upkeep.end()
        here.store.close()


class Upkeep:
    """A thread that removes what is too old, at the start and once a day. The server does not wait for it to end."""

    def __init__(self, here: RequestContext, *, period: float = DAY) -> None:
        self._here = here
        self._period = period
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="retention", daemon=True)

    def start(self) -> None:
        """Starts the thread, if a rule of retention is set."""
        rules = self._here.settings.retention
        if rules.samples is not None or rules.runs is not None:
            self._thread.start()

    def end(self) -> None:
        """Stops the thread after its present round."""
        self._ended.set()

    def _go_on(self) -> None:
        while not self._ended.is_set():
            try:
                tidy(self._here)
            except BenchwrightError as error:  # a database that is away comes back
                sys.stderr.write(f"retention: {error}\n")
            self._ended.wait(self._period)


def tidy(here: RequestContext) -> None:
    """Removes what is too old, and says so in the audit log."""
    gone = retention.apply(here.store, here.settings.retention)
    if gone is not None and (gone.runs or gone.aged):
        what = f"{len(gone.runs)} runs, samples of {gone.aged} results"
        here.store.audit_add(who="", address="", action="retention", what=what)
