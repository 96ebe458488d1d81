"""`--benchwright-isolated`: each test in fresh processes, one for each round, all tests in turns.

A round runs a single test in a new pytest, whose fixture measures there; see `worker.runtimes.pytest_node`. All is
measured before the first test runs here, so that no fixture of this process is around it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchwright import config as settings
from benchwright.execution.in_process import with_remedies
from benchwright.execution.plans import DEFAULT_ROUNDS, Plan
from benchwright.execution.session import Measuring
from benchwright.pytest_plugin.cases import REMEDIES, case_of
from benchwright.records import Case, Result, Status

if TYPE_CHECKING:
    from benchwright.pytest_plugin.suite import SuiteRun

# Options that are about a whole run of pytest: which tests, what is shown and written, who else runs some.
OF_THE_RUN = frozenset(
    """
    file_or_dir keyword markexpr deselect ignore ignore_glob collectonly maxfail lf failedfirst newfirst stepwise
    stepwise_skip cacheshow cacheclear last_failed_no_failures numprocesses maxprocesses dist tx px distload testrunuid
    usepdb usepdb_cls trace xmlpath junitprefix report_log htmlpath json_report basetemp durations durations_min verbose
    no_header no_summary reportchars color tbstyle showlocals setuponly setupshow setupplan showfixtures
    show_fixtures_per_test markers version help debug plugins override_ini pythonwarnings inifilename rootdir importmode
    confcutdir noconftest pyargs disable_plugin_autoload capture show_capture pastebin benchwright_isolated
    benchwright_no_save benchmark_json benchmark_compare benchmark_histogram benchmark_only benchmark_skip
    benchmark_disable
    """.split()  # noqa: SIM905
)
_OF_COVERAGE = "cov"  # begins the options of pytest-cov, which has no business where time is measured


# The worker imported Benchwright before pytest came to it, of which pytest warns; a suite may take warnings as errors.
_ALREADY_IMPORTED = (
    "ignore:Module already imported so cannot be rewritten; benchwright:pytest.PytestAssertRewriteWarning"
)


def measure_isolated(suite: SuiteRun, items: Sequence[pytest.Item]) -> dict[str, list[Result]]:
    """Measures each test as often as was asked for; a test that gave no numbers is not tried again.

    Returns the results of each by its node id. Ctrl-C ends the run, and what was measured is kept.
    """
    option = suite.config.option
    rounds = option.benchwright_rounds or settings.load().rounds or DEFAULT_ROUNDS
    cases = {item.nodeid: case for item in items if (case := _case(suite, item)) is not None}
    plan = Plan(
        cases=list(cases.values()),
        run=suite.record.id,
        rounds=rounds,
        command=suite.record.command,
        tags=suite.record.tags,
        paths=_paths(),
        directory=Path(suite.config.rootpath),
    )
    if option.benchmark_disable and not option.benchmark_enable:
        return {}
    show = _Progress(suite.config, len(cases) * rounds)
    found: dict[str, list[Result]] = {name: [] for name in cases}
    left = list(cases)
    with Measuring(plan, record=suite.record) as measuring:
        for number in range(rounds):
            for name in list(left):
                show.tell(name, number)
                result = measuring.measure(cases[name], number)
                if measuring.interrupted:
                    break
                suite.take(_with_group(with_remedies(result, REMEDIES)))
                found[name].append(result)
                if result.status is not Status.OK:
                    left.remove(name)
        interrupted = measuring.interrupted
    show.end()
    if interrupted:
        raise KeyboardInterrupt
    return found


def _case(suite: SuiteRun, item: pytest.Item) -> Case | None:
    """The test as a case; None where its mark is wrong, for which it fails when it runs here."""
    try:
        terms = suite.terms_of(item)
    except pytest.fail.Exception:
        return None
    work = {"arguments": _arguments(suite.config, item), "options": _options(suite.config)}
    case = case_of(item, terms, options={}, work=json.dumps(work))
    return replace(case, load=replace(case.load, timeout=None))


def _with_group(result: Result) -> Result:
    """The result with the group that the test itself gave, as a tag like that of a mark."""
    group = result.details.get("group")
    if not isinstance(group, str) or group in result.case.tags:
        return result
    return replace(result, case=replace(result.case, tags=(group,)))


def _arguments(config: pytest.Config, item: pytest.Item) -> list[str]:
    """What pytest is started with: this one test, and what must be known before files are read."""
    option = config.option
    found = [f"{config.rootpath / item.nodeid.partition('::')[0]}::{item.nodeid.partition('::')[2]}"]
    found += ["--rootdir", str(config.rootpath), "-o", "addopts=", "-p", "no:cacheprovider"]
    found += ["-c", str(config.inipath)] if config.inipath else []
    for flag, values in (("-p", option.plugins), ("-o", option.override_ini), ("-W", option.pythonwarnings)):
        found += [word for value in values or () for word in (flag, str(value))]
    found += ["-W", _ALREADY_IMPORTED]
    if getattr(option, "importmode", ""):
        found.append(f"--import-mode={option.importmode}")
    if option.noconftest:
        found.append("--noconftest")
    return found


def _options(config: pytest.Config) -> dict[str, Any]:
    """The values of all other options: also of those that plug-ins and the suite itself declare."""
    found = {}
    for name, value in vars(config.option).items():
        if name in OF_THE_RUN or name.startswith(_OF_COVERAGE):
            continue
        try:
            json.dumps(value)
        except (TypeError, ValueError):  # what is no text, number or list is made by the plug-in itself
            continue
        found[name] = value
    return found


def _paths() -> tuple[str, ...]:
    """Folders of this process that a fresh interpreter would not look into, such as those of PYTHONPATH."""
    here = str(Path.cwd())
    return tuple(dict.fromkeys(here if path == "" else path for path in sys.path if path in ("", here)))


class _Progress:
    """A line of progress, on a terminal alone."""

    def __init__(self, config: pytest.Config, total: int) -> None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        self._reporter = reporter if reporter is not None and reporter.isatty else None
        self._total, self._done = total, 0

    def tell(self, name: str, number: int) -> None:
        """Shows what is measured now."""
        if self._reporter is not None:
            text = f"measuring {self._done + 1}/{self._total}: {name}, round {number + 1}"
            self._reporter.rewrite(text[: self._reporter._tw.fullwidth - 1], erase=True)
        self._done += 1

    def end(self) -> None:
        """Removes the line."""
        if self._reporter is not None:
            self._reporter.rewrite("", erase=True)
