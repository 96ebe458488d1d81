"""What a real Slurm does to nodes under a run: it loses them, drains them, ends jobs. All of it takes long."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurm
from benchwright.events import Event, Reached
from benchwright.execution.hosts.slurm import SlurmHost
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Result, Status, Target
from slurm import Slurm

pytestmark = [
    pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing()),
    pytest.mark.soak,
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm.running(tmp_path_factory.mktemp("slurm"), checked=True) as running:
        yield running


@pytest.fixture(autouse=True)
def apart(cluster: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PATH", f"{cluster.commands}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    yield
    for sign in (*cluster.folder.glob("prolog-fails-on-*"), *cluster.folder.glob("unhealthy-*")):
        sign.unlink()
    cluster.ask("scancel", "--user=root")
    deadline = time.monotonic() + 60
    while cluster.ask("sinfo", "-h", "-N", "-p", "bench", "-o", "%T").split() != ["idle", "idle"]:
        for node in ("fast", "slow"):
            cluster.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
        assert time.monotonic() < deadline, cluster.ask("sinfo", "-N", "-l")
        time.sleep(0.5)


def case(ms: int = 1, samples: int = 5) -> Case:
    load = Load(samples=samples, warmup=0.0)
    return Case(name="case", target=Target(runtime="fake", uri=f"fake:constant?ms={ms}"), load=load)


def measure(host: SlurmHost, one: Case, heard: list[str] | None = None) -> tuple[Result, ...]:
    def listen(event: Event) -> None:
        if isinstance(event, Reached) and heard is not None:
            heard.append(event.phase)

    try:
        return execute(Plan(cases=[one], rounds=1, host=host), listener=listen).results
    finally:
        host.close()


def warnings_of(result: Result, code: str) -> list[str]:
    return [warning.seen for warning in result.warnings if warning.code == code]


def test_the_wait_says_about_how_long(cluster: Slurm) -> None:
    for seconds in (20, 1):
        words = ("--exclusive", "--nodes=2", "--time=1", "--output=/dev/null", f"--wrap=sleep {seconds}")
        cluster.ask("sbatch", *words)
    told: list[str] = []
    (result,) = measure(SlurmHost.from_text("bench?time=1"), case(), told)
    assert result.status is Status.OK
    assert any(phase.startswith("queued, 2 of 2") for phase in told), told
    assert any("about" in phase for phase in told), told


def test_a_lost_node_costs_an_attempt_and_its_orphan_gives_no_result(cluster: Slurm) -> None:
    """What ran there goes on without Slurm; it finds its line gone and ends, and the record has one result."""
    host = SlurmHost.from_text("bench")
    lost: list[str] = []

    def lose() -> None:
        lost.append(cluster.ask("squeue", "-h", "-n", "benchwright", "-t", "R", "-o", "%N").strip())
        cluster.lose(lost[0])

    timer = threading.Timer(8.0, lose)
    timer.start()
    try:
        (result,) = measure(host, case(200, 150))
    finally:
        timer.join()
        cluster.restore(lost[0])
    assert result.status is Status.OK, result.error
    (seen,) = warnings_of(result, "retried")
    assert f"{lost[0]} does not answer Slurm" in seen or "Slurm started job" in seen, seen
    node = result.environment.system["host"]["node"]  # type: ignore[index,call-overload]
    assert node in ("fast", "slow") and node != lost[0]
    deadline = time.monotonic() + 30
    while [pid for pid in Path("/proc").glob("[0-9]*/cmdline") if host._mark.encode() in read(pid)]:
        assert time.monotonic() < deadline, "the orphan goes on"
        time.sleep(0.5)


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_prolog_that_fails_costs_no_attempt_and_is_recorded(cluster: Slurm) -> None:
    (cluster.folder / "prolog-fails-on-fast").touch()
    (result,) = measure(SlurmHost.from_text("bench"), case())
    assert result.status is Status.OK, result.error
    assert not warnings_of(result, "retried")
    (seen,) = warnings_of(result, "node-drained")
    assert "fast is drained: Prolog error" in seen and "measured on slow" in seen


def test_a_node_that_a_health_check_drains_meanwhile_is_recorded(cluster: Slurm) -> None:
    timer = threading.Timer(6.0, (cluster.folder / "unhealthy-slow").touch)
    timer.start()
    (result,) = measure(SlurmHost.from_text("bench?constraint=slow"), case(200, 100))
    assert result.status is Status.OK, result.error
    (seen,) = warnings_of(result, "node-drained")
    assert "slow is drained: too hot" in seen


@pytest.mark.parametrize(
    ("partition", "said"), [("bench", "Slurm started job"), ("spare", "another job was given the node")]
)
def test_a_node_that_somebody_more_urgent_is_given_costs_an_attempt(cluster: Slurm, partition: str, said: str) -> None:
    urgent = ("--partition=urgent", "--exclusive", "--constraint=fast", "--time=1", "--output=/dev/null")
    timer = threading.Timer(8.0, cluster.ask, ["sbatch", *urgent, "--wrap=sleep 5"])
    timer.start()
    try:
        (result,) = measure(SlurmHost.from_text(f"{partition}?constraint=fast"), case(200, 100))
    finally:
        timer.join()
    assert result.status is Status.OK, result.error
    (seen,) = warnings_of(result, "retried")
    assert said in seen, seen


def test_the_end_of_the_time_limit_is_told_apart(cluster: Slurm) -> None:
    host = SlurmHost.from_text("bench?constraint=fast&time=5")

    def end_by_time_limit() -> None:
        job = cluster.ask("squeue", "-h", "-n", "benchwright", "-t", "R", "-o", "%A").strip()
        cluster.ask("scontrol", "update", f"JobId={job}", "TimeLimit=1")

    timer = threading.Timer(6.0, end_by_time_limit)
    timer.start()
    (result,) = measure(host, case(200, 1000))
    assert result.error is not None and result.error.kind == "time-limit", result
    assert "the job's time limit was over" in result.error.message
