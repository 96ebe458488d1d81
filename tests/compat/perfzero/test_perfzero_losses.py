"""Where PerfZero hangs or loses results: here each ends with a record and the right exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero import destination
from benchwright.errors import StoreError
from benchwright.store import open_store

DEMO = "demo_bench.Demo.benchmark_"


def _methods(*names: str) -> str:
    return f"--benchmark_methods={','.join(DEMO + name for name in names)}"


def test_a_process_that_dies_leaves_a_record_and_the_next_method_runs(project: Any) -> None:
    """Defects 1 and 2."""
    dying = ("silent", "kill", "segv", "osexit", "exit")
    ended = project.run(_methods(*dying, "ok"))
    assert ended.code == 1
    *failed, ok = ended.summaries()
    assert [s["benchmark_result"]["name"] for s in failed] == [DEMO + name for name in dying]
    for summary in failed:
        result = summary["benchmark_result"]
        assert (result["wall_time"], result["succeeded"], result["metrics"]) == (-1, False, [])
        assert summary["benchmark_info"]["has_exception"] is True
    assert ok["benchmark_result"]["succeeded"] is True
    logs = {s["benchmark_result"]["name"]: (ended.output / s["execution_id"] / "perfzero.log") for s in failed}
    for name, reason in {
        "silent": "without calling report_benchmark",
        "kill": "SIGKILL",
        "segv": "SIGSEGV",
        "osexit": "exit code 0",
        "exit": "SystemExit: 3",
    }.items():
        assert reason in logs[DEMO + name].read_text(), name


def test_a_constructor_or_an_import_that_fails_is_a_record(project: Any) -> None:
    ended = project.run("--benchmark_methods=demo_bench.Broken.benchmark_it,no_such.Demo.x,demo_bench.Demo.nothing")
    assert ended.code == 1
    assert [s["benchmark_info"]["has_exception"] for s in ended.summaries()] == [True] * 3
    folders = ended.block("Benchmark local output directories:")["trial_1"]
    assert "ValueError: no such data" in Path(folders["demo_bench.Broken.benchmark_it"], "perfzero.log").read_text()
    assert "no_such" in Path(folders["no_such.Demo.x"], "perfzero.log").read_text()
    assert ended.out.count("failed due to error:") == 3 and "failed due to error:" not in ended.err  # told once
    assert ended.out.count("ValueError: no such data") == 1
    frameworks = [summary["ml_framework_info"] for summary in ended.summaries()]
    assert frameworks == [{"name": "tensorflow", "version": "2.99.0", "build_version": "v2.99-test"}] * 3


def test_nothing_but_the_benchmark_is_imported(project: Any) -> None:
    """Defects 3, 5 and 17: none of these is needed for a run that uploads nothing."""
    for name in ("google", "absl", "six", "requests", "fsspec", "gcsfs", "cloud_tpu_client"):
        (project.site / f"{name}.py").write_text(f"raise ImportError('{name} is not wanted')\n")
    ended = project.run(_methods("ok"))
    assert ended.code == 0, ended.err
    assert ended.summaries()[0]["benchmark_result"]["succeeded"] is True


def test_the_parent_never_imports_the_benchmark(project: Any, tmp_path: Path) -> None:
    """Defect 17: also a filter is expanded in a child."""
    imported = tmp_path / "imported"
    wanted = f"--benchmark_methods={DEMO[:-10]}filter:benchmark_(nan|ok)"
    ended = project.run("--list", wanted, env={"IMPORTED": str(imported)}, apart=True)
    assert ended.code == 0, ended.err
    assert ended.out.split() == [DEMO + name for name in ("nan", "nan_bound", "nan_time", "ok")]
    assert str(os.getpid()) not in imported.read_text().split()
    assert not ended.output.exists()


def test_what_is_no_number_does_not_succeed_and_is_written_as_a_word(project: Any) -> None:
    """Defects 4 and 22."""
    ended = project.run(_methods("nan", "nan_bound", "unbounded", "nan_time"))
    assert ended.code == 0, ended.err
    free, bound, unbounded, timeless = (summary["benchmark_result"] for summary in ended.summaries())
    assert free["metrics"] == [{"name": "free", "value": "NaN"}]
    assert free["extras"] == [{"name": "loss", "value": "Infinity"}]
    assert bound["metrics"] == [{"name": "acc", "value": "NaN", "min_value": 0.5}]
    assert (free["succeeded"], bound["succeeded"]) == (False, False)
    assert unbounded["metrics"] == [{"name": "acc", "value": 0.5, "max_value": 1.0}]
    assert unbounded["succeeded"] is True
    assert (timeless["wall_time"], timeless["succeeded"]) == ("NaN", False)


@pytest.mark.soak
def test_one_execution_id_for_many_gives_each_a_folder(project: Any) -> None:
    """Defect 6, and a second run with the same id is not stopped by the first one's reports."""
    wanted = [_methods("ok", "ok"), "--benchmark_num_trials=2", "--execution_id=same"]
    for _ in range(2):
        ended = project.run(*wanted)
        assert ended.code == 0, ended.out
        assert sorted(p.name for p in ended.output.iterdir()) == ["same", "same-2", "same-3", "same-4"]
        assert [s["benchmark_result"]["trial_id"] for s in ended.summaries()] == [1, 1, 2, 2]
        assert "goes to same-2" in ended.out


