"""One run and one result in a real Chromium, on the sample store."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from benchwright.records import Failure, ResultWarning, Status
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore
from page_widths import check_phone

Pages = Callable[..., Any]
RESNET = "vision/resnet50.onnx"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def runs(server: str) -> list[str]:
    """Ids of runs, the newest first: by turns of the second machine, where a case fails, and of the first."""
    return [line["id"] for line in _read(server, "runs?limit=80")["runs"]]


@pytest.fixture(scope="module")
def results(server: str, runs: list[str]) -> dict[str, list[str]]:
    """Ids of the results of the newest two runs by the label of their case; `!` before those that failed."""
    cases = [("!" if "failed" in case["statuses"] else "", case) for run in runs[:2] for case in _cases(server, run)]
    return {f"{failed}{case['label']}": case["results"] for failed, case in cases}


def _cases(server: str, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _read(server, f"runs/{run}")["cases"]
    return found


def _read(server: str, path: str) -> Any:
    with urlopen(f"{server}api/v1/{path}") as answer:
        return json.load(answer)


# ---- a run ----


def test_a_run_shows_cases_failures_warnings_and_how_to_repeat_it(page_of: Pages, runs: list[str]) -> None:
    page = page_of(f"#/runs/{runs[0]}")
    expect(page).to_have_title(f"Run {runs[0]} · Benchwright")
    table = page.get_by_role("table", name="Cases of this run with their metrics")
    rows = table.locator("> tbody > tr")
    expect(rows).to_have_count(11)
    expect(rows.first).to_contain_text(re.compile(r"2 ok.*ms.*\[.*, .*\]"))
    expect(rows.filter(has_text="audio/whisper")).to_contain_text("5.6 GiB wanted, 3.1 GiB free")
    trust = page.get_by_role("main")
    expect(trust).to_contain_text("free memory on that machine, or measure the quantised model")
    expect(page.locator(".facts")).to_contain_text(re.compile("Bump numpy.*nightly.*commit .* on main.*1.0.0", re.S))
    expect(page.locator(".command code")).to_have_text(
        "benchwright run suite/ --runtime onnxruntime,openvino,torch --rounds 2"
    )
    page.get_by_role("button", name="all 7 metrics").click()
    expect(table.get_by_role("columnheader", name="load_time")).to_be_visible()
    page.get_by_label("Filter 11 cases").fill("bert torch")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="text/bert.onnx").click()
    expect(page.get_by_role("table", name="Metrics", exact=True)).to_contain_text("t over 2 processes, 95 %")
    expect(page).to_have_url(re.compile("all=1&words=bert.torch&open=.+"))
    page.reload()
    expect(page.get_by_role("table", name="Metrics", exact=True)).to_be_visible()
    check_phone(page)


def test_a_run_leads_to_the_one_before_it_and_to_its_results(page_of: Pages, runs: list[str]) -> None:
    page = page_of(f"#/runs/{runs[1]}")
    expect(page.get_by_role("listitem").filter(has_text="noisy-machine")).to_contain_text("stop what else runs here")
    expect(page.get_by_role("img", name=re.compile("latency_p50 of 11 cases")).locator("circle")).to_have_count(11)
    page.get_by_role("link", name="Compare with the previous run").click()
    expect(page.get_by_role("heading", level=2).first).to_contain_text(f"{runs[1]} against {runs[3]}: ")
    page.go_back()
    page.get_by_role("link", name="Result of round 2").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(RESNET)
    expect(page.locator("[aria-current=page]", has_text="2")).to_be_visible()


# ---- a result ----


def test_a_result_shows_everything_that_was_recorded(page_of: Pages, results: dict[str, list[str]]) -> None:
    label = next(label for label in results if label.startswith(f"{RESNET} runtime=onnxruntime"))
    page = page_of(f"#/results/{results[label][0]}")
    expect(page).to_have_title(re.compile(f"^{RESNET} runtime=onnxruntime .*, round 1 · Benchwright$"))
    expect(
        page.get_by_role("table", name="Metrics", exact=True).get_by_role("row").filter(has_text="latency_p99")
    ).to_contain_text(re.compile(r"ms.*\[.*\].*%.*2,000.*lower.*order statistics, 95 %"))
    histogram = page.get_by_role("img", name=re.compile("Histogram of latency: 2,000 calls"))
    before = histogram.locator(".plot-area").get_attribute("d")
    page.get_by_role("button", name="log scale").click()
    expect(page).to_have_url(re.compile("log=1$"))
    expect(histogram.locator(".plot-area")).not_to_have_attribute("d", before)
    page.get_by_role("button", name="Full range").click()
    expect(page.get_by_text("not shown")).to_have_count(0)
    for chart in ("latency of calls over time", "rss over time", "cpu over time"):
        expect(page.get_by_role("application", name=re.compile(chart)).locator("canvas")).to_be_visible()
    operators = page.get_by_role("table", name="Operators, slowest first")
    expect(operators.locator("tbody tr").first).to_contain_text(re.compile(r"conv1.*Conv.*ms.*38\.8 %"))
    expect(page.get_by_role("img", name=re.compile("Shares of the time: Conv 78"))).to_be_visible()
    page.get_by_text("End of the log").click()
    expect(page.get_by_text("graph optimised: 176 nodes")).to_be_visible()
    file = page.get_by_role("link", name="worker.log")
    assert file.get_attribute("href") == f"api/v1/results/{results[label][0]}/artifacts/worker.log"
    environment = page.get_by_role("table", name="Environment")
    page.get_by_label(re.compile("Filter .* properties")).first.fill("numpy")
    expect(environment.get_by_role("row")).to_have_count(1)
    expect(environment).to_contain_text("packages · numpy")
    expect(page.get_by_role("table", name="Measurement overhead and noise")).to_contain_text("trustworthy")
    check_phone(page)
    page.get_by_role("link", name="latency_p50").click()
    expect(page).to_have_url(re.compile("#/series/[0-9a-f]+"))


def test_a_failed_result_tells_why_and_shows_its_log(page_of: Pages, results: dict[str, list[str]]) -> None:
    label = next(label for label in results if label.startswith("!"))
    page = page_of(f"#/results/{results[label][1]}", dark=True)
    expect(page.get_by_role("main")).to_contain_text("LoadError: onnxruntime cannot load audio/whisper.onnx")
    expect(page.get_by_text("MemoryError: 5.6 GiB wanted")).to_be_visible()
    expect(page.get_by_text("No metrics")).to_be_visible()
    lost = page_of("#/results/nothing", complains=True)
    expect(lost.get_by_role("alert")).to_contain_text("nothing")


# ---- names that are not ours ----


@pytest.fixture(scope="module")
def hostile(store_file: Path, tmp_path_factory: Any, serve: Callable[[ServerSettings], Iterator[str]]) -> Iterator[str]:
    """A server whose one run is markup wherever a user may write."""
    with closing(SqlStore(f"sqlite:///{store_file}")) as store:
        run = store.run(store.runs(limit=1)[0].id)
    first, *_ = run.results
    case = replace(first.case, name=EVIL, params={"batch": EVIL}, tags=(EVIL,))
    failed = Failure(kind=EVIL, message=EVIL, remedy=EVIL, log_tail=EVIL)
    warning = ResultWarning(code=EVIL, seen=EVIL, remedy=EVIL)
    results = (
        replace(first, case=case, warnings=(warning,), details={EVIL: EVIL}, log_tail=EVIL),
        replace(first, id="f" * 20, case=case, round=1, status=Status.FAILED, metrics=(), error=failed),
    )
    path = tmp_path_factory.mktemp("hostile") / "results.db"
    with closing(SqlStore(f"sqlite:///{path}")) as store:
        store.add_run(replace(run, results=results, tags=(EVIL,), reason=EVIL, command=("run", EVIL)))
    yield from serve(ServerSettings(store_url=f"sqlite:///{path}", artifacts=path.parent))


def test_markup_in_names_stays_text(page_of: Pages, hostile: str) -> None:
    run = _read(hostile, "runs")["runs"][0]["id"]
    result = _read(hostile, f"runs/{run}")["cases"][0]["results"][0]
    side = f"run:{run}"
    page = page_of(base=hostile)
    for path in (
        f"runs/{run}",
        f"results/{result}",
        "results/" + "f" * 20,
        "runs",
        "matrix",
        f"compare?a={side}&b={side}",
    ):
        page.goto(f"{hostile}#/{path}")
        page.reload()  # nothing of the page before is left
        expect(page.get_by_role("main").get_by_text(EVIL).first).to_be_attached()
        assert page.locator("img[src]").count() == 0
