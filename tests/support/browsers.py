"""A real Chromium; `apt-get install chromium` provides it. Tests take the fixture `browser`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PROGRAM = "/usr/bin/chromium"
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
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        yield browser
        browser.close()
