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
        ({"ttft": "lower", "tokens_per_user": "higher"}, ["ttft", "tokens_per_user"]),
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
