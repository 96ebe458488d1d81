"""Single requests out of the raw columns: the same numbers as the metrics, and nothing left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchwright.analysis.calls import calls
from benchwright.analysis.request_failures import count_requests
from benchwright.analysis.requests import (
    MOST_TICKS,
    failures_over_time,
    has_requests,
    request_times,
    requests_around,
    slowest_requests,
    times_over_time,
)
from benchwright.records import Int64s, Result, Run
from served_runs import TOKENS


@pytest.fixture
def result(served_failures: Run) -> Result:
    """The only result of a run in which three requests failed."""
    return served_failures.results[0]


def test_a_span_is_in_the_order_in_which_things_happened(result: Result) -> None:
    spans = slowest_requests(result, 1000)
    assert len(spans) == len(result.samples[0].columns["end"])
    assert [span.scheduled for span in spans] == sorted(span.scheduled for span in spans)
    for span in (span for span in spans if not span.outcome):
        assert span.first_byte is not None and span.first_text is not None
        assert span.scheduled <= span.sent < span.first_byte <= span.first_text <= span.end
        assert len(span.ticks) == TOKENS == span.output_tokens
        assert span.ticks[0] == span.first_text and [*span.ticks] == sorted(span.ticks)


def test_the_slowest_are_chosen_and_failures_among_them_are_named(result: Result) -> None:
    every = slowest_requests(result, 1000)
    few = slowest_requests(result, 5)
    assert sorted(span.latency for span in few) == sorted(span.latency for span in every)[-5:]
    assert sorted(span.outcome for span in every if span.outcome) == ["cut", "stream_error", "throttled"]


def test_requests_around_an_instant_were_going_on_then(result: Result) -> None:
    chosen = slowest_requests(result, 1)[0]
    instant = (chosen.scheduled + chosen.end) / 2
    near = requests_around(result, instant, 3)
    assert len(near) == 3 and any(span.scheduled <= instant <= span.end for span in near)


@pytest.mark.parametrize("name", ["ttft", "itl", "latency"])
def test_distributions_are_of_what_the_metrics_are_of(served_failures: Run, name: str) -> None:
    found = request_times(served_failures.results, name)
    metric = served_failures.results[0].metric(f"{name}_p99")
    assert found is not None and metric is not None and found.total == metric.count
    assert found.shortest <= float(found.quantiles(np.array([0.5]))[0]) <= found.longest


def test_failed_requests_are_marks_of_their_own_and_no_latency(served_failures: Run, result: Result) -> None:
    failed = failures_over_time(result)
    assert sorted(kind for _, _, kind in failed) == ["cut", "stream_error", "throttled"]
    moments, values = times_over_time(result, "ttft")
    assert len(moments) == len(values) == len(result.samples[0].columns["end"]) - 3
    found = calls([result])
    assert found is not None and found.total == len(moments)


def test_requests_are_counted_from_raw_columns_or_as_they_were_told(served_failures: Run, result: Result) -> None:
    raw = count_requests(served_failures.results)
    bare = count_requests([replace(result, samples=())])
    assert raw is not None and bare == raw
    assert {kind.kind: kind.count for kind in raw.failed} == {"throttled": 1, "cut": 1, "stream_error": 1}
    assert str(raw) == f"{raw.made} made, 3 failed ({300 / raw.made:.2g} %)"


def test_ticks_of_a_long_answer_are_thinned(result: Result) -> None:
    samples = result.samples[0]
    count = 10 * MOST_TICKS
    chunks = {
        "call": Int64s("q", [0] * count),
        "at": Int64s("q", range(count)),
        "kind": Int64s("q", [2] * count),
        "size": Int64s("q", [1] * count),
        "tokens": Int64s("q", [1] * count),
    }
    long = replace(result, samples=(replace(samples, chunks=chunks),))
    first = next(span for span in slowest_requests(long, 1000) if span.number == 0)
    assert len(first.ticks) == MOST_TICKS and (first.ticks[0], first.ticks[-1]) == (0.0, (count - 1) / 1e9)


def test_what_lacks_columns_is_left_alone(result: Result, run: Run) -> None:
    samples = result.samples[0]
    columns = {name: values for name, values in samples.columns.items() if name != "first_text"}
    less = replace(result, samples=(replace(samples, columns=columns),))
    assert not has_requests([less]) and slowest_requests(less) == [] and request_times([less], "ttft") is None
    assert not has_requests(run.results)


def test_next_to_all_is_not_all() -> None:
    from benchwright.analysis.request_failures import FailedRequests, RequestCount

    def share(failed: int, made: int) -> str:
        return str(RequestCount(made=made, failed=(FailedRequests(kind="cut", words="cut", count=failed),)))

    assert share(35_481, 35_504).endswith("(99.94 %)")
    assert share(999_999, 1_000_000).endswith("(99.99 %)")
    assert share(7, 7).endswith("(100 %)") and share(1, 3).endswith("(33 %)")
