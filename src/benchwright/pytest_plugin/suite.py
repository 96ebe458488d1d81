"""One run of pytest as a run of ours: its results, where they are kept, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchwright import config as settings
from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import BenchwrightError
from benchwright.execution.in_process import IN_PROCESS, Surrounding, make_failed_result, make_result
from benchwright.execution.new_runs import new_run_id, now
from benchwright.execution.saver import Saver
from benchwright.pytest_plugin.cases import REMEDIES, TestTerms, case_of, terms_of
from benchwright.pytest_plugin.fixture import BenchmarkFixture
from benchwright.pytest_plugin.options import in_words_of_pytest
from benchwright.records import Failure, Result, Run
from benchwright.store import check_address
from benchwright.system.masking import mask_arguments
from benchwright.system.texts import shorten, words_of
from benchwright.worker.runtimes.pytest_node import Measurer
from benchwright.workflows.validation import check_tags

if TYPE_CHECKING:
    from benchwright.pytest_plugin.verdict import SuiteVerdict


UNSEEN = (
    "not measured: that a test gets the fixture `benchmark` while it runs cannot be told before; "
    "name it among the test's arguments, or in @pytest.mark.usefixtures"
)


class SuiteRun:
    """What this run of pytest measures: in its own process, in those of xdist's workers, or in fresh ones."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self.config = config
        self.is_worker = hasattr(config, "workerinput")  # of xdist: its reports carry the results to who keeps them
        self.measurer = next((one for one in config.pluginmanager.get_plugins() if isinstance(one, Measurer)), None)
        self.store_url = settings.store_url(option.benchwright_store or option.benchmark_storage or None)
        if not option.benchwright_no_save:
            check_address(self.store_url)
        tags = [*settings.load().tags, *option.benchwright_tag, *filter(None, [option.benchmark_save])]
        check_tags(tags)
        self.record = Run(
            id=new_run_id(),
            started_at=now(),
            harness=VERSION,
            command=mask_arguments(("pytest", *map(str, config.invocation_params.args))),
            tags=tuple(dict.fromkeys(tags)),
        )
        self.results: list[Result] = []
        self.isolated: dict[str, list[Result]] | None = None
        self.verdict: SuiteVerdict | None = None
        self._is_lost = False
        self.notes: list[str] = []  # what else is to be said at the end
        self.trouble = ""  # why the run is not kept, or cannot be compared
        self._fixtures: dict[str, BenchmarkFixture] = {}
        self._around: Surrounding | None = None
        self._saver = Saver(None if option.benchwright_no_save else self._open_store, lambda: True)

    @property
    def run(self) -> Run:
        """The run with all its results so far."""
        return replace(self.record, results=tuple(self.results))

    @property
    def is_saved(self) -> bool:
        """Whether the run is in the store."""
        return bool(self.results) and not self.config.option.benchwright_no_save and not self._is_lost

    def fixture(self, item: pytest.Item) -> BenchmarkFixture:
        """The fixture of one test."""
        option = self.config.option
        disabled = option.benchmark_disable and not option.benchmark_enable
        found = BenchmarkFixture(
            item,
            self.terms_of(item),
            disabled=disabled,
            measurer=self.measurer,
            measured=self._measured_before(item),
        )
        self._fixtures[item.nodeid] = found
        return found

    def terms_of(self, item: pytest.Item) -> TestTerms:
        """How a test is measured; a mark that nobody understands fails that test alone."""
        try:
            return terms_of(item)
        except pytest.UsageError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None

    def measure_isolated(self, items: Sequence[pytest.Item]) -> None:
        """Measures the tests in fresh processes, before any of them runs here."""
        from benchwright.pytest_plugin.isolated import measure_isolated

        self.isolated = measure_isolated(self, items)

    def add_to_report(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        """Keeps what was measured when the test has ended, and how that was: a wrong answer is not a fast one."""
        fixture = self._fixtures.get(item.nodeid)
        if fixture is None or call.when != "call":
            return
        told = fixture.tell()
        if self.measurer is not None:
            self.measurer.details = told
            return
        if self.isolated is not None or fixture.disabled or report.skipped:
            return
        result = self._result(item, fixture, call if report.failed else None)
        if result is None:
            return
        result = replace(result, details={**result.details, **told})
        if self.is_worker:
            report.benchwright = schema.dumps(result)  # type: ignore[attr-defined]
        else:
            self._keep(result)

    def keep(self, text: str) -> None:
        """Keeps a result that a worker of xdist reports."""
        result = schema.loads(text, Result)
        self._keep(replace(result, id=f"{self.record.id}-{len(self.results)}"))

    def take(self, result: Result) -> None:
        """Keeps a result of a fresh process."""
        self._keep(result)

    def finish(self, session: pytest.Session) -> None:
        """Closes the store, compares, writes files; pytest fails where a condition is met or something is lost."""
        if self.is_worker:
            return
        failed = self._is_lost
        try:
            if not failed:
                self._close_store()
            if self.is_saved and self.config.option.benchmark_compare:
                from benchwright.pytest_plugin.verdict import judge

                self.verdict = judge(self)
                failed = not self.verdict.ok
        except BenchwrightError as error:
            self.trouble, failed = in_words_of_pytest(error.message, error.remedy), True
        failed |= not self._write_files()
        if failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def show(self, reporter: Any) -> None:
        """Prints the tables, the comparison, and what else there is to say."""
        if not self.is_worker and self.measurer is None:
            from benchwright.pytest_plugin.summary import show_summary

            show_summary(self, (getattr(reporter, "_tw", None) and reporter._tw._file) or sys.stdout)

    def _write_files(self) -> bool:
        from benchwright.pytest_plugin.summary import write_files

        try:
            self.notes.extend(write_files(self))
        except OSError as error:
            self.notes.append(f"{error.filename} cannot be written: {error.strerror}")
            return False
        return True

    def _close_store(self) -> None:
        try:
            self._saver.close()
            self._saver.report(self.run)
        except BenchwrightError:
            self._is_lost = True
            raise

    def _keep(self, result: Result) -> None:
        if not self.results and self.record.revision is None:
            self.record = replace(self.record, revision=result.revision)
        self.results.append(result)
        try:
            self._saver.save(self.record, result)
        except BenchwrightError as error:  # nor can it be rescued: the tests go on, and pytest fails at the end
            self.trouble, self._is_lost = in_words_of_pytest(error.message, error.remedy), True

    def _measured_before(self, item: pytest.Item) -> list[Result] | None:
        """What fresh processes gave for this test; fails it where they gave nothing."""
        if self.isolated is None:
            return None
        if item.nodeid not in self.isolated and not self.config.option.benchmark_disable:
            self.notes.append(f"{item.nodeid}: {UNSEEN}")
        found = self.isolated.get(item.nodeid, [])
        if bad := next((result for result in found if result.error and result.status.value != "skipped"), None):
            assert bad.error is not None
            log = f"\n{bad.error.log_tail}" if bad.error.log_tail else ""
            pytest.fail(f"{bad.status} in a fresh process: {bad.error.kind}: {bad.error.message}{log}", pytrace=False)
        return [result for result in found if not result.error]

    def _result(
        self, item: pytest.Item, fixture: BenchmarkFixture, failed: pytest.CallInfo[None] | None
    ) -> Result | None:
        if not fixture.is_used:
            return None
        self._around = self._around or Surrounding.collect(Path(self.config.rootpath))
        terms = replace(self.terms_of(item), group=fixture.group_name)
        case = case_of(item, terms, options=IN_PROCESS, load=fixture.load)
        name = f"{self.record.id}-{len(self.results)}"
        if failed is not None and failed.excinfo is not None:
            error = failed.excinfo.value
            failure = Failure(kind=type(error).__name__, message=shorten(words_of(error), 400))
            return make_failed_result(name, case, failure, self._around)
        if fixture.timed is None:
            return None
        remedies = REMEDIES if fixture.load is None else {**REMEDIES, "few-samples": "give pedantic more rounds"}
        return make_result(name, case, fixture.timed, self._around, remedies)

    def _open_store(self) -> Any:
        from benchwright.store import open_sink

        return open_sink(self.store_url)
