"""A real sshd on loopback: what holds on this machine holds on another, and whatever breaks is one record."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import benchwright
import sshd
from benchwright.errors import OptionError
from benchwright.events import Event, Reached
from benchwright.execution.attempt import INTERRUPTED
from benchwright.execution.hosts.ssh import SshHost
from benchwright.execution.outposts import host as outpost_host
from benchwright.execution.outposts import launcher
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Expected, Load, Run, Status, Target
from benchwright.system.process import carriers
from sshd import Sshd

SLOW = "fake:constant?ms=200"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd.running(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture(autouse=True)
def apart(machine: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections, caches and folders of each test's own."""
    monkeypatch.setenv("BENCHWRIGHT_SSH_OPTIONS", machine.options)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with tempfile.TemporaryDirectory(prefix="bw-") as short:  # a socket's path must be
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        yield
        machine.cut()


@pytest.fixture
def reach(machine: Sshd, tmp_path: Path) -> Iterator[Callable[..., SshHost]]:
    """Hosts that keep what they are sent in a folder of the test's own, as another machine would."""
    made: list[SshHost] = []

    def connect(**fields: object) -> SshHost:
        made.append(SshHost("rack1", python=sys.executable, home=str(tmp_path / "there"), **fields))  # type: ignore[arg-type]
        return made[-1]

    yield connect
    for one in made:
        one.close()


def case(uri: str = "fake:constant?ms=1", runtime: str = "fake", **load: object) -> Case:
    given = {"samples": 5, "warmup": 0.0, **load}
    return Case(name="case", target=Target(runtime=runtime, uri=uri), load=Load(**given))  # type: ignore[arg-type]


def measure(host: SshHost, *cases: Case, rounds: int = 1, **fields: object) -> Run:
    return execute(Plan(cases=cases or (case(),), rounds=rounds, host=host, paths=(str(Path.cwd()),), **fields))  # type: ignore[arg-type]


def test_a_round_is_a_fresh_process_on_a_machine_with_a_name(reach: Callable[..., SshHost]) -> None:
    Path("bench.py").write_text("import os\ndef f():\n    print('pid', os.getpid(), os.getcwd())\n")
    run = measure(reach(), case("bench.py::f", "python", samples=1), rounds=2)
    assert [result.status for result in run.results] == [Status.OK, Status.OK]
    assert run.results[0].environment.system["host"] == {"name": "ssh:rack1"}
    pids = {found for result in run.results for found in re.findall(r"pid (\d+) ", result.log_tail)}
    assert len(pids) == 2
    folder = run.results[0].log_tail.splitlines()[-1].split()[2]  # the first line may be cut
    assert folder.endswith(str(Path.cwd())) and folder != str(Path.cwd())
    assert run.results[0].metric("latency") is not None
    assert run.results[0].metric("rss_peak") is not None, "the outpost watches"


def test_files_come_along_once_and_as_they_are(reach: Callable[..., SshHost], tmp_path: Path) -> None:
    Path("data").mkdir()
    Path("data/numbers.txt").write_text("7\n")
    Path("helper.py").write_text("def read(place):\n    return open(place).read()\n")
    Path("bench.py").write_text("import helper\ndef f():\n    assert helper.read('data/numbers.txt') == '7\\n'\n")
    Path("model.bin").write_bytes(os.urandom(3 << 20))
    host = reach()
    assert measure(host, case("bench.py::f", "python")).results[0].status is Status.OK
    shelf = tmp_path / "there" / "files"
    before = {path.name: path.stat().st_ino for path in shelf.iterdir() if not path.suffix}
    assert len(before) == len({path.read_bytes() for path in shelf.iterdir() if not path.suffix})
    again = reach()
    assert measure(again, case("bench.py::f", "python")).results[0].status is Status.OK
    assert {path.name: path.stat().st_ino for path in shelf.iterdir() if not path.suffix} == before


