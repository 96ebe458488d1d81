"""Every page as axe-core sees it, light and dark, desk and phone: names for screen readers, contrast, sizes of targets.

A phone's page is not longer than a few screens, and never wider than one.

`make test` sees how large every page is on a phone, and has axe look at one of each kind there and at the widest ones
at a desk, in light colours (what can be read in dark ones is asked in test_browser_journey.py); `make soak` has it look
at everything.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import sample_project
from benchwright.report.html import write_html
from page_places import page_places
from page_widths import check_width

Pages = Callable[..., Any]
LONGEST = 4000  # pixels of a page on a phone
UNFOLDED = {"compare-several"}  # its address asks for everything at once
WIDTHS = {"desk": 1280, "phone": 390}
WIDE = frozenset({"overview", "findings", "matrix", "one-series", "compare", "run"})  # drawn otherwise at a desk
KINDS = WIDE | {"finding", "cause", "pareto", "result", "machine", "views", "settings-rules", "settings-tokens"}
LIGHT, BOTH = ("light",), ("light", "dark")
# What does not keep to the rules: what, where, and why. The second look, at other colours, asks for contrast alone.
AXE = """async (rules) => {
  const only = rules.length
    ? { type: "rule", values: rules }
    : { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] };
  const { violations } = await axe.run(document, { runOnly: only, resultTypes: ["violations"], preload: false });
  const told = ({ target, failureSummary }) => `${target.join(" ")}: ${failureSummary.split("\\n").pop().trim()}`;
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${told(node)}`));
}"""
# Goes to another page, and returns once it is drawn, be it without data.
GO = """(hash) => new Promise((drawn) => {
  addEventListener("hashchange", () => requestAnimationFrame(() => setTimeout(drawn, 0)), { once: true });
  location.hash = hash;
})"""


@pytest.fixture(scope="session")
def axe(root: Path) -> str:
    """axe-core itself, which `make` fetches with the dashboard's packages."""
    return (root / "dashboard" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def _complaints(page: Any, axe: str, schemes: tuple[str, ...]) -> list[str]:
    """What is wrong with the page in these themes."""
    page.evaluate(axe)
    found = []
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        rules = [] if scheme == "light" else ["color-contrast"]
        found += [f"{scheme}: {told}" for told in page.evaluate(AXE, rules)]
    return found


@pytest.mark.parametrize(
    ("size", "schemes"),
    [
        pytest.param("phone", LIGHT, id="phone"),
        pytest.param("desk", LIGHT, id="desk"),
        pytest.param("phone", BOTH, id="phone, all", marks=pytest.mark.soak),
        pytest.param("desk", BOTH, id="desk, all", marks=pytest.mark.soak),
    ],
)
def test_every_page_can_be_read_by_everybody(
    page_of: Pages, server: str, axe: str, size: str, schemes: tuple[str, ...]
) -> None:
    page = page_of("#/none", width=WIDTHS[size], complains=True)
    wrong, long = {}, {}
    for name, place in page_places(server):
        if size == "desk" and schemes == LIGHT and name not in WIDE:
            continue
        page.evaluate(GO, place)
        expect(page.locator("main").locator("h1, .empty").first).to_be_visible(timeout=30_000)  # a busy machine
        expect(page.locator(".waiting")).to_have_count(0)
        if (schemes == BOTH or name in KINDS) and (found := _complaints(page, axe, schemes)):
            wrong[name] = found
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.setdefault(name, []).append("scrolls sideways")
        if (
            (height := page.evaluate("document.documentElement.scrollHeight")) > LONGEST
            and size == "phone"
            and name not in UNFOLDED
        ):
            long[name] = height
    assert wrong == {}
    assert long == {}


def test_what_a_phone_folds_is_opened_and_stays_so(page_of: Pages) -> None:
    page = page_of("#/overview", width=390)
    suites = page.get_by_role("region", name="Suites and machines")
    expect(suites.get_by_role("table")).to_have_count(0)
    suites.get_by_role("button", name="Suites and machines", expanded=False).click()
    expect(suites.get_by_role("table", name="Suites by machine")).to_be_visible()
    page.reload()
    expect(suites.get_by_role("button", expanded=True)).to_be_visible()
    expect(suites.get_by_role("table", name="Suites by machine")).to_be_visible()
    page.evaluate("location.hash = '#/series'")
    rows = page.get_by_role("table", name="Series").locator("tbody tr")
    expect(rows).to_have_count(10)
    page.get_by_role("button", name="Show all 154").click()
    expect(rows.nth(10)).to_be_visible()


@pytest.mark.parametrize(
    ("size", "schemes"), [("desk", LIGHT), *(pytest.param(size, BOTH, marks=pytest.mark.soak) for size in WIDTHS)]
)
def test_the_report_can_be_read_by_everybody(
    browser: Any, axe: str, tmp_path: Path, size: str, schemes: tuple[str, ...]
) -> None:
    runs = [sample_project.run(number) for number in (80, 118)]
    paths = [write_html(runs, tmp_path / "two.html")]
    if schemes == BOTH:
        paths.append(write_html(runs[1:], tmp_path / "one.html"))
    context = browser.new_context(viewport={"width": WIDTHS[size], "height": 900}, timezone_id="UTC", locale="en-GB")
    page = context.new_page()
    for path in paths:
        page.goto(path.as_uri())
        assert _complaints(page, axe, schemes) == []
        check_width(page)
        assert size == "desk" or page.evaluate("document.documentElement.scrollHeight") <= LONGEST
    context.close()
