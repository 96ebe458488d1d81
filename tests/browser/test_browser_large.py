"""A run of 1,500 cases: its answer is bounded, and rows are drawn as they are scrolled to."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import expect

from benchwright.records import Better, Case, Environment, Estimate, Metric, Result, Run, Status, Target
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore

CASES = 1500
MOST_BYTES = 600_000
MOST_ELEMENTS = 12_000  # five times as many when every row of 2,500 cases was drawn
ENVIRONMENT = Environment(machine={"cpu": "Example 9000"}, system={"os": "Linux", "architecture": "x86_64"})


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, serve: Callable[[ServerSettings], Iterator[str]]) -> Iterator[str]:
    """A server whose only run has very many cases."""
    file = tmp_path_factory.mktemp("large") / "results.db"
    with closing(SqlStore(f"sqlite:///{file}")) as store:
        run = Run(
            id="large", started_at="2026-03-01T10:00:00+00:00", harness="1", results=tuple(map(_result, range(CASES)))
        )
        store.add_run(run)
    yield from serve(ServerSettings(store_url=f"sqlite:///{file}", artifacts=file.parent / "artifacts"))


def _result(number: int) -> Result:
    value = 0.001 * (CASES - number)
    estimate = Estimate(point=value, low=0.99 * value, high=1.01 * value)
    names = [f"latency_p{share}" for share in (50, 90, 95, 99)]
    metrics = tuple(Metric(name=name, unit="s", better=Better.LOWER, estimate=estimate) for name in names)
    return Result(
        id=f"r{number}",
        case=Case(name=f"suite/case-{number:04}", target=Target(runtime="fake", uri="")),
        round=0,
        status=Status.OK,
        environment=ENVIRONMENT,
        started_at="2026-03-01T10:00:00+00:00",
        duration=1.0,
        metrics=metrics,
    )


def test_answers_come_in_pages_that_are_bounded(large: str) -> None:
    seen: list[str] = []
    after = "0"
    while after:
        with urllib.request.urlopen(f"{large}api/v1/runs/large?after={after}&limit=500") as answer:
            body = answer.read()
        page = json.loads(body)
        assert len(body) < 2 * MOST_BYTES
        seen += [line["case"] for line in page["cases"]]
        after = page["next"]
        assert (page["case_count"], page["found"]) == (CASES, CASES)
    assert seen == [f"suite/case-{number:04}" for number in range(CASES)]
    with urllib.request.urlopen(f"{large}api/v1/runs/large") as answer:
        assert len(answer.read()) < MOST_BYTES
    with urllib.request.urlopen(f"{large}api/v1/runs/large?words=CASE-12+suite&sort=latency_p50") as answer:
        page = json.loads(answer.read())
    assert page["found"] == 100 and page["case_count"] == CASES
    assert page["cases"][0]["case"] == "suite/case-1299"  # the quickest of those
    with urllib.request.urlopen(f"{large}api/v1/runs") as answer:
        (line,) = json.loads(answer.read())["runs"]
    assert (len(line["cases"]), line["case_count"]) == (50, CASES)


def test_rows_are_drawn_as_they_are_scrolled_to(large: str, page_of: Callable[..., Any]) -> None:
    page = page_of("#/runs/large", base=large)
    table = page.get_by_role("table", name="Cases of this run")
    table.get_by_role("row", name="case-0000").wait_for()
    assert table.get_attribute("aria-rowcount") == str(CASES + 1)
    assert page.locator("*").count() < MOST_ELEMENTS
    # Down to the last row, in steps as a wheel makes them.
    last = table.get_by_role("row", name=f"case-{CASES - 1}")
    for _ in range(400):
        if last.count():
            break
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(30)
    assert last.get_attribute("aria-rowindex") == str(CASES + 1)
    assert page.locator("*").count() < MOST_ELEMENTS
    # The browser's own search, and a printer, find every row.
    page.keyboard.press("Control+f")
    expect(table.locator("tbody tr[aria-rowindex]")).to_have_count(CASES)


def test_cases_are_found_and_ordered_by_the_server(large: str, page_of: Callable[..., Any]) -> None:
    page = page_of("#/runs/large", base=large)
    table = page.get_by_role("table", name="Cases of this run")
    page.get_by_label("Filter 1,500 cases").fill("case-14")
    table.get_by_role("row", name="case-1400").wait_for()
    assert table.get_attribute("aria-rowcount") is None  # a hundred rows are drawn whole
    table.get_by_role("button", name="latency_p50").focus()
    page.keyboard.press("Enter")
    expect(table.locator("tbody th").first).to_contain_text("case-1499")
    assert "sort=latency_p50" in page.url and "words=case-14" in page.url
