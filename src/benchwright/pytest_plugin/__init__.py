"""The pytest plug-in: the fixture `benchmark`, measured by Benchwright's engine.

pytest imports this module in every suite of an environment that has Benchwright, so it imports nothing but pytest and
next to nothing happens until a test asks for the fixture. Where pytest-benchmark or pytest-codspeed is installed too,
which have a fixture of that name, this one steps back.
"""

from __future__ import annotations

from collections.abc import Generator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from benchwright.pytest_plugin.options import add_options, check_options, in_words_of_pytest, refuse_stepped_back

if TYPE_CHECKING:
    from benchwright.pytest_plugin.fixture import BenchmarkFixture
    from benchwright.pytest_plugin.suite import SuiteRun
    from benchwright.pytest_plugin.turns import WorkerTurns

FIXTURE = "benchmark"
OTHERS = {"pytest_benchmark": "benchmark", "pytest_codspeed": "codspeed"}  # packages, and their names as plug-ins
MARK = "benchmark(group=, min_rounds=, max_time=, warmup=, timer=): how Benchwright measures this test"
_SESSION = pytest.StashKey["SuiteRun"]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    add_options(parser, alone=not _steps_back_for(pluginmanager))


def pytest_configure(config: pytest.Config) -> None:
    if other := _steps_back_for(config.pluginmanager):
        refuse_stepped_back(config, package=other.replace("_", "-"), plugin=OTHERS[other])
        return
    check_options(config)
    config.addinivalue_line("markers", MARK)
    config.pluginmanager.register(_Hooks(config), "benchwright-hooks")


def _steps_back_for(plugins: pytest.PytestPluginManager) -> str:
    """The package whose fixture `benchmark` is: where one is installed, unless somebody says `-p no:` and its name."""
    found = (name for name, plugin in OTHERS.items() if not plugins.is_blocked(plugin) and find_spec(name) is not None)
    return next(found, "")


def session_of(config: pytest.Config) -> SuiteRun:
    """What this run of pytest measures and keeps; made when it is first asked for."""
    found = config.stash.get(_SESSION, None)
    if found is None:
        from benchwright.errors import UserError
        from benchwright.pytest_plugin.suite import SuiteRun

        try:
            found = config.stash[_SESSION] = SuiteRun(config)
        except UserError as error:
            told = f"benchwright: {in_words_of_pytest(error.message, error.remedy)}"
            if hasattr(config, "workerinput"):  # a worker of xdist that ends is replaced by another one
                pytest.fail(told, pytrace=False)
            pytest.exit(told, returncode=4)
    return found


def uses_fixture(item: pytest.Item) -> bool:
    """Whether a test asks for our fixture, by its argument, a mark or another fixture.

    A suite may have a fixture or a parameter of that name which has nothing to do with us. One that takes ours, to set
    it up, is ours.
    """
    if FIXTURE not in getattr(item, "fixturenames", ()):
        return False
    known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    for found in reversed(known.get(FIXTURE, ())):
        if getattr(found.func, "__module__", "") == __name__:
            return True
        if FIXTURE not in found.argnames:
            return False
    return False


def _skips_benchmarks(option: Any) -> bool:
    return option.benchmark_skip and not option.benchmark_only


class _Hooks:
    """What happens around the tests; a plug-in of its own, so that nothing of it is there where this one steps back."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._turns: WorkerTurns | None = None  # of a worker of xdist whose suite has benchmarks
        self._run = ""  # of xdist's workers, in the process that started them

    @pytest.fixture
    def benchmark(self, request: pytest.FixtureRequest) -> BenchmarkFixture:
        """Calls a function until its time is known, and returns what it returns: `benchmark(f, *args, **kwargs)`."""
        return session_of(request.config).fixture(request.node)

    @pytest.fixture
    def benchmark_weave(self, benchmark: BenchmarkFixture) -> Any:
        """pytest-benchmark's second fixture: a test that calls it is told that weaving is not supported."""
        return benchmark.weave

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if config.option.benchmark_only:
            others = [item for item in items if not uses_fixture(item)]
            for item in others:
                item.add_marker(pytest.mark.skip(reason="not a benchmark, and --benchmark-only was given"))
        elif _skips_benchmarks(config.option):
            for item in filter(uses_fixture, items):
                item.add_marker(pytest.mark.skip(reason="a benchmark, and --benchmark-skip was given"))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput") and any(map(uses_fixture, session.items)):
            from benchwright.pytest_plugin.turns import WorkerTurns

            self._turns = WorkerTurns(session.config.workerinput["testrunuid"])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        if self._turns is None:
            return (yield)
        with self._turns.take(alone=uses_fixture(item)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        option = session.config.option
        stops = session.testsfailed and not option.continue_on_collection_errors  # as pytest itself decides
        if option.benchwright_isolated and not (option.collectonly or stops or _skips_benchmarks(option)):
            session_of(session.config).measure_isolated([item for item in session.items if uses_fixture(item)])
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report = yield
        if _SESSION in item.config.stash:
            session_of(item.config).add_to_report(item, call, report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not hasattr(self._config, "workerinput") and (told := getattr(report, "benchwright", None)) is not None:
            session_of(self._config).keep(told)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if _SESSION in session.config.stash:
            session_of(session.config).finish(session)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        if _SESSION in config.stash:
            session_of(config).show(terminalreporter)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """xdist is about to start a worker: what all of them have in common names the files of their turns."""
        self._run = node.workerinput["testrunuid"]

    def pytest_unconfigure(self) -> None:
        if self._run:
            from benchwright.pytest_plugin.turns import remove_turns

            remove_turns(self._run)
