"""Metrics of requests in words, and where the documentation has each with its formula."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchwright.records import Run
from benchwright.records.request_metrics import AMOUNTS, SHOWN, TIMES, are_of_requests, words_of


def test_every_metric_has_a_formula_in_the_docs(root: Path) -> None:
    page = (root / "docs" / "endpoints.md").read_text(encoding="utf-8")
    table = re.search(r"^\| metric \| formula .*?\n\n", page, re.MULTILINE | re.DOTALL)
    assert table is not None
    named = {name for line in table[0].strip().splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert named == {*TIMES, *AMOUNTS}


def test_every_metric_of_a_request_that_is_derived_has_words(served_failures: Run, served_rates: Run) -> None:
    from benchwright.execution.endpoint_metrics import Requests

    (result,) = served_failures.results
    assert {*Requests(result.samples).times()} <= {*TIMES}
    told = {metric.name for run in (served_failures, served_rates) for metric in run.results[0].metrics}
    assert {name for name in told if words_of(name)} >= {*SHOWN, "goodput", "errors", "itl_p90", "e2e_scheduled_p50"}


@pytest.mark.parametrize(
    ("metric", "title", "meaning"),
    [
        ("ttft_p50", "TTFT p50", "the median"),
        ("itl_p99", "ITL p99", "99 % are at or below"),
        ("latency_max", "latency max", "the largest"),
        ("ttft_scheduled_p99.9", "TTFT from schedule p99.9", "99.9 % are at or below"),
        ("goodput", "goodput", "kept every objective"),
    ],
)
def test_a_metric_is_told_in_words(metric: str, title: str, meaning: str) -> None:
    words = words_of(metric)
    assert words is not None and words.title == title and meaning in words.meaning


def test_other_metrics_have_none_and_are_no_requests() -> None:
    assert words_of("rss_peak") is None and words_of("ttft_p") is None
    assert not are_of_requests(["latency_p50", "lateness", "service_p50"])
    assert are_of_requests(["ttfb"]) and are_of_requests(["errors", "lateness", "latency_p50"])
