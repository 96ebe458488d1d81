"""The lab's queue: jobs are given out once, come back when nobody is heard, and are delivered under one fence alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchwright.errors import LeaseError, OptionError, StoreError
from benchwright.records import Case, Result, Revision, Run, Status, Target
from benchwright.records.lab import (
    ABSENT,
    CONTROLLER,
    DRAIN,
    PLAN,
    RESERVATION,
    SECOND,
    JobState,
    LabHold,
    LabMachine,
    LabSubmission,
    LabWork,
)
from benchwright.records.machines import Quarantine
from benchwright.store.sql import SqlStore, lab_rows
from benchwright.store.sql.lab_leases import FAILED, LEASE, MOST_ATTEMPTS, MOST_LOSSES, REFUSED, REST, RETURNED, STICKY
from benchwright.store.sql.lab_queue import NewJob

NOW = 1_800_000_000 * SECOND
AGENT = "rack"  # the token of the agents


def _case(name: str) -> Case:
    return Case(name=name, target=Target(runtime="command", uri="true"), params={"name": name})


def _machine(name: str, **words: Any) -> LabMachine:
    facts = {"cpu": "AMD EPYC 7B13", "cores": "64", "os": "Linux"}
    return LabMachine(name=name, agent=name, key=f"key of {name}", facts={**facts, **words})


def _offer(store: SqlStore, *names: str, now: int = NOW) -> None:
    store.lab.register([_machine(name) for name in names], who=AGENT, now=now)


def _submit(
    store: SqlStore,
    *names: str,
    run: str = "r1",
    selector: str = "*",
    priority: int = 0,
    who: str = "mia",
    now: int = NOW,
) -> list[int]:
    submission = LabSubmission(run=run, who=who, at=now, selector=selector, priority=priority)
    jobs = [NewJob(work=LabWork(case=_case(name), rounds=1), parcel="p") for name in names]
    header = Run(id=run, started_at="2026-03-01T10:00:00+00:00", harness="1")
    return store.lab.submit(header, submission, jobs, {"p": "{}"}, now=now)


def _claim(store: SqlStore, machine: str, now: int = NOW) -> Any:
    return store.lab.claim(machine, who=AGENT, now=now)


def _result(lease: Any, make_result: Callable[..., Result], **words: Any) -> Result:
    found = make_result("any", **words)
    where = replace(
        found.environment, system={**found.environment.system, "host": {"name": f"lab:{lease.job.leased_to}"}}
    )
    name = f"{lease.job.run}-{lease.job.id}.{lease.job.attempt}-0"
    return replace(found, id=name, case=lease.work.case, environment=where)


def test_a_job_goes_to_one_machine_and_its_results_into_the_run(
    store: SqlStore, make_result: Callable[..., Result]
) -> None:
    _offer(store, "a", "b")
    assert len(_submit(store, "one", "two")) == 2
    first, second = _claim(store, "a"), _claim(store, "b")
    assert [first.work.case.name, second.work.case.name] == ["one", "two"]
    assert first.fence != second.fence and first.job.state is JobState.LEASED
    _offer(store, "c")
    assert not store.lab.has_work("c", now=NOW) and _claim(store, "c") is None
    done = _result(first, make_result)
    assert store.lab.deliver(first.fence, [done], who=AGENT, now=NOW + 3 * SECOND)[1]
    assert not store.lab.deliver(first.fence, [done], who=AGENT, now=NOW + 4 * SECOND)[1]  # the answer got lost
    assert [result.id for result in store.run("r1").results] == [done.id]
    assert [job.state for job in store.lab.jobs("r1")] == [JobState.DONE, JobState.LEASED]


def test_a_machine_that_did_not_hear_of_its_job_is_told_again(store: SqlStore) -> None:
    _offer(store, "a")
    _submit(store, "one", "two")
    first = _claim(store, "a")
    again = _claim(store, "a", NOW + SECOND)
    assert (again.fence, again.job.id) == (first.fence, first.job.id)
    assert again.until > first.until


def test_a_lease_without_a_word_ends_and_the_late_agent_is_refused(
    store: SqlStore, make_result: Callable[..., Result]
) -> None:
    _offer(store, "a", "b")
    _submit(store, "one")
    lost = _claim(store, "a")
    later = store.lab.beat(lost.fence, who=AGENT, now=NOW + 30 * SECOND, phase="round 1").until
    assert store.lab.sweep(now=later) == []
    assert [job.id for job in store.lab.sweep(now=later + 1)] == [lost.job.id]
    with pytest.raises(LeaseError, match="time is over"):
        store.lab.beat(lost.fence, who=AGENT, now=later + 2)
    new = _claim(store, "b", later + 2)
    assert new.job.attempt == 2 and "nothing more was heard of a" in new.job.reasons[0]
    with pytest.raises(LeaseError):
        store.lab.deliver(lost.fence, [_result(lost, make_result)], who=AGENT, now=later + 3)
    assert store.run("r1").results == ()
    assert store.lab.deliver(new.fence, [_result(new, make_result)], who=AGENT, now=later + 4)[1]
    assert len(store.run("r1").results) == 1


def test_what_is_lost_too_often_becomes_a_record_with_every_reason(store: SqlStore) -> None:
    _offer(store, "a")
    _submit(store, "one")
    now = NOW
    for _ in range(MOST_ATTEMPTS):
        assert _claim(store, "a", now) is not None
        now += int((LEASE + 1) * SECOND)
        store.lab.sweep(now=now)
    [job] = store.lab.jobs("r1")
    assert (job.state, len(job.reasons)) == (JobState.FAILED, MOST_ATTEMPTS)
    [record] = store.run("r1").results
    assert record.status is Status.FAILED and record.error.kind == "lost"
    assert record.error.message.count("nothing more was heard of a") == MOST_ATTEMPTS
    assert _claim(store, "a", now) is None


def test_an_agent_that_was_killed_gives_back_what_it_does_not_hold(store: SqlStore) -> None:
    _offer(store, "a", "b")
    _submit(store, "one", "two")
    first, second = _claim(store, "a"), _claim(store, "b")
    lost = store.lab.register([_machine("a")], who=AGENT, now=NOW + SECOND)
    assert [job.id for job in lost] == [first.job.id]
    assert store.lab.register([_machine("b")], who=AGENT, now=NOW + SECOND, holding=[second.fence]) == []
    _submit(store, "three", run="r2")
    again = [_claim(store, "a", NOW + SECOND) for _ in range(2)]
    assert again[0].work.case.name == "three" and again[1].fence == again[0].fence  # what was lost here is for others
    store.lab.cancel("r2", who="mia", now=NOW)
    assert _claim(store, "a", NOW + SECOND).job.attempt == 2


def test_an_agent_that_was_killed_while_its_machine_was_well_costs_no_attempt(store: SqlStore) -> None:
    _offer(store, "a")
    _submit(store, "one")
    for losses in range(MOST_LOSSES + 1):
        lease = _claim(store, "a")
        assert (lease.job.attempt, lease.job.losses) == (1, losses)
        store.lab.register([_machine("a")], who=AGENT, now=NOW, unharmed=["a", "b"])
    [job] = store.lab.jobs("r1")  # something about it kills agents all the same
    assert job.state is JobState.FAILED and store.run("r1").results[0].error.kind == "lost"
    assert not store.lab.is_open("r1")


def test_a_plan_is_answered_under_its_fence_and_makes_no_run(
    store: SqlStore, make_result: Callable[..., Result]
) -> None:
    _offer(store, "a", "b")
    job = NewJob(work=LabWork(case=_case("plan bench.py"), rounds=1, planning={"targets": ["bench.py"]}), parcel="p")
    for number in (1, 2, 3):
        asked = LabSubmission(run=f"{PLAN}{number}", who="mia", at=NOW, selector="*")
        assert store.lab.submit_plan(asked, job, {"p": "{}"}, now=NOW) == [number]
        assert store.lab.submit_plan(asked, job, {"p": "{}"}, now=NOW) == [number]  # the answer got lost
    lease = _claim(store, "a")
    with pytest.raises(OptionError, match="this job plans"):
        store.lab.deliver(lease.fence, [_result(lease, make_result)], who=AGENT, now=NOW)
    for _ in range(2):
        assert store.lab.answer(lease.fence, '{"cases": []}', who=AGENT, now=NOW).state is JobState.DONE
    assert (store.lab.answer_of(f"{PLAN}1"), store.lab.answer_of(f"{PLAN}2")) == ('{"cases": []}', "")
    assert store.lab.jobs(f"{PLAN}2")[0].prefers == ""  # whoever is free plans
    assert store.lab.cancel(f"{PLAN}2", who="mia", now=NOW) == 1
    now = NOW
    for _ in range(MOST_ATTEMPTS):
        assert _claim(store, "b", now).job.run == f"{PLAN}3"
        now += int((LEASE + 1) * SECOND)
        store.lab.sweep(now=now)
    assert store.lab.jobs(f"{PLAN}3")[0].state is JobState.FAILED and store.runs_page(limit=5) == []


def test_a_control_is_begun_once_whoever_looks(store: SqlStore) -> None:
    _offer(store, "a")
    [machine] = store.lab.machines()
    assert machine.control_at == 0
    assert store.lab.begin_control(machine, now=NOW)
    assert not store.lab.begin_control(machine, now=NOW + 1)  # another server looked at the same time
    _offer(store, "a")
    assert store.lab.machine("a").control_at == NOW


def test_priority_comes_first_then_age(store: SqlStore) -> None:
    _offer(store, "a", "b", "c")
    _submit(store, "old", run="r1")
    _submit(store, "urgent", run="r2", priority=10)
    _submit(store, "last", run="r3")
    assert store.lab.set_priority("r3", 5) == 1
    assert [_claim(store, name).work.case.name for name in "abc"] == ["urgent", "last", "old"]


def test_only_a_machine_that_is_meant_gets_a_job(store: SqlStore) -> None:
    store.lab.register([_machine("a"), _machine("b", cpu="Apple M2")], who=AGENT, now=NOW)
    _submit(store, "one", selector="cpu=*apple*")
    _submit(store, "two", run="r2", selector="cpu=*apple*")
    _submit(store, "three", run="r3", selector="cores=8")
    assert _claim(store, "a") is None
    assert _claim(store, "b").work.case.name == "one"
    with store.lab._reading() as connection:
        assert [*lab_rows.waiting_selectors(connection)] == ["cores=8", "cpu=*apple*"]


def test_a_case_waits_for_its_machine_but_not_for_long(store: SqlStore, make_result: Callable[..., Result]) -> None:
    _offer(store, "a", "b")
    _submit(store, "one")
    before = _claim(store, "a")
    store.lab.deliver(before.fence, [_result(before, make_result)], who=AGENT, now=NOW + 7 * SECOND)
    now = NOW + 10 * SECOND
    _submit(store, "one", run="r2", now=now)
    [job] = store.lab.jobs("r2")
    assert (job.prefers, job.expected) == ("a", 7.0)
    assert _claim(store, "b", now) is None  # it is a's, which is free
    late = now + int((STICKY + 1) * SECOND)
    assert _claim(store, "b", late) is not None
    store.lab.cancel("r2", who="mia", now=late)
    _submit(store, "one", run="r3", now=late)
    gone = late + int((ABSENT - STICKY - 2) * SECOND)  # a was heard of last when it delivered
    assert _claim(store, "b", gone) is not None


def test_holds_and_quarantine_keep_jobs_away(store: SqlStore) -> None:
    _offer(store, "a")
    _submit(store, "one")
    store.lab.hold(LabHold(machine="a", kind=DRAIN, who="ops", reason="new fan", since=NOW))
    assert _claim(store, "a") is None
    assert store.lab.unhold("a", DRAIN) and not store.lab.unhold("a", DRAIN)
    until = NOW + 60 * SECOND
    store.quarantine(Quarantine(machine="key of a", since=NOW - 1, until=until, reason="slow", who="ops", made_at="-"))
    assert _claim(store, "a") is None
    assert _claim(store, "a", until) is not None


def test_a_reserved_machine_works_for_one_alone(store: SqlStore) -> None:
    _offer(store, "a")
    _submit(store, "hers", run="r1", who="mia")
    _submit(store, "his", run="r2", who="leo")
    until = NOW + 60 * SECOND
    store.lab.hold(LabHold(machine="a", kind=RESERVATION, who="leo", since=NOW, until=until))
    mine = _claim(store, "a")
    assert mine.work.case.name == "his"
    store.lab.give_back(mine.fence, who=AGENT, now=NOW, kind=RETURNED, reason="the agent ends")
    store.lab.cancel("r2", who="leo", now=NOW)
    assert _claim(store, "a") is None
    assert _claim(store, "a", until).work.case.name == "hers"


def test_what_a_machine_refuses_is_for_others(store: SqlStore) -> None:
    _offer(store, "a", "b")
    _submit(store, "one")
    refused = _claim(store, "a")
    store.lab.give_back(refused.fence, who=AGENT, now=NOW, kind=REFUSED, reason="true is not on its list")
    assert _claim(store, "a") is None
    taken = _claim(store, "b")
    assert taken.job.attempt == 1 and taken.job.avoid == ("a",)


def test_cancelling_ends_what_waits_and_what_is_measured(store: SqlStore, make_result: Callable[..., Result]) -> None:
    _offer(store, "a")
    _submit(store, "one", "two")
    lease = _claim(store, "a")
    assert store.lab.cancel("r1", who="mia", now=NOW, reason="wrong model") == 2
    assert store.lab.cancel("r1", who="mia", now=NOW) == 0
    with pytest.raises(LeaseError, match="cancelled"):
        store.lab.deliver(lease.fence, [_result(lease, make_result)], who=AGENT, now=NOW)
    assert {result.error.kind for result in store.run("r1").results} == {"cancelled"}
    assert {result.status for result in store.run("r1").results} == {Status.SKIPPED}


def test_other_tokens_cannot_speak_for_a_machine(store: SqlStore, make_result: Callable[..., Result]) -> None:
    _offer(store, "a")
    _submit(store, "one")
    lease = _claim(store, "a")
    with pytest.raises(LeaseError, match="another agent"):
        store.lab.claim("a", who="thief", now=NOW)
    with pytest.raises(LeaseError, match="another agent"):
        store.lab.deliver(lease.fence, [_result(lease, make_result)], who="thief", now=NOW)
    with pytest.raises(LeaseError, match="another agent offers"):
        store.lab.register([_machine("a")], who="thief", now=NOW)
    foreign = replace(_result(lease, make_result), case=_case("another"))
    with pytest.raises(OptionError, match="another case"):
        store.lab.deliver(lease.fence, [foreign], who=AGENT, now=NOW)


def test_an_agent_delivers_results_of_its_own_job_and_machine_alone(
    store: SqlStore, make_result: Callable[..., Result]
) -> None:
    _offer(store, "a", "b")
    _submit(store, "one", "two")
    lease, other = _claim(store, "a"), _claim(store, "b")
    own = _result(lease, make_result)
    bare = replace(own.environment, system={"os": "Linux"})
    rack = replace(own.environment, system={"os": "Linux", "host": {"name": "lab:b"}})
    for forged, said in (
        ([replace(own, id=_result(other, make_result).id)], "ids of others"),
        ([own, own], "ids of others"),
        ([replace(own, id=f"{own.id}{number}", round=number) for number in range(5)], "5 results of 1 rounds"),
        ([replace(own, environment=rack)], "not told to be of a"),
        ([replace(own, environment=bare)], "not told to be of a"),
    ):
        with pytest.raises(OptionError, match=said):
            store.lab.deliver(lease.fence, forged, who=AGENT, now=NOW)
    assert store.run("r1").results == ()
    spoilt = replace(own, case=replace(own.case, tags=("forged",)), revision=Revision(vcs="git", id="f" * 40))
    store.lab.deliver(lease.fence, [spoilt], who=AGENT, now=NOW)
    [kept] = store.run("r1").results
    assert kept.case == lease.work.case and kept.revision is None
    lost = replace(_result(other, make_result), metrics=(), status=Status.FAILED, environment=bare)
    assert store.lab.deliver(other.fence, [lost], who=AGENT, now=NOW)[1]  # nobody knows where it would have been


def test_a_name_stays_with_its_token_until_that_is_revoked_or_the_machine_forgotten(store: SqlStore) -> None:
    store.token_add(AGENT, "agent")
    _offer(store, "a", "b")
    later = NOW + int(10 * ABSENT) * SECOND
    store.lab.leave(["a"], who=AGENT)
    with pytest.raises(LeaseError, match="was offered with the token 'rack'"):
        store.lab.register([_machine("a")], who="thief", now=later)
    assert store.lab.forget("b")
    store.lab.register([_machine("b")], who="other", now=later)
    store.token_drop(AGENT)
    store.lab.register([_machine("a")], who="other", now=later)
    assert {machine.who for machine in store.lab.machines()} == {"other"}


def test_a_machine_that_could_not_measure_a_job_is_not_given_it_again_at_once(store: SqlStore) -> None:
    _offer(store, "a", "b")
    _submit(store, "one", "two")
    store.lab.give_back(_claim(store, "a").fence, who=AGENT, now=NOW, kind=FAILED, reason="its disk is full")
    assert _claim(store, "a").work.case.name == "two"  # not the same one
    store.lab.give_back(_claim(store, "a").fence, who=AGENT, now=NOW, kind=FAILED, reason="its disk is full")
    assert _claim(store, "a") is None and not store.lab.has_work("a", now=NOW)
    assert _claim(store, "b").work.case.name == "one"  # who is well may begin
    assert _claim(store, "a", now=NOW + int(REST * SECOND)).work.case.name == "two"


def test_nobodys_title_makes_a_job_a_control(store: SqlStore) -> None:
    _offer(store, "a")
    store.lab.hold(LabHold(machine="a", kind=RESERVATION, who="leo", until=NOW + 60 * SECOND))
    for number, title in enumerate(("MACHINE CONTROL: mine", " machine control: mine")):
        _submit(store, title, run=f"r{number}")
    assert _claim(store, "a") is None
    _submit(store, "machine control: integer", run="c1", who=CONTROLLER)
    assert _claim(store, "a").job.run == "c1"


def test_submitting_the_same_again_changes_nothing(store: SqlStore) -> None:
    first = _submit(store, "one", "two")
    assert _submit(store, "one", "two") == first
    with pytest.raises(OptionError, match="there already"):
        _submit(store, "one", who="somebody else")
    with pytest.raises(StoreError, match="no machine"):
        _claim(store, "nobody")


def test_a_server_that_was_away_gives_every_lease_its_time(store: SqlStore) -> None:
    _offer(store, "a")
    _submit(store, "one")
    lease = _claim(store, "a")
    back = lease.until + 100 * SECOND
    store.lab.renew_all(now=back)
    assert store.lab.sweep(now=back + SECOND) == []
    assert store.lab.beat(lease.fence, who=AGENT, now=back + SECOND).until > back


def test_machines_that_ask_at_once_get_different_jobs(store: SqlStore, make_result: Callable[..., Result]) -> None:
    names = [f"m{i}" for i in range(3)]
    _offer(store, *names)
    _submit(store, *(f"case {i}" for i in range(12)))
    given: list[int] = []

    def work(name: str) -> None:
        while (lease := _claim(store, name)) is not None:
            given.append(lease.job.id)
            store.lab.deliver(lease.fence, [_result(lease, make_result)], who=AGENT, now=NOW)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({*given}) == len(given) == len(store.run("r1").results) == 12
