"""Whole journeys in a real Chromium: from the overview to a culprit, along a run that is measured meanwhile."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from page_widths import check_width

Pages = Callable[..., Any]
CASE = "vision/resnet50.onnx"
CULPRIT = "Copy every input before the call"
# Every text that is seen with too little contrast to what lies behind it, by the rules of WCAG 2.2 AA.
FAINT = """() => {
  const parts = (text) => {
    const numbers = text.match(/-?[\\d.]+(e-?\\d+)?/g).map(Number);
    const [r, g, b] = text.startsWith("color(") ? numbers.slice(0, 3).map((one) => 255 * one) : numbers;
    return { rgb: [r, g, b], alpha: numbers[3] ?? 1 };
  };
  const over = (above, below) => below.map((one, i) => above.alpha * above.rgb[i] + (1 - above.alpha) * one);
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const here = parts(getComputedStyle(element).backgroundColor);
    return here.alpha === 1 ? here.rgb : over(here, behind(element.parentElement));
  };
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const veil = (element) => (element ? Number(getComputedStyle(element).opacity) * veil(element.parentElement) : 1);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.closest(":disabled, .aside, option")) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const ink = parts(element instanceof SVGElement ? style.fill : style.color);
    const seen = over({ ...ink, alpha: ink.alpha * veil(element) }, ground);
    const [high, low] = [light(seen), light(ground)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < least) found.push(`${text.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""

# Goes to another page, and returns once it is drawn, be it without data.
GO = """(hash) => new Promise((drawn) => {
  addEventListener("hashchange", () => requestAnimationFrame(() => setTimeout(drawn, 0)), { once: true });
  location.hash = hash;
})"""


def read(server: str, path: str) -> Any:
    with urlopen(f"{server}api/v1/{path}") as answer:
        return json.load(answer)


# ---- from a regression to its culprit ----


def test_a_regression_is_found_understood_acknowledged_and_shared(page_of: Pages) -> None:
    page = page_of()
    page.get_by_role("region", name="Regressions").get_by_role("link", name=CULPRIT).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(CULPRIT)
    head = page.locator(".finding-head")
    expect(head).to_contain_text(re.compile("30f793d1dc.*Grace Murray.*91 %.*4 series of 2 cases", re.S))
    page.get_by_role("table", name="Series of this cause").get_by_role("link", name=CASE).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(CASE)
    culprit = page.get_by_role("region", name="Culprit").get_by_role("listitem").first
    expect(culprit).to_contain_text(re.compile("91 %.*Copy every input before the call.*Grace Murray"))
    page.get_by_role("link", name="Its cause").click()
    page.get_by_label("Comment (optional)").fill("Grace has a fix")
    page.get_by_role("button", name="Acknowledge").click()
    expect(head).to_contain_text("acknowledged")
    page.reload()
    expect(head).to_contain_text("acknowledged")
    expect(page.get_by_role("region", name="Story")).to_contain_text(re.compile("acknowledged.*Grace has a fix", re.S))
    shared = page_of(page.url[page.url.index("#") :], width=390, dark=True)
    expect(shared.locator(".finding-head")).to_contain_text("acknowledged")
    expect(shared.get_by_role("region", name="Story")).to_contain_text("Grace has a fix")
    check_width(shared)
    shared.get_by_role("button", name="Menu").click()
    shared.get_by_role("navigation", name="Pages").get_by_role("link", name="Overview").click()
    expect(shared.get_by_text("No open regressions.")).to_be_visible()
    page.get_by_role("button", name="Reopen").click()
    expect(head).to_contain_text("open")
    shared.reload()
    expect(shared.get_by_role("region", name="Regressions")).to_contain_text("1 cause, 4 series")


@pytest.mark.soak  # test_browser_twenty.py goes a longer way by keys alone
def test_the_same_journey_needs_no_mouse(page_of: Pages) -> None:
    page = page_of()
    card = page.get_by_role("region", name="Regressions").get_by_role("link", name=CULPRIT)
    _tab_to(page, card)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(CULPRIT)
    _tab_to(page, page.get_by_role("table", name="Series of this cause").get_by_role("link", name=CASE).first)
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Culprit")).to_contain_text("Copy every input before the call")
    expect(page.get_by_role("main")).to_be_focused()  # a screen reader goes on here
    page.keyboard.press("c")
    expect(page.get_by_label("Comment (optional)")).to_be_focused()
    page.keyboard.type("as expected")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Acknowledge")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".finding-head")).to_contain_text("acknowledged")
    expect(page.get_by_role("region", name="Story")).to_contain_text("as expected")
    page.get_by_role("application").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_role("application").get_by_role("link", name="Run")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.type("gm")
    expect(page.get_by_role("heading", level=1)).to_have_text("Machines")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("In a chart: previous or next point")


def _tab_to(page: Any, link: Any) -> None:
    link.wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if link.evaluate("(link) => link === document.activeElement"):
            return


# ---- a run meanwhile ----


@pytest.fixture
def running(tmp_path: Path, store_file: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a small run into the store behind the server: it waits in its second call until `go` is there."""
    (tmp_path / "bench.py").write_text(
        "import pathlib, time\n"
        "def quick(): time.sleep(0.001)\n"
        "def slow():\n    while not pathlib.Path('go').exists(): time.sleep(0.01)\n",
        encoding="utf-8",
    )
    started = []

    def start() -> subprocess.Popen[str]:
        command = ["run", "bench.py::quick", "bench.py::slow", "--rounds", "1", "--samples", "3", "--warmup", "0"]
        process = subprocess.Popen(
            [sys.executable, "-m", "benchwright", *command, "--store", str(store_file)],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        started.append(process)
        return process

    yield start
    (tmp_path / "go").touch()
    for process in started:
        process.communicate(timeout=60)


def test_a_run_appears_while_it_is_measured_and_ends_with_a_link(
    page_of: Pages, running: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    page = page_of("#/live")
    expect(page.get_by_text("No runs in progress.")).to_be_visible()
    process = running()
    run = page.get_by_role("article")
    expect(run).to_contain_text("bench.py::slow", timeout=30_000)
    expect(run.get_by_role("progressbar")).to_have_attribute("value", "1")
    expect(run).to_contain_text("1 of 2 results")
    expect(run.get_by_role("table", name="Results so far")).to_contain_text(re.compile(r"bench\.py::quick.*ok.* ms"))
    there = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Live")
    expect(there).to_have_accessible_name("Live 1 run in progress")
    (tmp_path / "go").touch()  # what it waits for
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    expect(run.get_by_role("status")).to_have_text("Ended")
    expect(there).to_have_accessible_name("Live")
    run.get_by_role("link", name="Open the run").click()
    expect(page.get_by_role("table", name="Cases of this run")).to_contain_text("bench.py::slow")


# ---- what everybody can read ----


def test_every_text_can_be_read_in_both_themes(page_of: Pages, server: str) -> None:
    runs = [one["id"] for one in read(server, "runs?limit=6")["runs"]]
    series = read(server, "series?metric=latency_p50&limit=1")["series"][0]["key"]
    result = read(server, f"runs/{runs[3]}")["cases"][0]["results"][0]
    finding = read(server, "findings?state=open")["findings"][0]["id"]
    places = ["overview", "findings", "series", "matrix", "runs", "machines", "live", f"findings/{finding}"]
    places += [f"series/{series}", f"compare?a=run:{runs[4]}&b=run:{runs[2]}", f"runs/{runs[2]}", f"results/{result}"]
    page = page_of("#/nowhere")
    faint = {}
    for place in places:
        page.evaluate(GO, f"#/{place}")
        expect(page.locator("main h1")).to_be_visible()
        expect(page.locator(".waiting")).to_have_count(0)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            if found := page.evaluate(FAINT):
                faint[f"{place} {scheme}"] = found
    assert faint == {}
