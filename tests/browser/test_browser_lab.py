"""The lab's page in a real Chromium: machines, queue, why nothing is running, and what may be done about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from benchwright.cli import main
from lab_stand_in import Lab, results_of, serving_lab
from page_widths import check_width

Pages = Callable[..., Any]
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serving_lab(tmp_path_factory.mktemp("lab")) as found:
        yield found


def test_who_has_what_what_waits_and_why_nothing_is_running(
    lab: Lab, page_of: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = page_of("#/lab", base=lab.url)
    page.on("dialog", lambda dialog: dialog.accept())
    machines = page.get_by_role("table", name="Machines of the lab").locator("tbody tr")
    expect(machines).to_have_count(2)
    expect(machines.first).to_contain_text(re.compile(r"rack7\s*AMD EPYC 9654\s*free"))
    expect(page.get_by_text("Nothing waits.")).to_be_visible()
    for words in (["true"], ["sleep", "0"]):
        asked = ["run", "--lab", "machine=rack7", "--detach", "--samples", "3", "--store", lab.url, "--", *words]
        assert main(asked) == 0
    queue = page.get_by_role("table", name="Jobs that wait").locator("tbody tr")
    expect(queue).to_have_count(2)  # without anybody pressing anything
    expect(page.get_by_text("Nothing is running: rack7 takes it next")).to_be_visible()

    page.get_by_role("link", name="rack7").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("rack7")
    expect(page).to_have_title("rack7 · Benchwright")
    drain = page.get_by_role("form", name="Drain")
    drain.get_by_label("Reason").fill("new fan")
    drain.get_by_role("button", name="Drain").click()
    expect(page.get_by_text("drained", exact=True)).to_be_visible()
    page.get_by_role("link", name="All of the lab").click()
    expect(page.get_by_role("status").filter(has_text="Nothing is running")).to_contain_text("new fan")
    page.go_back()
    page.get_by_role("button", name="Let it take work again").click()
    expect(page.get_by_text("free", exact=True)).to_be_visible()

    lease = lab.claim("rack7")
    assert lease is not None
    page.evaluate("location.hash = '#/lab'")
    expect(machines.first).to_contain_text(re.compile(r"busy\s*true"))
    expect(queue).to_have_count(1)
    lab.deliver(lease, results_of(lease))
    page.get_by_role("button", name=re.compile("Cancel run")).click()
    expect(page.get_by_text("Nothing waits.")).to_be_visible()

    page.evaluate(f"location.hash = '#/lab/runs/{lease.job.run}'")
    jobs = page.get_by_role("table", name=f"Jobs of {lease.job.run}").locator("tbody tr")
    expect(jobs).to_contain_text(re.compile(r"true.*done\s*rack7", re.S))
    page.get_by_role("link", name="Results").click()
    expect(page).to_have_url(re.compile(f"#/runs/{lease.job.run}"))
    page.evaluate("location.hash = '#/lab/machines/nobody'")
    expect(page.get_by_text("The lab has no machine nobody.")).to_be_visible()


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_is_no_wider_than_the_screen(lab: Lab, page_of: Pages, width: int) -> None:
    for place in ("#/lab", "#/lab/machines/rack7"):
        page = page_of(place, base=lab.url, width=width)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        check_width(page)
