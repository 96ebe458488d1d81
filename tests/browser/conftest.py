"""The sample store behind a real server, and pages of it in a real Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sample_store
from benchwright.server.settings import ServerSettings
from page_server import PATIENCE, serving


@pytest.fixture(scope="session")
def sample() -> Path:
    """The sample store; made once for all workers, and never changed: copy it."""
    path = Path(os.environ["BENCHWRIGHT_CACHE"], "sample-store.db")
    if not path.exists():
        mine = path.with_name(f"sample-store-{os.getpid()}.db")
        sample_store.build(mine)
        mine.replace(path)
    return path


@pytest.fixture(scope="module")
def store_file(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store behind `server`: a copy of the sample for each module."""
    return Path(shutil.copy(sample, tmp_path_factory.mktemp("pages") / "results.db"))


@pytest.fixture(scope="module")
def server(store_file: Path) -> Iterator[str]:
    """The address of a server on the sample store, with a slash at its end."""
    yield from serving(ServerSettings(store_url=f"sqlite:///{store_file}", artifacts=store_file.parent / "artifacts"))


@pytest.fixture(scope="module")
def serve() -> Callable[[ServerSettings], Iterator[str]]:
    """Starts other servers, for fixtures: `yield from serve(ServerSettings(...))`."""
    return serving


@pytest.fixture
def page_of(browser: Any, server: str) -> Iterator[Callable[..., Any]]:
    """`page_of("#/series", dark=True, width=360)` opens a page in a browser of its own.

    The test fails when the page complains (`complains=True` allows it) or asks anything of anybody but its server.
    """
    contexts, complaints, asked = [], [], []

    def opened(
        path: str = "", *, dark: bool = False, width: int = 1280, base: str = server, complains: bool = False
    ) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            timezone_id="UTC",
            locale="en-GB",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        if not complains:
            page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url) if not _within(request.url, base) else None)
        page.goto(base + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert asked == []


def _within(url: str, base: str) -> bool:
    return url.startswith((base, "data:", "blob:"))
