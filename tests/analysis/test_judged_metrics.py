"""Which metrics are judged: one rule, for whatever told them."""

from __future__ import annotations

import pytest

from benchwright.analysis.judged_metrics import first_shared, headline_metrics, in_order, judged_metrics

MODEL = {
    "latency": "lower",
    "latency_p50": "lower",
    "latency_p90": "lower",
    "latency_p99": "lower",
    "latency_max": "lower",
    "throughput": "higher",
    "load_time": "lower",
    "first_call": "lower",
    "rate": None,
    "service": "lower",
    "service_p50": "lower",
    "service_p99": "lower",
    "rss_peak": "lower",
    "rss_mean": "lower",
    "cpu_others": "lower",
    "energy": "lower",
    "error_max_abs.scores": "lower",
}
TASK = {"wall_time": "lower", "load_time": "lower", "speed": "higher", "epochs": None, "rss_peak": "lower"}

REQUESTS = {
    **{
        f"{time}{which}": "lower"
        for time in ("latency", "service", "lateness", "ttfb", "ttft", "ttft_any", "e2e", "tpot", "itl", "itl_token")
        for which in ("", "_p50", "_p90", "_p99")
    },
    **dict.fromkeys(("throughput", "output_tokens_rate", "input_tokens_rate", "tokens_per_user", "goodput"), "higher"),
    "errors": "lower",
    "output_tokens": None,
    "rss_peak": None,  # of the client
}


def test_requests_are_judged_by_what_their_users_wait_for() -> None:
    speed, requests = ["latency_p50", "throughput"], ["ttft_p50", "itl_p50", "output_tokens_rate", "goodput", "errors"]
    tails = ["ttft_p99", "itl_p99"]
    assert judged_metrics(REQUESTS) == ["latency_p50", "latency_p99", "throughput", *requests, *tails]
    assert headline_metrics(REQUESTS) == [*speed, *requests]
    assert judged_metrics(REQUESTS | {"rss_peak": "lower"})[-1] == "rss_peak"  # of a server that was started for it


def test_a_search_is_judged_by_the_rate_it_found() -> None:
    """Its times are those of another rate each time: one that serves more is not slower for that."""
    assert judged_metrics({**REQUESTS, "max_rate": "higher"}) == ["max_rate"]
    assert judged_metrics({**MODEL, "max_rate": "higher"}) == ["max_rate", "rss_peak"]


def test_a_file_that_tells_other_times_of_requests_is_judged_by_those() -> None:
    told = {"ttft": "lower", "e2e_p50": "lower", "e2e": "lower", "e2e_p99": "lower", "tpot_p50": "lower"}
    assert judged_metrics(told) == ["ttft", "e2e_p50", "e2e_p99", "tpot_p50"]


def test_a_model_is_judged_by_what_its_calls_show() -> None:
    assert judged_metrics(MODEL) == ["latency_p50", "latency_p99", "throughput", "rss_peak"]
    assert headline_metrics(MODEL) == ["latency_p50", "throughput"]


def test_what_is_called_once_is_judged_by_its_time_and_by_what_it_reports() -> None:
    assert judged_metrics(TASK) == ["wall_time", "speed", "rss_peak"]
    assert headline_metrics(TASK) == ["wall_time", "speed"]


@pytest.mark.parametrize(
    ("told", "judged"),
    [
        ({"memory": "lower"}, ["memory"]),  # pyperf's bytes
        ({"latency": "lower", "items": "higher"}, ["latency", "items"]),  # a file that tells only a mean
        ({"latency_avg": "lower", "latency_p95": "lower"}, ["latency_avg", "latency_p95"]),  # a task's own names
        ({"NET latency": "lower", "ID_0_Conv latency": "lower", "power": None}, ["NET latency"]),
        ({"infer": "lower", "preprocess": "lower"}, ["infer", "preprocess"]),
        ({"load_time": "lower"}, ["load_time"]),  # better than nothing
        ({"loss": None}, []),
        ({}, []),
    ],
)
def test_whoever_tells_a_direction_is_judged_by_it(told: dict[str, str | None], judged: list[str]) -> None:
    assert judged_metrics(told) == judged


def _statistics(*names: str) -> dict[str, str | None]:
    return {f"{name}{end}": "lower" for name in names for end in ("", "_p50", "_p90", "_p99")}


@pytest.mark.parametrize(
    ("told", "judged"),
    [
        (
            _statistics("ttft", "ttft_answer", "tpot", "itl_token_weighted", "e2e", "e2e_close", "latency", "lateness"),
            ["latency_p50", "latency_p99", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99"],
        ),
        (
            _statistics("ttft_any", "tpot_any", "itl_any", "e2e_any", "e2e_any_with_queue"),
            [f"{name}_any_{end}" for name in ("ttft", "tpot", "itl", "e2e") for end in ("p50", "p99")],
        ),
        ({"ttft": "lower", "tokens_per_user": "higher"}, ["ttft"]),  # the other is made of it
    ],
)
def test_a_served_model_is_judged_by_median_and_tail(told: dict[str, str | None], judged: list[str]) -> None:
    assert judged_metrics(told) == judged


def test_without_any_direction_everything_can_still_be_shown() -> None:
    assert headline_metrics({"loss": None, "epochs": None}) == ["loss", "epochs"]


def test_the_first_that_all_sides_have_is_chosen() -> None:
    assert first_shared([TASK, {"speed": "higher"}]) == "speed"
    assert first_shared([TASK, MODEL]) == "rss_peak"
    assert first_shared([]) == ""


def test_names_alone_have_an_order() -> None:
    assert in_order(["energy", "rss_peak", "speed", "latency_max", "latency_p50"]) == [
        *("latency_p50", "speed", "rss_peak", "energy", "latency_max")
    ]
