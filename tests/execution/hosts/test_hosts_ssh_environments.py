"""A real sshd: whatever happens while an environment is made over there is one record, and nothing is left there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sshd
import tiny_wheels
from benchwright.events import Event, Reached
from benchwright.execution.builds.elsewhere import order_environment
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.hosts.ssh import SshHost
from benchwright.execution.outposts import host as outpost_host
from benchwright.execution.outposts.orders import EnvironmentOrder
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Result, Status, Target
from benchwright.system.process import carriers
from sshd import Sshd

SLOW = "while [ ! -e go ]; do sleep 0.1; done"


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections and folders of each test's own."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with tempfile.TemporaryDirectory(prefix="bw-") as short:  # a socket's path must be
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        yield


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd.running(tmp_path_factory.mktemp("sshd")) as server:
        yield server


def reach(server: Sshd, home: Path, patience: float = 30.0) -> SshHost:
    return SshHost("rack1", python=sys.executable, home=str(home), options=server.options.split(), patience=patience)


def measure(host: SshHost, order: EnvironmentOrder, on_phase: Callable[[str], None] = lambda phase: None) -> Result:
    host.use_environment(order)
    case = Case(name="c", target=Target(runtime="fake", uri="fake:constant?ms=1"), load=Load(samples=1, warmup=0.0))

    def listen(event: Event) -> None:
        if isinstance(event, Reached):
            on_phase(event.phase)

    plan = Plan(cases=[case], rounds=1, host=host, paths=(str(Path.cwd()),))
    (result,) = execute(plan, listener=listen).results
    return result


def slow_build(mark: str) -> EnvironmentOrder:
    """An environment that takes until a file is there; what makes it is known by a mark."""
    return EnvironmentOrder(command=f"export MARK={mark}; {SLOW}", folder=str(Path.cwd()), revision="one")


@pytest.mark.skipif(os.getuid() != 0, reason="namespaces with a cable between them need root")
@pytest.mark.parametrize("seconds", [1.0, pytest.param(60.0, marks=pytest.mark.soak)])
def test_an_environment_outlives_a_cable_that_is_pulled_for_a_while(seconds: float, tmp_path: Path) -> None:
    def interrupt(phase: str) -> None:
        if phase.startswith("building"):
            threading.Thread(target=cut_for_a_while, daemon=True).start()

    def cut_for_a_while() -> None:
        cable.pull()
        time.sleep(seconds)
        cable.plug()
        (place,) = [one for one in (tmp_path / "there" / "environments").iterdir() if one.is_dir()]
        (place / "work" / "go").touch()

    with sshd.behind_cable(tmp_path / "sshd") as (server, cable):
        host = reach(server, tmp_path / "there")
        try:
            result = measure(host, slow_build("cable"), interrupt)
        finally:
            host.close()
            server.cut()
    assert result.status is Status.OK, result.error
    assert "retried" not in [warning.code for warning in result.warnings]


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.skipif(os.getuid() != 0, reason="namespaces with a cable between them need root")
def test_a_cable_that_is_pulled_for_good_while_it_builds_ends_both_ends(tmp_path: Path) -> None:
    mark = f"left-{os.getpid()}-{time.monotonic_ns()}"
    with sshd.behind_cable(tmp_path / "sshd") as (server, cable):
        host = reach(server, tmp_path / "there", patience=1.0)

        def pull(phase: str) -> None:
            if phase.startswith("building"):
                await_true(lambda: bool(carriers("MARK", mark)))
                cable.pull()

        try:
            result = measure(host, slow_build(mark), pull)
            await_true(lambda: not carriers("MARK", mark), seconds=400.0)
        finally:
            host.close()
            server.cut()
    assert result.status is Status.FAILED
    assert result.error is not None and result.error.kind == outpost_host.AWAY, result.error


def test_a_machine_that_goes_for_good_while_it_builds_is_a_record_and_nothing_is_left_there(
    machine: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outpost_host, "AGAIN", 0.2)
    mark = f"left-{os.getpid()}-{time.monotonic_ns()}"
    host = reach(machine, tmp_path / "there", patience=0.5)

    def cut(phase: str) -> None:
        if phase.startswith("building"):
            await_true(lambda: bool(carriers("MARK", mark)))
            (machine.folder / "config").rename(machine.folder / "away")
            machine.cut()

    try:
        result = measure(host, slow_build(mark), cut)
    finally:
        (machine.folder / "away").rename(machine.folder / "config")
        host.close()
    assert result.status is Status.FAILED
    assert result.error is not None and result.error.kind == outpost_host.AWAY, result.error
    assert "--resume" in result.error.remedy
    await_true(lambda: not carriers("MARK", mark))
    (place,) = [one for one in (tmp_path / "there" / "environments").iterdir() if one.is_dir()]
    assert not (place / "made.json").exists(), "what was cut off does not look made"


@pytest.mark.skipif(os.getuid() != 0, reason="a small disk needs root")
def test_a_disk_that_is_full_while_packages_are_installed_is_a_record_and_is_free_again(
    machine: Sshd, tmp_path: Path
) -> None:
    large = tiny_wheels.write(Path("wheels"))
    with zipfile.ZipFile(large, "a", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("needed_data.bin", bytes(32 << 20))  # small to send, and large to install
    Path("lock.txt").write_text("needed==1.0\n")
    order = order_environment(Surroundings(environment="lock.txt", wheels=Path("wheels")), Path.cwd())
    (tmp_path / "there").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(tmp_path / "there")], check=True)
    try:
        host = reach(machine, tmp_path / "there")
        result = measure(host, order)
        host.close()
        left = [one.name for one in (tmp_path / "there" / "environments").iterdir()]
    finally:
        subprocess.run(["umount", str(tmp_path / "there")], check=True)
    assert result.error is not None and result.error.kind == "disk", result.error
    assert "its disk is full" in result.error.message and "make room" in result.error.remedy
    assert "No space left on device" in result.error.log_tail
    assert left == []


def await_true(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
