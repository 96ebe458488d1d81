"""Files of other tools: recognised by their content, and taken for no more than they tell."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright import exchange, plugins, schema
from benchwright.errors import BenchwrightError, DecodeError, TargetError
from benchwright.exchange.importers import construction
from benchwright.exchange.importers.source_file import Given
from benchwright.records import Better, Estimate, Mode, Result, Run, Status

FILES = Path(__file__).parent / "files"
EVERY = {
    "google-benchmark": "google-benchmark.json",
    "pytest-benchmark": "pytest-benchmark.json",
    "hyperfine": "hyperfine.json",
    "pyperf": "pyperf.json",
    "asv": "asv",
    "loadgen": "loadgen",
    "guidellm": "guidellm.json",
    "aiperf": "aiperf",
    "vllm": "vllm.json",
}
COMMIT = "4f1e0d2c3b4a59687766554433221100ffeeddcc"


def read(path: str, **how: str) -> list[Run]:
    return [*exchange.read_runs(path, **how)]


def only(name: str) -> Run:
    [run] = read(str(FILES / EVERY[name]))
    return run


def named(run: Run, name: str, **params: Any) -> Result:
    [found] = [r for r in run.results if r.case.name == name and params.items() <= r.case.params.items()]
    return found


def estimate(result: Result, name: str) -> Estimate:
    metric = result.metric(name)
    assert metric is not None, [m.name for m in result.metrics]
    return metric.estimate


def test_many_values_that_drift_say_how_many_independent_ones_they_are_worth(tmp_path: Path) -> None:
    told = json.loads((FILES / EVERY["pytest-benchmark"]).read_text())
    del told["benchmarks"][1:]
    told["benchmarks"][0]["stats"]["data"] = [1e-3 * (1 + 0.3 * i / 6233 + 1e-3 * (i % 7)) for i in range(6233)]
    (tmp_path / "drifts.json").write_text(json.dumps(told))
    [run] = read(str(tmp_path / "drifts.json"))
    median = estimate(run.results[0], "latency_p50")
    assert 1.03e-3 < median.low < 1.1e-3 < 1.2e-3 < median.high < 1.28e-3  # type: ignore[operator]
    assert "6,233 values worth 3 independent ones" in median.method and median.confidence == 0.75
    [warning] = [w for w in run.results[0].warnings if w.code == "few-independent"]
    assert "worth 3 independent ones" in warning.seen


def test_every_importer_has_a_file_here() -> None:
    assert EVERY.keys() == plugins.BUILTIN["importers"].keys()


@pytest.mark.parametrize("name", EVERY)
def test_it_is_recognised_and_the_same_content_is_the_same_run(name: str, tmp_path: Path) -> None:
    source = FILES / EVERY[name]
    run = only(name)
    assert read(str(source), format=name) == [run]
    assert schema.loads(schema.dumps(run), Run) == run
    assert run.reason == f"imported from {name}"
    assert len({result.id for result in run.results}) == len(run.results) == run.planned
    imported = {json.dumps(result.environment.system["imported_from"]) for result in run.results}
    assert [json.loads(text)["tool"] for text in imported] == [name]
    copy = tmp_path / source.name
    (shutil.copytree if source.is_dir() else shutil.copy)(source, copy)
    for file in [copy, *copy.rglob("*")]:
        os.utime(file, (1e9, 1e9))
    assert [again.id for again in read(str(copy))] == [run.id]


@pytest.mark.parametrize("name", [name for name, file in EVERY.items() if file.endswith(".json")])
def test_other_formats_say_what_is_wrong_with_it(name: str) -> None:
    for other in EVERY:
        if other != name:
            with pytest.raises((DecodeError, TargetError), match=EVERY[name]):
                read(str(FILES / EVERY[name]), format=other)


def test_google_benchmark() -> None:
    run = only("google-benchmark")
    assert (run.started_at, run.command) == ("2026-02-03T09:00:00.000+00:00", ("./copy_bench",))
    copied = named(run, "Copy")
    assert copied.case.params == {"arg0": 64}  # how often it was repeated is no part of it
    latency = copied.metric("latency")
    assert latency is not None and latency.values == pytest.approx((2e-6, 3e-6, 4e-6))
    assert latency.estimate.low is not None and "mean of all iterations" in latency.estimate.method
    assert estimate(copied, "latency_p50").point == pytest.approx(3e-6)
    assert estimate(copied, "throughput").point == 500.0
    assert estimate(copied, "misses") == Estimate(
        point=4.0, low=None, high=None, method="reported: mean of 3 repetitions"
    )
    sorted_ = named(run, "Sort")  # of which only aggregates were written
    assert sorted_.case.params == {"rows": 8, "cols": 4, "timer": "real_time", "threads": 2}
    assert estimate(sorted_, "latency_p50") == Estimate(
        point=pytest.approx(6.5e-3),  # type: ignore[arg-type]
        low=None,
        high=None,
        method="reported: median of 5 repetitions",
    )
    assert [warning.code for warning in named(run, "Grow").warnings] == ["not-imported"]
    failed = named(run, "Gpu")
    assert failed.status is Status.FAILED and failed.error is not None and failed.error.message == "no such device"
    assert not failed.metrics
    assert copied.environment.machine["host"] == "box"  # nothing else tells machines apart there


def test_pytest_benchmark() -> None:
    run = only("pytest-benchmark")
    assert run.revision is not None and (run.revision.id, run.revision.branch, run.revision.dirty) == (
        COMMIT,
        "main",
        True,
    )
    summed = named(run, "tests/test_it.py::test_sum")
    assert (summed.case.params, summed.case.tags, summed.revision) == ({"n": 10}, ("sums",), run.revision)
    latency = summed.metric("latency")
    assert latency is not None and latency.values == (0.001, 0.003, 0.002)
    assert summed.duration == pytest.approx(0.03)
    assert summed.details["extra_info"] == {"note": "warm"}
    plain = named(run, "tests/test_it.py::test_plain")
    assert estimate(plain, "latency_p50") == Estimate(
        point=0.015, low=None, high=None, method="reported: median of 40 rounds"
    )
    assert plain.environment.machine["cpu"] == "Example 9000"


def test_hyperfine() -> None:
    run = only("hyperfine")
    good = named(run, "grep -c a words.txt")
    assert good.case.params == {"pattern": "a", "threads": 4}
    latency, memory = good.metric("latency"), good.metric("rss_peak")
    assert latency is not None and latency.values == (0.1, 0.3, 0.2) and latency.better is Better.LOWER
    assert memory is not None and memory.estimate.point == 3e6
    assert estimate(good, "cpu_user").point == 0.05
    assert [warning.code for warning in good.warnings] == ["import-undated", "import-unplaced"]
    bad = named(run, "false")
    assert bad.status is Status.FAILED and bad.error is not None and bad.metrics
    assert bad.error.message == "2 of 2 calls ended with another exit code than 0: 1, a signal"


def test_pyperf(tmp_path: Path) -> None:
    run = only("pyperf")
    assert run.started_at == "2026-02-03T09:00:00.250+00:00"  # what only calibrated is left out
    encoded = [result for result in run.results if result.case.name == "encode"]
    assert [(result.round, result.duration) for result in encoded] == [(0, 1.5), (1, 1.25)]
    latency = encoded[0].metric("latency")
    assert latency is not None and latency.values == (0.002, 0.004, 0.003)
    assert "each value the mean of 64 calls" in latency.estimate.method
    assert estimate(encoded[1], "rss_peak").point == 21e6
    [size] = [result for result in run.results if result.case.name == "size"]
    assert [(m.name, m.unit, m.estimate.point) for m in size.metrics] == [("memory", "B", 1536.0)]
    assert (size.environment.system["os"], size.environment.system["architecture"]) == ("Linux", "x86_64")
    packed = tmp_path / "pyperf.json.gz"
    packed.write_bytes(gzip.compress((FILES / "pyperf.json").read_bytes()))
    assert read(str(packed)) == [run]
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(DecodeError, match="damaged"):
        read(str(packed))


def test_asv() -> None:
    run = only("asv")
    assert run.revision is not None and (run.revision.id, run.revision.committed_at) == (
        COMMIT,
        "2026-02-01T08:00:00.000+00:00",
    )
    assert run.started_at == "2026-02-03T09:00:00.500+00:00"
    first = named(run, "suite.Sum.time_sum", n=10, kind="list")
    assert first.case.params["environment"] == "virtualenv-py3.12-numpy2.1"
    assert estimate(first, "latency_p50") == Estimate(
        point=1e-6, low=9e-7, high=1.2e-6, confidence=0.99, method="reported: median with asv's interval"
    )
    sampled = named(run, "suite.Sum.time_sum", n=100, kind="list").metric("latency")
    assert sampled is not None and sampled.values == (3e-6, 5e-6, 4e-6)
    ends = {name: named(run, "suite.Sum.time_sum", n=n, kind="tuple") for name, n in (("skipped", 10), ("failed", 100))}
    assert {name: str(result.status) for name, result in ends.items()} == {"skipped": "skipped", "failed": "failed"}
    assert named(run, "suite.time_broken").status is Status.FAILED
    assert estimate(named(run, "suite.peakmem_load"), "peak_memory").point == 24780800
    tracked = named(run, "suite.track_files").metric("value")
    assert tracked is not None and (tracked.unit, tracked.better) == ("files", None)
    assert run.results[0].environment.packages == {"numpy": "2.1"}
    [file] = (FILES / "asv" / "box").glob("4f*.json")
    assert read(str(file)) == [run]


def test_loadgen(tmp_path: Path) -> None:
    run = only("loadgen")
    [result] = run.results
    assert (run.started_at, result.status, result.case.name) == ("2026-02-03T09:00:00.000+00:00", Status.OK, "DemoSUT")
    assert (result.case.load.mode, result.case.load.rate) == (Mode.OPEN, 2000)
    assert estimate(result, "latency_p99.9") == Estimate(
        point=pytest.approx(5.99e-3),  # type: ignore[arg-type]
        low=None,
        high=None,
        method="reported: percentile of the queries",
    )
    assert estimate(result, "throughput").point == 1903.40
    p50 = result.metric("latency_p50")
    assert p50 is not None and p50.count == 4000
    summary = (FILES / "loadgen" / "mlperf_log_summary.txt").read_text()
    alone = tmp_path / "mlperf_log_summary.txt"
    alone.write_text(
        summary.replace("VALID", "INVALID").replace("Min duration satisfied : Yes", "Min duration satisfied : NO")
    )
    [[bad]] = [run.results for run in read(str(alone))]
    assert bad.status is Status.FAILED and bad.metrics
    assert bad.error is not None and "Min duration not satisfied" in bad.error.message
    assert [warning.code for warning in bad.warnings] == ["import-unplaced", "import-undated", "invalid"]
    alone.write_text(summary.replace("PerformanceOnly", "AccuracyOnly"))
    with pytest.raises(DecodeError, match="no performance run"):
        read(str(alone))


@pytest.mark.parametrize(
    ("text", "read"),
    [("8", 8), ("-1.5", -1.5), ("1e3", 1000.0), ("1e999", "1e999"), ("9" * 5000, "9" * 5000), ("0x8", "0x8"), ("", "")],
)
def test_a_text_that_is_a_number_becomes_one(text: str, read: object) -> None:
    assert (construction.scalar(text), type(construction.scalar(text))) == (read, type(read))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"results": [{"command": "a", "times": ["x"]}]}', r"results\[0\]\.times\[0\]: 'x' is not a number"),
        ('{"results": [{"command": 1, "times": [1]}]}', r"command: 1 is not a text"),
        ('{"benchmarks": [{"runs": 5}]}', r"benchmarks\[0\]\.runs: 5 is not a list"),
        ('{"commit_hash": "a", "results": {}, "version": 1}', "asv's format 1"),
        ('{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "y"}]}', "not a unit of time"),
        (
            "nonsense",
            "no known format; tried google-benchmark, pytest-benchmark, hyperfine, pyperf, asv, loadgen, guidellm",
        ),
        ('{"a": ', "no known format"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "given.json"
    file.write_text(text)
    with pytest.raises(DecodeError, match=said):
        read(str(file))


def _places(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield from _places(value, (*place, key))


def _changed(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[place[0]] = _changed(data[place[0]], place[1:], value)
    return copy


STRANGE = [None, True, -1, 1e308, float("nan"), float("inf"), 10**400, "", "x", "1e999", [], {}, [[]], {"a": 1}, ["x"]]
DOCUMENTS = {name: FILES / file for name, file in EVERY.items() if file.endswith(".json")}
DOCUMENTS["aiperf"] = FILES / "aiperf" / "profile_export_aiperf.json"
DOCUMENTS["asv"] = FILES / "asv" / "box" / "4f1e0d2c-virtualenv-py3.12.json"


@pytest.mark.parametrize("name", DOCUMENTS)
@given(draw=st.data())
@settings(max_examples=100)
def test_a_file_that_is_wrong_anywhere_is_refused_or_read(name: str, draw: st.DataObject) -> None:
    whole = json.loads(DOCUMENTS[name].read_text())
    place = draw.draw(st.sampled_from([*_places(whole)]))
    wrong = _changed(whole, place, draw.draw(st.sampled_from(STRANGE)))
    what = Given(name="given", path=None, data=wrong, modified_at="2026-02-03T09:00:00.000+00:00")
    with contextlib.suppress(BenchwrightError):
        for run in plugins.load("importers", name)().runs(what):
            schema.dumps(run)


def test_the_verb(inside: Callable[..., Any]) -> None:
    files = [str(FILES / file) for file in EVERY.values()]
    first = inside("import", *files, "--json")
    assert first.returncode == 0, first.stderr
    added = [one["added"] for one in json.loads(first.stdout)["data"]]
    assert [len(ids) for ids in added] == [1] * len(files)
    again = inside("import", files[0], "--format", "google-benchmark")
    assert again.stdout == f"{files[0]}: 0 added, 1 there already\n"
    listed = inside("list")
    assert all(run_id in listed.stdout for [run_id] in added)
    piped = inside("import", "-", "--format", "hyperfine", input=Path(files[2]).read_text())
    assert piped.stdout == "-: 0 added, 1 there already\n"
    for wrong in (["absent.json"], [files[0], "--format", "hyperfin"]):
        refused = inside("import", *wrong)
        assert refused.returncode == 2 and ("no such file" in refused.stderr or "'hyperfine'?" in refused.stderr)


# ---- parameters that are objects ----


def _suite(path: Path, address: int) -> Path:
    """A file as pytest-benchmark 5 writes it where parameters are objects: their text holds where they lie."""
    at = f"UNSERIALIZABLE[<function add at 0x{address:x}>]"
    codec = f"UNSERIALIZABLE[<suite.Codec object at 0x{address + 64:x}>]"
    tests = [
        ("test_function[10-add]", "10-add", {"n": 10, "f": at}),
        ("test_object[codec0]", "codec0", {"codec": codec}),
        ("test_object[codec1]", "codec1", {"codec": codec}),
        ("test_nested[d0]", "d0", {"d": {"f": [at], "k": 1}}),
        ("test_dashes[a-b-c-add]", "a-b-c-add", {"text": "a-b-c", "f": at}),
        ("test_plain[x-1]", "x-1", {"text": "x", "n": 1}),
        ("test_bare", None, None),
    ]
    stats = {"data": [1e-3, 1.1e-3, 0.9e-3], "iterations": 1, "rounds": 3, "total": 3e-3, "stddev": 1e-4}
    rows = [
        {"fullname": f"suite.py::{name}", "name": name, "param": param, "params": params, "group": None, "stats": stats}
        for name, param, params in tests
    ]
    whole = {"machine_info": {"node": "box"}, "benchmarks": rows, "datetime": f"2026-02-03T09:00:0{address % 10}+00:00"}
    path.write_text(json.dumps(whole))
    return path


def test_objects_as_parameters_are_called_as_in_the_tests_id(tmp_path: Path) -> None:
    runs = [read(str(_suite(tmp_path / f"{a}.json", 0x7F0000000000 + a)))[0] for a in (1, 2)]
    cases = [[(r.case.name, dict(r.case.params)) for r in run.results] for run in runs]
    assert cases[0] == [
        ("suite.py::test_function", {"n": 10, "f": "add"}),
        ("suite.py::test_object", {"codec": "codec0"}),
        ("suite.py::test_object", {"codec": "codec1"}),
        ("suite.py::test_nested", {"d": "d0"}),
        ("suite.py::test_dashes", {"text": "a-b-c", "param": "a-b-c-add"}),
        ("suite.py::test_plain", {"text": "x", "n": 1}),
        ("suite.py::test_bare", {}),
    ]
    keys = [[schema.case_key(r.case) for r in run.results] for run in runs]
    assert keys[0] == keys[1] and runs[0].id != runs[1].id  # two processes, one series each
