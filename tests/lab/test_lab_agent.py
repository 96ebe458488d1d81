"""Real agents and a real server: what is submitted is measured once, in a cell of its own, and given back in time."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import benchwright
import tiny_wheels
from benchwright import schema
from benchwright.errors import BenchwrightError
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.outposts.orders import EnvironmentOrder, SentWheel
from benchwright.lab import cells
from benchwright.records import Load, Status
from benchwright.records.lab import PLAN, JobState
from benchwright.workflows.lab.submission import LabRequest
from lab_server import LabServer, command_case, lab_agent, lab_server, python_case

WORK = """
import ctypes, os, sys
from pathlib import Path

def count():
    return len(Path("words.txt").read_text())

def look_around():
    agent, own = Path({agent!r}), Path(os.environ["HOME"]).parent
    found = [str(path) for path in agent.rglob("*") if own not in (path, *path.parents) and path not in own.parents]
    assert not found, found  # neither what others left nor where the agent keeps what it knows of this job
    assert Path({token!r}).read_bytes() == b""
    libc = ctypes.CDLL(None, use_errno=True)
    for undo in (
        lambda: libc.umount2(str(agent).encode(), 2),
        lambda: libc.mount(None, b"/", None, 32, None),  # again, and to be written
        lambda: libc.mknod(b"disk", 0o60600, 0x0800),
    ):
        assert undo() == -1 and ctypes.get_errno() in (1, 30), undo
    for place in ({here!r}, "/etc", "/usr"):
        try:
            Path(place, "left-by-a-job").write_text("x")
        except OSError:
            continue
        raise AssertionError("could write " + place)
    others = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    assert {agent_pid} not in others and len(others) < 30, others
    assert not [name for name in os.environ if "TOKEN" in name and "BENCHWRIGHT" in name]
    Path(os.environ["TMPDIR"], "mine").write_text("x")
"""


NEEDS = """
import needed
from pathlib import Path

def use():
    assert needed.VERSION == "2.0"
    try:
        Path(needed.__file__).write_text("VERSION = 'spoilt'")
    except OSError:
        return
    assert not {is_cell}, "could write the environment"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A server that is up while this module's tests run."""
    with lab_server(tmp_path_factory.mktemp("lab")) as made:
        yield made


