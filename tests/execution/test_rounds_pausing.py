"""Rests between measurements, and what a door keeps with each result."""

from __future__ import annotations

import _thread
from dataclasses import replace

from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Status, Target

CASES = [
    Case(name=name, target=Target(runtime="fake", uri="fake:constant?ms=1"), load=Load(samples=3, warmup=0.0))
    for name in "abc"
]


def test_a_rest_before_every_case_but_the_first_and_notes_with_each() -> None:
    asked: list[str] = []

    def pause(case: Case) -> float:
        asked.append(case.name)
        return 0.0

    plan = Plan(cases=CASES, rounds=1, monitors=(), pause=pause, notes=lambda case: {"mine": case.name})
    run = execute(plan)
    assert asked == ["b", "c"]
    assert [result.details["mine"] for result in run.results] == ["a", "b", "c"]
    assert all("device" in result.details for result in run.results)


def test_ctrl_c_ends_a_rest_and_the_others_are_skipped() -> None:
    def pause(case: Case) -> float:
        _thread.interrupt_main()
        return 60.0

    run = execute(Plan(cases=[replace(case) for case in CASES], rounds=1, monitors=(), pause=pause))
    assert [result.status for result in run.results] == [Status.OK, Status.SKIPPED, Status.SKIPPED]
