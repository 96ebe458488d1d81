"""The arithmetic of reports: acceptance case T6, and what it leaves open."""

from __future__ import annotations

import csv
import json
import math
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchwright.compat.neuronperf as npf
from benchwright.compat.neuronperf import figures
from benchwright.compat.neuronperf.measurement import RawResults
from benchwright.errors import OptionError
from benchwright.records import Case, Environment, Histogram, Result, Samples, Status, Target, Timeline
from benchwright.stats import histogram

SECOND = figures.SECOND


def ns(*seconds: float) -> Any:
    return np.array([round(s * SECOND) for s in seconds], dtype=np.int64)


def test_throughput_of_steady_completions() -> None:
    ends = ns(*(0.505 + i / 100 for i in range(500)))
    assert ends[-1] == round(5.495 * SECOND)
    assert figures.throughput_avg(len(ends), 4, 5.0) == 400.0
    assert figures.throughput_peak(ends, 4, ns(0.5)[0], ns(5.5)[0]) == 400.0


def test_percentiles_interpolate() -> None:
    found = figures.percentiles_ms(ns(*(i / 1000 for i in range(1, 11))))
    expected = {0: 1.0, 50: 5.5, 90: 9.1, 95: 9.55, 99: 9.91, 100: 10.0}
    assert found == {q: pytest.approx(value) for q, value in expected.items()}


def test_percentiles_of_a_histogram_are_within_its_error() -> None:
    values = [round(i * 1e6) for i in range(1, 1001)]
    found = figures.percentiles_ms(histogram.fold(values))
    assert found[0] == 1.0 and found[100] == 1000.0
    assert found[90] == pytest.approx(900, rel=0.002)


def test_cost_of_a_million() -> None:
    assert figures.cost_per_1m(1.18, 329.667) == pytest.approx(0.994, abs=5e-4)
    assert figures.cost_per_1m(None, 329.667) is None
    assert figures.cost_per_1m(1.18, None) is None


def test_empty_seconds_count() -> None:
    ends = ns(*(2.5 * i for i in range(1, 24)))
    assert (len(ends), ends[-1]) == (23, round(57.5 * SECOND))
    assert figures.throughput_avg(len(ends), 1, 60.0) == pytest.approx(0.383, abs=5e-4)
    assert figures.throughput_peak(ends, 1, 0, 60 * SECOND) == 1.0


def test_mean_of_samples_is_the_true_mean() -> None:
    samples = [10.0] * 8 + [100.0]
    assert figures.mean(samples) == 20.0
    assert figures.median(samples) == 10.0


@pytest.mark.parametrize(("until", "peak"), [(2.5, 3.0), (2.0, 3.0), (1.0, 2.0), (0.9, None)])
def test_few_seconds_give_a_number_or_none(until: float, peak: float | None) -> None:
    assert figures.throughput_peak(ns(0.2, 0.9, 1.1, 1.5, 1.7), 1, 0, ns(until)[0]) == peak


def test_nothing_is_never_nan() -> None:
    nothing = ns()
    assert figures.throughput_avg(0, 1, 0.0) is None
    assert figures.throughput_peak(nothing, 1, 0, 2 * SECOND) == 0.0
    assert figures.percentiles_ms(nothing) == {} and figures.percentiles_ms(histogram.empty()) == {}
    assert figures.mean_ms(nothing) is None and figures.mean([]) is None and figures.median([]) is None


def test_the_peak_is_looked_for_only_where_every_thread_kept_its_calls() -> None:
    fast, slow = ns(0.1, 0.2, 0.3), ns(0.5, 1.5, 2.5)
    assert figures.whole_until(np.concatenate([slow, fast])) == ns(0.3)[0]
    assert figures.whole_until(slow) == ns(2.5)[0]


