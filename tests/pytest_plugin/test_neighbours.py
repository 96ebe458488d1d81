"""Beside another plug-in with a fixture of that name this one steps back, and either can be chosen."""

from __future__ import annotations

import pytest

from suites import last_results, run_suite

STAND_IN = """
    import pytest
    def pytest_addoption(parser):
        parser.addoption("--benchmark-only", action="store_true")
    @pytest.fixture
    def benchmark():
        return "theirs"
"""


@pytest.fixture(params=["pytest_benchmark", "pytest_codspeed"])
def neighbour(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A package that looks as if it were installed: the real one, and its options, may not be."""
    pytester.mkpydir(request.param).joinpath("plugin.py").write_text(
        "\n".join(line.removeprefix("    ") for line in STAND_IN.splitlines()), encoding="utf-8"
    )
    monkeypatch.syspath_prepend(pytester.path)
    return str(request.param)


def test_the_other_one_keeps_its_fixture(pytester: pytest.Pytester, neighbour: str) -> None:
    suite = "def test_it(benchmark): assert benchmark == 'theirs'"
    run_suite_beside(pytester, neighbour, suite).assert_outcomes(passed=1)
    refused = run_suite_beside(pytester, neighbour, suite, "--benchwright-isolated")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert f"-p no:{neighbour.removeprefix('pytest_')}" in refused.stderr.str()


def test_blocked_the_other_one_leaves_it_to_us(pytester: pytest.Pytester, neighbour: str) -> None:
    suite = "def test_it(benchmark): assert benchmark(int) == 0"
    blocked = f"no:{neighbour.removeprefix('pytest_')}"
    run_suite(pytester, suite, "-p", blocked, "--benchwright-no-save").assert_outcomes(passed=1)


@pytest.mark.parametrize("flag", ["--benchwright-isolated", "--benchmark-skip"])
def test_a_fixture_of_the_suite_with_our_name_is_left_alone(pytester: pytest.Pytester, flag: str) -> None:
    pytester.makeconftest("import pytest\n@pytest.fixture\ndef benchmark(): return 'theirs'")
    suite = """
        import pytest
        def test_it(benchmark): assert benchmark == 'theirs'
        @pytest.mark.parametrize("benchmark", [1, 2])
        def test_parameter(benchmark): assert benchmark in (1, 2)
    """
    run_suite(pytester, suite, flag).assert_outcomes(passed=3)
    assert not (pytester.path / ".benchwright").exists()


def test_a_fixture_of_the_suite_may_set_ours_up(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        @pytest.fixture
        def benchmark(benchmark):
            benchmark.group = "theirs"
            return benchmark
        """
    )
    run_suite(pytester, "def test_it(benchmark): benchmark(int)", "--benchmark-only").assert_outcomes(passed=1)
    assert last_results(pytester)["test_it"].case.tags == ("theirs",)


def test_a_suite_may_do_without_us(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_suite="def test_it(benchmark): pass")
    ended = pytester.runpytest_inprocess("-p", "no:benchwright", "-p", "no:cacheprovider")
    ended.assert_outcomes(errors=1)
    assert "fixture 'benchmark' not found" in ended.stdout.str()


def run_suite_beside(pytester: pytest.Pytester, neighbour: str, source: str, *arguments: str) -> pytest.RunResult:
    """Runs a suite with both plug-ins."""
    pytester.makepyfile(test_suite=source)
    both = ("-p", f"{neighbour}.plugin", "-p", "benchwright.pytest_plugin", "-p", "no:cacheprovider")
    return pytester.runpytest_inprocess(*both, *arguments)
