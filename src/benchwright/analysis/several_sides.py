"""Three and more runs: each judged against the first, all of them together.

Every column adds comparisons, and with them chances to be fooled. So the changes that are named in all columns
together are what at most 5 % are expected to be false of (`analysis.comparison.drop_chance_changes`); a single column
has no rate of its own. Columns share their baseline, so a baseline that came out too fast makes all of them look
slower at once: comparisons depend on each other positively, which the procedure allows for (docs/statistics.md has
a simulation of it).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from benchwright.analysis.comparison import (
    FALSE_RATE,
    SMALLEST,
    ComparedMetric,
    ComparedRow,
    drop_chance_changes,
    judge_rows,
)
from benchwright.analysis.geomeans import GeometricMean, Points, RatioMember, geometric_means, is_averaged, suite_of
from benchwright.analysis.judged_metrics import judged_metrics
from benchwright.analysis.rows import Row, check_metric_names, pair_rows, rows
from benchwright.records import Run, Verdict
from benchwright.records.costs import is_cost

RowPair = tuple[Row | None, Row | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedColumn:
    """One run against the baseline: which case was paired with which, how they compare, and the means of the ratios."""

    run: Run
    pairs: tuple[RowPair, ...]
    rows: tuple[ComparedRow, ...]  # one for each pair
    means: tuple[GeometricMean, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedLine:
    """One metric of one case in every column; None where a column has no comparison of it."""

    case: str
    metric: str
    columns: tuple[ComparedMetric | None, ...]


def judge_columns(
    baseline: Run,
    others: Sequence[Run],
    *,
    smallest: float = SMALLEST,
    metrics: Sequence[str] = (),
    held: Container[str] = (),
    across: Sequence[str] = (),
) -> list[JudgedColumn]:
    """Each of the other runs against the baseline. Without `metrics`, those that are judged of each case.

    `held` are the ids of results that were measured in quarantine. Cases are paired that are equal but for the
    parameters `across`; of one run against itself, its cases among each other.
    """
    before = rows(baseline, held=held)
    tables = [rows(run, held=held) for run in others]
    check_metric_names(metrics, [row for table in (before, *tables) for row in table])
    is_itself = [run.id for run in others] == [baseline.id]  # its cases are compared among each other
    pairs = [tuple(_pair(before, table, across, is_itself=is_itself, one_each=len(others) > 1)) for table in tables]
    judged = drop_over_columns([judge_rows(column, smallest=smallest, metrics=metrics) for column in pairs])
    if across and len(others) > 1:  # a line of several columns has no room for the values of each
        told = f"paired across {', '.join(across)}"
        judged = [[replace(row, notes=(*row.notes, told)) if row.metrics else row for row in rows] for rows in judged]
    return [
        JudgedColumn(run=run, pairs=paired, rows=tuple(column), means=tuple(means_of(paired, column, metrics)))
        for run, paired, column in zip(others, pairs, judged, strict=True)
    ]


def _pair(
    before: Sequence[Row], after: Sequence[Row], across: Sequence[str], *, is_itself: bool, one_each: bool
) -> list[RowPair]:
    if not across:
        return pair_rows(before, after)
    from benchwright.analysis.across import pair_across, pair_within  # few comparisons ask for it

    return pair_within(before, across) if is_itself else pair_across(before, after, across, one_each=one_each)


def drop_over_columns(columns: Sequence[Sequence[ComparedRow]]) -> list[list[ComparedRow]]:
    """The same columns without the changes that so many comparisons, in all of them together, show by chance."""
    kept = iter(drop_chance_changes(list(chain.from_iterable(columns))))
    return [[next(kept) for _ in column] for column in columns]


def describe_control(comparisons: int, columns: int) -> str:
    """The sentence that says over what the share of false changes is controlled."""
    over = f"all {columns} columns together" if columns > 1 else "this comparison"
    count = f"{comparisons:,} comparison{'s' * (comparisons != 1)}"
    return (
        f"Of the changes called better or worse in {over} ({count}), at most {100 * FALSE_RATE:g} % are expected to be "
        "chance."
    )


def means_of(
    pairs: Sequence[RowPair], compared: Sequence[ComparedRow], metrics: Sequence[str] = ()
) -> list[GeometricMean]:
    """The geometric means of the ratios of a comparison, by metric, and by suite where there are several."""
    return geometric_means(chain.from_iterable(_members(*both, metrics) for both in zip(pairs, compared, strict=True)))


def _members(pair: RowPair, compared: ComparedRow, metrics: Sequence[str]) -> Iterator[RatioMember]:
    """Every metric of a case that could be part of a mean.

    One that a side lacks is counted as left out, and so is what was measured in quarantine.
    """
    there = [row for row in pair if row is not None]
    judged = {one.name: one.verdict for one in compared.metrics}
    known = {
        metric.name: metric.better
        for row in there
        for metric in row.metrics.values()
        if is_averaged(metric.name, metric.unit)
    }
    for name in dict.fromkeys([*judged, *(metrics or judged_metrics(known))]):
        if name in known and not is_cost(name):
            before, after = (_points(row, name) if row and not row.is_held else () for row in pair)
            verdict = judged.get(name, Verdict.UNCLEAR)
            yield RatioMember(suite_of(there[0].name), name, known[name], before, after, verdict)


def _points(row: Row, metric: str) -> Points:
    return [(result.round, found.estimate.point) for result in row.ok if (found := result.metric(metric))]


def align(columns: Sequence[JudgedColumn]) -> list[AlignedLine]:
    """The metrics of all columns, a line for each case and metric, in the order of the baseline's cases."""
    lines: dict[tuple[str, str], list[ComparedMetric | None]] = {}
    labels: dict[str, str] = {}
    for place, column in enumerate(columns):
        for (before, after), compared in zip(column.pairs, column.rows, strict=True):
            known = before or after
            assert known is not None
            key = f"{known.key} {known.case.target.uri if before else ''}"
            labels.setdefault(key, known.short)
            for one in compared.metrics:
                lines.setdefault((key, one.name), [None] * len(columns))[place] = one
    order = {key: place for place, key in enumerate(labels)}
    return [
        AlignedLine(case=labels[key], metric=metric, columns=tuple(lines[key, metric]))
        for key, metric in sorted(lines, key=lambda name: order[name[0]])
    ]
