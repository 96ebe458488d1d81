"""What vLLM's bench serve saves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import served_files
from benchwright import exchange
from benchwright.analysis.judged_metrics import directions_of, judged_metrics
from benchwright.records import Mode
from served_checks import check, metric, names, read, write
from served_files import gaps_of, truths


def test_vllm_counts_chunks_with_any_choice(tmp_path: Path) -> None:
    requests = truths(24, failed=4)
    good = requests[:20]
    [result] = read(write(tmp_path / "openai-chat.json", served_files.vllm(requests))).results
    check(result, "ttft_any", [r.role - r.sent for r in good])
    check(result, "e2e_any", [r.finish - r.sent for r in good])
    check(result, "tpot_any", [(r.finish - r.role) / (r.tokens - 1) for r in good])
    check(result, "itl_any", [gap for r in good for gap in gaps_of((r.role, *r.chunks, r.finish))])
    assert not names(result) & {"ttft", "itl", "tpot", "e2e", "latency", "goodput", "client_queue"}
    assert metric(result, "errors").estimate.point == pytest.approx(100 * 4 / 24)
    assert metric(result, "output_tokens_rate").estimate.point == pytest.approx(20 * 9 / requests[-1].finish)
    assert (result.case.load.mode, result.case.load.workers) == (Mode.CLOSED, 4)
    assert result.details["metadata"] == {"version": "0.32.0"}
    assert "text" not in json.dumps(result.details)  # what the model answered is not kept
    judged = judged_metrics(directions_of(result.metrics))
    assert {"ttft_any_p50", "itl_any_p99", "e2e_any_p50"} <= {*judged} and "ttft_any_p90" not in judged


def test_vllm_with_a_rate_knows_the_clients_queue(tmp_path: Path) -> None:
    good = truths(24)
    whole = served_files.vllm(good, request_rate=10.0, max_concurrency=8)
    [result] = read(write(tmp_path / "r.json", whole)).results
    assert (result.case.load.mode, result.case.load.rate) == (Mode.OPEN, 10.0)
    check(result, "client_queue", [r.sent - r.scheduled for r in good])
    check(result, "e2e_any_with_queue", [r.finish - r.scheduled for r in good])
    at_once = served_files.vllm(good, max_concurrency=None)
    [result] = read(write(tmp_path / "r.json", at_once)).results
    assert result.case.load.mode is Mode.OFFLINE


def test_vllm_summary_has_no_intervals_and_no_invented_zeros(tmp_path: Path) -> None:
    whole = served_files.vllm(truths(12), detailed=False, mean_e2el_ms=0.0, p99_e2el_ms=0.0, p99_9_odd_ms="x")
    del whole["failed"]
    [result] = read(write(tmp_path / "r.json", {**whole, "num_prompts": 16, "p99.9_ttft_ms": 5.0})).results
    found = metric(result, "ttft_any").estimate
    assert found.point == pytest.approx(0.004) and found.low is None and found.method == "reported: mean_ttft_ms"
    assert metric(result, "ttft_any_p99.9").estimate.point == pytest.approx(0.005)
    assert "e2e_any" not in names(result) and not result.samples
    assert metric(result, "errors").estimate.point == 25.0  # older versions tell only how many were completed


def test_vllm_embeddings_have_one_time_each(tmp_path: Path) -> None:
    whole = served_files.vllm(truths(12), detailed=False)
    kept = {k: v for k, v in whole.items() if "_ms" not in k and k not in ("output_throughput", "total_output_tokens")}
    kept |= {"total_input_sequences": 12, "mean_e2el_ms": 5.0, "latencies": [0.004, 0.006] * 6, "errors": [""] * 12}
    [result] = read(write(tmp_path / "r.json", kept)).results
    check(result, "e2e_close", [0.004, 0.006] * 6)
    assert not [name for name in names(result) if name.startswith(("ttft", "itl", "tpot"))]


def test_vllm_appended_results_are_runs(tmp_path: Path) -> None:
    several = [served_files.vllm(truths(6), max_concurrency=n) for n in (1, 2)]
    runs = [*exchange.read_runs(str(write(tmp_path / "r.json", several)))]
    assert [run.results[0].case.load.workers for run in runs] == [1, 2]
