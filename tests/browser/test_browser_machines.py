"""The machines in a real Chromium, on the sample store."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from benchwright import schema
from benchwright.store.sql import SqlStore
from page_widths import check_width

Pages = Callable[..., Any]


def test_machines_tell_what_they_measured_and_how_noisy_they_were(page_of: Pages) -> None:
    page = page_of("#/machines", complains=True)
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
    expect(page.get_by_role("alert")).to_contain_text("no machine 'nobody' in this store")


def test_a_machine_has_facts_failures_findings_and_series_of_its_own(page_of: Pages) -> None:
    page = page_of("#/machines")
    page.get_by_role("link", name="Example Server 7").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Example Server 7, 32 cores")
    expect(page).to_have_title("Example Server 7, 32 cores · Benchwright")
    expect(page.get_by_role("region", name="Failing cases")).to_contain_text("5.6 GiB wanted, 3.1 GiB free")
    facts = page.get_by_role("table", name="Hardware and software")
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
    page.get_by_role("button", name="Series 77", expanded=False).click()
    expect(series.first).to_be_visible()
    check_width(page)


def test_a_machine_is_put_into_quarantine_marked_and_released(page_of: Pages, server: str, store_file: Path) -> None:
    page = page_of("#/machines")
    page.get_by_role("link", name="Example Core 9000").click()
    held = page.get_by_role("region", name="Quarantine")
    expect(held).to_contain_text("Not in quarantine.")
    expect(page.get_by_role("application", name=re.compile("Noise over time"))).to_be_visible()
    held.get_by_label("Reason").fill("fan <broken>")
    held.get_by_label("Since").fill("2026-09-29T00:00:00")
    held.get_by_role("button", name="Put into quarantine").click()
    expect(held).to_contain_text("In quarantine since 2026-09-29 00:00: fan <broken>")
    expect(page.locator(".machine-head")).to_contain_text("quarantine")
    page.evaluate("location.hash = '#/'")
    notices = page.get_by_role("region", name="Machines to look at")
    expect(notices).to_contain_text(re.compile("Example Core 9000.*quarantine.*fan <broken>", re.S))
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        run = next(one for one in store.runs(limit=2) if store.run(one.id).results[0].environment.machine["cores"] == 8)
        result = store.run(run.id, samples=False).results[0]
        series = schema.series_key(result.case, result.environment, "latency_p50")
    for place in (f"runs/{run.id}", f"results/{result.id}"):
        page.evaluate(f"location.hash = '#/{place}'")
        expect(page.get_by_role("note")).to_contain_text("in quarantine: fan <broken>. Kept, but not judged.")
    page.evaluate(f"location.hash = '#/series/{series}'")
    expect(page.get_by_role("main")).to_contain_text("points are not judged. 2026-09-29 00:00 to now (fan <broken>)")
    page.evaluate("location.hash = '#/machines'")
    page.get_by_role("link", name="Example Core 9000").click()
    held.get_by_role("button", name="Release").click()
    expect(held).to_contain_text("Not in quarantine.")
    rows = held.get_by_role("table", name="Quarantines of this machine").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("somebody at 127.0.0.1")
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        actions = [line.action for line in store.audit(limit=10)]
        assert actions[:2] == ["release machine", "quarantine machine"]
        assert store.quarantines()[0].until is not None
