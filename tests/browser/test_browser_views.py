"""Axes, branches, facets, orders and views in a real Chromium: from a list to the team's home page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import sample_project as project
from benchwright.records import Run
from benchwright.store.archive import RELEASE, Annotation, NamedView
from benchwright.store.sql import SqlStore
from page_widths import check_width

Pages = Callable[..., Any]
BRANCH = "topic/fast-io"


@pytest.fixture(scope="module")
def store_file(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample store with a branch beside the main line, a commit that has a tag, and a release in a note."""
    file = Path(shutil.copy(sample, tmp_path_factory.mktemp("views") / "results.db"))
    with closing(SqlStore(f"sqlite:///{file}")) as store:
        for commit in (52, 55, 58):
            store.add_run(_again(commit, branch=BRANCH))
        store.add_run(_again(30, branch="main", tags=("v2.0",)))
        at = 1_000 * 1_790_000_000_000
        store.annotate(Annotation(id=0, series="", at=at, text="shipped", who="ada", made_at="", kind=RELEASE))
        store.keep_view(NamedView(id=0, name="All runs", address="runs", who="ada", made_at=""))
    return file


def _again(commit: int, *, branch: str, tags: tuple[str, ...] = ()) -> Run:
    """A commit measured once more on the first machine, on a branch or with tags."""
    run = project.run(2 * commit)
    assert run.revision is not None
    known = run.revision
    revision = replace(known, id=known.id if tags else known.id[::-1], branch=branch, tags=tags)
    results = tuple(replace(one, id=f"{one.id}-{branch[:2]}", revision=None) for one in run.results)
    return replace(run, id=f"{run.id}-{branch[:2]}", revision=revision, results=results)


def _summary(page: Any, name: str) -> Any:
    """What opens a facet."""
    return page.get_by_role("group", name="Narrow by").locator("summary", has_text=re.compile(f"^{name}"))


def _save(page: Any, name: str) -> None:
    page.get_by_role("button", name="Save this page as a view").click()
    dialog = page.get_by_role("dialog", name="Save this page as a view")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("button", name="Save view").click()


def test_a_list_becomes_a_chart_becomes_the_home_page(page_of: Pages) -> None:
    page = page_of("#/series")
    rows = page.get_by_role("table", name="Series").locator("tbody tr")
    facets = page.get_by_role("group", name="Narrow by")

    # narrowed by facets, with the keyboard
    _summary(page, "Metric").focus()
    page.keyboard.press("Enter")
    box = facets.get_by_role("group", name="Metric").get_by_label(re.compile(r"^latency_p50\s*22$"))
    box.focus()
    page.keyboard.press("Space")
    expect(rows).to_have_count(22)
    page.keyboard.press("Escape")
    expect(_summary(page, "Metric")).to_be_focused()
    _summary(page, "runtime").click()
    facets.get_by_role("checkbox", name=re.compile("^torch")).check()
    expect(rows).to_have_count(6)
    page.keyboard.press("Escape")
    _summary(page, "Branch").click()
    facets.get_by_role("checkbox", name=BRANCH).check()
    expect(rows).to_have_count(3)
    page.keyboard.press("Escape")
    assert re.search(r"metrics=latency_p50&param=runtime%253Dtorch&branch=topic%252Ffast-io$", page.url)

    # ordered by the server
    page.get_by_role("button", name="Latest", exact=True).click()
    page.get_by_role("button", name="Latest", exact=True).click()
    expect(page.get_by_role("columnheader", name="Latest")).to_have_attribute("aria-sort", "descending")
    expect(rows.first).to_contain_text("batch_size=8")
    assert "sort=-last" in page.url

    # over commits, branches apart, each round
    rows.nth(1).get_by_role("link").first.click()
    expect(page.get_by_role("application", name=re.compile("over time"))).to_be_visible()
    page.get_by_role("button", name="By commit").click()
    expect(page.get_by_role("application", name=re.compile("over commits"))).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("v2.0 (2026-09-16 03:00)")
    page.get_by_text("Show data as a table").click()
    figures = page.locator(".chart-data tbody tr")
    expect(figures).to_have_count(60 + 1 + 3)
    page.get_by_role("button", name="Other branches").click()
    expect(figures).to_have_count(61)
    page.get_by_role("button", name=BRANCH).click()
    expect(figures).to_have_count(64)
    expect(page.locator(".chart-data")).to_contain_text(f", {BRANCH}")
    page.get_by_role("button", name="Each round").click()
    expect(figures).to_have_count(2 * 64)
    page.get_by_role("button", name="Each round").click()
    expect(figures).to_have_count(64)
    page.get_by_role("application").focus()
    page.keyboard.press("End")
    expect(page.locator(".chart-tip")).to_contain_text("2 rounds together")
    page.get_by_role("button", name="50 commits").click()
    expect(page).to_have_url(re.compile(r"x=commit&.*from=[0-9a-f]{40}&to=[0-9a-f]{40}$"))
    wanted = page.url.split("#")[1]

    # saved, and what opens first
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("v")
    dialog = page.get_by_role("dialog", name="Save this page as a view")
    dialog.get_by_label("Name").fill("Fast I/O by commit")
    dialog.get_by_label("The team's home page").check()
    dialog.get_by_role("button", name="Save view").click()
    expect(page.get_by_role("dialog")).to_contain_text("this one opens first")
    page.get_by_role("button", name="Close", exact=True).click()
    again = page_of()
    expect(again).to_have_url(re.compile(re.escape(wanted) + "$"))
    expect(again.get_by_role("button", name="By commit")).to_have_attribute("aria-pressed", "true")
    again.get_by_role("link", name="Overview").click()
    expect(again.get_by_role("heading", level=1)).to_have_text("Overview")
    again.get_by_role("link", name="Benchwright", exact=True).click()
    expect(again).to_have_url(re.compile(re.escape(wanted) + "$"))


