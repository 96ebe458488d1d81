"""`benchwright driver`: the acceptance cases of the older driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.cli.verbs.driver import command
from benchwright.records import Result, Status
from benchwright.store import open_store

Benchwright = Callable[..., "subprocess.CompletedProcess[str]"]

SPEEDS = (829.012392, 844.157227, 835.582445, 797.687061, 821.444257, 810.339386)
LOG = "".join(
    [
        *(
            f"Epoch[0] Batch [{i}]\tSpeed: {speed:.6f} samples/sec\taccuracy=0.2{i}\n"
            for i, speed in enumerate(SPEEDS[:3])
        ),
        "Epoch[0] Train-accuracy=0.300122\nEpoch[0] Time cost=65.100000\nEpoch[0] Validation-accuracy=0.310000\n",
        *(
            f"Epoch[1] Batch [{i}]\tSpeed: {speed:.6f} samples/sec\taccuracy=0.3{i}\n"
            for i, speed in enumerate(SPEEDS[3:])
        ),
        "Epoch[1] Train-accuracy=0.351983\nEpoch[1] Time cost=65.197100\nEpoch[1] Validation-accuracy=0.393930\n",
    ]
)
NUMBER = r"(\d+\.\d+|\d+)"
README = {
    "patterns": [
        f"Speed: {NUMBER} samples/sec",
        rf"Epoch\[\d+\] Train-accuracy={NUMBER}",
        f"Validation-accuracy={NUMBER}",
        f"Time cost={NUMBER}",
    ],
    "metrics": ["speed", "training_acc", "validation_acc", "total_training_time"],
    "compute_method": ["average", "last", "last", "total"],
}
VALUES = {
    "demo.speed": 823.037128,
    "demo.training_acc": 0.351983,
    "demo.validation_acc": 0.39393,
    "demo.total_training_time": 130.2971,
}


@pytest.fixture
def benchwright(inside: Benchwright) -> Benchwright:
    return inside


def _write(folder: Path, command: str, *, lists: dict[str, list[str]] | None = None, num_gpus: int = 0) -> None:
    (folder / "readme.log").write_text(LOG, encoding="utf-8")
    shown = {key: "[" + ", ".join(f"'{text}'" for text in values) + "]" for key, values in (lists or README).items()}
    body = "\n".join(f"{key} = {text}" for key, text in shown.items())
    text = f"[demo]\n{body}\ncommand_to_execute = {command}\nnum_gpus = {num_gpus}\n"
    (folder / "task_config_template.cfg").write_text(text, encoding="utf-8")


def _simple(pattern: str, method: str) -> dict[str, list[str]]:
    return {"patterns": [pattern], "metrics": ["v"], "compute_method": [method]}


def _keys(folder: Path) -> dict[str, float]:
    text = (folder / "dlbenchmark_result.json").read_text(encoding="utf-8")

    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    keys: dict[str, float] = json.loads(text, parse_constant=refuse)
    assert "\n" not in text
    return keys


def _saved(folder: Path) -> Result:
    store = open_store(folder / ".benchwright" / "results.db")
    (result,) = store.run(store.runs()[0].id).results
    store.close()
    return result


def _is_gone(pid: str) -> bool:
    """Whether the process has ended; one that was killed may not have been collected yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_the_readme_log_gives_the_exact_values_again_and_again(benchwright: Benchwright, tmp_path: Path) -> None:
    _write(tmp_path, "cat readme.log; sleep 0.5")
    ended = benchwright("driver", "--task-name", "demo")
    assert ended.returncode == 0, ended.stderr
    keys = _keys(tmp_path)
    assert {key: keys[key] for key in VALUES} == pytest.approx(VALUES, abs=1e-9)
    assert keys["demo.cpu_memory_usage"] > 0 and keys["demo.uptime_in_seconds"] > 0
    assert len(keys) == 6
    assert _saved(tmp_path).metric("speed").estimate.point == pytest.approx(823.037128)  # type: ignore[union-attr]

    _write(tmp_path, "cat readme.log")  # gone at once: no failure either
    ended = benchwright("driver", "--task-name", "demo", "--framework", "mxnet", "--metrics-suffix", "daily")
    assert ended.returncode == 0, ended.stderr
    keys = _keys(tmp_path)
    assert {f"demo.{key.split('.')[2]}" for key in keys} >= VALUES.keys()
    assert keys["mxnet.demo.total_training_time.daily"] == pytest.approx(130.2971, abs=1e-9)
    assert (tmp_path / "demo.log").read_text(encoding="utf-8") == LOG


