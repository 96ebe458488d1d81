"""A server without a socket: its application, asked directly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import series_of_runs as runs
from benchwright import schema
from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding
from benchwright.server.app import create_app
from benchwright.server.settings import RequestLimits, ServerSettings
from benchwright.store.sql import SqlStore

LIMITS = RequestLimits(failure_delay=0.0)


class Server(TestClient):
    """Asks an application, and knows the store behind it."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.made = create_app(settings)
        self.store: SqlStore = self.made.state.context.store
        super().__init__(self.made, base_url="http://127.0.0.1:8765/api/v1/", raise_server_exceptions=True)

    def token(self, name: str, scope: str, expires_at: str = "") -> dict[str, str]:
        """The header of a new token."""
        return {"Authorization": f"Bearer {self.store.token_add(name, scope, expires_at=expires_at)}"}


@pytest.fixture(scope="session")
def serving() -> Callable[..., Server]:
    """`serving(folder, require_token=True)`; close it."""

    def make(folder: Path, *, limits: dict[str, Any] | None = None, **settings: Any) -> Server:
        return Server(
            ServerSettings(
                store_url=str(folder / "results.db"),
                artifacts=folder / "artifacts",
                limits=replace(LIMITS, **(limits or {})),
                **settings,
            )
        )

    return make


@pytest.fixture(scope="module")
def server(serving: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on one's own machine, of an empty store that a module's tests share."""
    with serving(tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture(scope="module")
def guarded(serving: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that asks everyone for a token."""
    with serving(tmp_path_factory.mktemp("guarded"), require_token=True) as made:
        yield made


@pytest.fixture(scope="session")
def filled() -> Callable[[SqlStore], Finding]:
    """`filled(store)`: a few runs of one case, and a finding in their series."""

    def fill(store: SqlStore) -> Finding:
        kept = runs.fill(store, [0.5, 0.5, 0.6, 0.6])
        first = kept[0].results[0]
        one = Estimate(point=0.5, low=0.49, high=0.51)
        found = Finding(
            id="f1",
            series=schema.series_key(first.case, first.environment, first.metrics[0].name),
            before=one,
            after=one,
            effect=one,
            method="a test's",
            verdict=Verdict.WORSE,
            case=first.case.name,
            metric=first.metrics[0].name,
            unit=first.metrics[0].unit,
            machine=schema.environment_key(first.environment),
            run=kept[2].id,
            runs=(kept[1].id, kept[2].id),
            found_at="2026-03-01T10:00:00+00:00",
        )
        return store.keep_finding(found)

    return fill
