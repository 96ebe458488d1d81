"""Environments on the machine that measures: made there once from a lock of versions, and used by what is measured."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

import boxes
import tiny_wheels
from benchwright.errors import OptionError, TargetError
from benchwright.events import Staged
from benchwright.execution.builds.elsewhere import order_environment
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.outposts.environment_desk import WorkTerms
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.outposts.orders import EnvironmentOrder
from benchwright.execution.outposts.revisions import StageTeller
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Run, Status, Target
from benchwright.targets.sources import Request
from benchwright.workflows import elsewhere

reach = boxes.reach
BENCH = "import needed\ndef f():\n    print('needed', needed.VERSION)\n"


def lock(text: str = "needed==1.0\n") -> Surroundings:
    Path("lock.txt").write_text(text)
    return Surroundings(environment="lock.txt", wheels=Path("wheels"))


def measure(host: OutpostHost, surroundings: Surroundings | None = None, rounds: int = 1) -> Run:
    case = Case(name="f", target=Target(runtime="python", uri="bench.py::f"), load=Load(samples=1, warmup=0.0))
    plan = Plan(cases=[case], rounds=rounds, host=host, paths=(str(Path.cwd()),))
    if surroundings is not None:
        elsewhere.use_environment(plan, surroundings)
    return execute(plan)


def environments(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "there" / "environments").iterdir() if not path.name.startswith(".")]


def test_what_is_measured_has_the_versions_of_the_lock_and_they_are_installed_once(
    reach: boxes.Reach, tmp_path: Path
) -> None:
    tiny_wheels.write(Path("wheels"), "1.0")
    tiny_wheels.write(Path("wheels"), "2.0")
    Path("bench.py").write_text(BENCH)
    run = measure(reach(), lock(), rounds=2)
    assert [result.status for result in run.results] == [Status.OK, Status.OK], run.results[0].error
    assert "needed 1.0" in run.results[0].log_tail
    assert run.results[0].environment.packages["needed"] == "1.0"
    (place,) = environments(tmp_path)
    made_at = (place / "environment" / "pyvenv.cfg").stat().st_mtime_ns
    assert measure(reach(), lock()).results[0].status is Status.OK
    assert environments(tmp_path) == [place]
    assert (place / "environment" / "pyvenv.cfg").stat().st_mtime_ns == made_at, "another run finds it"
    later = measure(reach(), lock("needed==2.0\n"))
    assert later.results[0].environment.packages["needed"] == "2.0"
    assert len(environments(tmp_path)) == 2, "another lock is another environment"


def test_a_package_that_is_not_there_is_a_record_that_names_the_flag(reach: boxes.Reach) -> None:
    Path("bench.py").write_text(BENCH)
    (result,) = measure(reach()).results
    assert result.error is not None and "No module named 'needed'" in result.error.message
    assert "not installed on box" in result.error.remedy and "--environment" in result.error.remedy


def test_packages_that_cannot_be_installed_are_a_record_with_the_words_of_pip(
    reach: boxes.Reach, tmp_path: Path
) -> None:
    tiny_wheels.write(Path("wheels"))
    Path("bench.py").write_text(BENCH)
    run = measure(reach(), lock("needed==3.0\n"), rounds=2)
    for result in run.results:
        assert result.error is not None and result.error.kind == "packages"
        assert "needed==3.0" in result.error.log_tail, "pip's own words"
        assert result.environment.system["host"] == {"name": "box"} and result.environment.machine
    assert environments(tmp_path) == [], "nothing half made is left"


def test_what_was_cut_off_and_what_nobody_asks_for_goes(reach: boxes.Reach, tmp_path: Path) -> None:
    kept, old, cut_off = (tmp_path / "there" / "environments" / name for name in ("kept", "old", "cut-off"))
    for place in (kept, old, cut_off):
        (place / "environment").mkdir(parents=True)
    for place in (kept, old):
        (place / "made.json").write_text("{}")
    month = time.time() - 31 * 86400
    os.utime(old / "made.json", (month, month))
    made = reach().prepare(WorkTerms(order=EnvironmentOrder()), paths=(), tell=lambda text: None)
    assert made.failure is None
    assert {*environments(tmp_path)} == {kept, Path(made.python).parents[2]}


def test_two_that_ask_at_the_same_time_get_one(reach: boxes.Reach, tmp_path: Path) -> None:
    tiny_wheels.write(Path("wheels"))
    Path("bench.py").write_text(BENCH)
    hosts, order = [reach(), reach()], order_environment(lock(), Path.cwd())
    answers: list[bool] = []

    def ask(host: OutpostHost) -> None:
        made = host.prepare(WorkTerms(order=order), paths=(), tell=lambda text: None)
        assert made.failure is None
        answers.append(made.cached)

    threads = [threading.Thread(target=ask, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False, True]
    assert len(environments(tmp_path)) == 1


@pytest.mark.soak
def test_cases_are_planned_where_the_packages_are(reach: boxes.Reach) -> None:
    tiny_wheels.write(Path("wheels"), code="SIZES = [1, 2]\n")
    Path("bench.py").write_text(
        "import benchwright as bw\nimport needed\n@bw.benchmark(params={'size': needed.SIZES})\n"
        "def f(size):\n    pass\n"
    )
    host = reach()
    plan = Plan(host=host)
    elsewhere.use_environment(plan, lock())
    cases = elsewhere.plan_cases(Request(targets=["bench.py"], elsewhere=True), plan)
    assert [case.params["size"] for case in cases] == [1, 2]
    assert {case.target.uri for case in cases} == {f"{Path.cwd()}/bench.py::f"}, "as it is named here"
    (module,) = elsewhere.plan_cases(Request(targets=["needed:VERSION.upper"], elsewhere=True), plan)
    assert module.target.uri == "needed:VERSION.upper"


def test_a_target_that_needs_what_is_not_there_is_refused_with_the_flag(reach: boxes.Reach) -> None:
    Path("bench.py").write_text(BENCH)
    with pytest.raises(TargetError, match=r"box: .*No module named 'needed'") as refused:
        elsewhere.plan_cases(Request(targets=["bench.py"], elsewhere=True), Plan(host=reach()))
    assert "--environment" in refused.value.remedy


def test_what_takes_long_is_told_once_and_not_for_every_megabyte() -> None:
    told: list[object] = []
    tell = StageTeller("box", told.append)
    for text in (
        "sending files, 1 of 3 MB",
        "sending files, 2 of 3 MB",
        "installing needed",
        "sending files, 3 of 3 MB",
    ):
        tell(text)
    shown = [event.text for event in told if isinstance(event, Staged)]
    assert shown == ["box: sending files, 1 of 3 MB", "box: installing needed", "box: sending files, 3 of 3 MB"]


def test_what_is_installed_here_is_ordered_in_its_versions_without_projects() -> None:
    pins = order_environment(Surroundings(environment="here"), Path.cwd()).pins
    assert f"pytest=={pytest.__version__}" in pins
    assert not [pin for pin in pins if pin.startswith(("benchwright==", "pip=="))]


@pytest.mark.parametrize(
    ("files", "surroundings", "words"),
    [
        ({"lock.txt": "-r other.txt\n"}, Surroundings(environment="lock.txt"), "names another file"),
        ({"uv.lock": "version = 1\n"}, Surroundings(environment="uv.lock"), "nothing that pip reads"),
        ({}, Surroundings(environment="lock.txt"), "there is no such file"),
        ({}, Surroundings(wheels=Path()), "there are no wheels"),
        ({"requirements.txt": "-e .\n"}, Surroundings(), "requirements.txt: which packages"),
        ({"pyproject.toml": "[project]\ndynamic = ['dependencies']\n"}, Surroundings(), "pyproject.toml: which"),
    ],
)
def test_what_cannot_be_ordered_is_refused_before_anything_is_sent(
    files: dict[str, str], surroundings: Surroundings, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).write_text(text)
    with pytest.raises(OptionError, match=words):
        order_environment(surroundings, tmp_path)
