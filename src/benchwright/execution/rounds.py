"""Cases × rounds become results: one fresh process each, interleaved, saved one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchwright.events import ExpectedTime, Listener, Planned, nobody
from benchwright.execution import precision
from benchwright.execution.plans import in_rounds
from benchwright.execution.saver import ResultSink
from benchwright.execution.session import (
    ARTIFACTS,
    DEFAULT_ROUNDS,
    MONITORS,
    MORE,
    Measuring,
    Plan,
    Setting,
    new_run,
    new_run_id,
    now,
)
from benchwright.records import Case, Run

__all__ = [
    "ARTIFACTS",
    "DEFAULT_ROUNDS",
    "MONITORS",
    "Measuring",
    "Plan",
    "Setting",
    "execute",
    "new_run",
    "new_run_id",
    "now",
    "order_attempts",
]


def execute(
    plan: Plan,
    open_store: Callable[[], ResultSink] | None = None,
    listener: Listener = nobody,
    *,
    looks_ready: Callable[[], bool] = lambda: False,
) -> Run:
    """Measures every case in every round and returns the whole run.

    Rounds are interleaved over the cases, so that a machine that changes meanwhile changes for all of them. Each result
    is saved as soon as there is one. An unusable store raises before anything is measured; `looks_ready` may say that
    the store need not be opened to know that it will do.
    """
    if plan.hosts:
        from benchwright.execution import lanes

        return lanes.execute(plan, order_attempts, open_store, listener, looks_ready=looks_ready)
    measuring = Measuring(plan, open_store, listener, looks_ready=looks_ready)
    listener(Planned(total=sum(1 for _ in _plan_attempts(measuring))))
    if ahead := _estimate_time(measuring):
        listener(ahead)
    with measuring:
        planned = order_attempts(measuring)
        for case, number in planned:
            measuring.measure(case, number)
            if ahead := _estimate_time(measuring):
                listener(ahead)
            if measuring.interrupted:
                measuring.skip(planned)  # the rest, which may be thousands, in one transaction
    return measuring.run


def _plan_attempts(measuring: Measuring) -> Iterator[tuple[Case, int]]:
    """Returns every case in every round, without those that an earlier run has measured."""
    for case, number in in_rounds(measuring.plan):
        if not measuring.has_numbers(case, number):
            yield case, number


def order_attempts(measuring: Measuring) -> Iterator[tuple[Case, int]]:
    """What is planned; then more, within bounds, for cases not yet known as well as was asked."""
    for case, number in _plan_attempts(measuring):
        if not (measuring.interrupted and measuring.failed_result(case, number)):  # a skip says less than what is there
            yield case, number
    plan = measuring.plan
    for number in range(plan.rounds, MORE * plan.rounds):
        for case in plan.cases:
            if not measuring.interrupted and _wants_more(measuring, case, number):
                yield case, number


def _estimate_time(measuring: Measuring) -> ExpectedTime | None:
    """Estimates the time until every case reaches its precision; None where none was asked for, or nothing is known."""
    plan, results = measuring.plan, measuring.results
    if all(case.load.precision is None for case in plan.cases):
        return None
    found = [precision.outlook(case, results, plan.rounds, MORE * plan.rounds) for case in plan.cases]
    ahead = [one for one in found if one is not None]
    if not ahead:
        return None if results else precision.guess(plan.cases, plan.rounds)
    return ExpectedTime(
        seconds=sum(one.seconds for one in ahead)
        * len(found)
        / len(ahead),  # those that nobody knows yet are like them
        processes=sum(one.processes for one in ahead) + plan.rounds * (len(found) - len(ahead)),
        length=max(one.length for one in ahead),
        reached=all(one.reached for one in ahead),
    )


def _wants_more(measuring: Measuring, case: Case, number: int) -> bool:
    if measuring.has_numbers(case, number):
        return False
    if measuring.failed_result(case, number) is not None:
        return True
    rounds, results = measuring.plan.rounds, measuring.results
    if not precision.is_wanting(case, results):
        return False
    return not precision.is_last(case, results, number, rounds, MORE * rounds)
