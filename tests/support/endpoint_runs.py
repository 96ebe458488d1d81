"""Loads against served models in the test's own process: loaded, prepared, timed, read, compared."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchwright import plugins
from benchwright.records import Case, Expected, Inputs, Load, Samples, Scalar, Target
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.outputs.answers import compare_answers


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRun:
    """What one client process would answer."""

    loaded: Loaded
    report: Report
    samples: Samples

    @property
    def details(self) -> dict[str, Any]:
        return {**self.loaded.details, **self.report.details}

    @property
    def errors(self) -> dict[str, int]:
        """Failed requests by kind."""
        return {kind: told["count"] for kind, told in self.details["errors"].items()}

    @property
    def reasons(self) -> str:
        """What the first failure of each kind said."""
        return "; ".join(told["first"] for told in self.details["errors"].values())

    @property
    def warnings(self) -> list[str]:
        return [warning.code for warning in self.report.warnings]


def make_case(
    runtime: str, uri: str, *, inputs: Inputs | None = None, load: Load | None = None, **options: Scalar
) -> Case:
    """One case of a served model."""
    target = Target(runtime=runtime, uri=uri, options=options)
    return Case(name="served", target=target, inputs=inputs or Inputs(), load=load or Load(samples=4, warmup=0.0))


def run_endpoint(case: Case, *, expected: Expected | None = None, folder: str = "") -> EndpointRun:
    """Sends the load of a case, as a worker would."""
    loaded: Loaded = plugins.load("runtimes", case.target.runtime)().load(case)
    with closing(loaded):
        assert loaded.prepare is not None
        prepared = loaded.prepare(case.load, 0)
        measured = prepared.time(time.perf_counter_ns())()
        report = loaded.report()
        if expected is not None:
            report = compare_answers(report, loaded, replace(case, expected=expected), folder)
    return EndpointRun(loaded=loaded, report=report, samples=measured.samples)


def write_lines(path: Path, *lines: str) -> str:
    """A file of these lines; its name."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)
