"""The machines in a real Chromium, on the sample store."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from page_widths import check_width

Pages = Callable[..., Any]


def test_machines_tell_what_they_measured_and_how_noisy_they_were(page_of: Pages) -> None:
    page = page_of("#/machines")
    rows = page.get_by_role("table", name="Machines").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(re.compile(r"Example Server 7, 32 cores\s*1,320\s*20 \(1\.5 %\)\s*4\s*± 1\.3 %"))
    expect(rows.last).to_contain_text(re.compile(r"Example Core 9000, 8 cores\s*1,320\s*0\s*4\s*± "))
    chart = page.get_by_role("application", name=re.compile("Noise over time"))
    chart.focus()
    page.keyboard.press("End")
    expect(chart.get_by_role("status")).to_contain_text(re.compile(r"± .* %.*2026-09-30", re.S))
    page.keyboard.press("Enter")
    chart.get_by_role("link", name="Run").click()
    expect(page).to_have_url(re.compile("#/runs/2026"))
    page.evaluate("location.hash = '#/machines/nobody'")
    expect(page.get_by_text("No machine is called nobody.")).to_be_visible()


def test_a_machine_has_facts_failures_findings_and_series_of_its_own(page_of: Pages) -> None:
    page = page_of("#/machines")
    page.get_by_role("link", name="Example Server 7").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Example Server 7, 32 cores")
    expect(page).to_have_title("Example Server 7, 32 cores · Benchwright")
    expect(page.get_by_role("region", name="Failing here")).to_contain_text("5.6 GiB wanted, 3.1 GiB free")
    facts = page.get_by_role("table", name="Facts of the machine")
    for text in ("Example Server 7", "256 GiB", "bench-rack", "1.23.0"):
        expect(facts).to_contain_text(text)
    series = page.get_by_role("table", name="Series of this machine").locator("tbody tr")
    expect(series).to_have_count(15)
    page.get_by_role("button", name="Show all 77").click()
    expect(series).to_have_count(77)
    page.get_by_role("link", name="3, 2 worse").click()
    expect(page).to_have_title("Findings · Benchwright")
    expect(page.get_by_role("table", name="Findings").locator("tbody tr")).to_have_count(3)
    page.go_back()
    page.set_viewport_size({"width": 360, "height": 800})
    expect(series.first).to_be_visible()
    check_width(page)