@pytest.mark.parametrize(
    ("method", "workers", "value"),
    [("average", "", 2.3333333333333335), ("last", "", 4), ("p90", "", 3.6), ("total", "2", 3.5), ("total", "", 7)],
)
def test_the_older_computations(
    benchwright: Benchwright, tmp_path: Path, method: str, workers: str, value: float
) -> None:
    _write(tmp_path, "printf 'v=1\\nv=2\\nv=4\\n'", lists=_simple(r"v=(\d+)", method))
    environment = {**os.environ, "DEEPLEARNING_WORKERS_COUNT": workers}
    assert benchwright("driver", "--task-name", "demo", "--no-save", env=environment).returncode == 0
    assert _keys(tmp_path)["demo.v"] == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize("method", ["average_aggregate", "mode9"])
def test_a_computation_that_cannot_be_is_refused_before_the_command_starts(
    benchwright: Benchwright, tmp_path: Path, method: str
) -> None:
    _write(tmp_path, "touch started", lists=_simple(r"v=(\d+)", method))
    (tmp_path / "dlbenchmark_result.json").write_text('{"demo.v": 1}', encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "DEEPLEARNING_WORKERS_COUNT"}
    ended = benchwright("driver", "--task-name", "demo", env=environment)
    assert ended.returncode == 2 and method in ended.stderr and "Traceback" not in ended.stderr
    assert not (tmp_path / "started").exists() and not (tmp_path / "dlbenchmark_result.json").exists()


def test_numbers_as_they_are_printed(benchwright: Benchwright, tmp_path: Path) -> None:
    printed = ["-0.5", "1e-5", ".5", "007", "1,234.5", "12%"]
    lists = {
        "patterns": [rf"a{i}=(\S+)" for i in range(len(printed))] + [r"\bv=(\d+)", r"x. v=(0.5)"],
        "metrics": [*(f"a{i}" for i in range(len(printed))), "word", "rough"],
        "compute_method": ["last"] * (len(printed) + 2),
    }
    data = "".join(f"a{i}={text}\n" for i, text in enumerate(printed)).encode() + b"v=3\nx\xff v=0.5\n"
    (tmp_path / "raw.log").write_bytes(data)
    _write(tmp_path, "cat raw.log", lists=lists)
    assert benchwright("driver", "--task-name", "demo", "--no-save").returncode == 0
    keys = _keys(tmp_path)
    assert [keys[f"demo.a{i}"] for i in range(len(printed))] == [-0.5, 1e-05, 0.5, 7, 1234.5, 12]
    assert (keys["demo.word"], keys["demo.rough"]) == (0, 0.5)  # \bv= also matches the v=0 of the last line


def test_a_command_that_fails_is_failed_and_keeps_its_metrics(benchwright: Benchwright, tmp_path: Path) -> None:
    _write(tmp_path, "cat readme.log; exit 3")
    ended = benchwright("driver", "--task-name", "demo")
    assert ended.returncode == 1 and "exited with status 3" in ended.stderr
    keys, saved = _keys(tmp_path), _saved(tmp_path)
    assert keys["demo.speed"] == pytest.approx(823.037128, abs=1e-9) and keys["demo.failed"] == 1
    assert saved.status is Status.FAILED and saved.metric("speed") is not None
    assert saved.error is not None and "Validation-accuracy=0.393930" in saved.error.log_tail


def test_a_pattern_that_never_matches_costs_its_own_metric_alone(benchwright: Benchwright, tmp_path: Path) -> None:
    lists = {"patterns": [r"v=(\d+)", r"w=(\d+)"], "metrics": ["v", "w"], "compute_method": ["last", "last"]}
    _write(tmp_path, "echo v=1; echo w=2", lists=lists)
    assert benchwright("driver", "--task-name", "demo").returncode == 0
    _write(tmp_path, "echo v=3", lists=lists)
    ended = benchwright("driver", "--task-name", "demo")
    assert ended.returncode == 1 and "w: its pattern matched no line" in ended.stderr
    keys = _keys(tmp_path)
    assert keys["demo.v"] == 3 and "demo.w" not in keys