def test_copies_are_pooled_raw_or_counted() -> None:
    raw = figures.pool_columns([ns(0.001, 0.002), ns(0.003)])
    assert not isinstance(raw, Histogram) and sorted(raw) == [1_000_000, 2_000_000, 3_000_000]
    counted = figures.pool_columns([histogram.fold([1_000_000, 2_000_000]), ns(0.003)])
    assert isinstance(counted, Histogram) and counted.total == 3
    assert figures.mean_ms(counted) == figures.mean_ms(raw) == 2.0


def test_samples_are_taken_at_the_interval() -> None:
    seconds = [0.0, 0.1, 0.5, 0.6, 1.2]
    assert figures.resample(seconds, [1, 3, 10, 20, 7], 0.5) == [2, 15, 7]


# ---- whole reports, from results as the core gives them ----


def report(samples: list[Samples], *, cost_per_hour: float | None = None, batch_size: int = 1, **more: Any) -> Any:
    result = Result(
        id="r",
        case=Case(name="m", target=Target(runtime="pipeline", uri="m")),
        round=0,
        status=Status.OK,
        environment=Environment(machine={"threads": 1, "memory": 1000}, system={}),
        started_at="2026-01-01T00:00:00.000+00:00",
        duration=61.0,
        samples=tuple(samples),
        **more,
    )
    config = {"batch_size": batch_size, "stats_interval": 0.5, "n_models": len(samples)}
    (made,) = npf.get_reports([(config, RawResults(result=result))], cost_per_hour=cost_per_hour)
    json.dumps(made, allow_nan=False)
    return made


def seen(ends: Any, latency: Any, elapsed: float, copy: int = 0) -> Samples:
    columns = {"end": array("q", ends.tolist()), "latency": array("q", latency.tolist())}
    return Samples(copy=copy, calls=len(ends), loops=1, elapsed=round(elapsed * SECOND), columns=columns)


def test_a_report_of_steady_calls_in_two_copies() -> None:
    ends = ns(*(0.005 + i / 100 for i in range(500)))
    times = ns(*([i / 1000 for i in range(1, 11)] * 25))
    made = report([seen(ends[::2], times, 5.0), seen(ends[1::2], times, 4.9, copy=1)], batch_size=4, cost_per_hour=1.18)
    assert (made["throughput_avg"], made["throughput_peak"], made["total_infs"]) == (400.0, 400.0, 2000)
    assert made["latency_ms_p50"] == pytest.approx(5.5) and made["e2e_avg_ms"] == pytest.approx(5.5)
    assert made["infer_ms_p99"] == made["latency_ms_p99"] and made["preprocess_avg_ms"] == 0.0
    assert made["cost_per_1m_inf"] == pytest.approx(1.18e6 / 3600 / 400)
    assert (made["start_dts"], made["stop_dts"]) == ("2026-01-01T00:00:00+00:00", "2026-01-01T00:01:01+00:00")


def test_a_report_counts_empty_seconds_and_takes_true_means() -> None:
    ends = ns(*(2.5 * i for i in range(1, 24)))
    cpu = Timeline(name="cpu", unit="%", seconds=tuple(i / 2 for i in range(9)), values=(*[10.0] * 8, 100.0))
    rss = Timeline(name="rss", unit="B", seconds=(0.0, 0.5), values=(100.0, 300.0))
    made = report([seen(ends, ends, 60.0)], timelines=(cpu, rss))
    assert made["throughput_avg"] == pytest.approx(0.383, abs=5e-4)
    assert (made["cpu_avg_percent"], made["cpu_percent_p50"]) == (20.0, 10.0)
    assert (made["mem_avg_percent"], made["mem_percent_p50"]) == (20.0, 20.0)
    assert made["cost_per_1m_inf"] is None


def test_a_report_without_a_whole_second_says_so() -> None:
    made = report([seen(ns(0.1, 0.2), ns(0.1, 0.1), 0.2)])
    assert made["throughput_peak"] is None and made["throughput_avg"] == 10.0
    assert "no whole second" in made["notes"]["throughput_peak"]


