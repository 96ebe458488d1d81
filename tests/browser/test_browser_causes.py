"""One cause, one card, in a real Chromium: seen, opened, dealt with as one, taken back, split and joined."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from benchwright.records.findings import State
from benchwright.store.sql import SqlStore
from page_widths import check_width

Pages = Callable[..., Any]
CULPRIT = "Copy every input before the call"


def rows_of(page: Any, table: str = "Causes") -> Any:
    return page.get_by_role("table", name=table, exact=True).locator("tbody tr")


def test_a_bad_commit_is_one_row_and_the_keys_deal_with_all_of_it(page_of: Pages, store_file: Path) -> None:
    page = page_of("#/findings?verdict=worse&sort=-series")
    rows = rows_of(page)
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(
        re.compile(f"{CULPRIT}.*4 series of 2 cases, latency_p50.*up to.*12 % slower", re.S)
    )
    expect(rows.first).to_contain_text("median 12 %")
    expect(page.get_by_role("status").filter(has_text="2 causes, 5 findings")).to_be_visible()
    page.keyboard.press("j")
    expect(rows.first.get_by_role("link")).to_be_focused()
    page.keyboard.press("r")
    expect(page.get_by_role("status").filter(has_text="4 findings resolved.")).to_be_visible()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(2)
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        found = [one for one in store.findings(states=[State.OPEN]) if one.verdict == "worse"]
        assert [[line.what for line in one.remarks] for one in found] == [["opened", "resolved", "reopened"]] * 4


def test_a_cause_is_split_and_joined_again(page_of: Pages, store_file: Path) -> None:
    page = page_of("#/findings?state=open")
    rows_of(page).first.get_by_role("link").click()
    series = rows_of(page, "Series of this cause")
    expect(series).to_have_count(4)
    series.nth(0).get_by_role("checkbox").check()
    series.nth(1).get_by_role("checkbox").check()
    page.get_by_label("Comment", exact=True).fill("another commit")
    page.get_by_role("button", name="Split").click()
    expect(series).to_have_count(2)
    expect(page.get_by_role("region", name="Story")).to_contain_text(re.compile("split.*another commit", re.S))
    page.get_by_role("link", name="All findings").click()
    rows = rows_of(page)
    expect(rows).to_have_count(3)
    for number in (0, 1):
        rows.nth(number).get_by_role("checkbox").check()
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("status").filter(has_text="One cause of 4 findings.")).to_be_visible()
    expect(rows).to_have_count(2)
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        said = [remark.what for one in store.findings() for remark in one.remarks if remark.what in ("split", "joined")]
    assert sorted(said) == ["joined"] * 2 + ["split"] * 2


def test_a_cause_fits_a_phone_and_keeps_its_order_in_the_address(page_of: Pages) -> None:
    page = page_of("#/findings?state=open", width=360, dark=True)
    rows_of(page).first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(CULPRIT)
    check_width(page)
    wide = page_of(page.url[page.url.index("#") :])
    wide.get_by_role("button", name="Machine").click()
    expect(wide).to_have_url(re.compile("state=open&order=machine"))
    wide.reload()
    expect(rows_of(wide, "Series of this cause").first).to_contain_text("Example Core")


def test_a_cause_of_many_series_is_folded_and_the_largest_change_stands_first(page_of: Pages, store_file: Path) -> None:
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        model = next(one for one in store.findings(states=[State.OPEN]) if one.verdict == "worse")
        for number in range(24):
            point = 1.2 + number / 100
            twin = replace(
                model,
                id=f"twin{number:02}",
                series=f"series {number}",
                case=f"many/case{number:02}",
                cause="cause-many",
                effect=replace(model.effect, point=point, low=point - 0.01, high=point + 0.01),
                suspects=(replace(model.suspects[0], revision="f" * 40, subject="Many at once"),),
            )
            store.keep_finding(twin)
    page = page_of()
    card = page.get_by_role("region", name="Regressions").get_by_role("listitem").filter(has_text="Many at once")
    expect(card).to_contain_text(
        re.compile("24 series of 24 cases, latency_p50.*up to.*43 % slower.*median 31.5 %", re.S)
    )
    card.get_by_role("link").first.click()
    rows = rows_of(page, "Series of this cause")
    expect(rows).to_have_count(20)
    expect(rows.first).to_contain_text("many/case23")
    page.get_by_role("button", name="Show all 24").click()
    expect(rows).to_have_count(24)
    page.keyboard.press("a")
    expect(page.locator(".finding-head")).to_contain_text("acknowledged")
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        assert {one.state for one in store.findings(cause="cause-many")} == {State.ACKNOWLEDGED}
