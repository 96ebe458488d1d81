"""The acceptance cases, as real processes: through `benchwright perfzero` and through PerfZero's own script paths."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STAMP = re.compile(r"\d{4}(-\d\d){5}-\d{6}")


@pytest.fixture(params=[pytest.param(False, marks=pytest.mark.soak), True], ids=["verb", "shim"])
def project(request: pytest.FixtureRequest, make_project: Callable[..., Any]) -> Any:
    return make_project(shim=request.param)


def test_t1_single_success(project: Any, tmp_path: Path, vector: bytes) -> None:
    seen = tmp_path / "seen"
    ended = project.run(
        "--benchmark_methods=demo_bench.Demo.benchmark_ok",
        "--execution_id=at1",
        "--execution_label=t",
        "--platform_name=p",
        "--system_name=s",
        "--ml_framework_build_label=b",
        env={"SEEN": str(seen)},
    )
    assert ended.code == 0, ended.err
    output = project.workspace / "output" / "at1"
    assert {p.name for p in output.iterdir()} == {
        "perfzero.log",
        "perfzero_summary.json",
        "process_info.log",
        "proto_Demo.benchmark_ok",
    }
    assert (output / "proto_Demo.benchmark_ok").read_bytes() == vector
    constructed = json.loads(seen.read_text())
    del constructed["pid"]
    assert constructed == {"output_dir": str(output), "root_data_dir": str(project.data), "kwargs": {"tpu": None}}
    summary = ended.summary("at1")
    assert summary["benchmark_result"] == {
        "name": "demo_bench.Demo.benchmark_ok",
        "wall_time": 2.5,
        "succeeded": True,
        "extras": [{"name": "note", "value": "abc"}],
        "metrics": [
            {"name": "acc", "value": 0.75, "min_value": 0.5, "max_value": 1.0},
            {"name": "err", "value": 0.0, "min_value": 0.0},
        ],
        "trial_id": 1,
    }
    info = summary["benchmark_info"]
    assert (info["has_exception"], info["env_vars"], info["execution_label"]) == (False, {"PERFZERO_TAG": "x"}, "t")
    assert (info["site_package_info"], summary["setup_info"], "output_url" in info) == ({}, {}, False)
    assert (summary["system_info"]["platform_name"], summary["system_info"]["system_name"]) == ("p", "s")
    assert summary["ml_framework_info"] == {
        "name": "tensorflow",
        "version": "2.99.0",
        "build_version": "v2.99-test",
        "build_label": "b",
    }
    stated = {"benchmark_num_trials": 1, "workspace": "workspace", "debug": False, "gcloud_key_file_url": ""}
    assert {name: info["flags"][name] for name in stated} == stated
    assert "git_repos" not in info["flags"]


def test_t2_bounds(project: Any) -> None:
    ended = project.run("--benchmark_methods=demo_bench.Demo.benchmark_low,demo_bench.Demo.benchmark_edge")
    assert ended.code == 0, ended.err
    low, edge = ended.summaries()
    assert (low["benchmark_result"]["succeeded"], low["benchmark_info"]["has_exception"]) == (False, False)
    assert low["benchmark_result"]["metrics"] == [{"name": "acc", "value": 80.0, "min_value": 90.0, "max_value": 99.0}]
    assert edge["benchmark_result"]["succeeded"] is True
    block = {"trial_1": {"demo_bench.Demo.benchmark_low": False, "demo_bench.Demo.benchmark_edge": True}}
    assert ended.block("Benchmark success results:") == block
    names = [p.name for p in ended.output.iterdir()]
    assert len(names) == 2 and all(map(STAMP.fullmatch, names))


def test_t3_filter_colon_form_and_trials(project: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    ended = project.run(
        "--benchmark_methods=demo_bench.Demo.filter:benchmark_(ok|low)$",
        "--benchmark_methods=demo_bench.Demo:benchmark_edge",
        "--benchmark_num_trials=2",
        env={"SEEN": str(seen)},
    )
    assert ended.code == 0, ended.err
    order = ["demo_bench.Demo.benchmark_low", "demo_bench.Demo.benchmark_ok", "demo_bench.Demo:benchmark_edge"]
    assert str(order) in ended.out
    results = [summary["benchmark_result"] for summary in ended.summaries()]
    assert [(r["name"], r["trial_id"]) for r in results] == [(name, trial) for trial in (1, 2) for name in order]
    assert len({json.loads(line)["pid"] for line in seen.read_text().splitlines()}) == 6
    edge = Path(ended.block("Benchmark local output directories:")["trial_1"]["demo_bench.Demo:benchmark_edge"])
    assert (edge / "proto_Demo.benchmark_edge").is_file()
    lines = ended.out.splitlines()
    assert lines.index("Setup complete. Running 2 trials") < lines.index("Running trial 1 / 2")
    assert lines.count("Running trial 1 / 2") == lines.count("Running trial 2 / 2") == 1


def test_t4_exceptions_stay_with_their_method(project: Any) -> None:
    ended = project.run(
        "--benchmark_methods=demo_bench.Demo.benchmark_raise", "--benchmark_methods=demo_bench.Demo.benchmark_ok"
    )
    assert ended.code == 1
    raised, ok = ended.summaries()
    assert raised["benchmark_result"] == {
        "name": "demo_bench.Demo.benchmark_raise",
        "wall_time": -1,
        "succeeded": False,
        "extras": [],
        "metrics": [],
        "trial_id": 1,
    }
    assert raised["benchmark_info"]["has_exception"] is True
    assert raised["ml_framework_info"] == ok["ml_framework_info"]  # also of a method that failed
    folder = ended.output / raised["execution_id"]
    assert "RuntimeError: boom" in (folder / "perfzero.log").read_text()
    assert (folder / "proto_Demo.benchmark_raise").is_file()
    assert ok["benchmark_result"]["succeeded"] is True


def test_t4_a_profiler_window_that_ends_before_it_begins(project: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    ended = project.run("--benchmark_methods=demo_bench.Demo.benchmark_ok", "--profiler=10:5", env={"SEEN": str(seen)})
    assert ended.code == 1
    assert not seen.exists()
    (summary,) = ended.summaries()
    assert summary["benchmark_info"]["has_exception"] is True
    told = (ended.output / summary["execution_id"] / "perfzero.log").read_text()
    assert (
        "failed due to error:\n OptionError: --profiler_enabled_time=10:5" in told
        and "could not be started" not in told
    )


def test_t5_data_and_git(project: Any, tmp_path: Path) -> None:
    source, archive = tmp_path / "src", tmp_path / "src" / "ds.tar.gz"
    source.mkdir()
    _pack(archive, "first")
    url, first, second = _repository(tmp_path)
    wanted = [
        "--python_path=demo,lib1",
        f"--git_repos={url};feat;{first}",
        f"--data_downloads=file://{archive},file://{archive};sub/x.gz",
        "--benchmark_methods=demo_bench.Demo.benchmark_ok",
    ]
    ended = project.run(*wanted)
    assert ended.code == 0, ended.out + ended.err
    data = project.data
    for name in ("ds.tar.gz", "ds/a.txt", "sub/x.gz", "sub/ds/a.txt"):
        assert (data / name).is_file(), name
    (summary,) = ended.summaries()
    assert summary["benchmark_info"]["site_package_info"] == {"lib1": {"url": url, "branch": "feat", "hash": first}}
    copy = project.workspace / "site-packages" / "lib1"
    assert _git(copy, "rev-parse", "HEAD") == first != second
    assert _git(copy, "rev-parse", "--abbrev-ref", "HEAD") == "feat"
    _pack(archive, "second")
    assert project.run(*wanted).code == 0
    assert (data / "ds/a.txt").read_text() == (data / "sub/ds/a.txt").read_text() == "first"


def test_t5_requests_that_cannot_be_met_run_nothing(project: Any) -> None:
    ended = project.run("--data_downloads=gcs://b/x", "--benchmark_methods=demo_bench.Demo.benchmark_ok")
    assert ended.code == 1
    assert "prefix gcs" in ended.err
    assert ended.summaries() == []


def test_t5_an_unknown_flag_ends_before_anything_is_prepared(project: Any) -> None:
    ended = project.run("--nope", "--benchmark_methods=demo_bench.Demo.benchmark_ok")
    assert ended.code == 1
    assert "--nope" in ended.err
    assert not ended.output.exists()


def _pack(archive: Path, text: str) -> None:
    folder = archive.parent / "ds"
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text(text)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "ds")


def _repository(tmp_path: Path) -> tuple[str, str, str]:
    """A bare repository lib1 whose branch feat has two commits: its address and both."""
    work, bare = tmp_path / "work", tmp_path / "r" / "lib1.git"
    work.mkdir()
    _git(work, "init", "-q", "-b", "main")
    commits = []
    for branch, text in (("main", "0"), ("feat", "1"), ("feat", "2")):
        _git(work, "checkout", "-q", "-B", branch)
        (work / "lib1.py").write_text(f"VALUE = {text}\n")
        _git(work, "add", ".")
        _git(work, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", text)
        commits.append(_git(work, "rev-parse", "HEAD"))
    _git(tmp_path, "clone", "-q", "--bare", str(work), str(bare))
    return f"file://{bare}", commits[1], commits[2]


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()
