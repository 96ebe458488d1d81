"""Cases × rounds become results: one fresh process each, interleaved, saved one by one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from benchwright import plugins, precision
from benchwright._version import VERSION
from benchwright.attempt import INTERRUPTED, Attempt, Outcome
from benchwright.events import Began, Ended, Listener, Planned, Reached, nobody
from benchwright.hosts import Host
from benchwright.interrupts import Interrupt
from benchwright.records import Case, Environment, Failure, Result, ResultWarning, Run, Status
from benchwright.saving import Keeper, Saver

DEFAULT_ROUNDS = 5
MORE = 2  # times as many rounds at most, when a precision was asked for
MONITORS = ("process", "pressure", "gpu", "power")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure and how often."""

    cases: Sequence[Case]
    rounds: int = DEFAULT_ROUNDS
    retries: int = 0
    host: Host | None = None  # None: this machine
    paths: Sequence[str] = ()
    cpus: Sequence[int] = ()
    memory: int | None = None
    monitors: Sequence[str] = MONITORS
    reason: str = ""
    tags: Sequence[str] = ()
    command: Sequence[str] = ()  # what repeats this run
    directory: Path = field(default_factory=Path.cwd)  # whose revision is recorded


def execute(
    plan: Plan,
    open_store: Callable[[], Keeper] | None = None,
    listener: Listener = nobody,
    *,
    looks_ready: Callable[[], bool] = lambda: False,
) -> Run:
    """Measures every case in every round and returns the whole run.

    Rounds are interleaved over the cases, so that a machine that changes meanwhile changes for all of them. Each result
    is saved as soon as there is one. An unusable store raises before anything is measured; `looks_ready` may say that
    the store need not be opened to know that it will do.
    """
    return _Execution(plan, Saver(open_store, looks_ready), listener).run()


class _Execution:
    """One call of `execute`: what it has learnt so far."""

    def __init__(self, plan: Plan, saver: Saver, listener: Listener) -> None:
        self._plan, self._saver, self._listener = plan, saver, listener
        self._host = plan.host or plugins.load("hosts", "local")()
        self._record = Run(
            id=new_run_id(),
            started_at=now(),
            harness=VERSION,
            command=tuple(plan.command),
            reason=plan.reason,
            tags=tuple(plan.tags),
        )
        self._environment: Environment | None = None
        self._interrupt = Interrupt()
        self._results: list[Result] = []

    def run(self) -> Run:
        self._listener(Planned(total=len(self._plan.cases) * self._plan.rounds))
        try:
            with self._interrupt.watched():
                for index, (case, number) in enumerate(self._interleaved()):
                    stop = self._interrupt.seen
                    result = self._skipped(case, number) if stop else self._measured(index, case, number)
                    self._results.append(result)
                    self._saver.save(self._record, result)
                    self._listener(Ended(index=index, result=result))
        finally:
            self._saver.close()
        whole = replace(self._record, results=tuple(self._results))
        self._saver.report(whole)
        return whole

    def _interleaved(self) -> Iterator[tuple[Case, int]]:
        """Every case in every round; then as many again, at most, for cases not yet known as well as was asked."""
        for number in range(self._plan.rounds):
            for case in self._plan.cases:
                yield case, number
        for number in range(self._plan.rounds, MORE * self._plan.rounds):
            for case in self._plan.cases:
                if not self._interrupt.seen and precision.is_wanting(case, self._results):
                    yield case, number

    # ---- one result ----

    def _measured(self, index: int, case: Case, number: int) -> Result:
        self._listener(Began(index=index, case=case, round=number))
        started_at, begin = now(), time.monotonic()
        failures: list[Failure] = []
        outcome = self._attempt(index, case)
        while outcome.failure is not None and len(failures) < self._plan.retries and not self._interrupt.seen:
            failures.append(outcome.failure)
            outcome = self._attempt(index, case)
        result = self._result(case, number, outcome, started_at, time.monotonic() - begin)
        told = [*_retried(failures)]
        if number == MORE * self._plan.rounds - 1:
            told += precision.missed(case, [*self._results, result])
        return replace(result, warnings=(*result.warnings, *told))

    def _attempt(self, index: int, case: Case) -> Outcome:
        plan = self._plan
        attempt = Attempt(
            case,
            self._host,
            paths=plan.paths,
            cpus=plan.cpus,
            memory=plan.memory,
            monitors=plan.monitors,
            while_loading=self._get_ready,
            on_phase=lambda phase: self._listener(Reached(index=index, phase=phase)),
        )
        with self._interrupt.allowed():
            outcome = attempt.run()
        if outcome.failure is not None and outcome.failure.kind == INTERRUPTED:
            self._interrupt.seen = True  # also when somebody else's handler raised it
        return outcome

    def _get_ready(self) -> None:
        """What takes long and can be done while the first worker loads its framework."""
        if self._environment is not None:
            return
        from benchwright import environment, vcs

        self._environment = environment.collect()
        self._record = replace(self._record, revision=vcs.revision(self._plan.directory))
        self._saver.check(self._record)

    def _result(self, case: Case, number: int, outcome: Outcome, started_at: str, duration: float) -> Result:
        bare = Result(
            id=f"{self._record.id}-{len(self._results)}",
            case=case,
            round=number,
            status=outcome.status,
            environment=self._environment or Environment(machine={}, system={}),
            started_at=started_at,
            duration=duration,
            revision=self._record.revision,
            error=outcome.failure,
            log_tail="" if outcome.failure else outcome.log_tail,
            timelines=outcome.observation.timelines,
        )
        if outcome.status is not Status.OK:
            return replace(bare, metrics=outcome.observation.metrics)
        return _with_numbers(bare, outcome)

    def _skipped(self, case: Case, number: int) -> Result:
        failure = Failure(kind=INTERRUPTED, message="the run was interrupted before this began")
        return self._result(case, number, Outcome(status=Status.SKIPPED, failure=failure), now(), 0.0)


def _retried(failures: Sequence[Failure]) -> Iterator[ResultWarning]:
    if failures:
        seen = f"{len(failures)} attempts failed before this one: {failures[-1].message}"
        yield ResultWarning(code="retried", seen=seen, remedy="find out why it fails at times")


def _with_numbers(bare: Result, outcome: Outcome) -> Result:
    from benchwright import instrument, metrics

    case, answers = bare.case, outcome.answers
    numbers = [*metrics.derive(case, answers), *outcome.observation.metrics]
    facts = instrument.facts(case, answers, numbers, outcome.observation)
    return replace(
        bare,
        metrics=tuple(numbers),
        samples=tuple(answer.samples for answer in answers),
        details={"device": answers[0].ready["device"], **answers[0].measured["details"]},
        instrument=facts,
        warnings=tuple(instrument.warnings(case, answers, numbers, facts)),
        environment=_in_worker(bare.environment, answers[0].ready, answers[0].measured),
    )


def _in_worker(environment: Environment, ready: Mapping[str, object], measured: Mapping[str, object]) -> Environment:
    """The environment with what only the worker knows: its runtime's versions and its packages."""
    versions, packages = ready["versions"], measured["packages"]
    assert isinstance(versions, dict) and isinstance(packages, dict)
    return replace(environment, runtimes={**environment.runtimes, **versions}, packages=packages)


def new_run_id() -> str:
    """An id that sorts by time, to the millisecond."""
    present = datetime.now(UTC)
    return f"{present:%Y%m%dT%H%M%S}{present.microsecond // 1000:03d}-{os.urandom(3).hex()}"


def now() -> str:
    """The present instant, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
