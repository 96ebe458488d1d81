"""The Python door: `benchwright.run(...)`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import benchwright as bw
from benchwright import api
from benchwright.errors import OptionError, TargetError
from benchwright.events import Ended, Event
from benchwright.records import Arrivals, Inputs, Load, Mode, Objective, Status
from benchwright.sources import Request
from benchwright.store import open_store

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


def test_a_function_of_a_module_is_a_target() -> None:
    import statistics

    assert api.name_of(statistics.median) == "statistics:median"


@pytest.mark.parametrize("function", [lambda: None, str.upper, 5])
def test_what_a_fresh_process_cannot_import_is_refused(function: Any) -> None:
    with pytest.raises(TargetError):
        api.name_of(function)


def test_a_local_function_is_refused() -> None:
    def inner() -> None:
        pass

    with pytest.raises(TargetError, match="no name that a fresh process could import"):
        bw.run(inner)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"workers": (0,)}, "workers"),
        ({"copies": ()}, "copies"),
        ({"batch_sizes": (1.5,)}, "batch size"),
        ({"load": Load(samples=0)}, "samples: 0 is below 1"),
        ({"load": Load(duration=0.0)}, "duration: 0.0 is not above zero"),
        ({"load": Load(duration=float("nan"))}, "duration: nan is not above zero"),
        ({"load": Load(timeout=-1.0)}, "timeout: -1.0 is not above zero"),
        ({"load": Load(warmup=-1.0)}, "warmup: -1.0 is below zero"),
        ({"load": Load(mode=Mode.MULTISTREAM, streams=0)}, "streams: 0 is below 1"),
        ({"inputs": Inputs(count=0)}, "input count: 0 is below 1"),
        ({"load": Load(mode=Mode.OPEN)}, "an open loop needs a rate"),
        ({"load": Load(mode=Mode.OPEN, once=True), "rates": (5.0,)}, "an open loop ends after"),
        ({"load": Load(mode=Mode.OPEN, find_rate=True)}, "needs to know what to meet"),
        ({"load": Load(mode=Mode.OPEN, arrivals=Arrivals.TRACE, trace="absent")}, "trace absent"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_starts(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        api.check(Request(**{"targets": [FAKE], **fields}), rounds=1)


def test_a_search_aims_at_percentiles_from_above() -> None:
    good = Objective(metric="latency_p99", relation="<", bound=0.01)
    for bad in (
        Objective(metric="latency", relation="<", bound=0.01),
        Objective(metric="latency_p99", relation=">", bound=0.01),
        Objective(metric="throughput", relation=">", bound=10),
    ):
        load = Load(mode=Mode.OPEN, find_rate=True, objectives=(good, bad))
        with pytest.raises(OptionError, match="cannot aim at"):
            api.check(Request(targets=[FAKE], load=load), rounds=1)
    traced = Load(mode=Mode.OPEN, find_rate=True, objectives=(good,), arrivals=Arrivals.TRACE)
    with pytest.raises(OptionError, match="a trace has the rate it has"):
        api.check(Request(targets=[FAKE], load=traced), rounds=1)
    api.check(Request(targets=[FAKE], load=Load(mode=Mode.OPEN, find_rate=True, objectives=(good,))), rounds=1)


def test_no_target_and_no_rounds_are_refused() -> None:
    with pytest.raises(TargetError, match="nothing to run"):
        bw.run()
    with pytest.raises(OptionError, match="rounds: 0"):
        bw.run(FAKE, rounds=0)


def test_importing_the_package_costs_next_to_nothing() -> None:
    script = "import sys, benchwright; print(len([m for m in sys.modules if m.startswith('benchwright')]))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(ended.stdout) == 2  # the package and its version
