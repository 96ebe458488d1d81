"""Workers of xdist take turns, and their results come to one run."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest

from benchwright.pytest_plugin.turns import WorkerTurns, remove_turns
from suites import last_run, run_suite


def test_nobody_else_has_a_turn_beside_one_who_is_alone() -> None:
    run = "test-of-turns"
    seen, now = [], []
    steps = [("alone", True), ("beside", False), ("alone", True), ("beside", False), ("beside", False)]

    def work(name: str, alone: bool) -> None:
        turns = WorkerTurns(run)
        for _ in range(20):
            with turns.take(alone=alone):
                now.append(name)
                seen.append(tuple(now))
                now.remove(name)

    workers = [threading.Thread(target=work, args=step) for step in steps]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    remove_turns(run)
    assert len(seen) == 100
    assert all("alone" not in names or len(names) == 1 for names in seen)
    assert not list(Path(tempfile.gettempdir()).glob(f"benchwright-{run}*"))


def test_a_worker_that_cannot_keep_results_fails_its_benchmarks_and_goes_on(pytester: pytest.Pytester) -> None:
    """One that ended would be replaced by another, which would end too: xdist takes that for an error of its own."""
    run = "test-of-a-worker"
    pytester.makeconftest(f"def pytest_configure(config): config.workerinput = {{'testrunuid': {run!r}}}")
    suite = "def test_it(benchmark): benchmark(int)\ndef test_plain(): pass"
    ended = run_suite(pytester, suite, "--benchwright-store=nosuch://x")
    remove_turns(run)
    ended.assert_outcomes(passed=1, errors=1)
    assert "unknown store 'nosuch'" in ended.stdout.str()


@pytest.mark.fresh
def test_results_of_all_workers_are_one_run(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest
        @pytest.mark.parametrize("n", range(4))
        def test_sum(benchmark, n):
            benchmark(sum, range(n))
        def test_plain():
            pass
    """
    ended = run_suite(pytester, suite, "-p", "xdist", "-n", "2")
    ended.assert_outcomes(passed=5)
    run = last_run(pytester)
    assert sorted(result.case.params["n"] for result in run.results) == [0, 1, 2, 3]
    assert len({result.id for result in run.results}) == 4
    assert str(ended.stdout).count("median latency") == 1
