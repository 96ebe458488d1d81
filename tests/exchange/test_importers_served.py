"""Files of the tools that measure served models: failures, errors, newer versions, the verbs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import served_files
from benchwright import schema
from benchwright.analysis.rows import rows
from benchwright.errors import DecodeError, TargetError
from benchwright.records import Run, Status
from benchwright.report.columns import columns
from benchwright.report.table import run_text
from served_checks import metric, read, write
from served_files import truths

FILES = Path(__file__).parent / "files"
CONCURRENT = {"type_": "concurrent", "streams": 2}


def test_the_golden_files_are_those_of_the_generator(tmp_path: Path) -> None:
    served_files.main(tmp_path)
    made = {file.relative_to(tmp_path): file.read_text() for file in tmp_path.rglob("*.json*")}
    assert len(made) == 4
    assert made == {name: (FILES / name).read_text() for name in made}


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


def test_tables_of_other_tools_have_what_they_tell_in_the_usual_places(tmp_path: Path) -> None:
    files = {
        "vllm": write(tmp_path / "v.json", served_files.vllm(truths(40, failed=2))),
        "aiperf": write(tmp_path / "a.jsonl", served_files.aiperf_records(truths(40))),
        "guidellm": write(tmp_path / "g.json", served_files.guidellm([(CONCURRENT, truths(40))])),
    }
    titles = {tool: [column.title for column in columns(rows(read(file)))] for tool, file in files.items()}
    speed = ["output tokens", "tokens per user", "throughput"]
    assert titles == {
        "vllm": [
            *("first event p50", "first event p99", "itl_any_p50", "itl_any_p99", "e2e_any_p50", "e2e_any_p99"),
            *("output tokens", "tokens_per_user_any", "throughput", "errors"),
        ],
        "aiperf": ["TTFT p50", "TTFT p99", "ITL p50", "ITL p99", "end to end p50", "end to end p99", *speed],
        "guidellm": [
            *("TTFT p50", "TTFT p99", "time per token p50", "time per token p99", "latency p50", "latency p99", *speed),
        ],
    }
    shown = run_text(read(files["vllm"]))
    assert "Requests: 40 made, 2 failed (5 %)" in shown and "2 failed: HTTP 500 for http://***@" in shown
    share = metric(read(files["vllm"]).results[0], "errors").estimate
    assert share.low is not None and share.high is not None and 0 < share.low < 5 < share.high < 20


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
