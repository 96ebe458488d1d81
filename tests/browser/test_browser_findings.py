"""The triage list and a finding in a real Chromium, on the sample store."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from benchwright.records.findings import Remark, State
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore
from page_widths import check_width

Pages = Callable[..., Any]


@pytest.fixture(scope="module")
def ids(server: str) -> dict[str, str]:
    """Ids of findings: of those that are worse the slowest one of the last machine, by state."""
    with urlopen(f"{server}api/v1/findings") as answer:
        lines = sorted(json.load(answer)["findings"], key=lambda line: (line["machine_name"], line["before"]["point"]))
    return {line["state"]: line["id"] for line in lines if line["verdict"] == "worse"}


def rows_of(page: Any, table: str = "Findings") -> Any:
    return page.get_by_role("table", name=table).locator("tbody tr")


def choose(page: Any, facet: str, value: re.Pattern[str]) -> None:
    """Ticks a value of a facet, and closes it."""
    page.locator("details.facet summary").filter(has_text=re.compile(f"^{facet}")).click()
    page.get_by_role("group", name=facet, exact=True).get_by_label(value).check()
    page.keyboard.press("Escape")


# ---- the list ----


def test_the_small_lines_show_the_change_itself(server: str) -> None:
    with urlopen(f"{server}api/v1/findings") as answer:
        lines = json.load(answer)["findings"]
    assert len(lines) == 8
    for line in lines:
        first, *_, last = (value / line["before"]["point"] for value in line["spark"])
        assert first == pytest.approx(1, abs=0.02)
        assert last == pytest.approx(line["effect"]["point"], abs=0.02)


def test_the_list_is_narrowed_by_everything_and_the_address_says_how(page_of: Pages) -> None:
    page = page_of("#/findings?each=yes")
    rows = rows_of(page)
    expect(rows).to_have_count(7)  # open and acknowledged
    states = page.get_by_role("group", name="States")
    expect(states.get_by_role("button", name="resolved 1")).to_have_attribute("aria-pressed", "false")
    states.get_by_role("button", name="resolved").click()
    expect(rows).to_have_count(8)
    choose(page, "Verdict", re.compile("^worse"))
    choose(page, "Suite", re.compile(r"^vision\s*4$"))
    expect(rows).to_have_count(4)
    choose(page, "Machine", re.compile(r"^Example Server 7, 32 cores\s*2$"))
    expect(rows).to_have_count(2)
    page.get_by_label("Filter", exact=True).fill("batch_size=8 copy")
    expect(page.get_by_role("status").filter(has_text="1 finding")).to_be_visible()
    expect(rows).to_contain_text(re.compile(r"12 % slower.*\[\+11.4 %, \+12.6 %\].*Copy every input.*30f793d1dc.*91 %"))
    expect(rows.get_by_role("img")).to_have_accessible_name("30 values around the change; dotted: level before")
    assert "&state=open%2Cacknowledged%2Cresolved&verdict=worse&suite=vision&machines=" in page.url
    page.reload()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Clear").click()
    choose(page, "Assignee", re.compile("^grace"))
    expect(rows).to_have_count(1)
    page.get_by_label("Filter", exact=True).fill("nothing like it")
    expect(page.get_by_text("No matching findings.")).to_be_visible()


def test_the_list_keeps_its_order_and_hands_it_to_next_and_previous(page_of: Pages) -> None:
    page = page_of("#/findings?verdict=better&each=yes")
    page.get_by_role("button", name="Machine").click()
    expect(page).to_have_url(re.compile("sort=machine"))
    rows = rows_of(page)
    expect(rows.first).to_contain_text("Example Core")
    rows.first.get_by_role("link").click()
    where = page.get_by_role("navigation", name="Findings")
    expect(where).to_contain_text("1 of 2")
    page.keyboard.press("j")
    expect(where).to_contain_text("2 of 2")
    expect(page.get_by_role("link", name="Example Server 7")).to_be_visible()
    page.keyboard.press("k")
    expect(where).to_contain_text("1 of 2")
    page.keyboard.press("u")
    expect(page).to_have_url(re.compile(r"#/findings\?verdict=better&sort=machine&each=yes$"))


def test_findings_are_dealt_with_by_keys_one_or_several_at_a_time_and_back(page_of: Pages, store_file: Path) -> None:
    page = page_of("#/findings?state=open&verdict=worse&each=yes")
    rows = rows_of(page)
    expect(rows).to_have_count(4)
    first, second = (rows.nth(i).locator("[data-finding]").get_attribute("data-finding") for i in (0, 1))
    page.keyboard.press("j")
    expect(rows.first.get_by_role("link")).to_be_focused()
    page.keyboard.press("i")
    expect(rows).to_have_count(3)
    expect(rows.first.get_by_role("link")).to_be_focused()  # the next one is where the last one was
    expect(page.get_by_role("status").filter(has_text="1 finding ignored.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="Select all").click()
    rows.nth(2).get_by_role("checkbox").uncheck()
    rows.nth(3).get_by_role("checkbox").uncheck()
    page.get_by_label("Comment").fill("one cause")
    page.get_by_role("button", name="Acknowledge", exact=True).click()
    expect(rows).to_have_count(2)
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        for name in (first, second):
            found = store.finding(name)
            last = found.remarks[-1]
            assert (found.state, last.what, last.text) == (State.ACKNOWLEDGED, "acknowledged", "one cause")
            store.update_finding(name, Remark(at=last.at, who="", what="reopened"), state=State.OPEN)  # for other tests
        assert [remark.what for remark in store.finding(first).remarks][:3] == ["opened", "ignored", "reopened"]


# ---- a finding ----


def test_a_finding_tells_what_changed_through_whom_and_what_differs(page_of: Pages, ids: dict[str, str]) -> None:
    page = page_of(f"#/findings/{ids['open']}")
    main = page.get_by_role("main")
    expect(main).to_contain_text(re.compile(r"12 % slower.*: from 17\.34 ms to 19\.42 ms \(\+2\.08 ms\)"))
    expect(page).to_have_title(re.compile("^latency_p50 of vision/resnet50.onnx .*: 12 % slower · Benchwright$"))
    expect(main).to_contain_text("with 95 % confidence between +11.4 % and +12.6 %.")
    expect(main).to_contain_text("change points of the series, 99.8 % sure")
    suspects = page.get_by_role("region", name="Culprit").get_by_role("listitem")
    for line, text in zip(
        suspects.all(), ("91 % 1 Copy every input", "7 % 2 Free buffers", "2 % another"), strict=True
    ):
        expect(line).to_contain_text(re.compile(text.replace(" ", r"\s*")))
    expect(suspects.first).to_contain_text("against its parent 9 % slower [+8 %, +10 %]")
    differs = page.get_by_role("table", name="Differences between before and after")
    expect(differs).to_contain_text(re.compile(r"operator input_copy \(Identity\)\s*none\s*1\.08 ms"))
    expect(main).to_contain_text("The code: nothing else that is recorded differs.")
    expect(main).to_contain_text("throughput 10.7 % lower, latency_p99 11.8 % slower")
    chart = page.get_by_role("application")
    chart.get_by_role("link", name="Note 1: 91 % 30f793d1dc Copy every input before the call").click()
    expect(suspects.first).to_be_focused()
    page.get_by_role("button", name="Show all").click()
    expect(page).to_have_url(re.compile("all=1$"))
    page.get_by_role("button", name=f"Copy: benchwright bisect {ids['open']}").wait_for()
    page.get_by_role("link", name="Compare before and after").click()
    expect(page).to_have_url(re.compile(r"#/compare\?a=run%3A20260921T04.*&b=run%3A20260921T16"))


def test_a_story_goes_on_with_comments_and_assignments_and_stays_text(page_of: Pages, ids: dict[str, str]) -> None:
    evil = "<img src=x onerror=alert(1)>"
    page = page_of(f"#/findings/{ids['acknowledged']}", dark=True)
    story = page.get_by_role("region", name="Story")
    expect(story).to_contain_text("see the <notes>.")
    page.keyboard.press("c")
    page.keyboard.type(f"a r i {evil}")
    page.get_by_role("button", name="Add comment").click()
    expect(story.get_by_role("listitem").last).to_contain_text(f"commenteda r i {evil}")
    page.get_by_label("Assignee").fill("ada")
    page.get_by_role("button", name="Assign").click()
    expect(page.get_by_role("main")).to_contain_text("Assigned to ada")
    expect(story.get_by_role("listitem").last).to_contain_text("assignedto ada")
    page.get_by_role("main").press("r")
    expect(page.get_by_role("button", name="Reopen")).to_be_visible()
    expect(story.get_by_role("listitem").last).to_contain_text("resolved")
    expect(page.get_by_role("button", name="Resolve")).to_have_count(0)
    assert page.locator("img").count() == 0


# ---- who may only look ----


@pytest.fixture(scope="module")
def guarded(store_file: Path, serve: Callable[[ServerSettings], Iterator[str]]) -> Iterator[str]:
    """A server on the same store for which a token is needed."""
    yield from serve(
        ServerSettings(store_url=f"sqlite:///{store_file}", artifacts=store_file.parent, require_token=True)
    )


def test_who_may_only_look_sees_no_buttons_and_why(
    page_of: Pages,
    guarded: str,
    store_file: Path,
    ids: dict[str, str],
    inside: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    made = inside("token", "create", "viewer", "--scope", "read", "--store", str(store_file), "--json")
    page = page_of(f"#/findings/{ids['open']}", base=guarded, complains=True, width=360)
    prompt = page.get_by_role("dialog", name="Token required")
    prompt.get_by_label("Token").fill(json.loads(made.stdout)["data"]["token"])
    prompt.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("viewer may view findings, but not change them.")).to_be_visible()
    expect(page.get_by_role("region", name="Triage")).to_have_count(0)
    page.keyboard.press("a")
    check_width(page)
    page.get_by_role("link", name="All findings").click()
    expect(rows_of(page, "Causes").first).to_be_visible()
    expect(page.get_by_role("checkbox")).to_have_count(0)
    check_width(page)
    page.evaluate("location.hash = '#/findings/nothing'")
    expect(page.get_by_role("alert").filter(has_text="nothing")).to_be_visible()
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        assert store.finding(ids["open"]).state is State.OPEN


def test_a_name_cannot_turn_around_what_stands_beside_it_and_nothing_is_certain(
    page_of: Pages, ids: dict[str, str], store_file: Path
) -> None:
    turned = "evil\u202e 001 \u2066x"
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        before = store.finding(ids["open"])
        suspect = replace(before.suspects[0], subject=turned, author=turned, probability=0.999999)
        store.update_finding(before.id, suspects=(suspect,))
    try:
        for address in (f"#/findings/{before.id}", "#/findings", "#/"):
            page = page_of(address)
            expect(page.get_by_role("main")).to_contain_text("evil\\u202e 001 \\u2066x")
            expect(page.get_by_role("main")).to_contain_text("99.99 %")
            shown = page.locator("html").inner_text() + page.content()
            assert not {"\u202e", "\u2066"} & {*shown} and not re.search(
                r"\b100 %", page.get_by_role("main").inner_text()
            )
    finally:
        with closing(SqlStore(f"sqlite:///{store_file}")) as store:
            store.update_finding(before.id, suspects=before.suspects)
