"""Many jobs while agents and the server are killed: none is lost, none is measured twice into the same run."""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from benchwright.records import Status
from benchwright.records.lab import JobState
from lab_server import LabAgent, LabServer, lab_server, python_case

AGENTS = 4
JOBS = 200
KILL_EVERY = 4.0  # seconds
SERVER_KILLS = 2
PATIENCE = 1500.0


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_no_job_is_lost_or_delivered_twice_while_agents_and_the_server_are_killed(tmp_path: Path) -> None:
    with lab_server(tmp_path, lease=6.0) as server, contextlib.ExitStack() as ending:
        agents = [LabAgent(server, f"m{number}") for number in range(AGENTS)]
        for agent in agents:
            agent.start()
            ending.callback(agent.stop)
        server.await_machine(*(agent.name for agent in agents))
        code = tmp_path / "work.py"
        code.write_text("def work():\n    return sum(range(1000))\n")
        cases = [python_case(f"case {number}", "work:work") for number in range(JOBS)]
        server.submit("r1", cases, files=[code])
        _stir(server, agents)
        run = server.wait_for("r1", JOBS, PATIENCE)
        for agent in agents:
            assert agent.end() == 0
    jobs = server.jobs("r1")
    told = Counter(result.case.name for result in run.results)
    assert len(told) == JOBS and {*told.values()} == {1}, [name for name, count in told.items() if count != 1]
    assert {job.state for job in jobs} == {JobState.DONE}
    assert {result.status for result in run.results} == {Status.OK}
    assert sum(job.losses for job in jobs) > 0  # some were under way when their agent was killed


def _stir(server: LabServer, agents: list[LabAgent]) -> None:
    """Kills an agent every few seconds, and the server twice, until most jobs have ended."""
    drawn, kills, began = random.Random(7), 0, time.monotonic()
    while time.monotonic() - began < PATIENCE:
        time.sleep(KILL_EVERY)
        left = sum(job.state.is_open for job in server.jobs("r1"))
        if left < AGENTS:
            return
        one = drawn.choice(agents)
        if one.process.poll() is None:
            one.kill()
        one.start()
        kills += 1
        if kills in (3, 8) and kills // 5 < SERVER_KILLS:
            server.kill()
            time.sleep(2.0)
            server.start()
