"""Why a job waits, where it stands, and how long that may take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchwright.lab.delays import explain, position_text
from benchwright.records.lab import DRAIN, RESERVATION, SECOND, JobState, LabHold, LabJob, LabMachine, LabState, Waiting
from benchwright.records.machines import Quarantine

NOW = 1_800_000_000 * SECOND  # 2027-01-15 08:00 UTC
A = LabMachine(name="a", agent="a", key="ka", facts={"cpu": "AMD EPYC"}, seen_at=NOW)
B = LabMachine(name="b", agent="b", key="kb", facts={"cpu": "Apple M2"}, seen_at=NOW)


def _job(number: int, selector: str = "*", **words: Any) -> LabJob:
    usual = {"run": "r1", "case": f"c{number}", "state": JobState.QUEUED, "who": "mia", "queued_at": NOW}
    return LabJob(id=number, selector=selector, **{**usual, **words})


def _why(job: LabJob, *machines: LabMachine, **words: Any) -> str:
    return explain(LabState(machines=machines, jobs=(job,), **words), now=NOW)[job.id].why


def test_what_keeps_machines_from_a_job() -> None:
    assert "benchwright agent" in _why(_job(1))
    wanted = _why(_job(1, "cpu=*Xeon*"), A, B)
    assert wanted.startswith("no machine matches cpu=*Xeon*; nearest: a, but for cpu=*Xeon* (it is AMD EPYC)")
    drained = LabHold(machine="a", kind=DRAIN, who="ops", reason="new fan")
    assert _why(_job(1), A, holds=(drained,)) == "a is drained by ops: new fan"
    reserved = LabHold(machine="a", kind=RESERVATION, who="leo", until=NOW + 9 * 3600 * SECOND)
    assert _why(_job(1), A, holds=(reserved,)) == "a is reserved by leo until 2027-01-15 17:00 UTC"
    assert _why(_job(1, who="leo"), A, holds=(reserved,)) == "a takes it next"
    ill = Quarantine(machine="ka", since=0, reason="12 % slower than before")
    assert _why(_job(1), A, quarantines=(ill,)) == "a is in quarantine: 12 % slower than before"
    assert _why(_job(1), replace(A, seen_at=NOW - 600 * SECOND)) == "nothing was heard of a for 10 min"
    assert _why(_job(1), replace(A, is_offered=False)) == "the agent of a has ended"
    assert _why(_job(1), replace(A, trouble="its disk is full")) == "a takes no work: its disk is full"
    back = _job(1, leased_to="a", attempt=1, until=NOW + 30 * SECOND)
    assert _why(back, A) == "a gets it again in 30 s"
    assert _why(back, A, B) == "b takes it next"
    refused = _job(1, avoid=("a",), reasons=("a: runtime onnxruntime is not on its list",))
    assert "onnxruntime is not on its list" in _why(refused, A)


def test_position_and_time_come_from_what_is_before() -> None:
    busy = _job(1, state=JobState.LEASED, leased_to="a", since=NOW - 40 * SECOND, expected=100.0)
    waiting = [_job(2, expected=30.0), _job(3, "cpu=*EPYC*", expected=30.0), _job(4, "cpu=*Apple*")]
    found = explain(LabState(machines=(A,), jobs=(busy, *waiting[:2])), now=NOW)
    assert [(found[i].position, found[i].seconds) for i in (2, 3)] == [(1, 60.0), (2, 90.0)]
    assert found[2].why == "every machine that fits is at work: a"
    two = explain(LabState(machines=(A, B), jobs=(busy, *waiting)), now=NOW)
    assert two[4].position == 2  # the one that any machine takes is before it, the other machine's is not
    assert position_text(Waiting(position=3, seconds=240.0, why="")) == "3rd, about 4 min"
    assert position_text(Waiting(position=11, seconds=None, why="")) == "11th"
