"""Copies as real processes, and what becomes of them: acceptance case T8."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import benchwright.compat.neuronperf as npf
from benchwright.errors import OptionError, TargetError

ONE = np.zeros((1, 2))


@pytest.fixture(autouse=True)
def nothing_left() -> Any:
    """No test leaves a process behind; servers that all tests share were there before."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    children = psutil.Process().children(recursive=True)
    left = [child for child in children if child.pid not in before and child.is_running()]
    assert not [child.cmdline() for child in left if child.status() != psutil.STATUS_ZOMBIE]


class Sleeping:
    def __call__(self, x: Any) -> Any:
        time.sleep(0.01)
        return x


@pytest.mark.serial
def test_two_copies_of_a_sleeping_class() -> None:
    (report,) = npf.cpu.benchmark(Sleeping, ONE, n_models=2, workers_per_model=1, duration=1)
    assert (report["status"], report["n_models"]) == ("finished", 2)
    assert report["latency_ms_p50"] >= 10
    # Two copies at once, whatever a call takes on this machine; none does more than 100 a second.
    assert 1.5 * 1000 / report["e2e_avg_ms"] <= report["throughput_avg"] <= 200
    assert report["throughput_avg"] - 2 <= report["throughput_peak"] <= 200  # a whole second has whole calls
    assert report["total_infs"] == pytest.approx(report["throughput_avg"], rel=0.1)
    assert report["infer_avg_ms"] == report["e2e_avg_ms"]
    assert report["cpu_avg_percent"] is not None and report["mem_percent_p50"] > 0


class Raising:
    def __init__(self) -> None:
        if os.environ.get("BENCHWRIGHT_TEST_RAISES", "1") == "1":
            raise ArithmeticError("no such weights")

    def __call__(self, x: Any) -> Any:
        return x


def only_one_may(_: int, config: dict[str, Any]) -> None:
    os.environ["BENCHWRIGHT_TEST_RAISES"] = str(int(config["workers_per_model"] == 1))


@pytest.mark.soak
def test_a_constructor_that_raises_is_one_failed_record_and_the_next_configuration_runs() -> None:
    failed, finished = npf.cpu.benchmark(
        Raising, ONE, n_models=2, workers_per_model=[1, 2], duration=0.3, env_setup_fn=only_one_may
    )
    assert failed["status"] == "failed"
    assert "ArithmeticError: no such weights" in failed["reason"]
    assert finished["status"] == "finished" and finished["total_infs"] > 0
    assert failed["workers_per_model"] == 1 and failed.keys() == finished.keys()  # a script may ask all for any field
    numbers = [
        name for name in failed if "_ms" in name or name.startswith(("throughput", "total", "cpu", "mem", "cost"))
    ]
    assert len(numbers) == 28 and not any(failed[name] is not None for name in numbers)
    assert failed["notes"]["timing"] == "nothing was timed: the configuration failed"


class Dying:
    """Its second copy is killed a second after its timed phase began."""

    killer: threading.Timer | None = None

    def __call__(self, x: Any) -> Any:
        if os.environ["BENCHWRIGHT_COPY"] == "1" and self.killer is None:
            self.killer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGKILL))
            self.killer.start()
        time.sleep(0.01)
        return x


def test_a_copy_that_is_killed_is_an_honest_record() -> None:
    began = time.monotonic()
    (report,) = npf.cpu.benchmark(Dying, ONE, n_models=2, workers_per_model=1, duration=4)
    assert time.monotonic() - began < 60
    assert report["status"] in ("failed", "partial") and "SIGKILL" in report["reason"]


class SlowToLoad:
    def __init__(self) -> None:
        time.sleep(0.8)

    def __call__(self, x: Any) -> Any:
        time.sleep(0.01)
        return x


@pytest.mark.serial
def test_a_load_slower_than_the_duration_leaves_a_full_window() -> None:
    (report,) = npf.cpu.benchmark(SlowToLoad, ONE, n_models=1, workers_per_model=1, duration=0.5)
    assert report["status"] == "finished"
    assert report["total_s"] >= 0.5 and report["total_infs"] > 25
    assert report["load_avg_ms"] >= 800


class OneArgument:
    def __call__(self, *given: Any) -> Any:
        assert [each.shape for each in given] == [(4, 3)]
        return given[0]


class Pair:
    def __call__(self, *given: Any) -> Any:
        assert [each.shape for each in given] == [(4, 3), (2,)]
        return given[0]


def one_array(x: Any) -> Any:
    return np.zeros((4, 3))


def a_tuple(x: Any) -> Any:
    return np.zeros((4, 3)), np.zeros(2)


def sleepy(output: Any) -> Any:
    assert output.shape == (4, 3)
    time.sleep(0.005)
    return output


def test_what_preprocess_returns_is_one_argument_or_a_tuple_of_several() -> None:
    common: dict[str, Any] = {"n_models": 1, "workers_per_model": 1, "duration": 0.3}
    (one,) = npf.cpu.benchmark(OneArgument, ONE, preprocess_fn=one_array, postprocess_fn=sleepy, **common)
    assert (one["status"], one["reason"]) == ("finished", "")
    assert one["postprocess_avg_ms"] >= 5 > one["infer_avg_ms"] > 0
    assert one["e2e_avg_ms"] >= one["preprocess_avg_ms"] + one["infer_avg_ms"] + one["postprocess_avg_ms"]
    (several,) = npf.cpu.benchmark(Pair, ONE, preprocess_fn=a_tuple, **common)
    assert (several["status"], several["reason"]) == ("finished", "")


