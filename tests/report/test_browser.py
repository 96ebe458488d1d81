"""The report in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sample_runs as samples
from benchwright.records import Metric, Run
from benchwright.report.html import write_html


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens runs in a page that remembers every complaint and every request."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def load(*runs: Run) -> Any:
        path = write_html(runs, tmp_path / "report.html")
        page = context.new_page()
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("dialog", lambda dialog: (page.complaints.append("dialog"), dialog.dismiss()))
        page.goto(path.as_uri())
        assert page.requests == [path.as_uri()]
        return page

    yield load
    context.close()


def tip(page: Any) -> str:
    shown = page.locator("#tip")
    return str(shown.inner_text()) if shown.evaluate("e => getComputedStyle(e).visibility") == "visible" else ""


def hover(page: Any, mark: Any) -> None:
    mark.scroll_into_view_if_needed()
    page.evaluate(NEXT_FRAME)  # scrolling hides the tip
    box = mark.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_no_complaints_no_requests_and_marks_in_every_plot(opened: Any, run: Run) -> None:
    page = opened(run)
    plots = page.locator("svg.plot")
    assert plots.count() == 4 + 4 * 3
    page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
    for i in range(plots.count()):
        marks = plots.nth(i).locator(".line, .area, .point")
        assert marks.count() > 0
        box = marks.first.bounding_box()
        assert box and box["width"] > 1 and box["height"] > 1
    assert page.complaints == []
    assert len(page.requests) == 1


def test_hovering_shows_what_lies_there_in_every_plot(opened: Any, run: Run) -> None:
    page = opened(run)
    page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
    plots = page.locator("svg.plot")
    for i in range(plots.count()):
        hover(page, plots.nth(i).locator("[data-tips], .point").first)
        assert tip(page), plots.nth(i).get_attribute("id")
        page.mouse.move(2, 2)
        assert tip(page) == ""
    assert page.complaints == []


def test_a_tip_names_the_case_and_the_value(opened: Any, run: Run) -> None:
    page = opened(run)
    hover(page, page.locator("#r0-tradeoff-latency-p50 .point").first)
    assert tip(page).startswith("runtime=onnxruntime batch_size=1 copies=1\nlatency 1.799 ms [")


def test_the_keyboard_reaches_the_marks(opened: Any, run: Run) -> None:
    page = opened(run)
    page.locator("#r0-tradeoff-latency-p50 .point").nth(1).focus()
    page.evaluate(NEXT_FRAME)
    assert "batch_size=8" in tip(page)
    page.keyboard.press("Escape")
    assert tip(page) == ""


def test_keys_switch_cases_off_and_on(opened: Any, run: Run) -> None:
    page = opened(run)
    lines = page.locator("#r0-percentiles .series")
    key = page.locator(".keys button[data-key='1']")
    key.click()
    assert key.get_attribute("aria-pressed") == "false"
    assert [lines.nth(i).is_visible() for i in range(4)] == [True, False, True, True]
    page.locator(".keys [data-none]").click()
    assert not any(lines.nth(i).is_visible() for i in range(4))
    page.locator(".keys [data-all]").click()
    assert all(lines.nth(i).is_visible() for i in range(4))


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        *(("dark", 320), ("light", 390), ("dark", 768), ("light", 1280)),
        *(pytest.param(*one, marks=pytest.mark.soak) for one in (("light", 320), ("dark", 390))),
        *(pytest.param(*one, marks=pytest.mark.soak) for one in (("light", 768), ("dark", 1280))),
    ],
)
def test_no_width_scrolls_sideways_and_text_can_be_read(opened: Any, run: Run, width: int, scheme: str) -> None:
    page = opened(run)
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for selector in ("td", ".soft", ".ok", ".failed", ".warned", "svg.plot .tick"):
        assert page.eval_on_selector(selector, CONTRAST) >= 4.5, selector
    assert page.eval_on_selector("svg.plot .tick", "e => e.getBoundingClientRect().height") >= 9


@pytest.mark.parametrize("rounds", [1, 10])
def test_how_a_number_was_made_can_be_read_without_scrolling(opened: Any, rounds: int) -> None:
    method = "order statistics; the interval allows for calls that resemble their neighbours " * 2
    made = samples.make_run(rounds=rounds, calls=200)
    results = [replace(r, metrics=tuple(_made_by(m, method) for m in r.metrics)) for r in made.results]
    page = opened(replace(made, results=tuple(results)))
    page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
    cell = page.locator("td.method").first
    beyond = "e => e.getBoundingClientRect().right - e.closest('.scroll').getBoundingClientRect().right"
    assert cell.evaluate(beyond) <= 0
    assert cell.inner_text() == (method.strip() if rounds == 1 else "t over 10 processes")


def _made_by(metric: Metric, method: str) -> Metric:
    return replace(metric, estimate=replace(metric.estimate, method=method))


def test_names_that_are_code_stay_names(opened: Any, run: Run) -> None:
    evil = samples.rename(run, ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title><script>"])
    page = opened(evil, evil)
    hover(page, page.locator("#r0-distribution .area").first)
    assert tip(page)
    assert page.complaints == [] and len(page.requests) == 1
    assert page.locator("img").count() == 0 and page.locator("script").count() == 1
    assert "<script>alert(1)</script>" in page.locator("h1").nth(1).inner_text()


NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

# The WCAG contrast of an element's text against the page.
CONTRAST = """e => {
  const parse = c => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = c => c.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const style = getComputedStyle(e);
  const ink = light(parse(e instanceof SVGElement ? style.fill : style.color));
  const paper = light(parse(getComputedStyle(document.body).backgroundColor));
  return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
}"""
