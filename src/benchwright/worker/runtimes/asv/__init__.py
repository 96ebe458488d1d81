"""Benchmarks of an asv suite: functions and methods `time_*`, `timeraw_*`, `mem_*`, `peakmem_*`, `track_*`.

Standard library only; neither asv nor asv_runner is needed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import ClassVar

from benchwright import schema
from benchwright.errors import DecodeError, LoadError
from benchwright.records import Case
from benchwright.schema.parsing import json_value
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.asv.suite import SuitePlace

NAME = "asv"
CACHE_VARIABLE = "BENCHWRIGHT_ASV_CACHE"  # the folder for what `setup_cache` makes: of one commit and environment
SESSION_VARIABLE = "BENCHWRIGHT_ASV_SESSION"  # tells one command from the next: a `setup_cache` that failed is retried


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteWork:
    """What a worker is told of a benchmark beside its parameters."""

    folder: str  # of the suite
    place: SuitePlace
    digest: str = ""  # of the suite's files
    rounds: int | None = None  # that the benchmark itself asks for
    cache: str = ""  # the key of its `setup_cache`; "": it has none
    cache_timeout: float = 0.0  # seconds
    parameters: tuple[str, ...] = field(default_factory=tuple)

    @classmethod
    def of(cls, case: Case) -> SuiteWork:
        """Reads what a case carries; a `LoadError` where that is not a benchmark of a suite."""
        try:
            return schema.decode(cls, json_value(case.target.work), where="work")
        except (ValueError, DecodeError) as error:
            raise LoadError(f"{case.name} is not a benchmark of an asv suite: {error}") from None

    def text(self) -> str:
        """The work as a case carries it."""
        return json.dumps(schema.encode(self), sort_keys=True)


class AsvSuite:
    """A benchmark of an asv suite, called as asv calls it and timed by the engine."""

    name: ClassVar[str] = NAME
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    def load(self, case: Case) -> Loaded:
        """Imports the suite, computes or finds its cache, and sets the benchmark up."""
        from benchwright.worker.runtimes.asv import benchmark  # of no use to the parent

        return benchmark.load(case, SuiteWork.of(case))


def rounds_of(case: Case, usual: int) -> int:
    """How many rounds a case gets: of a benchmark of asv's what itself asks for, else the usual number."""
    if case.target.runtime != NAME or not case.target.work:
        return usual
    return SuiteWork.of(case).rounds or usual
