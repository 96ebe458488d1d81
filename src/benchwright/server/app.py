"""The application: one list of routers, one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import cast

import anyio.to_thread
from fastapi import FastAPI

from benchwright.errors import OptionError
from benchwright.server import errors, openapi, pages
from benchwright.server.context import RequestContext
from benchwright.server.limits import Buckets
from benchwright.server.middleware import Shield
from benchwright.server.routes import (
    about,
    artifacts,
    badges,
    hooks,
    live,
    metrics,
    session,
    triage,
    uploads,
    verbs,
)
from benchwright.server.routes import (
    pages as reading,
)
from benchwright.server.settings import ServerSettings
from benchwright.server.upkeep import Upkeep
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

API = "/api/v1"

# Below /api/v1, in the order in which paths are tried; `reading` is last, since it takes what others leave.
ROUTERS = (about, session, uploads, artifacts, verbs, triage, live, hooks, reading)
# At the root.
OTHERS: tuple[ModuleType, ...] = (metrics, badges)


def create_app(settings: ServerSettings) -> FastAPI:
    """The server's application, with its database open. It closes when the application ends."""
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
    app.include_router(pages.router)
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
