"""The fixture `benchmark`: what it gives the test, what it keeps, and what it refuses."""

from __future__ import annotations

import pytest

from benchwright.records import Status
from suites import last_results, last_run, run_suite


def test_it_returns_what_the_function_returns_and_keeps_the_result(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest
        @pytest.mark.parametrize(("n", "kind"), [(3, list), (4, tuple)])
        @pytest.mark.benchmark(group="sums")
        def test_sum(benchmark, n, kind):
            benchmark.extra_info["size"] = {"n": n, "of": object}
            assert benchmark(sum, kind(range(n)), start=1) == sum(range(n)) + 1
            stats = benchmark.stats
            assert stats.min <= stats.stats.median <= stats["max"] and stats.rounds == len(stats.data)
            assert benchmark.enabled and benchmark.group == "sums"
            assert benchmark.name == f"test_sum[{n}-{kind.__name__}]"
    """
    run_suite(pytester, suite, "--benchmark-save=first").assert_outcomes(passed=2)
    run, results = last_run(pytester), last_results(pytester)
    assert run.tags == ("first",) and run.command[0] == "pytest"
    result = results["test_sum[3-list]"]
    assert result.status is Status.OK
    assert result.case.name == "test_suite.py::test_sum"
    assert result.case.params == {"n": 3, "kind": "list"} and result.case.tags == ("sums",)
    assert result.case.target.options == {"process": "shared"}
    assert result.details["extra_info"] == {"size": {"n": 3, "of": "<class 'object'>"}}
    assert result.metric("latency_p50") and result.metric("load_time") is None


def test_as_a_decorator_it_measures_at_once(pytester: pytest.Pytester) -> None:
    suite = """
        def test_it(benchmark):
            @benchmark
            def answer():
                return 42
            assert answer == 42
    """
    run_suite(pytester, suite).assert_outcomes(passed=1)


def test_rounds_are_made_exactly_as_they_are_asked_for(pytester: pytest.Pytester) -> None:
    suite = """
        def test_setup(benchmark):
            seen = []
            def setup():
                return ([len(seen)],), {}
            def call(item):
                seen.append(item)
                return len(seen)
            left = []
            assert benchmark.pedantic(call, setup=setup, teardown=left.append, rounds=4, warmup_rounds=2) == 6
            assert seen == left == [[0], [1], [2], [3], [4], [5]]

        def test_iterations(benchmark):
            seen = []
            benchmark.pedantic(seen.append, args=(1,), rounds=3, iterations=5)
            assert len(seen) == 3 * 5 + 1
            assert benchmark.stats.rounds == 3 and benchmark.stats.iterations == 5

        def test_once(benchmark):
            seen = []
            assert benchmark.pedantic(lambda: seen.append(1) or "done") == "done"
            assert seen == [1]
    """
    run_suite(pytester, suite).assert_outcomes(passed=3)
    results = last_results(pytester)
    assert len(results["test_setup"].samples[0].columns["latency"]) == 4
    assert (results["test_iterations"].samples[0].calls, results["test_iterations"].case.load.loops) == (15, 5)
    assert [w.code for w in results["test_once"].warnings if w.code == "never-steady"] == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("benchmark.pedantic(f, setup=f, iterations=2)", "a round with a setup has one iteration"),
        ("benchmark.pedantic(f, rounds=0)", "rounds is 0"),
        ("benchmark.pedantic(f, args=(1,), setup=lambda: ((1,), {}))", "leave out args and kwargs"),
        ("benchmark(f); benchmark(f)", "called once a test"),
        ("benchmark.weave('module.function')", "hand over the call instead"),
        ("benchmark(g)", "is asynchronous"),
        ("benchmark(lambda: g())", "is asynchronous"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_the_remedy(pytester: pytest.Pytester, call: str, said: str) -> None:
    suite = f"""
        def f(*args): pass
        import pytest
        async def g(): pass
        @pytest.mark.filterwarnings("ignore")
        def test_it(benchmark):
            {call}
    """
    ended = run_suite(pytester, suite, "--benchwright-no-save")
    ended.assert_outcomes(failed=1)
    assert said in ended.stdout.str()


def test_an_error_of_the_function_is_shown_as_its_own(pytester: pytest.Pytester) -> None:
    suite = """
        def divide():
            return 1 / 0
        def test_it(benchmark):
            benchmark(divide)
    """
    ended = run_suite(pytester, suite)
    ended.assert_outcomes(failed=1)
    assert "budget.py" not in ended.stdout.str() and "warmup.py" not in ended.stdout.str()
    failed = last_results(pytester)["test_it"]
    assert failed.status is Status.FAILED and failed.error is not None
    assert (failed.error.kind, failed.error.message) == ("ZeroDivisionError", "division by zero")


def test_what_answers_wrongly_is_not_kept_as_fast(pytester: pytest.Pytester) -> None:
    suite = """
        def test_it(benchmark):
            assert benchmark(lambda: 1) == 2
    """
    run_suite(pytester, suite).assert_outcomes(failed=1)
    assert last_results(pytester)["test_it"].status is Status.FAILED


def test_a_slow_function_is_called_no_more_often_than_it_must_be(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest, time
        @pytest.mark.benchmark(max_time=0.001, min_rounds=3)
        def test_it(benchmark):
            calls = []
            benchmark(lambda: calls.append(time.sleep(0.002)))
            assert len(calls) == 1 + 3 + 1
    """
    run_suite(pytester, suite).assert_outcomes(passed=1)


def test_another_timer_is_a_series_of_its_own(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest, time
        @pytest.mark.benchmark(timer=time.process_time)
        def test_it(benchmark):
            benchmark(time.sleep, 0)
        @pytest.mark.benchmark(timer=time.process_time_ns)
        def test_in_ns(benchmark):
            benchmark(time.sleep, 0)
            assert benchmark.stats.min < 0.5
        @pytest.mark.benchmark(timer=lambda: 0.0)
        def test_standing(benchmark):
            benchmark(int)
        @pytest.mark.benchmark(timer=time.perf_counter)
        def test_usual(benchmark):
            benchmark(time.sleep, 0)
    """
    ended = run_suite(pytester, suite)
    ended.assert_outcomes(passed=3, errors=1)
    assert "does not run: it should give a number that grows" in ended.stdout.str()
    results = last_results(pytester)
    assert results["test_it"].case.target.options["timer"] == "time.process_time"
    assert "timer" not in results["test_usual"].case.target.options


def test_a_mark_that_nobody_understands_fails_that_test_alone(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest
        @pytest.mark.benchmark(min_round=3)
        def test_wrong(benchmark):
            benchmark(int)
        @pytest.mark.benchmark(warmup="sometimes")
        def test_wrong_warmup(benchmark):
            benchmark(int)
        def test_right(benchmark):
            benchmark(int)
    """
    ended = run_suite(pytester, suite)
    ended.assert_outcomes(passed=1, errors=2)
    assert "wants warmup True or False" in ended.stdout.str()
    assert "did you mean" in ended.stdout.str() and "min_rounds" in ended.stdout.str()


def test_a_helper_of_the_suite_that_is_called_measure_is_not_taken_for_ours(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def measure(*args): raise AssertionError")
    suite = "def test_it(benchmark): assert benchmark(int) == 0 and benchmark.stats.rounds > 0"
    run_suite(pytester, suite).assert_outcomes(passed=1)
    assert list(last_results(pytester)) == ["test_it"]


def test_long_texts_among_the_parameters_are_called_as_in_the_id(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest
        @pytest.mark.parametrize("text", ["x" * 300 + "1", "x" * 300 + "2", "short"], ids=["one", "two", "three"])
        def test_text(benchmark, text):
            benchmark(len, text)
    """
    run_suite(pytester, suite).assert_outcomes(passed=3)
    assert [result.case.params["text"] for result in last_results(pytester).values()] == ["one", "two", "short"]


def test_whatever_a_test_says_of_itself_is_kept(pytester: pytest.Pytester) -> None:
    suite = r"""
        import pytest
        class Mute:
            def __str__(self): raise RuntimeError
        @pytest.mark.parametrize("n", [10 ** 4000, "a::b[c", "\ud800"], ids=["large", "a::b[c", "\ud800"])
        def test_it(benchmark, n):
            benchmark.group = 5
            benchmark.extra_info |= {"mute": Mute(), "large": 10 ** 5000, "half": "\ud800", "yes": True}
            benchmark(int)
    """
    flags = ("--benchmark-group-by=func,name", "--benchmark-sort=name", "--benchmark-json=out.json")
    ended = run_suite(pytester, suite, *flags)
    ended.assert_outcomes(passed=3)
    assert "test_it, test_it[a::b[c]\n" in ended.stdout.str()
    results = {result.case.params["n"]: result for result in last_run(pytester).results}
    assert list(results) == ["large", "a::b[c", "\ud800"] and results["large"].case.tags == ("5",)
    told = results["large"].details["extra_info"]
    assert isinstance(told, dict) and str(told["large"]).startswith("0x") and told["half"] == "\ud800"
    assert told["mute"] == "Mute, whose __str__ raised RuntimeError" and told["yes"] is True
    assert '"name": "test_it[a::b[c]"' in (pytester.path / "out.json").read_text(encoding="utf-8")


def test_a_call_more_is_torn_down_like_the_others(pytester: pytest.Pytester) -> None:
    suite = """
        def test_it(benchmark):
            opened, closed = [], []
            benchmark.pedantic(opened.append, args=(1,), teardown=closed.append, rounds=2, iterations=3)
            assert len(opened) == 2 * 3 + 1 and len(closed) == 2 + 1
    """
    run_suite(pytester, suite, "--benchwright-no-save").assert_outcomes(passed=1)
