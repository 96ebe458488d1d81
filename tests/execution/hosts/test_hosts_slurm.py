"""A real slurmctld with two nodes: a node for itself, waits that are told, losses that are no failures of a case."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import repositories
import slurm
from benchwright.errors import OptionError
from benchwright.events import Ended, Event, Reached
from benchwright.execution.hosts.slurm import SlurmHost
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Status, Target
from benchwright.records.trials import AbRules
from benchwright.targets.sources import Request
from benchwright.workflows.ab.run import BuildSpec, SideRequest, run_ab
from slurm import Slurm

plain = repositories.plain

pytestmark = pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm.running(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(autouse=True)
def apart(cluster: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PATH", f"{cluster.commands}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    yield
    cluster.ask("scancel", "--user=root")


def case(ms: int = 1, samples: int = 5, name: str = "case") -> Case:
    load = Load(samples=samples, warmup=0.0)
    return Case(name=name, target=Target(runtime="fake", uri=f"fake:constant?ms={ms}"), load=load)


def test_a_node_is_held_for_as_long_as_it_is_used(cluster: Slurm) -> None:
    host = SlurmHost.from_text("bench?constraint=slow")
    try:
        run = execute(Plan(cases=[case()], rounds=2, host=host))
        assert [result.status for result in run.results] == [Status.OK, Status.OK]
        assert run.results[0].environment.system["host"] == {"name": "slurm:bench?constraint=slow", "node": "slow"}
        assert "slow" in cluster.ask("squeue", "-h", "-o", "%N %t")
        assert host._mark.encode() in b"".join(command_lines("python"))  # by which the job knows that it is in use
    finally:
        host.close()
    await_empty(cluster)


def test_two_wait_for_one_another_and_say_so(cluster: Slurm) -> None:
    holder = SlurmHost.from_text("bench?constraint=fast")
    execute(Plan(cases=[case()], rounds=1, host=holder))
    told: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Reached):
            told.append(event.phase)
            if event.phase.startswith("queued"):
                holder.close()

    second = SlurmHost.from_text("bench?constraint=fast")
    try:
        run = execute(Plan(cases=[case()], rounds=1, host=second), listener=listen)
    finally:
        holder.close()
        second.close()
    assert run.results[0].status is Status.OK
    assert any(phase.startswith("queued, 1 of 1") for phase in told), told


def test_a_cancelled_job_is_no_failure_of_the_case_and_says_who(cluster: Slurm) -> None:
    host = SlurmHost.from_text("bench")

    def cancel(event: Event) -> None:
        if isinstance(event, Reached) and event.phase == "measuring":
            cluster.ask("scancel", "--name=benchwright")

    try:
        (result,) = execute(Plan(cases=[case(200, 100)], rounds=1, host=host), listener=cancel).results
    finally:
        host.close()
    assert result.error is not None and result.error.kind == "cancelled"
    assert "somebody cancelled the job" in result.error.message


def test_an_array_of_nodes_shares_the_cases_out_and_whoever_has_a_node_measures(cluster: Slurm) -> None:
    """Two nodes for an array of three: who waits hands its share over, and its last case when a node is given back."""
    hosts = SlurmHost.several_from_text("bench?nodes=3")
    seen: dict[str, str] = {}

    def look(event: Event) -> None:
        if isinstance(event, Ended) and not seen:
            seen["squeue"] = cluster.ask("squeue", "-h", "-r", "-o", "%F %K")

    try:
        run = execute(Plan(cases=[case(name=f"case {n}") for n in range(9)], rounds=1, hosts=hosts), listener=look)
    finally:
        for host in hosts:
            host.close()
    assert [result.status for result in run.results] == [Status.OK] * 9
    assert len({result.case.name for result in run.results}) == run.planned == 9
    assert {result.environment.system["host"]["name"] for result in run.results} == {"slurm:bench"}  # type: ignore[index,call-overload]
    assert {result.environment.system["host"]["node"] for result in run.results} == {"fast", "slow"}  # type: ignore[index,call-overload]
    jobs = {line.split()[0] for line in seen["squeue"].splitlines()}
    assert len(jobs) == 1 and len(seen["squeue"].splitlines()) >= 2, seen  # elements of one job
    await_empty(cluster)


@pytest.mark.soak
def test_revisions_are_built_and_compared_on_one_node(
    cluster: Slurm, plain: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = repositories.make(tmp_path / "repo", [1.0, 2.0])
    monkeypatch.chdir(tmp_path / "project")
    host = SlurmHost.from_text("bench?constraint=slow")
    making = BuildSpec(repo=tmp_path / "repo", host=host, command="echo built > made.txt")
    control, treatment = SideRequest(revision=ids[0]), SideRequest(revision=ids[1])
    rules = AbRules(pairs=1, verify=False, metric="encode_time")
    try:
        trial = run_ab(Request(targets=[repositories.TARGET]), control, treatment, rules, making, save=False)
    finally:
        host.close()
    assert trial.built, trial
    (pair,) = trial.rows[0].heats[0].pairs
    assert pair.ratio == pytest.approx(2.0, rel=0.1), pair.why
    assert trial.machine == "slurm:bench?constraint=slow"
    await_empty(cluster)


@pytest.mark.soak  # Slurm waits two minutes before it starts a job again
def test_a_job_that_is_put_back_into_the_queue_is_followed(cluster: Slurm) -> None:
    host = SlurmHost.from_text("bench?constraint=fast")

    def requeue() -> None:
        cluster.ask("scontrol", "requeue", cluster.ask("squeue", "-h", "-n", "benchwright", "-o", "%i").strip())

    threading.Timer(6.0, requeue).start()
    try:
        (result,) = execute(Plan(cases=[case(200, 60)], rounds=1, host=host)).results
    finally:
        host.close()
    assert result.status is Status.OK
    (warning,) = [one for one in result.warnings if one.code == "retried"]
    assert "Slurm started job" in warning.seen and "again" in warning.seen


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bench?constraint=nothing", "Invalid feature specification"),
        ("nowhere", "invalid partition"),
        ("bench?speed=fast", "'speed' is not known"),
        ("bench?nodes=0", "'0' is no number of nodes"),
        ("bench?nodes=2", "one machine is needed here"),
        ("bench?constraint=a;rm", "cannot be meant"),
    ],
)
def test_what_slurm_would_not_take_is_refused_before_anything_is_planned(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        SlurmHost.from_text(text)


def command_lines(program: str) -> Iterator[bytes]:
    """The command lines of all processes of that program."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "comm").read_text().startswith(program):
                yield (path / "cmdline").read_bytes()


def await_empty(cluster: Slurm, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while cluster.ask("squeue", "-h"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
