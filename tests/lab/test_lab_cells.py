"""Cells: what a job leaves in one does not steer how the next is made, nor what it says which machine it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright import schema
from benchwright.lab import cells
from benchwright.lab.job_host import JobHost
from benchwright.lab.machines import this_machine
from benchwright.lab.parcels import LabParcel
from benchwright.records import Environment
from benchwright.worker.channel import Frame


@pytest.mark.skipif(bool(cells.why_not()), reason="no cells here")
def test_a_cell_is_never_made_of_what_a_job_left(tmp_path: Path) -> None:
    home, outside = tmp_path / "agent", tmp_path / "outside"
    for folder in (home / "outpost" / "files", home / "jobs" / "f", outside):
        folder.mkdir(parents=True)
    plan = cells.CellPlan(
        name="m", folder=home / "jobs" / "f", hidden=home, home=home / "outpost", digests=(), closed=True
    )
    with cells.opened(plan) as connect:
        first = connect(lambda text: None)
        first.close()
        own = plan.folder / "1"
        (own / "tmp").rename(own / "before")
        (own / "tmp").symlink_to(outside)  # as a job could: a cell made of it would let the next write there
        second = connect(lambda text: None)
        second.close()
        assert not own.exists() and (plan.folder / "2" / "tmp").is_dir()
        assert not (plan.folder / "2" / "tmp").is_symlink() and not any(outside.iterdir())


def test_which_machine_it_is_is_told_by_the_agent_not_by_what_comes_out_of_a_cell() -> None:
    here = Environment(machine={"cpu": "EPYC", "cores": 2}, system={"os": "Linux", "architecture": "x86_64"})
    offer = this_machine("rack7", {}, here)
    never: Any = None
    host = JobHost("rack7", never, LabParcel(), system=offer.system, known=offer.known)
    forged = replace(here, machine={"cpu": "other"}, system={"os": "Plan 9", "image": {"name": "x"}, "kernel": "6.1"})
    host._learn(Frame(kind="environment", data=schema.encode(replace(forged, packages={"numpy": "2.0"}))))
    found = host.last_environment
    assert found is not None and schema.environment_key(found) == offer.machine.key
    assert found.packages == {"numpy": "2.0"} and found.system["kernel"] == "6.1"