# ---- what can be handed over ----


def test_what_has_no_name_is_refused_with_the_remedy() -> None:
    class Local:
        pass

    held = 3
    for function, why in (
        (Local, "inside"),
        (lambda x: x * held, "uses held of the function around it"),
        (lambda x, by=2: x * by, "with default arguments"),
        (eval("lambda x: x"), "not in its file"),
    ):
        with pytest.raises(TargetError, match=why) as refused:
            npf.cpu.benchmark(Sleeping, ONE, preprocess_fn=function, duration=1)
        assert "top level" in refused.value.remedy
    with pytest.raises(TargetError, match="Sleeping object"):
        npf.cpu.benchmark(Sleeping(), ONE, duration=1)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="object"):
        npf.cpu.benchmark(Sleeping, (ONE, object()), duration=1)


def test_one_process_takes_anything() -> None:
    seen: list[int] = []
    before = list(sys.path), dict(os.environ)
    (report,) = npf.cpu.benchmark(
        lambda x: seen.append(os.getpid()), ONE, n_models=2, workers_per_model=1, duration=0.2, multiprocess=False
    )
    assert (report["status"], report["multiprocess"]) == ("finished", False)
    assert set(seen) == {os.getpid()} and len(seen) >= report["total_infs"]
    assert (list(sys.path), dict(os.environ)) == before
    (failed,) = npf.cpu.benchmark(Raising, ONE, n_models=1, workers_per_model=1, duration=0.2, multiprocess=False)
    assert failed["status"] == "failed" and "ArithmeticError" in failed["reason"]


def test_a_load_that_never_ends_holds_nobody_off() -> None:
    end = threading.Event()
    once: dict[str, Any] = {"n_models": 2, "workers_per_model": 1, "duration": 0.2, "multiprocess": False}

    class Stuck(Sleeping):
        def __init__(self) -> None:
            end.wait(60)

    try:
        (stuck,) = npf.cpu.benchmark(Stuck, ONE, timeout=0.5, **once)
        (good,) = npf.cpu.benchmark(Sleeping, ONE, timeout=20, **once)
    finally:
        end.set()
    assert stuck["status"] == "failed"
    assert (good["status"], good["reason"]) == ("finished", "")


def test_raw_results_become_the_same_reports() -> None:
    results = npf.cpu.benchmark(Sleeping, ONE, n_models=1, workers_per_model=1, max_infers=20, return_timers=True)
    ((config, _),) = results
    assert config["n_models"] == 1 and config["model_name"] == "Sleeping"
    (report,) = npf.get_reports(results, cost_per_hour=36)
    assert report["total_infs"] == 20
    assert report["cost_per_1m_inf"] == pytest.approx(36e6 / 3600 / report["throughput_avg"])
    assert report["throughput_peak"] is None and "whole second" in report["notes"]["throughput_peak"]


SCRIPT = """
import sys, time
import numpy as np
import benchwright.compat.neuronperf as npf

class Slow:
    def __call__(self, x):
        time.sleep(0.01)

reports = npf.cpu.benchmark(Slow, np.zeros((1, 1)), n_models=1, workers_per_model=[1, 2, 3], duration=1.5)
print([(report["workers_per_model"], report["status"]) for report in reports])
"""


def test_ctrl_c_returns_the_reports_of_the_finished(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    script = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert script.stderr is not None
    told = []
    for line in script.stderr:
        told.append(line)
        if line.startswith("2/3"):
            time.sleep(0.5)
            script.send_signal(signal.SIGINT)
            break
    out, rest = script.communicate(timeout=60)
    assert script.returncode == 0
    assert out.strip() == "[(1, 'finished')]"
    assert "1 of 3 configurations" in rest
    assert told[0].startswith("1/3 Slow: batch 1, 1 copy, 1 worker; about") and told[0].endswith("left\n")


class Pinned:
    def __init__(self) -> None:
        self.cpus = os.sched_getaffinity(0)

    def __call__(self, x: Any) -> Any:
        assert len(self.cpus) == 1 and self.cpus == os.sched_getaffinity(0)
        time.sleep(0.001)


def test_a_pipeline_size_gives_each_copy_cpus_of_its_own() -> None:
    common: dict[str, Any] = {"n_models": 1, "workers_per_model": 1, "duration": 0.2}
    (pinned,) = npf.cpu.benchmark(Pinned, ONE, pipeline_sizes=1, **common)
    assert (pinned["status"], pinned["reason"], pinned["pipeline_size"]) == ("finished", "", 1)


def test_results_are_kept_when_asked(tmp_path: Path, benchwright: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = f"sqlite:///{tmp_path}/results.db"
    npf.cpu.benchmark(Sleeping, ONE, n_models=1, workers_per_model=[1, 2], max_infers=5, store=store, cost_per_hour=36)
    shown = benchwright("show", "last", "--store", store, "--json")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count('"name": "Sleeping"') >= 2
    results = json.loads(shown.stdout)["data"]["results"]
    assert all(Path(file["path"]).is_file() for result in results for file in result["artifacts"])
    assert all(result["artifacts"] for result in results)
    assert all(result["details"]["cost_per_hour"] == 36 for result in results)
    assert all("cost_per_million" in {metric["name"] for metric in result["metrics"]} for result in results)
