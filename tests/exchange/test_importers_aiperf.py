"""aiperf's summaries and records of requests."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

import served_files
from benchwright.records import Mode
from served_checks import check, metric, names, ours, read, write
from served_files import gaps_of, truths


def test_aiperf_records_give_our_numbers(tmp_path: Path) -> None:
    requests = truths(24, failed=4)
    good = requests[:20]
    file = write(tmp_path / "profile_export.jsonl", served_files.aiperf_records(requests))
    [result] = read(file).results
    for name, values in ours(good).items():
        check(result, name, values)
    check(result, "itl", [gap for r in good for gap in gaps_of(r.chunks)])
    check(result, "e2e_last_message", [r.finish - r.sent for r in good])
    check(result, "issue_delay", [r.sent - r.scheduled for r in good])
    assert metric(result, "errors").estimate.point == pytest.approx(100 * 4 / 24)
    assert not names(result) & {"latency", "e2e_close", "ttft_any"}  # no instants of these are in the file
    assert result.samples[0].histograms["itl"].total == 20 * 7
    assert metric(result, "throughput").estimate.point == pytest.approx(20 / (good[-1].finish - good[0].sent), rel=1e-6)
    assert result.started_at == "2026-02-03T09:00:00.002+00:00"


def test_aiperf_file_or_folder_is_the_same_run(tmp_path: Path) -> None:
    requests = truths(24)
    records = write(tmp_path / "profile_export.jsonl", served_files.aiperf_records(requests))
    summary = write(tmp_path / "profile_export_aiperf.json", served_files.aiperf_summary(requests))
    runs = [read(path) for path in (records, summary, tmp_path)]
    assert runs[0] == runs[1] == runs[2]
    [result] = runs[0].results
    assert (result.case.name, result.case.load.mode, result.case.load.workers) == ("tiny", Mode.CLOSED, 4)
    assert metric(result, "throughput").estimate.method == "reported: aiperf's request_throughput"
    assert len([name for name in names(result) if name.startswith("throughput")]) == 1
    assert result.environment.system["imported_from"] == {"tool": "aiperf", "version": "0.13.0"}


def test_aiperf_summary_alone_claims_no_more(tmp_path: Path) -> None:
    good = truths(24)
    whole = served_files.aiperf_summary(good)
    [result] = read(write(tmp_path / "profile_export_aiperf.json", whole)).results
    for name in ("ttft", "e2e"):
        found = metric(result, name).estimate
        assert found.point == pytest.approx(statistics.fmean(ours(good)[name]))
        assert found.low is None and found.method.startswith("reported")
    gaps = [gap for r in good for gap in gaps_of(r.chunks)]
    assert metric(result, "itl").estimate.point == pytest.approx(statistics.fmean(gaps))
    per_request = statistics.fmean((r.last - r.first) / (r.tokens - 1) for r in good)
    assert metric(result, "itl_mean_per_request").estimate.point == pytest.approx(per_request)
    assert "tpot" not in names(result) and "tokens_per_user" not in names(result)
    assert metric(result, "tokens_per_user_after_first").unit == "/s"


def test_aiperf_loads_of_both_forms_of_settings(tmp_path: Path) -> None:
    older = {"endpoint": {"model_names": ["m"], "type": "chat", "url": "localhost:8000"}}
    phase = {"name": "profiling", "kind": "profiling"}
    newer = {"models": {"items": [{"name": "m"}]}, "endpoint": {"type": "chat"}}
    settings: list[tuple[dict[str, Any], Mode, float | None, int]] = [
        ({**older, "loadgen": {"concurrency": 8}}, Mode.CLOSED, None, 8),
        ({**older, "loadgen": {"request_rate": 3.0, "request_rate_mode": "constant"}}, Mode.OPEN, 3.0, 1),
        ({**newer, "phases": [{**phase, "type": "poisson", "rate": 7.0}]}, Mode.OPEN, 7.0, 1),
        ({**newer, "phases": [{**phase, "type": "fixed_schedule"}]}, Mode.OPEN, None, 1),
    ]
    for config, mode, rate, workers in settings:
        whole = served_files.aiperf_summary(truths(6), input_config=config)
        [result] = read(write(tmp_path / "profile_export_aiperf.json", whole)).results
        load = result.case.load
        assert (load.mode, load.rate, load.workers, result.case.name) == (mode, rate, workers, "m")


def test_aiperf_phases_are_results_of_their_own(tmp_path: Path) -> None:
    phases = [
        {"name": "low", "kind": "profiling", "type": "concurrency", "concurrency": 2},
        {"name": "high", "kind": "profiling", "type": "poisson", "rate": 9.0},
    ]
    whole = served_files.aiperf_summary(truths(12))
    whole["input_config"]["phases"] = phases
    lines = served_files.aiperf_records(truths(12))
    for i, line in enumerate(lines):
        line["metadata"]["phase_name"] = "low" if i < 7 else "high"
    write(tmp_path / "profile_export_aiperf.json", whole)
    run = read(write(tmp_path / "profile_export.jsonl", lines))
    found = [(r.case.params["phase"], r.case.load.mode, metric(r, "ttft").count) for r in run.results]
    assert found == [("low", Mode.CLOSED, 6), ("high", Mode.OPEN, 6)]
