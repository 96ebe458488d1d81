"""Served models in a real Chromium: the curve of a run with its knee, and the requests of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from benchwright.records import Run
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore
from page_widths import check_phone

Pages = Callable[..., Any]


@pytest.fixture(scope="module")
def served(
    serve: Callable[[ServerSettings], Iterator[str]],
    tmp_path_factory: pytest.TempPathFactory,
    served_rates: Run,
    served_failures: Run,
) -> Iterator[str]:
    """The address of a server whose store holds a sweep of rates, and a run with failed requests."""
    path: Path = tmp_path_factory.mktemp("served") / "results.db"
    store = SqlStore(f"sqlite:///{path}")
    for run in (served_rates, served_failures):
        store.add_run(run)
    store.close()
    yield from serve(ServerSettings(store_url=f"sqlite:///{path}", artifacts=path.parent / "artifacts"))


def test_a_sweep_shows_its_knee_and_its_goodput(page_of: Pages, served: str, served_rates: Run) -> None:
    page = page_of(f"#/runs/{served_rates.id}", base=served)
    part = page.locator("section").filter(has=page.get_by_role("heading", name="Load and latency"))
    expect(part).to_contain_text("Knee at ")
    expect(part.locator(".sweep-knee")).to_have_count(1)
    expect(part.get_by_role("img", name="Requests that succeeded and kept every objective, at 3 rates")).to_be_visible()
    curve = part.get_by_role("img", name="Throughput against latency of 3 cases")
    curve.hover()
    expect(part.locator(".plot-words").first).to_contain_text("/s at ")
    part.get_by_role("link", name="Its result").click()
    expect(page.get_by_role("heading", name="Requests", exact=True)).to_be_visible()


def test_a_result_shows_its_requests_and_why_some_failed(page_of: Pages, served: str, served_failures: Run) -> None:
    page = page_of(f"#/results/{served_failures.results[0].id}", base=served)
    table = page.get_by_role("table", name="Failed requests by class")
    expect(table).to_contain_text("failed within the stream")
    expect(table).to_contain_text("HTTP 429: Rate limit reached (retry after 1)")
    expect(page.locator(".requests-failed")).to_have_count(3)
    made = len(served_failures.results[0].samples[0].columns["end"])
    bars = page.get_by_role("img", name=f"{min(50, made)} requests, each from its scheduled instant to its end")
    expect(bars.locator(".requests-ticks")).to_have_count(min(50, made))
    expect(page.locator(".requests-beside svg").first).to_be_visible()
    page.get_by_role("button", name="itl", exact=True).click()
    expect(page.get_by_text("Distribution of itl")).to_be_visible()


def test_both_fit_a_phone(page_of: Pages, served: str, served_rates: Run, served_failures: Run) -> None:
    for place in (f"#/runs/{served_rates.id}", f"#/results/{served_failures.results[0].id}"):
        page = page_of(place, base=served, width=360)
        expect(page.locator("svg .plot-axes").first).to_be_attached()
        check_phone(page)