def test_a_report_beyond_the_raw_calls_is_of_the_histogram() -> None:
    raw = seen(ns(0.2, 1.4), ns(0.001, 0.002), 10.0)
    made = report([replace(raw, calls=1000, histograms={"latency": histogram.fold([1_000_000] * 999 + [9_000_000])})])
    assert (made["latency_ms_p100"], made["throughput_avg"], made["throughput_peak"]) == (9.0, 100.0, 1.0)
    assert "first 1 s" in made["notes"]["throughput_peak"]


# ---- tables and files ----


REPORTS = [
    {"model_filename": "m", "model_name": "m", "n_models": 2, "throughput_peak": 20.0, "throughput_avg": 19.5},
    {"model_filename": "m", "model_name": "m", "n_models": 1, "throughput_peak": 10.0, "throughput_avg": 9.123456},
    {"model_filename": "m", "model_name": "m", "n_models": 4, "status": "failed", "reason": "OSError: no"},
]


def test_the_table_is_sorted_and_says_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    npf.print_reports(REPORTS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == list(npf.PRINT_COLS)
    assert [line.split()[0] for line in lines[1:4]] == ["9.123", "19.5", "N/A"]
    assert "failed" in lines[4] and "OSError: no" in lines[4]
    npf.print_reports(REPORTS, cols=["n_models"], reverse=True)
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[1:4]] == ["2", "1", "4"]


def test_an_unknown_field_to_sort_by_is_named() -> None:
    with pytest.raises(OptionError, match="model_nam"):
        npf.print_reports(REPORTS, sort_by="model_nam")


def test_the_csv_has_the_26_columns_in_order(tmp_path: Path) -> None:
    name = npf.write_csv(REPORTS, tmp_path / "r.csv")
    header, *rows = csv.reader(Path(name).read_text(encoding="utf-8").splitlines())
    expected = (
        "model_name, n_models, workers_per_model, pipeline_size, batch_size, throughput_avg, throughput_peak, "
        "latency_ms_p0, latency_ms_p50, latency_ms_p90, latency_ms_p95, latency_ms_p99, latency_ms_p100, "
        "cpu_avg_percent, cpu_percent_p50, mem_avg_percent, mem_percent_p50, e2e_avg_ms, infer_avg_ms, total_infs, "
        "total_s, performance_level, model_filename, device_type, instance_type, cost_per_1m_inf"
    )
    assert header == expected.split(", ") and len(header) == 26
    assert [row[header.index("throughput_avg")] for row in rows] == ["19.5", "9.123456", "N/A"]


def test_files_are_named_after_the_model_and_the_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table, whole = npf.write_csv(REPORTS), npf.write_json(REPORTS)
    assert Path(table).match("m.results-[0-9]*-[0-9]*.csv") and Path(whole).match("m.results-[0-9]*-[0-9]*.json")
    assert json.loads(Path(whole).read_text()) == REPORTS


def test_json_refuses_what_is_not_a_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        npf.write_json([{"model_name": "m", "throughput_avg": math.nan}], tmp_path / "r.json")
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize("write", [npf.write_csv, npf.write_json])
def test_a_file_that_cannot_be_written_whole_stays_as_it_was(write: Any, tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_text("before")
    with pytest.raises((RuntimeError, TypeError)):
        write([*REPORTS, {"model_name": Unwritable()}], path)
    with pytest.raises(UnicodeEncodeError):
        npf.write_csv([{"model_name": "\ud800"}], path)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]
    (tmp_path / "link").symlink_to(path)
    write(REPORTS, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and "throughput_avg" in path.read_text()


class Unwritable:
    def __str__(self) -> str:
        raise RuntimeError


def test_a_report_is_found_by_its_models_name() -> None:
    reports = [{"model_filename": "models/a.onnx", "model_name": "a"}, {"model_filename": "b.pt", "model_name": "b"}]
    for tag in ("models/a.onnx", "a.onnx", "a"):
        assert npf.get_report_by_tag(reports, tag) is reports[0]
    with pytest.raises(OptionError, match="no report of 'c'"):
        npf.get_report_by_tag(reports, "c")
