"""Sample runs for the tests of reports, and a real browser."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchwright.records import Run

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def samples() -> ModuleType:
    """The module that makes runs."""
    spec = importlib.util.spec_from_file_location("sample_runs", Path(__file__).with_name("sample_runs.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def run(samples: ModuleType) -> Run:
    """A run of four cases that went well and one that did not, three rounds each."""
    made: Run = samples.make_run()
    return made


@pytest.fixture(scope="module")  # no longer: while Playwright is open, an event loop counts as running in this thread
def browser() -> Iterator[Any]:
    """A real Chromium; `apt-get install chromium` provides it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
