"""The application: one list of routers, one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import TYPE_CHECKING, cast

import anyio.to_thread
from fastapi import FastAPI

from benchwright.errors import NotInstalledError, OptionError
from benchwright.server import errors, openapi
from benchwright.server.context import MINUTES, RequestContext
from benchwright.server.intake import Intake
from benchwright.server.joint_work import JointWork
from benchwright.server.lab_desk import LabDesk
from benchwright.server.middleware import Shield
from benchwright.server.routes import (
    about,
    administration,
    artifacts,
    badges,
    causes,
    dashboard,
    forge,
    hooks,
    lab,
    lab_agents,
    lab_pages,
    lab_plans,
    live,
    machines,
    metrics,
    pages,
    rules,
    session,
    sign_in,
    triage,
    uploads,
    verbs,
    views,
)
from benchwright.server.settings import ServerSettings, SignInSettings
from benchwright.server.shared_state import SharedState
from benchwright.server.standing_jobs import StandingJobs
from benchwright.server.traffic import Buckets, Traffic
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

if TYPE_CHECKING:
    from benchwright.server.openid import OpenIdProvider

API = "/api/v1"

# Below /api/v1, in the order in which paths are tried; `pages` is last, since it takes what others leave.
ROUTERS = (
    about,
    session,
    administration,
    uploads,
    artifacts,
    verbs,
    triage,
    causes,
    forge,
    views,
    machines,
    lab,
    lab_agents,
    lab_pages,
    lab_plans,
    rules,
    live,
    hooks,
    pages,
)
# At the root; `dashboard` is last, for the same reason.
OTHERS: tuple[ModuleType, ...] = (metrics, badges, sign_in, dashboard)


def create_app(
    settings: ServerSettings, *, shared: SharedState | None = None, traffic: Traffic | None = None
) -> FastAPI:
    """Returns the server's application, with its database open. The database closes when the application ends.

    With `shared` it is one of several processes of a server: another one does what a server does by itself.
    """
    here = make_context(settings, shared=shared, traffic=traffic)
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
    app.add_middleware(Intake, here=here)
    app.add_middleware(Shield, here=here)  # what is added last comes first
    errors.handle_errors(app)
    for module in ROUTERS:
        app.include_router(module.router, prefix=API)
    for other in OTHERS:
        app.include_router(other.router)
    openapi.describe(app)
    return app


def make_context(
    settings: ServerSettings, *, shared: SharedState | None = None, traffic: Traffic | None = None
) -> RequestContext:
    """Returns what the requests of a server share, with its database open; `shared` with other processes, too."""
    provider = _make_provider(settings.sign_in)  # first: where this fails, no store has been made
    store = None if settings.store_url.startswith(("http://", "https://")) else open_store(settings.store_url)
    if not isinstance(store, SqlStore):
        raise OptionError(
            "a server keeps its results in a database of its own",
            remedy="give --store a file or a postgresql:// address",
        )

    def buckets(name: str, rate: float, burst: float) -> Buckets:
        return shared.buckets(name, rate=rate, burst=burst) if shared else Buckets(rate=rate, burst=burst)

    if shared:
        store.share_removals(shared.counter("removals"))
        store.take_turns(shared.take_turn)
    limits = settings.limits
    return RequestContext(
        settings=settings,
        store=store,
        lab=LabDesk(
            store,
            settings.artifacts / "lab",
            lease=settings.lab_lease,
            control=settings.lab_control,
            bell=shared.counter("lab") if shared else None,
        ),
        asked=buckets("asked", limits.rate, limits.burst),
        tokens=JointWork(store.tokens_find),
        failed=buckets("failed", limits.failures / 60, limits.failures),
        refused=buckets("refused", 0.5, 30),
        told=buckets("told", 1 / MINUTES, 1),
        signing_in=buckets("signing_in", 1.0, 30),
        provider=provider,
        traffic=traffic or Traffic(),
        shared=shared,
    )


def _make_provider(settings: SignInSettings | None) -> OpenIdProvider | None:
    if settings is None:
        return None
    try:
        from benchwright.server.openid import OpenIdProvider
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "joserfc":
            raise
        raise NotInstalledError("joserfc, which [server.sign_in] needs,", "'benchwright[oidc]'") from None
    return OpenIdProvider(settings)


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    here = cast(RequestContext, app.state.context)
    anyio.to_thread.current_default_thread_limiter().total_tokens = here.settings.limits.threads
    jobs = StandingJobs(here) if here.shared is None else None
    if jobs:
        jobs.start()
    try:
        yield
    finally:
        here.stopping.set()
        if jobs:
            jobs.end()
        here.store.close()
