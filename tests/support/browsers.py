"""A real Chromium; `make` installs it. Tests take the fixture `browser`.

The headless shell is preferred: the same engine without the windows that nobody sees, for a quarter less CPU.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PROGRAMS = ("chromium-headless-shell", "chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Any]:
    """Open for the block. While it is, an event loop counts as running in this thread."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # milliseconds: a busy machine draws a page in more than the usual five seconds
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=FLAGS)
        yield browser
        browser.close()


def _program() -> str:
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert found, f"none of {', '.join(PROGRAMS)} is installed: run make .venv/.programs"
    return found
