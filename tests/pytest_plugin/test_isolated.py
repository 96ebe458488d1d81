"""Tests measured in fresh processes: rounds, what comes along, and how it ends when something is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from benchwright.records import Status
from suites import last_run, run_suite

ISOLATED = ("--benchwright-isolated", "--benchwright-rounds=2")


def test_each_round_is_a_fresh_process(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import os, pytest
        def pytest_addoption(parser):
            parser.addoption("--shift", type=int, default=0)
        @pytest.fixture(scope="session")
        def pid():
            return os.getpid()
        """
    )
    suite = """
        import pytest
        seen = []
        @pytest.mark.parametrize("n", [2, 3])
        def test_sum(benchmark, n, pid, request):
            assert not seen, "the other case ran here before"
            benchmark.extra_info |= {"pid": pid, "shift": request.config.getoption("--shift")}
            assert benchmark(sum, range(n)) == sum(range(n))
            assert benchmark.stats.rounds > 0
        def test_rounds(benchmark):
            calls = []
            benchmark.pedantic(calls.append, args=(1,), rounds=3)
            assert len(calls) == 3
        def test_plain():
            pass
    """
    ended = run_suite(pytester, suite, *ISOLATED, "--shift=7")
    ended.assert_outcomes(passed=4)
    assert "2 rounds a case" in ended.stdout.str() and "in the process of the tests" not in ended.stdout.str()
    results = last_run(pytester).results
    names = [(result.case.target.uri.rpartition("::")[2], result.round) for result in results]
    once = ["test_sum[2]", "test_sum[3]", "test_rounds"]
    assert names == [(name, number) for number in (0, 1) for name in once]  # all of them in turns
    told = [result.details["extra_info"] for result in results if "sum" in result.case.name]
    assert all(isinstance(one, dict) and one["shift"] == 7 for one in told)
    assert len({one["pid"] for one in told if isinstance(one, dict)}) == 4
    assert not results[0].case.target.options


def test_what_fails_in_a_fresh_process_fails_the_test(pytester: pytest.Pytester) -> None:
    suite = """
        import os, pytest
        here = os.environ.setdefault("STARTED_BY", str(os.getpid()))
        def test_other(benchmark):
            benchmark(int)
            assert here == str(os.getpid()), "not where it was started"
        def test_skipped(benchmark):
            pytest.skip("not today")
        def test_right(benchmark):
            benchmark(int)
        def test_without(benchmark):
            pass
    """
    ended = run_suite(pytester, suite, *ISOLATED)
    ended.assert_outcomes(passed=2, skipped=1, errors=1)
    assert "failed in a fresh process: AssertionError: not where it was started" in ended.stdout.str()
    ended_as = Counter((one.case.name.rpartition("_")[2], one.status) for one in last_run(pytester).results)
    assert ended_as == {
        ("other", Status.FAILED): 1,  # and not tried again
        ("skipped", Status.SKIPPED): 1,
        ("right", Status.OK): 2,
        ("without", Status.SKIPPED): 1,
    }


def test_a_wrong_mark_fails_that_test_and_what_cannot_be_told_before_is_said(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest
        @pytest.mark.benchmark(nonsense=1)
        def test_wrong(benchmark):
            benchmark(int)
        def test_late(request):
            request.getfixturevalue("benchmark")(int)
        def test_right(benchmark):
            benchmark(int)
    """
    ended = run_suite(pytester, suite, "--benchwright-isolated", "--benchwright-rounds=1")
    ended.assert_outcomes(passed=2, errors=1)
    assert "has no 'nonsense'" in ended.stdout.str() and "while it runs cannot be told before" in ended.stdout.str()
    assert [result.case.name for result in last_run(pytester).results] == ["test_suite.py::test_right"]


@pytest.mark.parametrize("flag", ["--benchmark-skip", "test_broken.py"])
def test_what_will_not_run_is_not_measured(pytester: pytest.Pytester, flag: str) -> None:
    pytester.makepyfile(test_broken="raise ValueError")
    run_suite(pytester, "def test_it(benchmark): benchmark(int)", *ISOLATED, "test_suite.py", flag)
    assert not (pytester.path / ".benchwright").exists()


def test_with_workers_beside_it_is_refused(pytester: pytest.Pytester) -> None:
    ended = run_suite(pytester, "def test_it(benchmark): benchmark(int)", *ISOLATED, "-p", "xdist", "-n", "2")
    assert ended.ret == pytest.ExitCode.USAGE_ERROR and "leave out -n" in ended.stderr.str()


@pytest.mark.soak
@pytest.mark.fresh
def test_a_suite_that_takes_warnings_as_errors_is_measured(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where pytest finds the plug-in by itself it warns that Benchwright was imported before it."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    pytester.makeini("[pytest]\nfilterwarnings = error")
    pytester.makepyfile("def test_int(benchmark): assert benchmark(int) == 0")
    others = [word for name in ("xdist", "xdist.looponfail", "pytest_cov", "anyio") for word in ("-p", f"no:{name}")]
    flags = ("--benchwright-isolated", "--benchwright-rounds=1", "--benchmark-max-time=0.01", "-W", "error")
    pytester.runpytest_subprocess(*flags, *others).assert_outcomes(passed=1)
    assert [result.status for result in last_run(pytester).results] == [Status.OK]
