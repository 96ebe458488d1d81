"""Files of tools that measure served models: each number has our name only where it has our formula."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import served_files
from benchwright import exchange, schema
from benchwright.analysis.judged_metrics import directions_of, judged_metrics
from benchwright.errors import DecodeError, TargetError
from benchwright.records import Arrivals, Metric, Mode, Result, Run, Status
from served_files import Truth, gaps_of, truths

FILES = Path(__file__).parent / "files"
CONCURRENT = {"type_": "concurrent", "streams": 2}
POISSON = {"type_": "poisson", "rate": 10.0}


def write(path: Path, data: Any) -> Path:
    text = "\n".join(map(json.dumps, data)) if isinstance(data, list) else json.dumps(data)
    path.write_text(text)
    return path


def read(path: Path, **how: str) -> Run:
    [run] = exchange.read_runs(str(path), **how)
    assert schema.loads(schema.dumps(run), Run) == run
    return run


def metric(result: Result, name: str) -> Metric:
    found = result.metric(name)
    assert found is not None, [m.name for m in result.metrics]
    return found


def check(result: Result, name: str, values: Sequence[float]) -> None:
    """The mean and the percentiles are those of the true values, with an interval around each."""
    assert metric(result, name).estimate.point == pytest.approx(statistics.fmean(values), rel=1e-5, abs=2e-6), name
    assert metric(result, name).count == len(values)
    for q in (50, 99):
        estimate = metric(result, f"{name}_p{q}").estimate
        exact = float(np.quantile(values, q / 100, method="inverted_cdf"))
        assert estimate.point == pytest.approx(exact, rel=1e-5, abs=2e-6), (name, q)
        assert estimate.low is not None and estimate.high is not None
        assert estimate.low <= estimate.point <= estimate.high


def names(result: Result) -> set[str]:
    return {m.name for m in result.metrics}


def ours(good: Sequence[Truth]) -> dict[str, list[float]]:
    """Benchwright's own definitions, from the true instants."""
    return {
        "ttft": [r.first - r.sent for r in good],
        "tpot": [(r.last - r.first) / (r.tokens - 1) for r in good],
        "e2e": [r.last - r.sent for r in good],
        "tokens_per_user": [r.tokens / (r.last - r.sent) for r in good],
    }


def test_the_golden_files_are_those_of_the_generator(tmp_path: Path) -> None:
    served_files.main(tmp_path)
    made = {file.relative_to(tmp_path): file.read_text() for file in tmp_path.rglob("*.json*")}
    assert len(made) == 4
    assert made == {name: (FILES / name).read_text() for name in made}


# ---- GuideLLM ----


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
    assert judged[:5] == ["latency_p50", "latency_p99", "throughput", "ttft_p50", "ttft_p99"]


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


# ---- aiperf ----


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


# ---- vLLM ----


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


# ---- all of them ----


def every_failed(tmp_path: Path) -> list[Path]:
    bad = truths(4, failed=4)
    return [
        write(tmp_path / "g.json", served_files.guidellm([(CONCURRENT, bad)])),
        write(tmp_path / "v.json", served_files.vllm(bad)),
        write(tmp_path / "vs.json", served_files.vllm(bad, detailed=False)),
        write(tmp_path / "a.jsonl", served_files.aiperf_records(bad)),
        write(tmp_path / "s_aiperf.json", served_files.aiperf_summary(bad)),
    ]


def test_where_all_failed_there_is_no_latency_and_no_secret(tmp_path: Path) -> None:
    for path in every_failed(tmp_path):
        [result] = read(path).results
        assert result.status is Status.FAILED and result.error is not None, path
        assert "all 4 requests failed" in result.error.message
        assert {(m.name, m.estimate.point) for m in result.metrics} == {("errors", 100.0)}
        assert not result.samples
        whole = schema.dumps(Run(id="r", started_at="", harness="", results=(result,)))
        assert "secret" not in whole and "hush" not in whole and "key=s" not in whole


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"completed": "x"}, r"completed: 'x' is not a number"),
        ({"ttfts": [0.1]}, r"entries where others have 1"),
        ({"completed": 3}, r"completed is 3, and 6 of its requests have times"),
        ({"latencies": [1e300] * 6}, "longer than anything that is measured"),
        ({"itls": [["x"]] * 6}, r"itls\[0\]\[0\]: 'x' is not a number"),
        ({"max_concurrency": 0}, "max_concurrency: 0 is not a count"),
    ],
)
def test_vllm_errors_name_the_place(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match=said):
        read(write(tmp_path / "r.json", {**served_files.vllm(truths(6)), **change}))


def test_a_line_that_is_cut_off_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "profile_export.jsonl", served_files.aiperf_records(truths(6)))
    file.write_text(file.read_text()[:-40])
    with pytest.raises(DecodeError, match=r"profile_export\.jsonl:7: not JSON") as told:
        read(file)
    assert told.value.remedy == "was it copied to its end?"
    write(file, [*served_files.aiperf_records(truths(2)), {"other": 1}])
    with pytest.raises(DecodeError, match=r"jsonl:4: is not a record of a request"):
        read(file)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TargetError, match="holds neither"):
        read(tmp_path / "empty", format="aiperf")


def test_a_newer_version_may_tell_more(tmp_path: Path) -> None:
    whole = served_files.guidellm([(CONCURRENT, truths(6))], telemetry={"new": [1]})
    whole["benchmarks"][0]["metrics"]["brand_new_ms"] = {"successful": {"mean": 1.0}}
    whole["benchmarks"][0]["config"]["strategy"]["novel"] = {"deep": True}
    assert read(write(tmp_path / "g.json", whole)).results[0].status is Status.OK
    more = served_files.vllm(truths(6), brand_new=[1, 2], mean_new_ms=3.0)
    assert read(write(tmp_path / "v.json", more)).results[0].status is Status.OK


def test_many_tokens_are_read_in_reasonable_time(tmp_path: Path) -> None:
    """A place for each number would cost many times as much; the bound is a hundred times what it takes."""
    whole = served_files.vllm(truths(6))
    whole["itls"] = [[0.001 + 1e-6 * (i % 97) for i in range(50_000)] for _ in range(6)]
    file = write(tmp_path / "v.json", whole)
    before = time.process_time()
    [result] = read(file).results
    assert time.process_time() - before < 60
    assert metric(result, "itl_any").count == 300_000


def test_the_verbs_read_records_that_end_like_ours(inside: Callable[..., Any], tmp_path: Path) -> None:
    before = write(tmp_path / "before.jsonl", served_files.aiperf_records(truths(40)))
    after = write(tmp_path / "after.jsonl", served_files.aiperf_records(truths(40, gap=0.06)))
    done = inside("import", str(before), str(after))
    assert done.returncode == 0 and done.stdout.count("1 added") == 2, done.stderr
    compared = inside("compare", str(before), str(after))
    assert compared.returncode in (0, 1), compared.stderr
    assert "itl_p50" in compared.stdout and "worse" in compared.stdout
    exported = inside("export", "last", str(tmp_path / "out.jsonl"))
    assert exported.returncode == 0, exported.stderr
    again = inside("import", str(tmp_path / "out.jsonl"))
    assert "1 there already" in again.stdout
    shown = inside("history", "unnamed", "--metric", "ttft_p50")
    assert shown.returncode == 0 and "ttft_p50" in shown.stdout, shown.stderr
