"""A machine that cannot measure rests, and says why: it must not use up the whole queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchwright.lab import job
from benchwright.lab.agent import Agent, AgentSettings
from benchwright.lab.client import Terms
from benchwright.lab.machines import MachineOffer
from benchwright.lab.parcels import LabParcel
from benchwright.lab.station import FIRST_REST, Station
from benchwright.records.lab import JobState, LabJob, LabLease, LabMachine, LabWork
from lab_server import command_case


class _Server:
    """Hears what an agent says."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def parcel(self, digest: str) -> LabParcel:
        return LabParcel()

    def give_back(self, fence: str, kind: str, reason: str) -> None:
        self.told.append((kind, reason))

    def claim(self, machine: str, *, trouble: str, wait: float) -> None:
        self.told.append(("claim", trouble))


def test_a_machine_that_cannot_measure_rests_longer_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server: Any = _Server()
    agent = Agent(server, AgentSettings(name="m", folder=tmp_path, cells=False), [])
    agent.terms = Terms(heartbeat=0.01, lease=60.0, poll=0.0)
    one = Station(agent, MachineOffer(machine=LabMachine(name="m", agent="m")))
    asked = LabJob(id=1, run="r", case="c", selector="*", state=JobState.LEASED, who="mia", parcel="p")
    lease = LabLease(job=asked, work=LabWork(case=command_case("c")), fence="1.1.a", until=0)
    now = 1000.0
    monkeypatch.setattr("benchwright.lab.station.time.monotonic", lambda: now)
    monkeypatch.setattr(job, "SPARE", 1 << 60)  # no disk has so much
    for rest in (FIRST_REST, 2 * FIRST_REST):
        one._work(lease)
        kind, reason = server.told.pop()
        assert kind == "failed" and reason.startswith("its disk is too full")
        one._claim()
        assert server.told.pop() == ("claim", f"it rests, since it could not measure its last job: {reason}")
        now += rest
        one._claim()
        assert server.told.pop() == ("claim", "")
