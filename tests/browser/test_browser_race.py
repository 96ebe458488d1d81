"""A race in a real Chromium: on a server, on a phone, and on a published site."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import sample_race
from benchwright.pages.site import publish
from benchwright.store.sql import SqlStore
from page_widths import check_phone

Pages = Callable[..., Any]


@pytest.fixture(scope="module")
def store_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one race, instead of the sample."""
    path = tmp_path_factory.mktemp("race") / "results.db"
    with closing(SqlStore(f"sqlite:///{path}")) as store:
        store.add_run(sample_race.race_run())
    return path


@pytest.fixture(scope="module")
def site(store_file: Path) -> Iterator[str]:
    """The address of a site of the store, on the disk, with a slash at its end."""
    folder = store_file.parent / "site"
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        publish(store, folder, runs=1)
    yield f"{folder.as_uri()}/"


def test_a_race_shows_its_winner_and_why_the_others_left(page_of: Pages) -> None:
    page = page_of("#/runs")
    page.get_by_role("link", name="race: ").click()
    expect(page).to_have_url(re.compile(sample_race.RUN_ID))
    answer = page.get_by_role("region", name="Race", exact=True)
    expect(answer).to_contain_text("openvino batch_size=32 copies=2")
    expect(answer).to_contain_text(re.compile(r"Within 2 % of the best .* with probability 99\.\d+ %"))
    expect(answer.get_by_text("Not shown to be worse")).to_be_visible()
    expect(answer.locator(".command code")).to_contain_text("benchwright run vision/resnet50.onnx")
    answer.get_by_role("button", name="Copy").click()
    expect(answer.get_by_role("button", name="Copied")).to_be_visible()
    table = page.get_by_role("table", name=re.compile("^Configurations that were measured in the race"))
    expect(table.locator("tbody tr").first).to_contain_text(re.compile("winner.*k/s.*process", re.S))
    expect(table).to_contain_text("out of memory: 5.6 GiB wanted")
    table.get_by_role("button", name="p99").click()
    expect(table.locator("tbody tr").first).to_contain_text("batch_size=1 ")
    drawn = page.get_by_role("region", name="Pareto front")
    drawn.get_by_label("Across").select_option("peak memory")
    expect(page).to_have_url(re.compile("across=rss_peak&up=throughput|up=throughput&across=rss_peak"))
    drawn.get_by_role("img", name=re.compile("^throughput against peak memory of 26 configurations")).press(
        "ArrowRight"
    )
    expect(drawn.locator(".plot-words")).to_contain_text("runtime=")
    check_phone(page)


@pytest.mark.soak
def test_a_published_race_has_everything(page_of: Pages, site: str) -> None:
    page = page_of(f"index.html#/runs/{sample_race.RUN_ID}", base=site, width=390)
    expect(page.get_by_role("region", name="Race", exact=True)).to_contain_text("winner")
    drawn = page.get_by_role("region", name="Pareto front")
    drawn.get_by_label("Upward").select_option("cost per million")
    expect(drawn.get_by_role("img", name=re.compile("^cost per million against p99"))).to_be_visible()
    page.get_by_role("button", name="Configurations in the race 28").click()
    cards = page.get_by_role("region", name=re.compile("Configurations in the race"))
    expect(cards.locator("tbody tr")).to_have_count(10)
    cards.locator("tbody tr").first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("resnet50")
