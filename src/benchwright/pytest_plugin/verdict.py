"""The run against an earlier one: pytest-benchmark's conditions in the language of our gate."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright.analysis import baseline
from benchwright.analysis.comparison import SMALLEST
from benchwright.analysis.gate import Condition, Gate, check, parse_condition
from benchwright.analysis.rows import rows
from benchwright.errors import OptionError
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    import pytest

    from benchwright.pytest_plugin.suite import SuiteRun

LAST = "last"
_EXPRESSION = re.compile(r"(min|max|mean|median|stddev|iqr|ops):(.+)")
_MEANT = {"min": "median", "mean": "median", "median": "median", "ops": "throughput"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteVerdict:
    """The gate with what it says, or why there is nothing to compare with."""

    gate: Gate | None
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether pytest may end well."""
        return self.gate is None or self.gate.ok


def judge(suite: SuiteRun) -> SuiteVerdict:
    """Compares the run of a suite with what was named; without a name, with the last one that measured the same."""
    asked, against = read_conditions(suite.config), suite.config.option.benchmark_compare
    if against == LAST:
        with closing(open_configured_store(suite.store_url)) as store:
            wanted = {row.key for row in rows(suite.run)}
            before = next(baseline.earlier_runs(store, suite.run, wanted), None)
        if before is None:
            note = "nothing to compare with: no earlier run in the store measured these tests in this way"
            return SuiteVerdict(gate=None, note=note)
        against = before.id
    sides, rules = baseline.find_sides(
        suite.record.id, against, lambda: open_configured_store(suite.store_url), repo=Path(suite.config.rootpath)
    )
    return SuiteVerdict(gate=check(sides, asked, smallest=SMALLEST, rules=rules))


def read_conditions(config: pytest.Config) -> list[Condition]:
    """The conditions that were given, in either language; an `OptionError` for one that is none."""
    option = config.option
    return [*map(translate, option.benchmark_compare_fail), *map(parse_condition, option.benchwright_fail_on)]


def translate(expression: str) -> Condition:
    """`mean:5%` as a condition of ours; what is a condition of ours already stays as it is."""
    found = _EXPRESSION.fullmatch(expression.strip())
    if found is None:
        return parse_condition(expression)
    name, size = found.groups()
    if name not in _MEANT:
        raise OptionError(
            f"--benchmark-compare-fail: {expression}: {name} is not judged",
            remedy=f"for example median:{size}, p99>10%",
        )
    if not size.strip().endswith("%"):
        raise OptionError(
            f"--benchmark-compare-fail: {expression}: a change is judged as a share", remedy=f"for example {name}:5%"
        )
    return parse_condition(f"{_MEANT[name]}>{size}")