def test_a_file_that_was_changed_over_there_is_sent_again(reach: Callable[..., SshHost], tmp_path: Path) -> None:
    Path("bench.py").write_text("def f():\n    pass\n")
    assert measure(reach(), case("bench.py::f", "python")).results[0].status is Status.OK
    for kept in (tmp_path / "there" / "files").iterdir():
        if not kept.suffix:
            kept.chmod(0o600)
            kept.write_text("raise SystemExit(3)\n")
    assert measure(reach(), case("bench.py::f", "python")).results[0].status is Status.OK


def test_copies_start_behind_one_barrier_and_failures_are_those_of_here(reach: Callable[..., SshHost]) -> None:
    Path("bad.py").write_text("def f():\n    raise ValueError('no luck')\n")
    run = measure(reach(), case(copies=2, samples=20), case("bad.py::f", "python"))
    good, bad = run.results
    assert good.status is Status.OK and len(good.samples) == 2
    assert bad.error is not None and (bad.error.kind, bad.error.message) == ("ValueError", "no luck")
    assert "bad.py" in bad.error.log_tail


def test_what_it_leaves_behind_comes_back(reach: Callable[..., SshHost], tmp_path: Path) -> None:
    Path("bench.py").write_text(
        "import os\ndef f():\n    open(os.environ['BENCHWRIGHT_OUTPUT'] + '/note.txt', 'w').write('seen')\n"
    )
    out = tmp_path / "out"
    run = measure(reach(), case("bench.py::f", "python", samples=1), folder=lambda case, number: out)
    assert (out / "note.txt").read_text() == "seen"
    assert [artifact.name for artifact in run.results[0].artifacts] == ["note.txt"]


def test_a_line_that_breaks_costs_one_attempt_and_the_machine_is_called_again(
    reach: Callable[..., SshHost], machine: Sshd
) -> None:
    host = reach()
    measure(host)
    cut = threading.Event()

    def listen(event: Event) -> None:
        if isinstance(event, Reached) and event.phase == "measuring" and not cut.is_set():
            cut.set()
            machine.cut()

    plan = Plan(cases=[case(SLOW, samples=5)], rounds=2, host=host, paths=(str(Path.cwd()),))
    run = execute(plan, listener=listen)
    assert [result.status for result in run.results] == [Status.OK, Status.OK]
    (warning,) = [one for one in run.results[0].warnings if one.code == "retried"]
    assert "ssh:rack1" in warning.seen and "measuring" in warning.seen


def test_a_line_that_breaks_every_time_is_a_record(reach: Callable[..., SshHost], machine: Sshd) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, Reached) and event.phase == "measuring":
            machine.cut()

    plan = Plan(cases=[case(SLOW, samples=500)], rounds=1, host=reach(), paths=(str(Path.cwd()),))
    (result,) = execute(plan, listener=listen).results
    assert result.error is not None and result.error.kind == outpost_host.LINK
    assert result.status is Status.FAILED


@pytest.mark.skipif(os.getuid() != 0, reason="namespaces with a cable between them need root")
@pytest.mark.parametrize("seconds", [1.0, pytest.param(60.0, marks=pytest.mark.soak)])
def test_an_attempt_outlives_a_cable_that_is_pulled_for_a_while(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sshd.behind_cable(tmp_path / "sshd") as (server, cable):
        monkeypatch.setenv("BENCHWRIGHT_SSH_OPTIONS", server.options)
        host = SshHost("rack1", python=sys.executable, home=str(tmp_path / "there"))
        told = threading.Event()

        def interrupt() -> None:
            told.wait(60)
            cable.pull()
            time.sleep(seconds)
            cable.plug()

        threading.Thread(target=interrupt, daemon=True).start()

        def listen(event: Event) -> None:
            if isinstance(event, Reached) and event.phase == "measuring":
                told.set()

        try:
            plan = Plan(cases=[case(SLOW, samples=8)], rounds=1, host=host, paths=(str(Path.cwd()),))
            (result,) = execute(plan, listener=listen).results
        finally:
            host.close()
            server.cut()
    assert result.status is Status.OK
    assert [warning.code for warning in result.warnings if warning.code == "retried"] == []


@pytest.mark.skipif(os.getuid() != 0, reason="a small disk needs root")
def test_a_full_disk_there_is_a_record_that_says_so(reach: Callable[..., SshHost], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(tmp_path / "there")], check=True)
    try:
        Path("model.bin").write_bytes(os.urandom(6 << 20))
        Path("bench.py").write_text("def f():\n    pass\n")
        host = reach()
        run = measure(host, case("bench.py::f", "python"), case())
        host.close()
    finally:
        subprocess.run(["umount", str(tmp_path / "there")], check=True)
    full, other = run.results
    assert (
        full.error is not None
        and "6 MB are to be sent" in full.error.message
        and "are free there" in full.error.message
    )
    assert "make room" in full.error.remedy
    assert other.status is Status.OK, "what needs no file is measured"


