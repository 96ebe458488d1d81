"""The frame, the overview and the series pages in a real Chromium, on the sample store."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from benchwright.server.settings import ServerSettings
from page_widths import check_width

Pages = Callable[..., Any]
CASE = "vision/resnet50.onnx"


@pytest.fixture(scope="module")
def keys(server: str) -> dict[str, str]:
    """Keys of the series of batch size 1 on one machine, by runtime and metric: `torch latency_p50`."""
    with urlopen(f"{server}api/v1/series?case={CASE}&limit=500") as answer:
        lines = json.load(answer)["series"]
    here = [line for line in lines if line["machine"] == lines[0]["machine"] and line["params"]["batch_size"] == 1]
    return {f"{line['params']['runtime']} {line['metric']}": line["key"] for line in here}


# ---- the frame ----


def test_keys_lead_everywhere_and_the_present_page_is_marked(page_of: Pages) -> None:
    page = page_of("#/overview")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    present = page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")
    expect(present).to_have_text("Overview")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Machines")
    page.keyboard.press("Escape")
    page.keyboard.type("gs")
    expect(present).to_have_text("Series")
    expect(page).to_have_title("Series · Benchwright")
    page.keyboard.press("/")
    page.keyboard.type("whisper rss")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="Series").locator("tbody tr")).to_have_count(2)
    assert page.url.endswith("#/series?words=whisper+rss")


def test_a_theme_is_the_systems_until_one_is_chosen_and_then_kept(page_of: Pages) -> None:
    page = page_of(dark=True)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Theme: system. Change").click()
    expect(root).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.get_by_role("button", name="Theme: light. Change")).to_be_visible()
    expect(root).to_have_attribute("data-theme", "light")


def test_an_address_that_means_nothing_says_so(page_of: Pages) -> None:
    for name in ("nowhere", "constructor"):
        expect(page_of(f"#/{name}").get_by_role("main")).to_contain_text(f"No page named {name}.")
    expect(page_of("#/series/none", complains=True).get_by_role("alert")).to_contain_text("no series 'none'")


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, serve: Callable[[ServerSettings], Iterator[str]]
) -> Iterator[tuple[str, Path]]:
    """A server on an empty store that lets nobody in without a token, and its store."""
    store = tmp_path_factory.mktemp("guarded") / "results.db"
    settings = ServerSettings(store_url=f"sqlite:///{store}", artifacts=store.parent, require_token=True)
    for address in serve(settings):
        yield address, store


def test_a_server_that_wants_a_token_asks_for_it_and_then_says_how_to_begin(
    page_of: Pages, guarded: tuple[str, Path], inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    address, store = guarded
    made = inside("token", "create", "me", "--scope", "write", "--store", str(store), "--json")
    page = page_of(base=address, complains=True)
    prompt = page.get_by_role("dialog", name="Token required")
    prompt.get_by_label("Token").fill("wrong")
    prompt.get_by_role("button", name="Sign in").click()
    expect(prompt.get_by_role("alert")).not_to_be_empty()
    prompt.get_by_label("Token").fill(json.loads(made.stdout)["data"]["token"])
    prompt.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing has been measured yet")
    expect(page.get_by_role("main")).to_contain_text(f"benchwright run model.onnx --store {address}")
    expect(page.get_by_role("contentinfo")).to_contain_text("signed in as me")
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    prompt.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("contentinfo").get_by_role("button", name="Sign in")).to_be_visible()


def test_a_server_that_was_away_is_asked_again(page_of: Pages) -> None:
    page = page_of("#/runs", complains=True)
    page.get_by_role("table", name="Runs").wait_for()
    page.route("**/api/v1/matrix*", lambda route: route.abort())
    page.keyboard.type("gx")
    expect(page.get_by_role("alert")).to_contain_text("the server cannot be reached")
    page.unroute("**/api/v1/matrix*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name=re.compile("by case"))).to_be_visible()


def test_a_page_that_fails_leaves_the_frame(page_of: Pages) -> None:
    page = page_of("#/nowhere", complains=True)
    page.route("**/api/v1/overview", lambda route: route.fulfill(json={"runs": [{}], "counts": {}}))
    page.keyboard.type("go")
    expect(page.get_by_role("alert")).to_contain_text("the page could not be drawn")
    page.keyboard.type("gs")
    expect(page.get_by_role("table", name="Series")).to_be_visible()


# ---- overview ----


def test_the_overview_tells_what_got_worse_through_whom_and_what_fails(page_of: Pages) -> None:
    page = page_of()
    card = page.get_by_role("region", name="Regressions").get_by_role("listitem").first
    for text in (CASE, "12 % slower", "Copy every input before the call", "91 % sure"):
        expect(card).to_contain_text(text)
    expect(page.get_by_role("region", name="Failing")).to_contain_text("5.6 GiB wanted, 3.1 GiB free")
    expect(page.get_by_role("region", name="Improvements")).to_contain_text("15 % faster")
    expect(
        page.get_by_role("table", name="Suites by machine").get_by_role("link", name="vision", exact=True)
    ).to_have_count(2)
    expect(page.get_by_role("table", name="Latest runs").locator("tbody tr")).to_have_count(10)
    card.get_by_role("link").click()
    expect(page).to_have_url(re.compile("#/findings/.+"))


# ---- series ----


def test_a_list_is_narrowed_sorted_and_several_are_drawn_together(page_of: Pages) -> None:
    page = page_of("#/series")
    page.get_by_label("Metric").select_option("latency_p50")
    page.get_by_label("Case").select_option(CASE)
    rows = page.get_by_role("table", name="Series").locator("tbody tr")
    expect(rows).to_have_count(12)
    assert page.url.endswith("#/series?metric=latency_p50&case=vision%2Fresnet50.onnx")
    newest = page.get_by_role("button", name="Latest")
    newest.click()
    newest.click()
    expect(page.get_by_role("columnheader", name="Latest")).to_have_attribute("aria-sort", "descending")
    expect(rows.first).to_contain_text("29.5 ms")
    for number in (0, 1):
        rows.nth(number).get_by_role("checkbox").check()
    page.get_by_role("button", name="Show chart").click()
    expect(page.get_by_role("list", name="Series on this chart").get_by_role("listitem")).to_have_count(2)


def test_every_state_of_a_chart_is_in_its_address(page_of: Pages, keys: dict[str, str]) -> None:
    page = page_of(f"#/series/{keys['onnxruntime latency_p50']}")
    page.get_by_role("button", name="Log scale").click()
    page.get_by_role("button", name="Intervals").click()
    expect(page).to_have_url(re.compile(r"\?log=1&band=0$"))
    expect(page.get_by_role("button", name="Intervals")).to_have_attribute("aria-pressed", "false")
    box = page.locator(".u-over").bounding_box()  # of the chart as it is drawn anew
    page.mouse.move(box["x"] + 300, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"\?log=1&band=0&from=\d+&to=\d+$"))
    again = page_of(page.url.removeprefix(page.url.split("#")[0]))
    expect(again.get_by_role("button", name="Log scale")).to_have_attribute("aria-pressed", "true")
    again.get_by_text("Show data as a table").click()
    rows = again.locator(".chart-data tbody tr")
    expect(rows).not_to_have_count(0)
    assert 5 < rows.count() < 20  # of 60 runs, each of two rounds
    again.locator(".u-over").dblclick(position={"x": 30, "y": 200})
    expect(again).to_have_url(re.compile(r"\?log=1&band=0$"))
    expect(again.locator(".chart-data tbody tr")).to_have_count(60)


def test_a_change_point_is_a_flag_that_leads_to_its_finding(page_of: Pages, keys: dict[str, str]) -> None:
    page = page_of(f"#/series/{keys['onnxruntime latency_p50']}")
    flag = page.get_by_role("link", name="worse: 12 % slower")
    expect(flag).to_be_visible()
    flag.click()
    expect(page).to_have_url(re.compile("#/findings/.+"))


def test_hovering_and_the_keyboard_read_points_and_keep_them(page_of: Pages, keys: dict[str, str]) -> None:
    page = page_of(f"#/series/{keys['onnxruntime latency_p50']}")
    tip = page.locator(".chart-tip")
    page.locator(".u-over").hover(position={"x": 200, "y": 200})
    expect(tip).to_contain_text(re.compile(r"4\.\d+ ms \[4\..*, 4\..*\].*2026-09-", re.S))
    page.mouse.move(2, 2)
    chart = page.get_by_role("application")
    chart.focus()
    page.keyboard.press("End")
    expect(tip).to_contain_text("Bump numpy")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    tip.get_by_role("link", name="Run").click()
    expect(page).to_have_url(re.compile("#/runs/.+"))


def test_the_wheel_zooms_only_a_chart_that_was_chosen(page_of: Pages, keys: dict[str, str]) -> None:
    page = page_of(f"#/series/{keys['onnxruntime latency_p50']}")
    page.locator(".u-over").hover(position={"x": 400, "y": 100})
    page.mouse.wheel(0, 300)
    page.wait_for_function("scrollY > 0")
    assert "from=" not in page.url
    page.get_by_role("application").focus()
    page.locator(".u-over").hover(position={"x": 400, "y": 100})
    page.mouse.wheel(0, -300)
    expect(page).to_have_url(re.compile("from="))
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("from="))


def test_units_have_an_axis_each_until_there_are_too_many(page_of: Pages, keys: dict[str, str]) -> None:
    two = [keys["torch latency_p50"], keys["torch rss_peak"]]
    page = page_of(f"#/series/{','.join(two)}")
    legend = page.get_by_role("list", name="Series on this chart")
    expect(page).to_have_title(re.compile(f"^latency_p50 of {CASE} .*, rss_peak of {CASE} .* · Benchwright$"))
    expect(page.locator(".u-axis")).to_have_count(3)
    relative = page.get_by_role("button", name="First = 100 %")
    relative.click()
    expect(page.locator(".u-axis")).to_have_count(2)
    page.goto(f"{page.url.split('#')[0]}#/series/{','.join([*two, keys['torch throughput']])}")
    expect(legend.get_by_role("listitem")).to_have_count(3)
    expect(relative).to_be_disabled()
    expect(page.locator(".u-axis")).to_have_count(2)
    legend.get_by_role("link", name=re.compile("Remove throughput")).click()
    expect(legend.get_by_role("listitem")).to_have_count(2)


def test_a_note_is_written_flagged_and_taken_away_and_stays_text(page_of: Pages, keys: dict[str, str]) -> None:
    evil = "<img src=x onerror=alert(1)> driver 560"
    page = page_of(f"#/series/{keys['torch latency_p50']}")
    page.get_by_label("Note", exact=True).fill(evil)
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_role("link", name=f"Note 1: {evil}")).to_be_visible()
    expect(page.get_by_role("region", name="Notes").get_by_role("listitem")).to_contain_text(evil)
    assert page.locator("img").count() == 0
    page.get_by_role("button", name="Remove note 1").click()
    expect(page.get_by_role("link", name=re.compile("Note 1"))).to_have_count(0)


def test_a_phone_shows_all_without_scrolling_sideways(page_of: Pages, keys: dict[str, str]) -> None:
    page = page_of("#/overview", width=360)
    title = page.get_by_role("heading", level=1)
    expect(title).to_have_text("Overview")
    check_width(page)
    page.get_by_role("button", name="Menu").click()
    places = page.get_by_role("navigation", name="Pages")
    places.get_by_role("link", name="Series").click()
    expect(title).to_have_text("Series")
    expect(places).to_be_hidden()
    page.get_by_role("table", name="Series").wait_for()
    check_width(page)
    page.goto(f"{page.url.split('#')[0]}#/series/{keys['onnxruntime latency_p50']}")
    page.locator(".u-over").wait_for()
    check_width(page)
