"""The lab's page: one word for each machine, the queue in its order, and why nothing is running."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchwright.pages.lab import lab_page, machine_line, submission_view
from benchwright.records.lab import DRAIN, RESERVATION, JobState, LabHold, LabJob, LabMachine, LabState, LabSubmission
from benchwright.records.machines import Quarantine

NOW = 1_800_000_000_000_000
SECOND = 1_000_000
RACK = LabMachine(name="rack7", agent="rack7", key="k7", facts={"cpu": "EPYC"}, seen_at=NOW - SECOND)
PHONE = LabMachine(name="pixel", agent="drawer", kind="phone", key="kp", seen_at=NOW - SECOND)


def _job(number: int, **changes: object) -> LabJob:
    usual = LabJob(
        id=number, run="r", case=f"case {number}", selector="*", state=JobState.QUEUED, who="ann", queued_at=NOW
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


LEASED = _job(1, state=JobState.LEASED, leased_to="rack7", since=NOW - 5 * SECOND, attempt=1, phase="round 2")


@pytest.mark.parametrize(
    ("machine", "changes", "expected"),
    [
        (RACK, {}, "free"),
        (RACK, {"jobs": (LEASED,)}, "busy"),
        (RACK, {"holds": (LabHold(machine="rack7", kind=DRAIN, who="bo", reason="fan"),)}, "drained"),
        (RACK, {"holds": (LabHold(machine="rack7", kind=DRAIN, who="bo"),), "jobs": (LEASED,)}, "draining"),
        (RACK, {"holds": (LabHold(machine="rack7", kind=DRAIN, who="bo", until=NOW - 1),)}, "free"),
        (RACK, {"holds": (LabHold(machine="rack7", kind=RESERVATION, who="bo"),)}, "reserved"),
        (RACK, {"quarantines": (Quarantine(machine="k7", since=NOW - 1, reason="slow"),)}, "quarantined"),
        (RACK, {"quarantines": (Quarantine(machine="kp", since=NOW - 1),)}, "free"),
        (replace(RACK, seen_at=NOW - 600 * SECOND), {}, "away"),
        (replace(RACK, is_offered=False), {}, "away"),
        (replace(RACK, trouble="disk full"), {}, "troubled"),
    ],
)
def test_a_machine_is_described_by_one_word(machine: LabMachine, changes: dict[str, object], expected: str) -> None:
    state = replace(LabState(machines=(machine,)), **changes)  # type: ignore[arg-type]
    assert machine_line(state, machine.name, now=NOW).state == expected


def test_a_machine_that_is_away_still_tells_what_holds_it() -> None:
    away = replace(RACK, is_offered=False)
    held = Quarantine(machine="k7", since=NOW - 1, reason="slow", who="bo")
    line = machine_line(LabState(machines=(away,), quarantines=(held,)), "rack7", now=NOW)
    assert (line.state, line.reason, line.who) == ("away", "slow", "bo")


def test_a_busy_machine_tells_what_it_measures_since_when_and_for_whom() -> None:
    page = lab_page(LabState(machines=(RACK, PHONE), jobs=(LEASED, _job(2))), now=NOW)
    rack, phone = page.machines
    assert rack.job is not None
    assert (rack.job.case, rack.job.who, rack.job.phase) == ("case 1", "ann", "round 2")
    assert rack.job.leased_at == (NOW - 5 * SECOND) // 1000
    assert phone.job is None
    assert page.why == ""


def test_why_nothing_is_running_is_why_the_first_job_waits() -> None:
    drained = LabHold(machine="rack7", kind=DRAIN, who="bo", reason="new fan")
    page = lab_page(LabState(machines=(RACK,), holds=(drained,), jobs=(_job(1), _job(2))), now=NOW)
    assert "rack7 is drained by bo" in page.why
    assert "new fan" in page.why
    assert [job.id for job in page.queue] == ["1", "2"]
    assert page.queued == 2


def test_an_idle_lab_has_nothing_to_explain() -> None:
    page = lab_page(LabState(machines=()), now=NOW)
    assert (page.machines, page.queue, page.queued, page.why) == ((), (), 0, "")


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("QUEUED QUEUED", "queued"),
        ("QUEUED DONE", "running"),
        ("LEASED", "running"),
        ("DONE DONE", "done"),
        ("DONE FAILED", "failed"),
        ("DONE CANCELLED FAILED", "cancelled"),
    ],
)
def test_a_submission_is_as_far_as_its_jobs_are(states: str, expected: str) -> None:
    jobs = [_job(i, state=JobState[name], leased_to="rack7") for i, name in enumerate(states.split())]
    told = LabSubmission(run="r", who="ann", at=NOW, selector="*")
    view = submission_view(told, jobs, LabState(machines=(RACK,), jobs=tuple(jobs)), now=NOW)
    assert view.state == expected
    assert [job.state for job in view.jobs] == [name.lower() for name in states.split()]


def test_a_job_that_was_given_back_tells_why() -> None:
    job = _job(3, attempt=1, reasons=("rack7 was lost",))
    view = submission_view(
        LabSubmission(run="r", who="ann", at=NOW, selector="*"), [job], LabState(machines=(RACK,), jobs=(job,)), now=NOW
    )
    assert view.jobs[0].reason.endswith("before: rack7 was lost")
    ended = replace(job, state=JobState.FAILED)
    view = submission_view(
        LabSubmission(run="r", who="ann", at=NOW, selector="*"), [ended], LabState(machines=()), now=NOW
    )
    assert view.jobs[0].reason == "rack7 was lost"
