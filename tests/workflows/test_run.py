"""The Python door: `benchwright.run(...)`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import benchwright as bw
from benchwright.errors import OptionError, TargetError
from benchwright.events import Ended, Event
from benchwright.records import Load, Mode, Status
from benchwright.store import open_store
from benchwright.targets.sources import Request
from benchwright.workflows import invocation
from benchwright.workflows import run as api

FAKE = "fake:constant?ms=2&clock=virtual"
QUICK = Load(samples=30, warmup=0.0)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_run_comes_back_and_is_kept(tmp_path: Path) -> None:
    events: list[Event] = []
    run = bw.run(FAKE, batch_size=[1, 4], rounds=1, load=QUICK, tags=["mine"], listener=events.append)
    assert run.ok
    assert [r.case.params["batch_size"] for r in run.results] == [1, 4]
    assert [r.metric("throughput").estimate.point for r in run.results] == pytest.approx([500, 2000])  # type: ignore[union-attr]
    assert sum(isinstance(event, Ended) for event in events) == 2
    store = open_store(tmp_path / ".benchwright" / "results.db")
    assert store.run(store.find("mine")) == run.record
    store.close()


def test_the_settings_of_a_folder_say_how_much_is_usual(tmp_path: Path) -> None:
    (tmp_path / "benchwright.toml").write_text("rounds = 2\nduration = 0.5\nwarmup = 0.25\n")
    run = bw.run(FAKE, save=False)
    assert [(each.case.load.duration, each.case.load.warmup) for each in run.results] == [(0.5, 0.25)] * 2
    asked = bw.run(FAKE, rounds=1, load=QUICK, save=False)
    assert [(each.case.load.duration, each.case.load.warmup) for each in asked.results] == [(None, 0.0)]


def test_it_shows_itself_as_a_table_a_frame_and_html() -> None:
    run = bw.run(FAKE, rounds=1, load=QUICK, save=False)
    assert FAKE in str(run) and "2.000" in str(run)
    assert repr(run) == f"<MeasuredRun {run.record.id}: 1 results>"
    assert "<table" in run._repr_html_()
    frame = run.to_pandas()
    assert set(frame["metric"]) >= {"latency", "latency_p99", "throughput"}
    assert not Path(".benchwright").exists()


def test_a_failure_is_a_result_and_no_exception() -> None:
    run = bw.run("fake:constant?fail_after=0", rounds=1, load=QUICK, save=False)
    assert not run.ok
    assert run.results[0].status is Status.FAILED


def test_a_function_of_a_file_is_a_target(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import time\nimport benchwright as bw\n"
        "def nap():\n    time.sleep(0.001)\n"
        "if __name__ == '__main__':\n"
        "    run = bw.run(nap, rounds=1, duration=0.05, save=False)\n"
        "    print(run.ok, run.results[0].case.name)\n",
        encoding="utf-8",
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.stdout == "True script.py::nap\n", ended.stderr


@pytest.mark.parametrize("way", ["script.py", "-mbenchwright run script.py::nap --no-save"])
def test_a_script_without_a_guard_is_refused_and_starts_nothing_without_end(way: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import os, pathlib\nimport benchwright as bw\n"
        f"pathlib.Path({str(tmp_path)!r}, f'imported-{{os.getpid()}}').touch()\n"
        "def nap(): pass\n"
        "bw.run(nap, rounds=1, duration=0.05, save=False)\n",
        encoding="utf-8",
    )
    command = [sys.executable, *way.split()]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert ended.returncode == (1 if way == "script.py" else 2)  # an exception, a wrong request
    reason = "bw.run was called while script.py was being imported\n  put it under if __name__ == '__main__':"
    assert reason in ended.stderr
    assert len(list(tmp_path.glob("imported-*"))) == (2 if way == "script.py" else 1)


def test_a_function_that_measures_itself_is_a_failure(tmp_path: Path) -> None:
    Path("inward.py").write_text("import benchwright as bw\ndef f(): bw.run('inward.py::f')\n", encoding="utf-8")
    (result,) = bw.run("inward.py::f", rounds=1, duration=0.05, save=False).results
    assert result.error is not None
    assert result.error.message == "bw.run was called by what is being measured"


def test_a_command_may_measure() -> None:
    inner = [sys.executable, "-m", "benchwright", "run", FAKE, "--samples", "3", "--warmup", "0", "--rounds", "1"]
    request = Request(targets=(), command=[*inner, "--no-save"], load=Load(samples=1, warmup=0.0))
    assert api.measure(request, rounds=1, save=False).ok


def test_a_path_is_a_target() -> None:
    with pytest.raises(TargetError, match=r"there is no file absent\.onnx"):
        bw.run(Path("absent.onnx"))
    Path("bench.py").write_text("from benchwright import benchmark\n@benchmark()\ndef f(): pass\n", encoding="utf-8")
    (result,) = bw.run(Path("bench.py"), rounds=1, load=QUICK, save=False).results
    assert (result.status, result.case.name) == (Status.OK, "bench.py::f")


def test_a_function_built_into_the_interpreter_is_a_target() -> None:
    (result,) = bw.run(time.time, rounds=1, load=QUICK, save=False).results
    assert (result.status, result.case.name) == (Status.OK, "time:time")


def test_the_load_says_how_many_workers_and_which_rate() -> None:
    load = Load(mode=Mode.OPEN, rate=100.0, workers=2, samples=5, warmup=0.0)
    (result,) = bw.run("fake:constant?ms=1", rounds=1, load=load, save=False).results
    assert (result.case.load.rate, result.case.load.workers) == (100.0, 2)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"duration": "0.1s"}, "duration: '0.1s' is not a number"),
        ({"rounds": 1.5}, "rounds: 1.5 is not a whole number"),
        ({"rounds": True}, "rounds: True is not a whole number"),
        ({"rounds": 10_001}, "rounds: 10001 is above 10000"),
        ({"rate": -100}, "rate: -100 is not above zero"),
        ({"rate": "5"}, "rate: '5' is not a number"),
        ({"rate": float("inf")}, "rate: inf is not above zero and finite"),
        ({"workers": 1025}, "workers: 1025 is above 1024"),
        ({"copies": 1025}, "copies: 1025 is above 1024"),
        ({"copies": 1.5}, "copies: '1.5' is not a whole number"),
        ({"batch_size": "8"}, "batch size: '8' is not a whole number"),
        ({"load": Load(samples=10**9 + 1)}, "samples: 1000000001 is above 1000000000"),
        ({"load": {"samples": 3}}, "load: .* is not a benchwright.Load"),
        ({"inputs": {"count": 3}}, "inputs: .* is not a benchwright.Inputs"),
        ({"batch_size": range(1, 1001), "workers": range(1, 1001), "rounds": 2}, "1000000 cases in 2 rounds"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        bw.run(FAKE, save=False, **given)


def test_a_marks_parameters_count_before_anything_is_measured() -> None:
    content = "from benchwright import benchmark\n@benchmark(params={'x': list(range(101))})\ndef f(x): pass\n"
    Path("bench.py").write_text(content, encoding="utf-8")
    with pytest.raises(OptionError, match="101 cases in 10000 rounds are more than 1000000 results"):
        bw.run("bench.py::f", rounds=10_000, save=False)


def test_a_function_of_a_module_is_a_target() -> None:
    import statistics

    assert invocation.name_of(statistics.median) == "statistics:median"


@pytest.mark.parametrize("function", [lambda: None, str.upper, 5])
def test_what_a_fresh_process_cannot_import_is_refused(function: Any) -> None:
    with pytest.raises(TargetError):
        invocation.name_of(function)


def test_a_local_function_is_refused() -> None:
    def inner() -> None:
        pass

    with pytest.raises(TargetError, match="no name that a fresh process could import"):
        bw.run(inner)


def test_no_target_and_no_rounds_are_refused() -> None:
    with pytest.raises(TargetError, match="nothing to measure"):
        bw.run()
    with pytest.raises(OptionError, match="rounds: 0"):
        bw.run(FAKE, rounds=0)


def test_the_public_names_are_listed() -> None:
    assert {*bw.__all__, "__doc__"} <= set(dir(bw))
    script = "import benchwright; print('run' in dir(benchwright))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "True\n"  # also before any was used


def test_importing_the_package_costs_next_to_nothing() -> None:
    script = "import sys, benchwright; print(len([m for m in sys.modules if m.startswith('benchwright')]))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(ended.stdout) == 3  # the package, its version, and where old names lead


def test_a_run_goes_on_and_has_its_price() -> None:
    first = bw.run(FAKE, batch_size=[1, 4], rounds=2, load=QUICK, cost_per_hour=7.2)
    assert [r.metric("cost_per_million").estimate.point for r in first.results[:2]] == pytest.approx([4.0, 1.0])  # type: ignore[union-attr]
    again = bw.run(FAKE, batch_size=[1, 4], rounds=2, load=QUICK, resume=first.record.id)
    assert again.record == first.record
    with pytest.raises(OptionError, match="measured something else"):
        bw.run(FAKE, batch_size=[1, 8], rounds=2, load=QUICK, resume="last")
    with pytest.raises(OptionError, match="cost per hour: 0 is not above zero"):
        bw.run(FAKE, cost_per_hour=0)


def test_what_is_called_once_has_one_round_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.py").write_text("class Suite:\n    def benchmark_once(self):\n        pass\n")
    assert len(bw.run("suite.py::Suite.benchmark_once", save=False).results) == 1
    assert len(bw.run("suite.py::Suite.benchmark_once", rounds=2, save=False).results) == 2
