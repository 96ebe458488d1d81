"""What is wrong with a spec. A reader gathers every problem of a file, so that one look is enough to mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecProblem:
    """One thing that is wrong, where, and what to do about it."""

    where: str  # `spec.yaml:12:5`
    message: str
    remedy: str = ""
    severity: Severity = "error"

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.severity == "error" else f"{self.where}: warning: {self.message}"
        return f"{text}\n  {self.remedy}" if self.remedy else text


def errors(problems: Iterable[SpecProblem]) -> list[SpecProblem]:
    """Those that keep a spec from being run."""
    return [problem for problem in problems if problem.severity == "error"]
