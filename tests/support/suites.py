"""Suites of tests that a nested pytest runs in the test's own process, and the run that it leaves in its store."""

from __future__ import annotations

from contextlib import closing

import pytest

from benchwright.records import Result, Run
from benchwright.store import open_configured_store

QUICK = ("--benchmark-max-time=0.01", "-p", "no:cacheprovider")


def run_suite(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    """Runs the tests of a file with the plug-in, each for a hundredth of a second."""
    pytester.makepyfile(test_suite=source)
    return pytester.runpytest_inprocess("-p", "benchwright.pytest_plugin", *QUICK, *arguments)


def last_run(pytester: pytest.Pytester) -> Run:
    """The run that the suite left."""
    with closing(open_configured_store(str(pytester.path / ".benchwright" / "results.db"))) as store:
        return store.run(store.find("last"))


def last_results(pytester: pytest.Pytester) -> dict[str, Result]:
    """The results of the run that the suite left, by the tests' names; of several rounds the last one."""
    return {result.case.target.uri.rpartition("::")[2]: result for result in last_run(pytester).results}
