"""Two runs that there are already, one judged against the other: `benchwright.compare(...)`, and what it returns."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from benchwright.analysis import comparison, false_alarms
from benchwright.analysis.comparison import SMALLEST, ComparedRow
from benchwright.errors import OptionError
from benchwright.exchange.named_runs import find_run
from benchwright.execution.noise.calibration import Calibration
from benchwright.records import Run, Verdict
from benchwright.store import open_configured_store
from benchwright.workflows.arguments import one_or_many

if TYPE_CHECKING:
    import pandas

    from benchwright.workflows.run import MeasuredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRuns:
    """The treatment against the control, with a verdict for each case and metric: prints as a table."""

    control: Run
    treatment: Run
    rows: tuple[ComparedRow, ...]  # one for each case of either run
    smallest: float  # share: a change below this counts as none
    calibration: Calibration | None = None  # how often the machine that measured gives a false alarm, where it is known

    @property
    def verdict(self) -> Verdict:
        """Returns the worst verdict of all rows."""
        return comparison.worst(self.rows)

    @property
    def ok(self) -> bool:
        """Whether nothing became worse."""
        return self.verdict is not Verdict.WORSE

    @property
    def is_same(self) -> bool:
        """Whether both sides are one run, so that nothing can have changed."""
        return self.control.id == self.treatment.id

    @property
    def beside(self) -> str:
        """How often the machine that measured gives a false alarm, in words; "" where that is not known."""
        return false_alarms.describe_for_comparison(self.calibration) if self.calibration else ""

    def print(self, file: TextIO | None = None) -> None:
        """Writes the table and its notes, coloured on a terminal."""
        from benchwright.report.ascii import emit_text
        from benchwright.report.comparison_text import print_comparison, same_run_text

        if self.is_same:
            emit_text(file or sys.stdout, f"{same_run_text(self.control)}\n")
            return
        sides = (self.rows, self.control, self.treatment)
        print_comparison(*sides, smallest=self.smallest, file=file, beside=self.beside)

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each case and metric. Needs pandas."""
        from benchwright.report.data_frames import comparison_frame

        return comparison_frame(self.rows)

    def __str__(self) -> str:
        from benchwright.report.table import plain_text

        return plain_text(self.print)

    def __repr__(self) -> str:
        return f"<ComparedRuns {self.treatment.id} against {self.control.id}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from benchwright.report.notebook import comparison_html

        return comparison_html(self.rows, self.control, self.treatment, smallest=self.smallest, beside=self.beside)


def compare(
    control: str | os.PathLike[str] | Run | MeasuredRun,
    treatment: str | os.PathLike[str] | Run | MeasuredRun,
    *,
    metrics: str | Sequence[str] = (),
    smallest: float | str = SMALLEST,
    store: str | os.PathLike[str] | None = None,
) -> ComparedRuns:
    """Judges the treatment against the control, case by case, by their rounds.

    A side is a run (what `run` returned, or its record), a reference into the store (`last~1`, an id, a tag, a commit),
    or a file. Without `metrics`, those that are usually judged. A change below `smallest` counts as none: a share such
    as 0.01, or a text such as "1%".
    """
    least = _share(smallest)
    before, after = (_side(side, name, store) for side, name in ((control, "control"), (treatment, "treatment")))
    rows = comparison.compare_runs(before, after, smallest=least, metrics=one_or_many(metrics or None, ()))
    if before.id != after.id:  # a run without a case is still the same as itself
        comparison.check_in_common(rows)
    environment = after.results[0].environment if after.results else None
    known = false_alarms.read_calibration(lambda: open_configured_store(store), environment)
    return ComparedRuns(control=before, treatment=after, rows=tuple(rows), smallest=least, calibration=known)


def _side(side: object, name: str, store: str | os.PathLike[str] | None) -> Run:
    from benchwright.store.files.transfer import read_runs

    record = getattr(side, "record", side)
    if isinstance(record, Run):
        return record
    if isinstance(side, str | os.PathLike):
        return find_run(os.fspath(side), lambda: open_configured_store(store), read_runs, samples=False)
    raise OptionError(f"{name}: {side!r} is not a run", remedy="give a run, a file, or a reference such as 'last~1'")


def _share(smallest: float | str) -> float:
    from benchwright.units import parse_percent

    if isinstance(smallest, str):
        return parse_percent(smallest, "smallest")
    if isinstance(smallest, bool) or not isinstance(smallest, int | float) or not 0 <= smallest < 1:
        raise OptionError(f"smallest: {smallest!r} is not a share from 0 to 1", remedy="write 0.01, or '1%'")
    return float(smallest)
