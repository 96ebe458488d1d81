"""GuideLLM's reports: each number has our name only where it has our formula."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

import served_files
from benchwright import schema
from benchwright.analysis.judged_metrics import directions_of, judged_metrics
from benchwright.records import Arrivals, Mode
from served_checks import check, metric, names, ours, read, write
from served_files import truths

CONCURRENT = {"type_": "concurrent", "streams": 2}
POISSON = {"type_": "poisson", "rate": 10.0}


def test_guidellm_numbers_are_those_of_the_instants(tmp_path: Path) -> None:
    requests = truths(24, failed=4)
    good = requests[:20]
    run = read(
        write(tmp_path / "benchmarks.json", served_files.guidellm([(CONCURRENT, requests), (POISSON, requests)]))
    )
    closed, opened = run.results
    for result in (closed, opened):
        for name, values in ours(good).items():
            check(result, name, values)
        check(result, "e2e_close", [r.close - r.sent for r in good])
        assert metric(result, "errors").estimate.point == pytest.approx(100 * 4 / 24)
        assert result.details["requests"]["failed"] == 4  # type: ignore[index,call-overload]
        assert "itl" not in names(result)  # GuideLLM keeps no instants of chunks
    check(closed, "latency", [r.close - r.sent for r in good])
    check(opened, "latency", [r.close - r.scheduled for r in good])
    check(opened, "lateness", [r.sent - r.scheduled for r in good])
    weighted = metric(closed, "itl_token_weighted").estimate
    assert weighted.point == pytest.approx(statistics.fmean((r.last - r.first) / 8 for r in good))
    assert weighted.low is None and weighted.method.startswith("reported")
    with_first = statistics.fmean((r.last - r.sent) / r.tokens for r in good)
    assert metric(closed, "tpot_with_first").estimate.point == pytest.approx(with_first)
    assert metric(closed, "throughput").estimate.point == pytest.approx(20 / requests[-1].close)
    judged = judged_metrics(directions_of(closed.metrics))
    assert {"latency_p50", "latency_p99", "throughput", "ttft_p50", "ttft_p99"} <= {*judged}


def test_guidellm_strategies_are_loads_of_their_own(tmp_path: Path) -> None:
    strategies: list[dict[str, Any]] = [
        {"type_": "synchronous"},
        CONCURRENT,
        POISSON,
        {"type_": "constant", "rate": 5.0},
        {"type_": "throughput", "max_concurrency": None},
        {"type_": "throughput", "max_concurrency": 64},
        {"type_": "something new", "max_concurrency": None},
    ]
    whole = served_files.guidellm([(strategy, truths(6)) for strategy in strategies])
    run = read(write(tmp_path / "b.json", whole))
    loads = [result.case.load for result in run.results]
    assert [(load.mode, load.workers, load.rate) for load in loads] == [
        (Mode.CLOSED, 1, None),
        (Mode.CLOSED, 2, None),
        (Mode.OPEN, 1, 10.0),
        (Mode.OPEN, 1, 5.0),
        (Mode.OFFLINE, 1, None),
        (Mode.CLOSED, 64, None),
        (Mode.OFFLINE, 1, None),
    ]
    assert (loads[2].arrivals, loads[3].arrivals) == (Arrivals.POISSON, Arrivals.CONSTANT)
    assert len({schema.case_key(result.case) for result in run.results}) == len(strategies)
    assert {result.case.name for result in run.results} == {"tiny"}


def test_guidellm_keeps_the_requests_as_samples(tmp_path: Path) -> None:
    requests = truths(12)
    [result] = read(write(tmp_path / "b.json", served_files.guidellm([(POISSON, requests)]))).results
    [samples] = result.samples
    assert (samples.calls, len(samples.columns["latency"])) == (12, 12)
    order = sorted(requests, key=lambda r: r.close)
    expected = [round(1e9 * (r.close - r.scheduled)) for r in order]
    assert list(samples.columns["latency"]) == pytest.approx(expected, abs=1000)
    assert list(samples.columns["ttft"]) == pytest.approx([1e9 * (r.first - r.sent) for r in order], abs=1000)
    assert {"scheduled", "lateness", "service", "end"} <= samples.columns.keys()


def test_guidellm_without_requests_gives_summaries_with_its_intervals(tmp_path: Path) -> None:
    whole = served_files.guidellm([(POISSON, truths(12))])
    whole["benchmarks"][0]["requests"] = {"successful": [], "errored": [], "incomplete": [], "total": None}
    [result] = read(write(tmp_path / "b.json", whole)).results
    ttft = metric(result, "ttft").estimate
    assert ttft.point == pytest.approx(statistics.fmean(r.first - r.sent for r in truths(12)))
    assert (ttft.low, ttft.high) == (pytest.approx(0.9 * ttft.point), pytest.approx(1.1 * ttft.point))
    assert ttft.method == "reported: mean of the answered requests"
    check_latency = statistics.fmean(r.close - r.scheduled for r in truths(12))
    assert metric(result, "latency").estimate.point == pytest.approx(check_latency)
    assert "tpot" not in names(result) and "e2e" not in names(result)  # nothing in a summary has these formulas
    assert not result.samples


def test_guidellm_samples_and_time_that_does_not_count(tmp_path: Path) -> None:
    whole = served_files.guidellm([(CONCURRENT, truths(24))])
    [row] = whole["benchmarks"]
    del row["requests"]["successful"][::2]
    [result] = read(write(tmp_path / "b.json", whole)).results
    assert "requests-sampled" in [warning.code for warning in result.warnings]
    assert "a sample of 12 of 24 requests" in metric(result, "ttft").estimate.method
    whole = served_files.guidellm([(CONCURRENT, truths(24))])
    [row] = whole["benchmarks"]
    row["start_time"] += 1.0  # what ended before was warm-up
    row["metrics"]["request_totals"]["successful"] = 15
    [result] = read(write(tmp_path / "b.json", whole)).results
    ended = [r for r in truths(24) if r.close >= 1.0]
    assert metric(result, "ttft").count == len(ended) == 15
    assert "requests-sampled" not in [warning.code for warning in result.warnings]


def test_guidellm_tells_what_was_cut_off_and_its_own_warnings(tmp_path: Path) -> None:
    whole = served_files.guidellm([(CONCURRENT, truths(12))])
    [row] = whole["benchmarks"]
    row["metrics"]["request_totals"]["incomplete"] = 4
    row["warnings"] = [{"code": "x", "message": "the client was slow", "note": "use two"}]
    [result] = read(write(tmp_path / "b.json", whole)).results
    told = {warning.code: warning for warning in result.warnings}
    assert "4 of 16 requests were cut off" in told["requests-cut-off"].seen
    assert (told["tool-warning"].seen, told["tool-warning"].remedy) == ("GuideLLM: the client was slow", "use two")
    assert metric(result, "errors").estimate.point == 0


def test_older_guidellm_has_other_keys_and_formulas(tmp_path: Path) -> None:
    good = truths(12)
    [result] = read(write(tmp_path / "b.json", served_files.guidellm_old(POISSON, good))).results
    check(result, "ttft_answer", [r.first - r.sent for r in good])  # it passed over a model's reasoning
    check(result, "tpot_answer", [(r.last - r.first) / (r.tokens - 1) for r in good])
    check(result, "latency", [r.close - r.scheduled for r in good])
    over_all = statistics.fmean((r.last - r.first) / r.tokens for r in good)
    assert metric(result, "tpot_over_all").estimate.point == pytest.approx(over_all)
    assert not names(result) & {"ttft", "tpot", "tpot_with_first"}
    assert result.case.name == "tiny" and result.case.params["backend"] == "openai_http"
    assert "ttft_answer_p50" in judged_metrics(directions_of(result.metrics))
