"""What a monitoring system reads at /metrics, by its own parser."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

ROOT = "http://127.0.0.1:8765"
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def families(told: Any) -> dict[str, Any]:
    assert told.status_code == 200, told.text
    return {family.name: family for family in openmetrics(told.text)}


def test_newest_values_and_counts(server: Any, filled: Any) -> None:
    found = filled(server.store)
    server.get("runs")
    server.get("nowhere")
    told = server.get(f"{ROOT}/metrics", headers=OPENMETRICS)
    assert told.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    seen = families(told)
    values = {sample.labels["metric"]: sample for sample in seen["benchwright_value"].samples}
    assert values.keys() == {"latency_p50", "latency_p99", "throughput", "rss_peak"}
    labels = {"case": found.case, "unit": "s", "machine": found.machine, "series": found.series}
    assert labels.items() <= values["latency_p50"].labels.items()
    assert '"batch_size":8' in values["latency_p50"].labels["params"].replace(" ", "")
    assert 0.59 < values["latency_p50"].value < 0.61
    ats = {sample.labels["series"]: sample.value for sample in seen["benchwright_value_timestamp_seconds"].samples}
    assert datetime.fromtimestamp(ats[found.series], UTC).isoformat() == "2026-03-01T03:00:00+00:00"
    alone = {name: [s.value for s in family.samples] for name, family in seen.items() if len(family.samples) == 1}
    assert alone["benchwright_runs"] == [4] and alone["benchwright_results"] == [8]
    assert alone["benchwright_series_cut"] == [0] and alone["benchwright_store_bytes"][0] > 4096
    states = {sample.labels["state"]: sample.value for sample in seen["benchwright_findings"].samples}
    assert states == {"suspected": 0, "open": 1, "acknowledged": 0, "resolved": 0, "ignored": 0}
    assert alone["benchwright_open_causes"] == [1]
    requests = {
        (s.labels["method"], s.labels["route"], s.labels["status"]): s.value
        for s in seen["benchwright_requests"].samples
        if s.name.endswith("_total")
    }
    assert requests["GET", "/runs", "200"] >= 1
    assert not any("nowhere" in route for _, route, _ in requests)  # what people type is no label
    times = [s for s in seen["benchwright_request_seconds"].samples if s.labels["route"] == "/runs"]
    assert {s.labels.get("le") for s in times} >= {"0.005", "1.0", "10.0", "+Inf"}
    assert "benchwright_value" in {family.name for family in plain(server.get(f"{ROOT}/metrics").text)}


def test_it_is_bounded_and_says_so(server: Any) -> None:
    seen = families(server.get(f"{ROOT}/metrics?limit=1", headers=OPENMETRICS))
    assert len(seen["benchwright_value"].samples) == 1
    assert seen["benchwright_series_cut"].samples[0].value == 1
    assert server.get(f"{ROOT}/metrics?limit=1000000").status_code == 422
    chosen = families(server.get(f"{ROOT}/metrics?metric=through*", headers=OPENMETRICS))
    assert [sample.labels["metric"] for sample in chosen["benchwright_value"].samples] == ["throughput"]


def test_who_may_not_read_is_told_nothing(guarded: Any) -> None:
    assert guarded.get(f"{ROOT}/metrics").status_code == 401
    assert guarded.get(f"{ROOT}/metrics", headers=guarded.token("prometheus", "read")).status_code == 200
