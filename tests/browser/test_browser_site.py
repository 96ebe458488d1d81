"""A published site, opened from the disk: every link leads somewhere, and every control works or is absent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import expect

import sample_store
from benchwright.pages.site import publish
from benchwright.store.sql import SqlStore

RUNS = 2
LINKS = "[...document.querySelectorAll('main a[href^=\"#/\"]')].map((link) => link.getAttribute('href'))"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a site of the newest runs, on the disk."""
    above = tmp_path_factory.mktemp("published")
    sample_store.build_small(above / "results.db")
    folder = above / "site"
    with closing(SqlStore(f"sqlite:///{above / 'results.db'}")) as store:
        publish(store, folder, runs=RUNS)
    return (folder / "index.html").as_uri()


@pytest.fixture
def page(browser: Any, site: str) -> Iterator[Any]:
    """A page of the site; the test fails when it complains."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, timezone_id="UTC", locale="en-GB")
    opened, complaints = context.new_page(), []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(site)
    yield opened
    context.close()
    assert complaints == []


def _go(page: Any, place: str) -> None:
    page.evaluate(f"location.hash = '{place}'")
    page.wait_for_function(f"() => location.hash === '{place}'")
    expect(page.locator("main").locator("h1, .empty, .problem").first).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)


def test_every_link_of_every_kind_of_page_leads_somewhere(page: Any) -> None:
    waiting = [f"#/{name}" for name in ("overview", "findings", "series", "compare", "matrix", "runs", "machines")]
    kinds: dict[str, int] = {}
    wrong = {}
    while waiting:
        place = waiting.pop(0)
        kind = re.sub(r"^(#/[a-z]+)/.+", r"\1/ID", place.split("?")[0]) + "?" * ("?" in place)
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] > 2:
            continue
        _go(page, place)
        if said := [text for text in page.locator("[role=alert]").all_inner_texts() if text]:
            wrong[place] = said
        waiting += page.evaluate(LINKS)
    assert wrong == {}
    assert {"#/runs/ID", "#/series/ID", "#/findings/ID", "#/machines/ID", "#/results/ID", "#/compare?"} <= kinds.keys()


def test_only_comparisons_that_were_published_are_offered(page: Any) -> None:
    _go(page, "#/compare")
    before, after = (page.get_by_role("group", name=name) for name in ("Before", "After"))
    kinds = before.get_by_label("Kind").locator("option").all_inner_texts()
    assert kinds == ["Run", "Machine", "Runtime"]
    before.get_by_label("Kind").select_option("Runtime")
    before.get_by_role("combobox", name="Runtime").click()
    page.get_by_role("option", name="onnxruntime").click()
    after.get_by_label("Kind").select_option("Runtime")
    after.get_by_role("combobox", name="Runtime").click()
    offered = page.get_by_role("option").all_inner_texts()
    assert [one.strip() for one in offered] == ["openvino", "python", "torch"] or "onnxruntime" not in str(offered)
    page.get_by_role("option", name="openvino").click()
    expect(page.get_by_role("heading", level=2).first).to_contain_text("openvino against onnxruntime")
    expect(page.get_by_role("button", name="Add a side")).to_have_count(0)


def test_heads_that_can_be_pressed_sort(page: Any) -> None:
    for place, table, first in (
        ("runs", "Runs", "Run"),
        ("series", "Series", "Case"),
        ("machines", "Machines", "Machine"),
    ):
        _go(page, f"#/{place}")
        found = page.get_by_role("table", name=table)
        head = found.get_by_role("columnheader", name=first).first
        orders = []
        for _ in range(2):
            before = head.get_attribute("aria-sort")
            head.get_by_role("button").click()
            expect(head).not_to_have_attribute("aria-sort", before or "none")
            orders.append(found.locator("tbody tr").all_inner_texts())
        assert orders[0] != orders[1], place


def test_nothing_can_be_changed_or_is_live(page: Any) -> None:
    for name in ("Live", "Lab"):
        expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name=name)).to_have_count(0)
    _go(page, "#/findings?each=yes")
    expect(page.get_by_text("This is a published copy: it is read-only.")).to_be_visible()
    expect(page.get_by_role("button", name="Acknowledge", exact=True)).to_have_count(0)
    _go(page, "#/machines")
    page.get_by_role("main").get_by_role("link").first.click()
    expect(page.get_by_role("region", name="Health over time")).to_be_visible()
    expect(page.get_by_role("button", name="Put into quarantine")).to_have_count(0)
