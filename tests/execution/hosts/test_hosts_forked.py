"""Workers that are forked from a process which has imported the benchmark file once a round."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

import benchwright as bw
from benchwright.events import Event, Imported, Noted
from benchwright.execution.hosts.forked import ForkingHost
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Result, Status, Target
from benchwright.targets.sources import ImportTimes

FILE = """
import os
import random
from pathlib import Path

HERE = Path(__file__).parent
DRAWN = random.random()
with (HERE / "imports").open("a") as file:
    file.write(f"{os.getpid()}\\n")


class Who:
    def benchmark_it(self, report):
        report("process", os.getpid())
        keeper = Path(f"/proc/{os.getppid()}/stat").read_text()
        report("parent", int(keeper.rpartition(")")[2].split()[1]))  # of its keeper, which is forked with it
        report("imported", DRAWN)
        report("drawn", random.random())


def quick():
    pass


def dies():
    os._exit(3)


def hangs():
    import time
    time.sleep(600)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bench_file.py"
    path.write_text(FILE)
    return path


def _told(result: Result, name: str) -> float:
    metric = result.metric(name)
    assert metric is not None, result.error
    return metric.estimate.point


def test_a_file_is_imported_once_a_round_and_each_case_has_its_own_process(file: Path) -> None:
    load = bw.Load(samples=5, warmup=0.0)
    names = ("Who", "quick", "dies")
    run = bw.run(*(f"{file}::{name}" for name in names), load=load, rounds=2, fork=True, save=False).record
    imports = (file.parent / "imports").read_text().split()
    assert len(imports) == len(names) + 2, "once for each that is named, to plan, and once a round"
    who, _, dies = ([each for each in run.results if name in each.case.name] for name in names)
    assert [int(_told(each, "parent")) for each in who] == [int(pid) for pid in imports[-2:]]
    assert len({_told(each, "process") for each in who}) == 2
    assert len({_told(each, "drawn") for each in who}) == 2
    assert {each.error.message for each in dies if each.error} == {
        "the worker ended with exit code 3 before it answered"
    }
    assert all([warning.code for warning in each.warnings].count("forked") == 1 for each in run.results)
    assert not [pid for pid in imports[-2:] if psutil.pid_exists(int(pid))], "nothing is left"


def test_what_has_threads_after_its_import_is_measured_in_fresh_processes(file: Path) -> None:
    text = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    file.write_text(text + FILE)
    heard: list[Event] = []
    run = bw.run(f"{file}::quick", duration=0.01, rounds=1, fork=True, save=False, listener=heard.append).record
    assert [each.status for each in run.results] == [Status.OK]
    assert "forked" not in [warning.code for warning in run.results[0].warnings]
    (said,) = [event.text for event in heard if isinstance(event, Noted)]
    assert said.endswith("importing it starts 1 threads, which a fork would lose; its cases run in fresh processes")


def test_a_worker_that_hangs_is_ended_and_the_next_one_is_forked(file: Path) -> None:
    def case(name: str, timeout: float) -> Case:
        load = bw.Load(samples=1, warmup=0.0, timeout=timeout)
        return Case(name=name, target=Target(runtime="python", uri=f"{file}::{name}"), load=load)

    with ForkingHost() as host:
        cases = [case("hangs", 2.0), case("quick", 60.0)]
        run = execute(Plan(cases=cases, rounds=1, host=host, paths=[os.fspath(file.parent)]))
    assert [each.status for each in run.results] == [Status.TIMEOUT, Status.OK]
    assert len((file.parent / "imports").read_text().split()) == 1


def test_what_importing_will_take_is_told_before_it_is_spent() -> None:
    cases = [Case(name=str(i), target=Target(runtime="python", uri="/a/bench.py::f")) for i in range(110)]
    heard: list[Event] = []
    imports = ImportTimes(heard.append)
    imports.hear(Imported(module="/a/bench.py", seconds=30.0))
    imports.hear(Imported(module="m", seconds=7.0))  # of which no case is left
    for _ in range(2):  # a watch asks at each commit
        imports.tell(cases, 5, "--fork imports it once a round: {once}")
    assert heard == [
        Noted(
            text="importing bench.py takes 30 s, and 550 processes will do it: 4.6 h; "
            "--fork imports it once a round: 2.5 min"
        )
    ]