def test_a_command_that_hangs_is_ended_with_its_children(benchwright: Benchwright, tmp_path: Path) -> None:
    _write(tmp_path, "sleep 60 & echo $! > child; wait", lists=_simple(r"v=(\d+)", "last"))
    (tmp_path / "dlbenchmark_result.json").write_text('{"demo.v": 1}', encoding="utf-8")
    begin = time.monotonic()
    ended = benchwright("driver", "--task-name", "demo", "--timeout", "2")
    assert ended.returncode == 1 and "took longer than 2 s" in ended.stderr
    assert time.monotonic() - begin < 30
    assert _saved(tmp_path).status is Status.TIMEOUT
    assert "demo.v" not in _keys(tmp_path)
    assert _is_gone((tmp_path / "child").read_text().strip())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_driver_that_is_stopped_leaves_nothing_running(tmp_path: Path, number: signal.Signals) -> None:
    _write(tmp_path, "sleep 60 & echo $! > child; wait", lists=_simple(r"v=(\d+)", "last"))
    command = [sys.executable, "-m", "benchwright", "driver", "--task-name", "demo", "--no-save"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child = tmp_path / "child"
    _wait_for(lambda: child.exists() and bool(child.read_text()))
    process.send_signal(number)
    assert process.wait(30) != 0
    _wait_for(lambda: _is_gone(child.read_text().strip()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_driver_that_is_stopped_keeps_what_was_printed(tmp_path: Path, number: signal.Signals) -> None:
    _write(tmp_path, "echo v=3; sleep 60", lists=_simple(r"v=(\d+)", "last"))
    log = tmp_path / "demo.log"
    log.write_text("v=8\n", encoding="utf-8")  # an earlier run's
    command = [sys.executable, "-m", "benchwright", "driver", "--task-name", "demo", "--no-save"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _wait_for(lambda: log.read_text(encoding="utf-8") == "v=3\n")
    process.send_signal(number)
    assert process.wait(30) != 0
    keys = _keys(tmp_path)
    assert keys["demo.v"] == 3 and keys["demo.failed"] == 1


def test_a_task_that_never_began_has_nothing_of_an_earlier_log(benchwright: Benchwright, tmp_path: Path) -> None:
    text = "[tasks.demo]\ncommand = 'no-such-program'\nmetrics.v = { pattern = 'v=(.*)' }\n"
    (tmp_path / "tasks.toml").write_text(text, encoding="utf-8")
    (tmp_path / "demo.log").write_text("v=8\n", encoding="utf-8")
    assert benchwright("driver", "--task-name", "demo", "--no-save").returncode == 1
    assert "demo.v" not in _keys(tmp_path)


def test_several_values_of_a_parameter_are_refused_before_anything_runs(
    benchwright: Benchwright, tmp_path: Path
) -> None:
    text = "[tasks.demo]\ncommand = 'touch started-{epochs}'\nparameters = { epochs = [1, 2] }\n"
    (tmp_path / "tasks.toml").write_text(text, encoding="utf-8")
    ended = benchwright("driver", "--task-name", "demo", "--no-save")
    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    assert "several values for epochs" in ended.stderr and "with --epochs" in ended.stderr
    assert not list(tmp_path.glob("started-*")) and not (tmp_path / "dlbenchmark_result.json").exists()
    assert benchwright("driver", "--task-name", "demo", "--no-save", "--epochs", "2").returncode == 0
    assert (tmp_path / "started-2").exists()


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("arguments", [("--task-name", "unknown"), ("--nonsense",), ()])
def test_a_wrong_request_leaves_no_old_result(
    benchwright: Benchwright, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    _write(tmp_path, "true")
    (tmp_path / "dlbenchmark_result.json").write_text('{"demo.v": 1}', encoding="utf-8")
    assert benchwright("driver", *arguments).returncode == 2
    assert not (tmp_path / "dlbenchmark_result.json").exists()


def test_an_old_result_is_gone_before_the_command_line_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "dlbenchmark_result.json"
    old.write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command.make_context("benchwright driver", ["--task-name", "demo"])  # reads it, and runs nothing
    assert not old.exists()


def test_asking_for_help_takes_nothing_away(benchwright: Benchwright, tmp_path: Path) -> None:
    (tmp_path / "dlbenchmark_result.json").write_text("{}", encoding="utf-8")
    assert benchwright("driver", "--help").returncode == 0
    assert (tmp_path / "dlbenchmark_result.json").exists()


def test_memory_is_that_of_the_whole_tree(benchwright: Benchwright, tmp_path: Path) -> None:
    script = "import time; held = bytearray(b'x') * (300 << 20); print('v=1', flush=True); time.sleep(3)"
    (tmp_path / "hold.py").write_text(script, encoding="utf-8")
    _write(tmp_path, "true; python3 hold.py; true", lists=_simple(r"v=(\d)", "last"))
    assert benchwright("driver", "--task-name", "demo").returncode == 0
    saved = _saved(tmp_path)
    told = saved.details["memory"]
    assert isinstance(told, dict)
    assert 300 << 20 < told["peak"] < 360 << 20  # type: ignore[operator]
    assert 300 << 20 < saved.metric("rss_peak").estimate.point < 360 << 20  # type: ignore[union-attr]
    assert _keys(tmp_path)["demo.cpu_memory_usage"] > 200 << 10


@pytest.mark.parametrize("num_gpus", [2, 3])
def test_gpu_memory_as_ever_and_its_true_peak(benchwright: Benchwright, tmp_path: Path, num_gpus: int) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    rows = "index, memory.used [MiB]\\n0, 100 MiB\\n1, 300 MiB\\n0, 200 MiB\\n1, 500 MiB\\n"
    (tools / "nvidia-smi").write_text(f"#!/bin/sh\nprintf '{rows}'\nexec sleep 60\n", encoding="utf-8")
    (tools / "nvidia-smi").chmod(0o755)
    _write(tmp_path, "echo v=1; sleep 1", lists=_simple(r"v=(\d)", "last"), num_gpus=1)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    ended = benchwright("driver", "--task-name", "demo", "--num-gpus", str(num_gpus), env=environment)
    assert ended.returncode == 0, ended.stderr
    keys = _keys(tmp_path)
    assert keys["demo.gpu_memory_usage_mean"] == 275.0
    assert keys["demo.gpu_memory_usage_std"] == pytest.approx(106.06601717798213, abs=1e-9)
    assert keys["demo.gpu_memory_usage_max"] == 350.0
    assert _saved(tmp_path).metric("gpu_memory_used_peak").estimate.point == 500 * 2**20  # type: ignore[union-attr]


def test_without_nvidia_smi_the_other_metrics_are_there(benchwright: Benchwright, tmp_path: Path) -> None:
    _write(tmp_path, "cat readme.log", num_gpus=1)
    ended = benchwright("driver", "--task-name", "demo", "--no-save")
    assert ended.returncode == 0 and "gpu-unseen" in ended.stderr
    keys = _keys(tmp_path)
    assert keys["demo.speed"] == pytest.approx(823.037128, abs=1e-9)
    assert not any("gpu" in key for key in keys)


def test_flags_rewrite_an_older_command_and_its_text_is_not_searched(benchwright: Benchwright, tmp_path: Path) -> None:
    _write(tmp_path, "sh -c 'echo epochs $2' x --epochs 7", lists=_simple(r"epochs (\d+)", "total"))
    ended = benchwright("driver", "--task-name", "demo", "--epochs", "5", "--num-gpus", "0", "--json")
    assert ended.returncode == 0, ended.stderr
    assert _keys(tmp_path)["demo.v"] == 5
    assert json.loads(ended.stdout)["kind"] == "run"
    assert json.loads(ended.stdout)["data"]["results"][0]["case"]["params"]["epochs"] == 5


def test_flags_are_parameters_of_a_task_in_our_own_form(benchwright: Benchwright, tmp_path: Path) -> None:
    text = "[tasks.demo]\ncommand = 'echo v={epochs}'\nparameters.epochs = 1\nmetrics.v = { pattern = 'v=(.*)' }\n"
    (tmp_path / "tasks.toml").write_text(text, encoding="utf-8")
    assert benchwright("driver", "--task-name", "demo", "--epochs", "5", "--no-save").returncode == 0
    assert _keys(tmp_path)["demo.v"] == 5
    ended = benchwright("driver", "--task-name", "demo", "--kvstore", "dist", "--no-save")
    assert ended.returncode == 2 and "takes no parameter 'kvstore'" in ended.stderr


def test_patterns_of_one_section_serve_a_command_given_elsewhere(benchwright: Benchwright, tmp_path: Path) -> None:
    text = "[policy]\npatterns = ['v=(\\d+)']\nmetrics = ['v']\ncompute_method = ['last']\n"
    (tmp_path / "mine.cfg").write_text(text, encoding="utf-8")
    flags = (
        "--metrics-template",
        "mine.cfg",
        "--metrics-policy",
        "policy",
        "--command-to-execute",
        "echo v=$((6 * 7))",
    )
    ended = benchwright("driver", "--task-name", "demo", "--data-set", "none", "--no-save", *flags)
    assert ended.returncode == 0, ended.stderr
    assert _keys(tmp_path)["demo.v"] == 42
