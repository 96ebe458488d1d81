"""Runs that there are already, judged against the first of them: `benchwright.compare(...)`, and what it returns."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from benchwright.analysis import comparison, false_alarms
from benchwright.analysis.comparison import SMALLEST, ComparedRow
from benchwright.analysis.geomeans import GeometricMean
from benchwright.analysis.judged_results import read_held
from benchwright.analysis.machine_columns import part_of
from benchwright.analysis.several_sides import AlignedLine, JudgedColumn, align, judge_columns
from benchwright.errors import OptionError
from benchwright.exchange.named_runs import find_run
from benchwright.execution.noise.calibration import Calibration
from benchwright.records import Run, Verdict
from benchwright.store import open_configured_store
from benchwright.workflows.arguments import one_or_many

if TYPE_CHECKING:
    import pandas

    from benchwright.workflows.run import MeasuredRun


MACHINE = "machine:"  # begins a side that is one machine's part of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRuns:
    """The treatment against the control, with a verdict for each case and metric: prints as a table."""

    control: Run
    treatment: Run
    rows: tuple[ComparedRow, ...]  # one for each case of either run
    smallest: float  # share: a change below this counts as none
    calibration: Calibration | None = None  # how often the machine that measured gives a false alarm, where it is known
    means: tuple[GeometricMean, ...] = ()  # of the ratios, over all cases and by suite
    across: tuple[str, ...] = ()  # parameters in which paired cases may differ

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
        return self.control.id == self.treatment.id and not self.across

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
        print_comparison(
            *sides, smallest=self.smallest, file=file, beside=self.beside, means=self.means, across=self.across
        )

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

        sides = (self.rows, self.control, self.treatment)
        return comparison_html(*sides, smallest=self.smallest, beside=self.beside, across=self.across)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """Several runs, each judged against one baseline, all of them together: prints as a table with a column each."""

    baseline: Run
    columns: tuple[ComparedRuns, ...]
    lines: tuple[AlignedLine, ...]  # one for each case and metric
    smallest: float

    @property
    def verdict(self) -> Verdict:
        """Returns the worst verdict of all columns."""
        return comparison.worst([row for column in self.columns for row in column.rows])

    @property
    def ok(self) -> bool:
        """Whether nothing became worse in any column."""
        return self.verdict is not Verdict.WORSE

    def print(self, file: TextIO | None = None) -> None:
        """Writes the table and its notes, coloured on a terminal."""
        from benchwright.report.columns_text import print_columns

        print_columns(self.lines, self.judged, self.baseline, smallest=self.smallest, file=file)

    @property
    def judged(self) -> list[tuple[Run, Sequence[ComparedRow], Sequence[GeometricMean]]]:
        """Returns each run but the baseline with its rows and means."""
        return [(column.treatment, column.rows, column.means) for column in self.columns]

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each run, case and metric. Needs pandas."""
        from benchwright.report.data_frames import columns_frame

        return columns_frame([(column.treatment.id, column.rows) for column in self.columns])

    def __str__(self) -> str:
        from benchwright.report.table import plain_text

        return plain_text(self.print)

    def __repr__(self) -> str:
        runs = ", ".join(column.treatment.id for column in self.columns)
        return f"<BaselineComparison {runs} against {self.baseline.id}: {self.verdict}>"

    def _repr_html_(self) -> str:
        return "".join(column._repr_html_() for column in self.columns)


def compare(
    control: str | os.PathLike[str] | Run | MeasuredRun,
    treatment: str | os.PathLike[str] | Run | MeasuredRun | None = None,
    *,
    metrics: str | Sequence[str] = (),
    across: str | Sequence[str] = (),
    smallest: float | str = SMALLEST,
    store: str | os.PathLike[str] | None = None,
) -> ComparedRuns:
    """Judges the treatment against the control, case by case, by their rounds.

    A side is a run (what `run` returned, or its record), a reference into the store (`last~1`, an id, a tag, a commit),
    or a file. Without `metrics`, those that are usually judged. A change below `smallest` counts as none: a share such
    as 0.01, or a text such as "1%". `across` names parameters in which cases may differ that are held against each
    other; without a treatment, they are cases of the control itself.
    """
    least = _share(smallest)
    names = _parameter_names(across)
    if treatment is None and not names:
        raise OptionError("nothing to compare the control with", remedy="name a treatment, or parameters across which")
    before = _side(control, "control", store)
    after = before if treatment is None else _side(treatment, "treatment", store)
    held = read_held(lambda: open_configured_store(store), [before, after])
    [column] = judge_columns(
        before, [after], smallest=least, metrics=one_or_many(metrics or None, ()), held=held, across=names
    )
    return _compared_runs(before, column, least, store, names)