def test_a_submission_is_measured_in_cells_and_delivered(server: LabServer, tmp_path: Path) -> None:
    with lab_agent(server, "one", "--label", "team=vision") as agent:
        server.await_machine("one")
        files = [tmp_path / "work.py", tmp_path / "words.txt"]
        own = agent.folder / "own"
        token, number = server.folder / "agent.token", agent.process.pid
        files[0].write_text(WORK.format(agent=str(own), here=str(tmp_path), agent_pid=number, token=str(token)))
        files[1].write_text("some words")
        cases = [python_case("a", "work:count"), python_case("b", "work:look_around")]
        told = server.submit("r1", cases, files=files, rounds=2, selector="team=vision,arch=*")
        assert told == {"run": "r1", "jobs": 2, "machines": ["one"]}
        run = server.wait_for("r1", 2)
        second = subprocess.run(
            [sys.executable, "-m", "benchwright", "agent", "--server", server.url, "--folder", str(own)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 2 and "another agent uses" in second.stderr
        assert agent.end() == 0
    if why := cells.why_not():
        assert why in agent.log.read_text()
    else:
        assert {result.status for result in run.results} == {Status.OK}, [result.error for result in run.results]
    first = run.results[0]
    [machine] = server.store_do(lambda store: store.lab.machines())
    assert machine.key == schema.environment_key(first.environment)
    assert first.environment.system["host"] == {"name": "lab:one"}
    assert sorted((result.case.name, result.round) for result in run.results) == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
        ("b", 1),
    ]
    assert not any((own / "jobs").iterdir()) and not any((own / "spool").iterdir())
    assert "2 jobs delivered" in agent.log.read_text()
    assert not server.store_do(lambda store: [one for one in store.lab.machines() if one.is_offered])


@pytest.mark.soak
def test_an_environment_is_made_once_and_jobs_can_only_read_it(
    server: LabServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHWRIGHT_TOKEN", server.token("mia", "write"))
    wheel = tiny_wheels.write(tmp_path / "wheels", "2.0")
    sent = SentWheel(path=str(wheel), sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())
    code = tmp_path / "work.py"
    code.write_text(NEEDS.replace("{is_cell}", str(not cells.why_not())))
    with lab_agent(server, "five") as agent:
        server.await_machine("five")
        order = EnvironmentOrder(requirements=("needed==2.0",), wheels=(sent,))
        wrong = replace(order, requirements=("needed==3.0",))
        cases = [python_case("first", "work:use"), python_case("second", "work:use")]
        server.submit("e1", cases, files=[code, wheel], selector="machine=five", environment=order)
        server.submit("e2", cases[:1], files=[code, wheel], selector="machine=five", environment=wrong)
        results = server.wait_for("e1", 2).results
        [failed] = server.wait_for("e2", 1).results
        environments = agent.folder / "own" / "environments"
        # What the code imports is not here: it is planned there, too.
        packages = Surroundings(install=("needed==2.0",), wheels=wheel.parent)
        asked = LabRequest(selector="machine=five", environment=packages)
        quick = Load(samples=1, warmup=0.0, loops=1)
        planned = benchwright.run("work.py::use", lab=asked, load=quick, rounds=1, store=server.url)
        with pytest.raises(BenchwrightError, match=r"five: .*needed") as refused:
            benchwright.run("work.py::use", lab="machine=five", load=quick, store=server.url)
        assert agent.end() == 0
    assert planned.ok and planned.results[0].environment.system["host"] == {"name": "lab:five"}
    assert "--environment" in refused.value.remedy
    assert not server.store_do(lambda store: [run for run in store.run_ids() if run.startswith(PLAN)])
    assert [result.status for result in results] == [Status.OK] * 2, [result.error for result in results]
    assert failed.error is not None and failed.error.kind == "packages" and "needed==3.0" in failed.error.log_tail
    if not cells.why_not():
        assert [path.suffix for path in sorted(environments.iterdir())] == ["", ".json"]  # nothing of what failed
    with pytest.raises(AssertionError, match="is not among the files"):
        server.submit("e3", cases, files=[code], selector="machine=five", environment=order)


def test_an_agent_that_must_end_gives_back_what_it_cannot_finish(server: LabServer) -> None:
    with lab_agent(server, "two", "--allow", "/bin/sleep") as agent:
        server.await_machine("two")
        cases = [command_case("forbidden", "/bin/echo"), command_case("long", "/bin/sleep 600", timeout=900.0)]
        server.submit("r2", cases, selector="machine=two")
        _await_process("sleep 600")
        began = time.monotonic()
        agent.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert agent.end() == 0  # at the second signal it does not wait
        assert time.monotonic() - began < 20
    forbidden, long = server.jobs("r2")
    assert (forbidden.state, forbidden.avoid, forbidden.attempt) == (JobState.QUEUED, ("two",), 0)
    assert forbidden.reasons == ("two: the program '/bin/echo' is not on its list",)
    assert (long.state, long.attempt, long.reasons) == (JobState.QUEUED, 0, ("two: the agent ends",))
    assert not _find("sleep 600")
    server.ask("POST", "lab/submissions/r2/cancel", {})


def test_nothing_goes_on_when_an_agent_is_killed_and_its_job_is_given_out_again(server: LabServer) -> None:
    with lab_agent(server, "three") as agent:
        server.await_machine("three")
        server.submit("r3", [command_case("long", "/bin/sleep 601", timeout=900.0)], selector="machine=three")
        _await_process("sleep 601")
        agent.kill()
        end = time.monotonic() + 30
        while _find("sleep 601"):
            assert time.monotonic() < end
            time.sleep(0.1)
        agent.start()
        _await_process("sleep 601")
        [job] = server.jobs("r3")
        counted = (2, 0) if cells.why_not() else (1, 1)  # what is shut in a cell is not to blame
        assert (job.attempt, job.losses) == counted
        assert job.reasons == ("the agent of three was started anew",)
    server.ask("POST", "lab/submissions/r3/cancel", {})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--server", "http://bench.example/"], "--plain-http"),
        (["--server", "bench.example"], "no address"),
        (["--server", "https://127.0.0.1:1/", "--agent-name", "a/b"], "cannot be a machine's name"),
        (["--server", "https://127.0.0.1:1/", "--label", "a b=c"], "no label"),
        (["--server", "https://127.0.0.1:1/", "--token-file", "open.token"], "others can read"),
    ],
)
def test_what_cannot_be_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchwright.cli import main

    monkeypatch.chdir(tmp_path)
    Path("open.token").write_text("bw_x")
    Path("open.token").chmod(0o644)
    assert main(["agent", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_wrong_token_is_said_at_once(server: LabServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchwright.cli import main

    token = tmp_path / "wrong.token"
    token.touch(mode=0o600)
    words = ["agent", "--server", server.url, "--token-file", str(token), "--folder", str(tmp_path / "own")]
    for text, said in (("bw_nobodys", "this token is not known here"), (server.token("mia", "write"), "needs 'agent'")):
        token.write_text(text)
        assert main([*words, "--no-self-check", "--no-cells"]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.soak
def test_a_server_that_ends_answers_agents_that_wait_for_work(tmp_path: Path) -> None:
    with lab_server(tmp_path) as server:
        machine = {"agent": "a", "machines": [{"name": "a"}]}
        server.ask("POST", "lab/agents", machine, who="rack", scope="agent")
        told: list[object] = []
        wish = {"machine": "a", "wait": 20}
        asking = threading.Thread(
            target=lambda: told.append(server.ask("POST", "lab/claims", wish, who="rack", scope="agent"))
        )
        asking.start()
        time.sleep(1.0)
        assert server.process is not None
        server.process.terminate()
        server.process.wait(30)
        asking.join(30)
    assert told == [{"lease": None, "why": ""}]
    assert "Traceback" not in (tmp_path / "server.log").read_text()


def _await_process(line: str) -> None:
    end = time.monotonic() + 60
    while not _find(line):
        assert time.monotonic() < end
        time.sleep(0.1)


def _find(line: str) -> list[int]:
    """Processes whose command line holds these words."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if line.encode() in words and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found
