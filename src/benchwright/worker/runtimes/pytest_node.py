"""One test of a pytest suite in a fresh process: pytest runs it here, and its `benchmark` fixture measures.

What is timed exists only inside of the running test, with its fixtures around it. So the worker does not load a target
and call it: it starts pytest, and the fixture hands over what is to be called.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from benchwright.errors import LoadError, SkippedError
from benchwright.records import Case, Value
from benchwright.worker.runtimes import Loaded

if TYPE_CHECKING:
    import pytest


class PytestNode:
    """A test by its node id; `work` holds the arguments of pytest, and the values of its options."""

    name: ClassVar[str] = "pytest"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = "pytest"
    module: ClassVar[str] = "pytest"

    def load(self, case: Case) -> Loaded:
        raise LoadError(f"{case.target.uri} is a test", remedy="pytest measures it: pytest --benchwright-isolated")

    def enclose(self, case: Case, measure: Callable[[Loaded], None]) -> Mapping[str, Value]:
        """Runs the test, which measures on its way, and returns what it told of itself. What it raises is raised."""
        import pytest

        if not case.target.work:
            self.load(case)
        os.environ.pop("PYTEST_ADDOPTS", None)  # its values are among the options
        work = json.loads(case.target.work)
        measurer = Measurer(measure, work["options"])
        code = pytest.main(work["arguments"], plugins=[measurer])
        measurer.check(case.target.uri, int(code))
        return measurer.details


class Measurer:
    """A plug-in of the pytest in a worker: sets the options, measures for the fixture, keeps how the test ended."""

    def __init__(self, measure: Callable[[Loaded], None], options: Mapping[str, Any]) -> None:
        self._measure, self._options = measure, options
        self._is_measured = False
        self._failure: BaseException | None = None
        self._skipped = ""
        self.details: Mapping[str, Value] = {}  # what the test told of itself, set at its end

    def measure(self, loaded: Loaded) -> None:
        """Measures what the test hands over; once."""
        self._measure(loaded)
        self._is_measured = True

    def pytest_configure(self, config: pytest.Config) -> None:
        """Gives the options the values that they have in the process that somebody started."""
        for name, value in self._options.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)

    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        """Keeps the first failure of the test, or why it was skipped."""
        import pytest

        if call.excinfo is None or self._failure is not None:
            return
        if isinstance(call.excinfo.value, pytest.skip.Exception | pytest.xfail.Exception):
            self._skipped = str(call.excinfo.value) or "skipped"
        else:
            self._failure = call.excinfo.value

    def check(self, node: str, code: int) -> None:
        """Raises what the test raised, and an error where it did not come to measuring."""
        if self._failure is not None:
            raise self._failure
        if self._skipped:
            raise SkippedError(self._skipped)
        if self._is_measured:
            return
        if code == 0:
            raise SkippedError("the test did not call its benchmark fixture")
        raise LoadError(f"pytest ended with {code} before it ran {node} in a fresh process", remedy="see the log")
