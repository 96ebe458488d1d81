"""What several threads do at the same time, done at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from benchwright.errors import StoreError
from benchwright.records import Result, Run
from benchwright.store.sql import SqlStore
from benchwright.store.sql.group_commit import CommitJob, GroupCommit

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]


class Slow:
    """Work whose first batch lasts until all others wait."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.together = GroupCommit(self.do)

    def do(self, jobs: Sequence[CommitJob[str]]) -> None:
        self.batches.append([job.work for job in jobs])
        self.begun.set()
        assert self.go_on.wait(30)
        for job in jobs:
            if job.work == "bad":
                job.error = StoreError("refused")
            elif job.work == "worse":
                raise KeyError(job.work)
            else:
                job.done = True


def _wait_for(together: GroupCommit[Any], count: int) -> None:
    for _ in range(3000):
        if len(together._waiting) == count:
            return
        threading.Event().wait(0.01)
    raise TimeoutError(f"{len(together._waiting)} wait")


def test_those_who_come_meanwhile_are_done_at_once_each_with_its_own_outcome() -> None:
    slow = Slow()
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(slow.together, "a", "a")
        assert slow.begun.wait(30)
        rest: list[Future[bool]] = []
        for number, (name, work) in enumerate([("b", "b"), ("c", "bad"), ("b", "b again"), ("d", "d")], 1):
            rest.append(threads.submit(slow.together, name, work))
            _wait_for(slow.together, number)
        slow.go_on.set()
        assert first.result(30)
        with pytest.raises(StoreError, match="refused"):
            rest.pop(1).result(30)
        assert [one.result(30) for one in rest] == [True] * 3
    assert slow.batches == [["a"], ["b", "bad", "d"], ["b again"]]  # of one name only one at a time


def test_work_that_fails_as_a_whole_is_told_to_all_and_others_go_on() -> None:
    slow = Slow()
    slow.go_on.set()
    with pytest.raises(KeyError):
        slow.together("a", "worse")
    assert slow.together("a", "a")


def test_a_transaction_that_one_spoils_is_repeated_for_the_others(
    store: SqlStore, make_run: MakeRun, make_result: MakeResult
) -> None:
    store.put_run(replace(make_run("run-1"), results=()))
    good, bad = make_result("good"), replace(make_result("bad"), round=2**70)  # no database has such numbers
    begun, go_on, commits = threading.Event(), threading.Event(), list[int]()

    @event.listens_for(store._engine, "commit")
    def hold(_: object) -> None:
        commits.append(1)
        begun.set()
        assert go_on.wait(30)

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(store.put, "run-1", make_result("first"))
        assert begun.wait(30)
        others = [threads.submit(store.put, "run-1", result) for result in (good, bad)]
        _wait_for(store._together, 2)
        go_on.set()
        assert first.result(30)
        assert others[0].result(30)
        with pytest.raises((StoreError, OverflowError)):
            others[1].result(30)
    assert {result.id for result in store.run("run-1").results} == {"first", "good"}
