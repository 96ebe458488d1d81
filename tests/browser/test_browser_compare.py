"""Compare, matrix and runs in a real Chromium, on the sample store."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from page_widths import check_phone

Pages = Callable[..., Any]
RESNET = "vision/resnet50.onnx"


@pytest.fixture(scope="module")
def runs(server: str) -> list[str]:
    """Ids of runs on the first machine, the newest first; the last two have every call and their operators."""
    with urlopen(f"{server}api/v1/runs?limit=80") as answer:
        lines = json.load(answer)["runs"]
    return [line["id"] for line in lines][1::2]


# ---- compare ----


def test_a_comparison_sorts_by_effect_and_its_filters_are_in_the_address(page_of: Pages, runs: list[str]) -> None:
    page = page_of(f"#/compare?a=run:{runs[30]}&b=run:{runs[0]}")
    expect(page.get_by_role("heading", level=2).first).to_contain_text(f"{runs[0]} against {runs[30]}: ")
    expect(page).to_have_title(f"{runs[0]} against {runs[30]} · Benchwright")
    table = page.get_by_role("table", name="Compared metrics")
    rows = table.locator("> tbody > tr:not(.compared-group)")
    page.get_by_role("combobox", name="Metric").select_option("latency_p50")
    page.get_by_role("button", name=re.compile(r"^\d+ worse$")).click()
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(RESNET)
    expect(rows.first).to_contain_text(re.compile(r"1[12][.\d]* % slower"))
    expect(page.locator(".ratio-interval")).to_have_count(2)
    expect(page).to_have_url(re.compile("metric=latency_p50&verdict=worse$"))
    page.get_by_label("Filter", exact=True).fill("batch_size 8 resnet50")
    expect(rows).to_have_count(1)
    page.reload()
    expect(rows).to_have_count(1)
    table.get_by_role("button", name="Case").click()
    expect(page).to_have_url(re.compile("sort=case"))
    page.get_by_role("link", name="Swap").click()
    expect(page.get_by_role("heading", level=2).first).to_contain_text(f"{runs[30]} against {runs[0]}: ")
    expect(page.get_by_label("Filter", exact=True)).to_have_value("batch_size 8 resnet50")


def test_a_line_opens_to_distributions_rounds_and_operators(page_of: Pages, runs: list[str]) -> None:
    page = page_of(f"#/compare?a=run:{runs[1]}&b=run:{runs[0]}&metric=latency_p50&words=resnet50+onnxruntime")
    expect(page.get_by_text("Nothing here is called better or worse.")).to_be_visible()
    page.get_by_role("button", name=re.compile(r"^\d+ others? without a change$")).click()
    page.get_by_role("button", name=f"{RESNET} runtime=onnxruntime device=cpu batch_size=1 latency_p50").click()
    expect(page).to_have_url(re.compile("rest=1&open=[0-9a-f]+$"))
    drawn = page.get_by_role("img", name=re.compile("Histogram of before: 4,000 calls, half within .*; after: 4,000"))
    expect(drawn.locator(".plot-area")).to_have_count(2)
    expect(page.get_by_text("Calls of before 2 rounds, after 2 rounds of a run together")).to_be_visible()
    curve = page.get_by_role("img", name=re.compile("Cumulative share"))
    curve.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".plot-words", has_text="before")).to_contain_text(
        re.compile(r"ms: before \d.* %, after \d.* %")
    )
    expect(page.get_by_role("img", name="Rounds: before 2 rounds, after 2 rounds")).to_be_visible()
    operators = page.get_by_role("table", name="Operators, largest difference first")
    expect(operators.locator("tbody tr").first).to_contain_text("conv1")
    expect(operators.get_by_role("row", name=re.compile("^input_copy"))).to_contain_text("absent")
    page.get_by_role("button", name="by kind").click()
    expect(operators.locator("tbody th").first).to_have_text("Conv")
    check_phone(page)


def test_sides_are_found_by_searching_and_machines_and_backends_compare_too(page_of: Pages, runs: list[str]) -> None:
    page = page_of("#/compare")
    expect(page.get_by_text("Select two sides to compare.")).to_be_visible()
    before, after = page.get_by_role("group", name="Before"), page.get_by_role("group", name="After")
    before.get_by_label("Kind").select_option("Runtime")
    before.get_by_role("combobox", name="Runtime").fill("tor")
    page.get_by_role("option", name="torch").wait_for()
    page.keyboard.press("Enter")
    expect(before.get_by_role("combobox", name="Runtime")).to_have_value("torch")  # as the address has it by now
    after.get_by_label("Kind").select_option("Runtime")
    field = after.get_by_role("combobox", name="Runtime")
    field.click()
    page.get_by_role("option", name="openvino").click()
    expect(field).to_have_value("openvino")
    expect(page.get_by_role("heading", level=2).first).to_contain_text("openvino against torch: ")
    expect(page.get_by_role("table", name="Compared metrics")).not_to_contain_text("runtime=")
    after.get_by_label("Kind").select_option("Run")
    after.get_by_role("combobox", name="Run").fill(runs[3][-6:])
    page.get_by_role("option", name=runs[3]).wait_for()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(quote(f"run:{runs[3]}", safe="")))


def test_three_sides_with_their_pictures_and_a_link_that_keeps_it_all(page_of: Pages, runs: list[str]) -> None:
    page = page_of(f"#/compare?a=run:{runs[30]}&b=run:{runs[1]}")
    page.get_by_role("button", name="Add a side").click()
    third = page.get_by_role("group", name="Side C")
    third.get_by_role("combobox", name="Run").fill(runs[0][-6:])
    page.get_by_role("option", name=runs[0]).wait_for()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=2).first).to_have_text(f"2 sides against {runs[30]}")
    means = page.get_by_role("table", name="Geometric mean of the ratios by metric")
    expect(means.get_by_role("row", name=re.compile("^latency_p50"))).to_contain_text(
        re.compile(r"×1\.\d+ \[.*11 cases")
    )
    page.get_by_role("button", name="By suite").click()
    suites = page.get_by_role("table", name="Geometric mean of the ratios by suite and metric")
    expect(suites.get_by_role("row").filter(has_text="vision").first).to_contain_text("6 cases")
    table = page.get_by_role("table", name="Compared metrics")
    expect(table.locator(".compared-group th")).to_have_text([re.compile(RESNET + r" \d+ rows: \d+ worse")])
    expect(table.get_by_role("columnheader")).to_have_count(5)
    expect(
        page.get_by_text(re.compile("in all 2 columns together .* at most 5 % are expected to be chance"))
    ).to_be_visible()
    page.get_by_label("Filter", exact=True).fill("onnxruntime batch_size=1 latency_p50")
    expect(table.locator("tbody tr:not(.compared-group)")).to_have_count(1)
    table.get_by_role("button", name=re.compile("latency_p50$")).click()
    drawn = page.get_by_role("img", name=re.compile("Histogram of B: 4,000 calls, half within .*; C: 4,000"))
    expect(drawn.locator(".plot-area")).to_have_count(2)  # of the old run no calls were kept
    expect(page.get_by_role("img", name="Rounds: A 2 rounds, B 2 rounds, C 2 rounds")).to_be_visible()
    page.get_by_role("button", name="Log scale").click()
    page.get_by_role("button", name="Group by case").click()
    address = page.url
    for part in ("c=run", "suites=1", "words=onnxruntime", "open=", "log=1", "group=none"):
        assert part in address
    again = page_of(address[address.index("#") :])
    expect(again.get_by_role("img", name=re.compile("Histogram of B"))).to_be_visible()
    expect(again.get_by_role("button", name="Log scale")).to_have_attribute("aria-pressed", "true")
    expect(again.locator(".compared-group")).to_have_count(0)
    check_phone(again)
    page.get_by_role("group", name="Side B").get_by_role("link", name="Make baseline").click()
    expect(page.get_by_role("heading", level=2).first).to_have_text(f"2 sides against {runs[1]}")
    page.get_by_role("link", name="Remove Side C").click()
    expect(page.get_by_role("heading", level=2).first).to_contain_text(f"{runs[30]} against {runs[1]}: ")


def test_what_else_differs_is_listed_and_an_unknown_side_is_explained(page_of: Pages, runs: list[str]) -> None:
    page = page_of(f"#/compare?a=run:{runs[39]}&b=run:{runs[0]}")
    numpy = page.get_by_role("table", name="Other differences").get_by_role("row", name=re.compile("packages.numpy"))
    expect(numpy).to_contain_text("2.3.1")
    expect(numpy).to_contain_text("2.3.2")
    lost = page_of(f"#/compare?a=run:nothing&b=run:{runs[0]}", complains=True)
    expect(lost.get_by_role("alert")).to_contain_text("nothing")


# ---- matrix ----


def test_a_matrix_is_a_table_that_keys_walk_and_cells_lead_to_series(page_of: Pages) -> None:
    page = page_of("#/matrix?metric=latency_p50&rows=case&columns=runtime")
    table = page.get_by_role("table", name=re.compile("latency_p50 by case and runtime"))
    expect(table.get_by_role("columnheader")).to_have_text(["onnxruntime", "openvino", "torch", "no runtime"])
    expect(table.get_by_text("not measured").first).to_be_visible()
    expect(table.get_by_text("failed since")).to_have_count(1)
    start = table.locator("[tabindex='0']")
    expect(start).to_have_count(1)
    start.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    here = table.locator(":focus")
    expect(here).to_contain_text(re.compile(r"^\d.* ms"))
    assert here.get_attribute("data-place") == "1 2"
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/series/[0-9a-f]+$"))


def test_a_matrix_is_relative_to_a_column_or_the_best_and_turns(page_of: Pages) -> None:
    page = page_of("#/matrix?metric=throughput&rows=case&columns=runtime")
    metric = page.get_by_label("Metric")
    metric.focus()
    metric.select_option("latency_p50")
    expect(page.get_by_role("table", name=re.compile("latency_p50 by"))).to_be_visible()
    expect(metric).to_be_focused()  # what was chosen with keys can be chosen again
    metric.select_option("throughput")
    expect(page.get_by_role("table", name=re.compile("throughput by"))).to_be_visible()
    page.get_by_label("Relative to").select_option("torch")
    expect(page).to_have_url(re.compile("baseline=torch$"))
    row = page.get_by_role("row").filter(has_text=RESNET)
    expect(row.locator(".heat-better")).to_have_count(2)
    expect(row).to_contain_text("×1.00")
    expect(page.get_by_role("row", name=re.compile("^geometric mean"))).to_contain_text("2 rows")
    page.get_by_label("Relative to").select_option("best of each row")
    expect(row.locator(".heat-worse")).to_have_count(2)
    page.get_by_role("combobox", name="batch_size", exact=True).select_option("8")
    expect(page.get_by_role("row").filter(has_text="text/bert")).to_have_count(0)
    page.get_by_role("button", name="Swap").click()
    expect(page.get_by_role("rowheader", name="openvino")).to_be_visible()
    expect(page.get_by_label("What the colours mean")).to_contain_text("higher is better")
    check_phone(page)


def test_the_best_of_a_row_is_marked_and_colours_are_by_row_unless_asked_otherwise(page_of: Pages) -> None:
    page = page_of("#/matrix?metric=rss_peak&rows=case&columns=runtime")
    table = page.get_by_role("table", name=re.compile("rss_peak by case and runtime"))
    resnet = table.get_by_role("row").filter(has_text=RESNET)
    expect(resnet.get_by_text("★ best")).to_have_count(1)
    expect(resnet.get_by_text("≈ tied")).to_have_count(2)  # memory of one model is the same on every runtime
    expect(resnet.locator("a[title*='cannot be told apart from the best of its row']")).to_have_count(2)
    bert = table.get_by_role("row").filter(has_text="text/bert")
    expect(bert.locator("td", has_text="957 MiB")).not_to_contain_text(re.compile("best|tied"))
    expect(page.get_by_label("What the colours mean")).to_contain_text("highest of its row")
    page.get_by_label("Metric").select_option("latency_p50")
    table = page.get_by_role("table", name=re.compile("latency_p50 by case and runtime"))
    strongest = "[style='--heat: 1.000;']"
    expect(table.locator(strongest)).to_have_count(2)  # one in each row that has several
    page.get_by_label("Colours by").select_option("all cells")
    expect(page).to_have_url(re.compile("colours=whole$"))
    expect(table.locator(strongest)).to_have_count(1)


def test_a_pareto_front_is_drawn_named_and_told_as_a_table(page_of: Pages) -> None:
    page = page_of("#/matrix")
    page.get_by_role("link", name="By two metrics").click()
    expect(page.get_by_role("heading", name="2 of 12 configurations are on the front")).to_be_visible()
    drawn = page.get_by_role(
        "img", name=re.compile("throughput against latency_p50 of 12 configurations; on the front: ")
    )
    expect(drawn.locator(".pareto-mark.front")).to_have_count(2)
    expect(drawn.locator(".pareto-mark.dominated")).to_have_count(10)
    expect(drawn.locator(".front-name").first).to_contain_text("batch_size=1")
    drawn.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".plot-words")).to_contain_text(re.compile("latency_p50 .* ms, throughput .*, on the front"))
    table = page.get_by_role("table", name="Configurations by latency_p50 and throughput, the front first")
    expect(table.locator("tbody tr").first).to_contain_text("on the front")
    expect(table.locator("tbody tr").nth(2)).to_contain_text("dominated by Example Server 7, 32 cores runtime=openvino")
    page.get_by_label("Upward").select_option("rss_peak")
    page.get_by_role("combobox", name="batch_size").select_option("8")
    expect(page).to_have_url(re.compile("x=latency_p50&y=rss_peak&batch_size=8|y=rss_peak&x=latency_p50&batch_size=8"))
    expect(page.get_by_role("img", name=re.compile("rss_peak against latency_p50 of 6"))).to_be_visible()
    page.reload()
    expect(page.get_by_label("Upward")).to_have_value("rss_peak")
    check_phone(page)


def test_a_run_says_which_configuration_to_choose(page_of: Pages, runs: list[str]) -> None:
    page = page_of(f"#/runs/{runs[0]}")
    section = page.locator("section", has=page.get_by_role("heading", name="Which to choose"))
    expect(section).to_contain_text(re.compile(r"Lowest latency: .*median latency"))
    expect(section).to_contain_text("Highest throughput: ")


def test_cases_are_paired_across_a_parameter_or_the_page_says_why_not(page_of: Pages, runs: list[str]) -> None:
    page = page_of(f"#/compare?a=run:{runs[1]}&b=run:{runs[0]}", complains=True)
    page.get_by_role("group", name="Compare across").get_by_role("button", name="batch_size").click()
    expect(page).to_have_url(re.compile("across=batch_size"))
    expect(page.get_by_role("alert")).to_contain_text("are equal but for batch_size")
    page.get_by_role("button", name="Pair equal cases only").click()
    expect(page.get_by_role("table", name="Compared metrics").or_(page.get_by_text("Nothing here"))).to_be_visible()


# ---- runs ----


def test_runs_are_filtered_paged_and_two_of_them_compared(page_of: Pages, runs: list[str]) -> None:
    page = page_of("#/runs")
    rows = page.get_by_role("table", name="Runs, latest first").locator("tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_role("link", name="Latest")).to_be_visible()
    page.get_by_label("Tag").fill("release-2.0")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(2)
    expect(page).to_have_url(re.compile("tag=release-2.0$"))
    page.get_by_label("Tag").fill("no-such")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No matching runs.")).to_be_visible()
    page.goto(page.url.split("#")[0] + "#/runs")
    check_phone(page)
    page.get_by_role("checkbox", name=f"Compare {runs[0]}").check()
    page.get_by_role("checkbox", name=f"Compare {runs[2]}").check()
    page.get_by_role("link", name=f"Compare {runs[0]} with {runs[2]}").click()
    expect(page.get_by_role("heading", level=2).first).to_contain_text(f"{runs[0]} against {runs[2]}: ")