def compare_several(
    baseline: str | os.PathLike[str] | Run | MeasuredRun,
    *others: str | os.PathLike[str] | Run | MeasuredRun,
    metrics: str | Sequence[str] = (),
    across: str | Sequence[str] = (),
    smallest: float | str = SMALLEST,
    store: str | os.PathLike[str] | None = None,
) -> BaselineComparison:
    """Judges each of the other runs against the baseline; the share of false changes is that of all columns together.

    Sides, `metrics`, `across` and `smallest` are those of `compare`.
    """
    if not others:
        raise OptionError("nothing to compare the baseline with", remedy="name at least one other run")
    least = _share(smallest)
    names = ("baseline", *(f"side {place}" for place in range(2, 2 + len(others))))
    before, *after = (_side(side, name, store) for side, name in zip((baseline, *others), names, strict=True))
    held = read_held(lambda: open_configured_store(store), [before, *after])
    kept = _parameter_names(across)
    judged = judge_columns(
        before, after, smallest=least, metrics=one_or_many(metrics or None, ()), held=held, across=kept
    )
    columns = tuple(_compared_runs(before, column, least, store, kept) for column in judged)
    return BaselineComparison(baseline=before, columns=columns, lines=tuple(align(judged)), smallest=least)


def sides_by_machine(sides: Sequence[str], store: str | os.PathLike[str] | None) -> list[str | Run]:
    """The sides, where some are `machine:NAME`: what these machines measured of the run that stands before them.

    Without one before them it is the last run. Other sides are left as they are.
    """
    if not any(side.startswith(MACHINE) for side in sides):
        return list(sides)
    whole = "last" if sides[0].startswith(MACHINE) else sides[0]
    named = [side for side in sides if side.startswith(MACHINE)]
    if len(named) < len([side for side in sides if side != whole]):
        raise OptionError(
            f"{next(side for side in sides[1:] if not side.startswith(MACHINE))!r} is not a machine",
            remedy="write compare RUN machine:A machine:B",
        )
    if len(named) < 2:
        raise OptionError(f"nothing to compare {named[0]} with", remedy=f"name another one: {named[0]} machine:NAME")
    run = _side(whole, "run", store)
    return [part_of(run, side.removeprefix(MACHINE)) for side in named]


def _parameter_names(across: str | Sequence[str]) -> tuple[str, ...]:
    """The names of parameters, given as one text with commas or as a list."""
    names = [name.strip() for name in across.split(",")] if isinstance(across, str) else list(across)
    if across and not all(isinstance(name, str) and name for name in names):
        raise OptionError(f"across: {across!r} has an empty name", remedy="write lr,batch_size")
    return tuple(dict.fromkeys(names)) if across else ()


def _check_in_common(column: JudgedColumn, across: Sequence[str]) -> None:
    """Refuses runs without a common case, and names the parameters that keep their cases apart."""
    try:
        comparison.check_in_common(column.rows)
    except OptionError as error:
        from benchwright.analysis.across import find_differing

        before, after = ([pair[side] for pair in column.pairs] for side in (0, 1))
        differing = find_differing([row for row in before if row], [row for row in after if row])
        if across or not differing:
            raise
        raise OptionError(
            f"{error.message}; their cases differ in {' and '.join(differing)}",
            remedy=f"add --across {','.join(differing)} to compare them all the same",
        ) from None


def _compared_runs(
    before: Run,
    column: JudgedColumn,
    least: float,
    store: str | os.PathLike[str] | None,
    across: tuple[str, ...] = (),
) -> ComparedRuns:
    after = column.run
    if before.id != after.id:  # a run without a case is still the same as itself
        _check_in_common(column, across)
    environment = after.results[0].environment if after.results else None
    known = false_alarms.read_calibration(lambda: open_configured_store(store), environment)
    return ComparedRuns(
        control=before,
        treatment=after,
        rows=column.rows,
        smallest=least,
        calibration=known,
        means=column.means,
        across=across,
    )


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