def test_views_are_renamed_and_removed_and_a_name_is_taken_once(page_of: Pages) -> None:
    page = page_of("#/runs?tags=nightly&sort=-results", complains=True)  # a name that is taken is an answer of 409
    _save(page, "Nightly runs")
    expect(page.get_by_role("dialog")).to_contain_text("Saved as Nightly runs")
    page.get_by_role("button", name="Close", exact=True).click()
    _save(page, "Nightly runs")
    expect(page.get_by_role("alert")).to_contain_text("another view is called 'Nightly runs'")
    page.get_by_role("button", name="Cancel").click()
    page.keyboard.type("gv")
    views = page.get_by_role("table", name="Views")
    page.get_by_role("button", name="Rename Nightly runs").click()
    page.get_by_label("New name of Nightly runs").fill("Every night")
    page.get_by_role("button", name="Keep", exact=True).click()
    views.get_by_role("link", name="Every night").click()
    expect(page).to_have_url(re.compile(r"#/runs\?tags=nightly&sort=-results$"))
    expect(page.get_by_role("columnheader", name="Results")).to_have_attribute("aria-sort", "descending")
    page.keyboard.type("gv")
    page.once("dialog", lambda asked: asked.accept())
    page.get_by_role("button", name="Remove Every night").click()
    expect(page.get_by_role("link", name="Every night")).to_have_count(0)


def test_runs_are_narrowed_and_ordered_by_the_server(page_of: Pages) -> None:
    page = page_of("#/runs")
    rows = page.get_by_role("table", name=re.compile("Runs")).locator("tbody tr")
    expect(rows).to_have_count(50)
    facets = page.get_by_role("group", name="Narrow by")
    _summary(page, "Branch").click()
    facets.get_by_role("checkbox", name=BRANCH).check()
    expect(rows).to_have_count(3)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("columnheader", name="Run", exact=True)).to_have_attribute("aria-sort", "ascending")
    assert page.url.endswith("sort=run")


@pytest.mark.parametrize("path", ["#/series", "#/runs", "#/views"])
def test_a_phone_shows_lists_without_scrolling_sideways(page_of: Pages, path: str) -> None:
    page = page_of(path, width=360)
    page.get_by_role("table").first.wait_for()
    check_width(page)
    if path != "#/views":
        page.get_by_role("group", name="Narrow by").locator("summary").first.click()
        check_width(page)