def test_a_machine_that_stays_away_is_called_for_a_while_and_then_no_more(
    reach: Callable[..., SshHost], machine: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outpost_host, "AGAIN", 0.2)
    host = reach(patience=1.0)
    (machine.folder / "config").rename(machine.folder / "away")
    try:
        machine.cut()
        begin = time.monotonic()
        run = measure(host, rounds=20)
        assert time.monotonic() - begin < 30
    finally:
        (machine.folder / "away").rename(machine.folder / "config")
    assert len(run.results) == 20
    assert all(result.status is Status.FAILED for result in run.results)
    assert run.results[-1].error is not None and "cannot be reached any more" in run.results[-1].error.message
    assert run.results[-1].error.kind == outpost_host.AWAY
    assert "--resume" in run.results[-1].error.remedy


def test_nothing_is_left_there_whoever_is_killed(reach: Callable[..., SshHost], machine: Sshd, tmp_path: Path) -> None:
    mark = f"left-{os.getpid()}-{time.monotonic_ns()}"
    Path("bench.py").write_text(
        "import os, subprocess, time\n"
        f"os.environ['MARK'] = {mark!r}\n"
        "def f():\n"
        "    subprocess.Popen(['setsid', 'sleep', '100'])\n"
        "    open('started', 'w').close()\n"
        "    time.sleep(100)\n"
    )
    script = (
        "import sys; sys.path[:0] = sys.argv[1].split(':');"
        "import test_hosts_ssh as t; from benchwright.execution.hosts.ssh import SshHost;"
        "host = SshHost('rack1', python=sys.executable, home=sys.argv[2]);"
        "t.measure(host, t.case('bench.py::f', 'python', samples=1))"
    )
    places = [Path(benchwright.__file__).parents[1], Path(sshd.__file__).parent, Path(__file__).parent]
    parent = subprocess.Popen([sys.executable, "-c", script, ":".join(map(str, places)), str(tmp_path / "there")])
    await_true(lambda: bool(carriers("MARK", mark)))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    await_true(lambda: not carriers("MARK", mark))


def test_ctrl_c_ends_what_is_under_way_there(reach: Callable[..., SshHost]) -> None:
    host = reach()

    def interrupt(event: Event) -> None:
        if isinstance(event, Reached) and event.phase == "measuring":
            os.kill(os.getpid(), signal.SIGINT)

    plan = Plan(cases=[case(SLOW, samples=500)], rounds=3, host=host, paths=(str(Path.cwd()),))
    run = execute(plan, listener=interrupt)
    assert [result.status for result in run.results] == [Status.KILLED, Status.SKIPPED, Status.SKIPPED]
    assert run.results[0].error is not None and run.results[0].error.kind == INTERRUPTED
    assert measure(host).results[0].status is Status.OK, "the outpost lives on"