def test_a_bound_counts_for_the_exit_code_when_asked(project: Any) -> None:
    """Defect 10."""
    assert project.run(_methods("low"), "--fail_on_bounds").code == 1
    assert project.run(_methods("edge"), "--fail_on_bounds").code == 0


def test_children_and_short_methods_are_seen(project: Any) -> None:
    """Defect 20."""
    ended = project.run(_methods("ok", "child"))
    short, long = ended.summaries()
    assert short["process_info"]["max_rss"] > 1 << 20
    assert short["process_info"]["max_cpu_percent"] == 0.0  # too short for the kernel to tell
    assert short["process_info"]["max_vms"] >= short["process_info"]["max_rss"]
    assert long["process_info"]["max_rss"] > 200 << 20
    log = (ended.output / long["execution_id"] / "process_info.log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert list(lines[0]) == ["time", "rss", "vms", "cpu_percent"]
    assert lines[0]["time"] == 0.0
    assert lines[-1]["time"] > 1.0


def test_the_whole_path_of_a_profile_is_told(project: Any) -> None:
    """Defect 15."""
    ended = project.run(_methods("traced"), "--execution_id=benchmark-of-traces")
    assert f"tensorboard --logdir={project.workspace}/output/benchmark-of-traces/profiler_data" in ended.out


def test_a_record_is_shown_once(project: Any) -> None:
    ended = project.run(_methods("ok", "raise"))
    whole = ended.out + ended.err
    assert whole.count("a record of the method") == 1
    assert whole.count("RuntimeError: boom") == 1
    assert whole.count("a line of the method") == 1
    assert whole.count("completed with summary:") == 2
    log = (ended.output / ended.summaries()[0]["execution_id"] / "perfzero.log").read_text()
    assert "completed with summary:" in log and "a line of the method" not in log


def test_without_methods_or_trials_everything_else_still_happens(project: Any) -> None:
    ended = project.run()
    assert (ended.code, ended.block("Benchmark success results:")) == (0, {})
    assert "no method to run" in ended.out
    assert project.run(_methods("raise"), "--benchmark_num_trials=0").code == 0
    assert ended.summaries() == []


def test_constructors_of_every_kind(project: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    ended = project.run(
        _methods("ok"),
        '--perfzero_constructor_args={"depth": 3}',
        "--scratch_gcs_url=gs://scratch/place/",
        "--execution_id=e",
        env={"SEEN": str(seen)},
    )
    assert ended.code == 0, ended.err
    constructed = json.loads(seen.read_text())
    assert constructed["output_dir"] == "gs://scratch/place/e"
    assert constructed["kwargs"] == {"tpu": None, "depth": 3}
    assert (ended.output / "e" / "proto_Demo.benchmark_ok").is_file()
    ended = project.run(
        "--benchmark_methods=demo_bench.Plain.benchmark_size",
        "--benchmark_class_type=tf_benchmark",
        '--perfzero_constructor_args={"size": 7}',
        "--execution_id=plain",
    )
    assert ended.summary("plain")["benchmark_result"]["wall_time"] == 7.0


def test_the_readmes_constructor_gets_its_data_dir(project: Any) -> None:
    project.add(
        "demo",
        "readme.py",
        "import tensorflow as tf\n\nclass Readme(tf.test.Benchmark):\n"
        "    def __init__(self, output_dir, data_dir, **kwargs):\n        self.data_dir = data_dir\n\n"
        "    def benchmark_it(self):\n"
        "        self.report_benchmark(wall_time=1.0, extras={'data_dir': self.data_dir})\n",
    )
    ended = project.run("--benchmark_methods=readme.Readme.filter:benchmark_it", "--execution_id=r")
    assert ended.code == 0, ended.out + ended.err
    assert ended.summary("r")["benchmark_result"]["extras"] == [{"name": "data_dir", "value": str(project.data)}]


def test_a_method_that_hangs_ends_at_the_timeout(project: Any) -> None:
    ended = project.run(_methods("hang"), "--timeout=2", "--execution_id=late")
    assert ended.code == 1
    assert ended.summary("late")["benchmark_info"]["has_exception"] is True
    assert "no answer within 2 s" in (ended.output / "late" / "perfzero.log").read_text()


def test_an_interrupted_run_keeps_what_it_has(project: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    environment = {**os.environ, "PYTHONPATH": str(project.site), "SEEN": str(seen)}
    command = [sys.executable, "-m", "benchwright", "perfzero", "--python_path=demo", _methods("hang", "ok")]
    door = subprocess.Popen(command, cwd=project.folder, env=environment, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not seen.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    door.send_signal(signal.SIGINT)
    out, _ = door.communicate(timeout=60)
    assert door.returncode == 130
    (path,) = (project.workspace / "output").glob("*/perfzero_summary.json")
    assert json.loads(path.read_text())["benchmark_info"]["has_exception"] is True
    assert "Benchmark success results:" in out


def test_results_are_in_the_store_too_and_tell_how_to_repeat_them(project: Any) -> None:
    ended = project.run(_methods("ok", "raise"), "--execution_label=nightly", "--git_repos=", "--store=own.db")
    assert ended.code == 1
    store = open_store(project.folder / "own.db", create=False)
    run = store.run(store.find("nightly"))
    store.close()
    assert run.command[:2] == ("benchwright", "perfzero") and "--execution_label=nightly" in run.command
    assert [r.case.name for r in run.results] == [DEMO + "ok", DEMO + "raise"]
    acc = run.results[0].metric("acc")
    assert acc is not None and (acc.estimate.point, acc.least, acc.most) == (0.75, 0.5, 1.0)
    assert {a.name for a in run.results[1].artifacts} >= {"perfzero.log", "perfzero_summary.json", "process_info.log"}


def test_a_store_that_cannot_be_used_does_not_stop_a_run(project: Any) -> None:
    (project.folder / ".benchwright").write_text("in the way")
    ended = project.run(_methods("ok"))
    assert ended.code == 0, ended.err
    assert "not kept in the store" in ended.out
    assert ended.summaries()[0]["benchmark_result"]["succeeded"] is True
    assert project.run(_methods("ok"), "--store=.benchwright/x.db").code == 1


@pytest.mark.parametrize("name", ["../up", "a/b", ".."])
def test_an_execution_id_is_a_folders_name(project: Any, name: str) -> None:
    ended = project.run(_methods("ok"), f"--execution_id={name}")
    assert ended.code == 1
    assert "--execution_id" in ended.err


def test_a_method_that_removes_its_folder_still_has_a_summary(project: Any) -> None:
    project.add(
        "demo",
        "tidy.py",
        "import shutil\nfrom demo_bench import Demo\n\nclass Tidy(Demo):\n    def benchmark_it(self):\n"
        "        shutil.rmtree(self.output_dir)\n        raise OSError('gone')\n",
    )
    ended = project.run("--benchmark_methods=tidy.Tidy.benchmark_it", "--execution_id=t")
    assert ended.code == 1
    assert ended.summary("t")["benchmark_info"]["has_exception"] is True
    assert "OSError: gone" in (ended.output / "t" / "perfzero.log").read_text()


def test_a_reader_that_goes_away_loses_nothing(project: Any) -> None:
    environment = {**os.environ, "PYTHONPATH": str(project.site)}
    command = [sys.executable, "-m", "benchwright", "perfzero", "--python_path=demo", _methods("ok", "edge")]
    with subprocess.Popen(command, cwd=project.folder, env=environment, stdout=subprocess.PIPE, text=True) as door:
        assert door.stdout is not None
        door.stdout.readline()
        door.stdout.close()
    assert door.returncode == 0
    assert len(list((project.workspace / "output").glob("*/perfzero_summary.json"))) == 2


def test_a_store_that_breaks_in_the_middle_costs_no_summary(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    finished: list[str] = []

    def finish(result: Any) -> Any:
        finished.append(result)
        return result

    class Broken:
        def begin(self, run: Any) -> None:
            pass

        def add(self, run_id: str, result: Any, *, instead_of: str = "") -> None:
            raise StoreError("disk full")

    monkeypatch.setattr(destination, "open_store", lambda url: Broken())
    for wanted, failed in ((None, False), ("x.db", True)):
        kept = destination.SummaryDestination(wanted, project.folder, finish)
        kept.add("r", "one")  # type: ignore[arg-type]
        kept.add("r", "two")  # type: ignore[arg-type]
        assert kept.has_failed is failed
    assert finished == ["one", "two", "one", "two"]


def test_a_profiler_that_fails_is_told_and_costs_no_result(project: Any) -> None:
    """Defect 9: the stand-in for TensorFlow has no profiler."""
    ended = project.run(_methods("slow"), "--profiler_enabled_time=0:1", "--execution_id=p")
    assert ended.code == 0, ended.err
    assert ended.summary("p")["benchmark_result"]["succeeded"] is True
    assert "WARNING: " in ended.out and "profile" in ended.out