def test_what_a_login_prints_does_no_harm(machine: Sshd, reach: Callable[..., SshHost]) -> None:
    configuration = machine.folder / "sshd_config"
    banner = machine.folder / "banner"
    banner.write_text("Welcome to the rack\n")
    assert configuration.exists()
    assert measure(reach()).results[0].status is Status.OK


def test_a_key_that_changed_is_refused_with_what_ssh_says(machine: Sshd) -> None:
    known = (machine.folder / "known").read_text()
    other = machine.folder / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    name, kind, _ = known.split()
    (machine.folder / "known").write_text(f"{name} {kind} {other.with_suffix('.pub').read_text().split()[1]}\n")
    try:
        with pytest.raises(OptionError, match="Host key verification failed") as refused:
            SshHost.from_text("rack1")
    finally:
        (machine.folder / "known").write_text(known)
        other.unlink()
    assert refused.value.remedy == "`ssh rack1 true` must work first"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rack1?python=/nowhere/python", "there is no /nowhere/python on that machine"),
        ("rack1?pyton=x", "'pyton' is not known"),
        ("-oProxyCommand=touch /tmp/x", "no name of a machine"),
        ("nowhere.invalid", "ssh:nowhere.invalid: "),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message.replace("?", r"\?")):
        SshHost.from_text(text)


def test_an_old_python_is_named_unless_there_is_a_newer_one(
    machine: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "python-old"
    old.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.version_info = (3, 9, 2); code = sys.argv[2]; "
        'del sys.argv[1:3]; exec(code)\' "$@"\n'
    )
    old.chmod(0o755)
    with pytest.raises(OptionError, match=r"its Python is 3\.9"):
        SshHost("rack1", python=str(old))
    monkeypatch.setattr(launcher, "PYTHONS", (str(old), "python-that-is-not-there", sys.executable))
    with contextlib.closing(SshHost("rack1", home=str(tmp_path / "there"))) as host:
        assert host.environment().system["python"]


def test_cpus_that_are_not_there_are_a_record(reach: Callable[..., SshHost]) -> None:
    run = measure(reach(), cpus=(4095,))
    assert run.results[0].error is not None
    assert "4095" in run.results[0].error.message


def test_answers_are_compared_there(reach: Callable[..., SshHost]) -> None:
    """Files of expected outputs are among those that are sent."""
    from benchwright.execution.attempt import make_job
    from benchwright.execution.outposts import bundles

    Path("out.txt").write_text("1\n")
    job = make_job(
        Case(name="c", target=Target(runtime="fake", uri="fake:x"), expected=Expected(outputs={"y": "out.txt"}))
    )
    assert [path.name for path in bundles.bundle_for(job, Path.cwd()).paths] == ["out.txt"]


def await_true(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_python_measures_on_another_machine_and_compares_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    machine, code = f"ssh:rack1?python={sys.executable}", "def f():\n    return sum(range({}))\n"
    Path("bench.py").write_text(code.format(10))
    load = Load(samples=3, warmup=0.0, loops=1)
    measured = benchwright.run("bench.py::f", host=machine, load=load, rounds=1, save=False)
    assert measured.ok and measured.results[0].environment.system["host"] == {"name": "ssh:rack1"}
    for side in ("old", "new"):
        Path(side).mkdir()
        Path(side, "bench.py").write_text(code.format(10))
    trial = benchwright.ab(
        "bench.py::f",
        control_dir="old",
        treatment_dir="new",
        host=machine,
        load=load,
        pairs=1,
        verify=False,
        save=False,
    )
    assert trial.record.machine == "ssh:rack1" and trial.rows[0].heats[0].pairs
    with pytest.raises(OptionError, match="host and lab exclude each other"):
        benchwright.run("bench.py::f", host=machine, lab="*")
    with pytest.raises(OptionError, match="where: 'all' is neither any nor each"):
        benchwright.run("bench.py::f", host=machine, where="all")
    with pytest.raises(OptionError, match="compared on one machine"):
        benchwright.ab("bench.py::f", control_dir="old", treatment_dir="new", host="ssh:rack1,rack2")
