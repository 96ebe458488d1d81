"""Two and more sides, each against the first, as `benchwright compare` judges them, from points alone.

All lines are judged, counted and averaged together, whatever part of them is shown: a verdict must not depend on what
somebody searches for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchwright import schema
from benchwright.analysis import notes
from benchwright.analysis.causes import changed_facts
from benchwright.analysis.comparison import (
    NOT_JUDGED,
    OTHER_MACHINES,
    OTHER_VERSION,
    ComparedRow,
    Rounds,
    cautions,
    describe_doubt,
    judge,
    notes_of,
)
from benchwright.analysis.geomeans import EVERY_SUITE, GeometricMean, geometric_means
from benchwright.analysis.goal_comparison import leave_missed_goals_open
from benchwright.analysis.judged_metrics import in_order
from benchwright.analysis.judged_results import JudgedResults
from benchwright.analysis.price_changes import compare_prices
from benchwright.analysis.several_sides import describe_control, drop_over_columns
from benchwright.errors import OptionError, StoreError, did_you_mean
from benchwright.pages import at_once, sides
from benchwright.pages.compared_lines import (
    DIRECTIONS,
    ORDERS,
    ORDINALS,
    JudgedMetric,
    LineFilter,
    LineOfSides,
    describe_outcome,
    order_lines,
)
from benchwright.pages.kept_comparisons import KeptComparisons
from benchwright.pages.machines import machine_note
from benchwright.pages.names import machine_names
from benchwright.pages.pairs import CaseOfSides, MetricOfSides, describe_params, pair_cases, param_names
from benchwright.pages.shapes import Comparison, Difference, MeanColumn, MeanRatio
from benchwright.records import Environment, Status, Value, Verdict
from benchwright.records.costs import is_cost, is_money
from benchwright.records.goals import REACHED, is_reached_share
from benchwright.store.archive import Archive

_FACTS = ("packages", "runtimes", "machine", "devices", "system", "knobs")  # in the order they are shown
_SUITES = 50  # that have means of their own, those with most cases
_NOTES = 40
_DIFFERENCES = 500


@at_once
def compare(
    archive: Archive,
    a: str,
    b: str,
    *others: str,
    metrics: Sequence[str] = (),
    across: Sequence[str] = (),
    shown: LineFilter | None = None,
) -> Comparison:
    """Every other side against `a`: `run:REF`, `revision:ID`, `branch:NAME`, `machine:KEY[@RUN]` or `runtime:NAME`.

    Without metrics, those of each case that `benchwright compare` judges. Cases are paired that are equal but for the
    params `across`.
    """
    asked = shown or LineFilter()
    if asked.order not in ORDERS:
        raise OptionError(f"{asked.order!r} is not an order of lines", remedy=did_you_mean(asked.order, ORDERS))
    given = (a, b, *others)
    if shown is None:  # all lines, once: a published site
        whole = _judge_whole(archive, given, metrics, across)
    else:
        whole = _KEPT.get(
            archive,
            (given, tuple(metrics), tuple(across)),
            lambda: _judge_whole(archive, given, metrics, across),
            size=lambda one: len(one.lines),
            version=(_version(archive, given), tuple(archive.quarantines())),
        )
    _check_metric_names((*metrics, *filter(None, [asked.metric])), whole.comparison.metrics)
    fitting = [line for line in whole.lines if line.fits(asked)] if asked.chooses else whole.lines
    found = fitting if asked.changed is None else [line for line in fitting if asked.changed is line.is_changed]
    page = order_lines(found, asked)[asked.after :][: asked.limit]
    end = asked.after + len(page)
    return replace(
        whole.comparison,
        lines=[line.build() for line in page],
        found=len(found),
        fitting=len(fitting),
        next=str(end) if end < len(found) else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedWhole:
    """A comparison before a part of it is chosen: all lines, and what holds for them together."""

    comparison: Comparison  # without lines
    lines: Sequence[LineOfSides]


_KEPT: KeptComparisons[_JudgedWhole] = KeptComparisons()


def _version(archive: Archive, given: Sequence[str]) -> Hashable:
    """What changes when a side does: the results of its runs, or the newest of all where a side may be of any run."""
    kinds = [sides.split_side(one) for one in given]
    if any(kind != "run" for kind, _ in kinds):
        return archive.newest()
    runs = [archive.find(name) for _, name in kinds]
    sizes = archive.run_sizes(runs)
    return tuple((run, sizes.get(run)) for run in runs)


def _judge_whole(archive: Archive, given: Sequence[str], metrics: Sequence[str], across: Sequence[str]) -> _JudgedWhole:
    filled = sides.fill_sides(archive, given)
    known = sorted({value.metric for side in filled for value in side.values})
    _check_metric_names(metrics, known)
    judged = _judge_sides(filled, metrics, across, _held_results(archive, filled))
    lines = judged.lines(_machine_names(archive, filled))
    first, second, *more = (side.side for side in filled)
    counts = judged.counts(lines)
    told = Comparison(
        a=first,
        b=second,
        others=more,
        lines=(),
        differences=_differences(archive, filled)[:_DIFFERENCES],
        metrics=known,
        counts=counts[0],
        other_counts=counts[1:],
        across=across,
        params=param_names(filled),
        notes=[
            *describe_params(filled, across),
            *judged.notes(filled),
            *filter(None, [machine_note(archive, _machines(filled))]),
        ],
        means=judged.means(),
        total=len(lines),
        changed=sum(line.is_changed for line in lines),
        judged=in_order({line.known.metric.known.metric for line in lines}),
        control=describe_control(judged.comparisons, len(judged.columns)),
    )
    return _JudgedWhole(comparison=told, lines=lines)


def _machines(filled: Sequence[sides.FilledSide]) -> set[str]:
    return {value.machine for side in filled for value in side.values}


def _check_metric_names(metrics: Sequence[str], known: Sequence[str]) -> None:
    for name in metrics:
        if name not in known:
            raise StoreError(f"neither side has a metric {name!r}", remedy=did_you_mean(name, known))


# ---- all sides ----


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One side against the first: its cases, and how each compares."""

    place: int  # of the side
    rows: Sequence[ComparedRow]
    metrics: Sequence[JudgedMetric]  # of every case


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedSides:
    columns: Sequence[_Column]

    @property
    def comparisons(self) -> int:
        """How many comparisons were made in all columns."""
        return sum(len(row.metrics) for column in self.columns for row in column.rows)

    def lines(self, machines: Mapping[str, str]) -> list[LineOfSides]:
        """The metrics of all columns, a line for each of the first side's, and for what that one lacks."""
        found: dict[tuple[str, ...], LineOfSides] = {}
        for at, column in enumerate(self.columns):
            for one in column.metrics:
                key = one.case.key_of(one.metric)
                if key not in found:
                    cells: list[JudgedMetric | None] = [None] * len(self.columns)
                    found[key] = LineOfSides(known=one, machine=machines.get(one.metric.known.machine, ""), cells=cells)
                found[key].cells[at] = one
        return list(found.values())

    def counts(self, lines: Sequence[LineOfSides]) -> list[Mapping[str, int]]:
        """Verdicts of each column."""
        return [
            Counter(one.verdict.value for line in lines if (one := line.cells[i])) for i in range(len(self.columns))
        ]

    def notes(self, filled: Sequence[sides.FilledSide]) -> list[str]:
        """The notes of every column, each once; of several, with the side that they are about."""
        told = [notes_of(column.rows) for column in self.columns]
        everywhere = [note for note in told[0] if all(note in others for others in told)]
        found = list(everywhere)
        for column, said in zip(self.columns, told, strict=True):
            about = f"{filled[column.place].side.label}: " if len(self.columns) > 1 else ""
            found += [f"{about}{note}" for note in said if note not in everywhere]
        more = [f"and {len(found) - _NOTES:,} more notes"] if len(found) > _NOTES else []
        return [*found[:_NOTES], *more]

    def means(self) -> list[MeanRatio]:
        """The means of the ratios, over all cases first, then by suite."""
        columns = [
            geometric_means([one.member() for one in column.metrics if not is_cost(one.metric.known.metric)])
            for column in self.columns
        ]
        by_name = [{(mean.suite, mean.metric): mean for mean in column} for column in columns]
        names = dict.fromkeys(name for column in by_name for name in column)
        sizes: Counter[str] = Counter()
        for column in columns:
            for mean in column:
                sizes[mean.suite] += mean.cases
        kept = {EVERY_SUITE, *(suite for suite, _ in sizes.most_common(_SUITES + 1))}
        return [
            MeanRatio(
                suite=suite,
                metric=metric,
                better=next(found[suite, metric].better.value for found in by_name if (suite, metric) in found),
                columns=[_mean_column(found.get((suite, metric))) for found in by_name],
            )
            for suite, metric in names
            if suite in kept
        ]


def _mean_column(mean: GeometricMean | None) -> MeanColumn:
    if mean is None:
        return MeanColumn(ratio=None, cases=0, left_out=0, counts={})
    return MeanColumn(ratio=mean.ratio, cases=mean.cases, left_out=mean.left_out, counts=mean.counts)


def _held_results(archive: Archive, filled: Sequence[sides.FilledSide]) -> frozenset[str]:
    """The results of all sides that were measured in quarantine."""
    judged = JudgedResults(archive)
    return frozenset(value.result for side in filled for value in side.values if judged.is_held_value(value))


def _judge_sides(
    filled: Sequence[sides.FilledSide], metrics: Sequence[str], across: Sequence[str], held: frozenset[str]
) -> _JudgedSides:
    cases = pair_cases(filled, metrics, across)
    rows = drop_over_columns(
        [[_compare_case(case, place, held) for case in column] for place, column in enumerate(cases, start=1)]
    )
    return _JudgedSides(
        columns=[
            _Column(place=place, rows=judged, metrics=list(_judged_metrics(place, column, judged)))
            for place, (column, judged) in enumerate(zip(cases, rows, strict=True), start=1)
        ]
    )


def _judged_metrics(place: int, cases: Sequence[CaseOfSides], rows: Sequence[ComparedRow]) -> Iterator[JudgedMetric]:
    """Every metric of every case, with its judgement where both sides have it."""
    for case, row in zip(cases, rows, strict=True):
        judged = iter(row.metrics)
        for metric in case.metrics:
            found = next(judged) if metric.before and metric.after else None
            yield JudgedMetric(place, case, metric, found)


# ---- one case ----


def _compare_case(case: CaseOfSides, place: int, held: frozenset[str]) -> ComparedRow:
    names = (ORDINALS[0], ORDINALS[place])
    unsure = notes.name_unreliable_runs(_unreliable(case, names)) if case.is_doubted else ""
    both = [metric for metric in case.metrics if metric.before and metric.after]
    in_quarantine = notes.describe_held(_held_sides(both, names, held)) if held else ""
    change = compare_prices(*([one.price for one in side] for side in case.outcomes))
    judged = [
        judge(
            _rounds(metric),
            unsure=unsure,
            held=in_quarantine,
            change=change if is_money(metric.known.metric) else None,
        )
        for metric in both
    ]
    found = tuple(leave_missed_goals_open(judged, _missed_goals(case)))
    said = [f"{in_quarantine}: {NOT_JUDGED}"] if in_quarantine else []
    said += _failures(case, names)
    if both and "machine" not in case.across and any(m.before[0].machine != m.after[0].machine for m in both):
        said.append(OTHER_MACHINES)
    versions = [{one.version for one in side if one.status is Status.OK} for side in case.outcomes]
    if both and "runtime" not in case.across and all(versions) and versions[0] != versions[1]:
        said.append(OTHER_VERSION)
    if unsure:
        said.append(describe_doubt(unsure))
    if change is not None:
        said.append(change.words)
    said += cautions(found)
    return ComparedRow(label=case.label, metrics=found, notes=tuple(said), verdict=Verdict.UNCLEAR)


def _missed_goals(case: CaseOfSides) -> list[str]:
    """The goals that a round of either side never reached."""
    return [
        metric.known.metric.removeprefix(f"{REACHED}_")
        for metric in case.metrics
        if is_reached_share(metric.known.metric, metric.known.unit)
        and any(value.estimate.point < 100.0 for value in (*metric.before, *metric.after))
    ]


def _rounds(metric: MetricOfSides) -> Rounds:
    before, after, known = metric
    return Rounds(
        known.metric,
        known.unit,
        DIRECTIONS.get(known.better),
        tuple([value.estimate for value in before]),
        tuple([value.estimate for value in after]),
    )


def _held_sides(both: Sequence[MetricOfSides], names: tuple[str, str], held: frozenset[str]) -> list[str]:
    """The sides that have values from results in quarantine."""
    values = [value for one in both for value in one.before], [value for one in both for value in one.after]
    return [name for name, side in zip(names, values, strict=True) if any(value.result in held for value in side)]


def _unreliable(case: CaseOfSides, names: tuple[str, str]) -> list[str]:
    """The sides whose values came from results that the instrument does not trust."""
    found = []
    for name, ended, values in (
        (names[0], case.outcomes[0], [value for metric in case.metrics for value in metric.before]),
        (names[1], case.outcomes[1], [value for metric in case.metrics for value in metric.after]),
    ):
        behind = {value.result for value in values}
        if notes.is_doubtful([one.verdict for one in ended if one.result in behind]):
            found.append(name)
    return found


def _failures(case: CaseOfSides, names: tuple[str, str]) -> Iterator[str]:
    """What went wrong on a side, unless it went wrong on both as much."""
    bad = [[one for one in side if one.status is not Status.OK] for side in case.outcomes]
    for i, name in enumerate(names):
        if bad[i] and len(bad[i]) == len(case.outcomes[i]):
            yield f"{name} run: {describe_outcome(bad[i][0])}"
        elif bad[i] and i == 1 and not bad[0]:
            yield f"{name} run: {describe_outcome(bad[i][0])} in some rounds"


# ---- what else differs ----


def _machine_names(archive: Archive, filled: Sequence[sides.FilledSide]) -> Mapping[str, str]:
    """Names that tell lines of the same case apart; none where each side is of one machine."""
    several = any(len({value.machine for value in side.values}) > 1 for side in filled)
    return machine_names(archive) if several else {}


def _differences(archive: Archive, filled: Sequence[sides.FilledSide]) -> list[Difference]:
    """The facts of the environments that differ from the first, as the newest result of each side recorded them."""
    newest = [max(side.values, key=lambda value: value.at).result for side in filled if side.values]
    if len(newest) < len(filled):
        return []
    facts = [_facts(archive.environment_of(result)) for result in newest]
    changes = [changed_facts(facts[0], other) for other in facts[1:]]
    found = []
    for what in dict.fromkeys(what for changed in changes for what in changed):
        pairs = [changed.get(what) for changed in changes]
        before = next(pair[0] for pair in pairs if isinstance(pair, list))
        after, *others = (pair[1] if isinstance(pair, list) else before for pair in pairs)
        found.append(Difference(what=what, before=before, after=after, others=others))
    return sorted(found, key=lambda one: _FACTS.index(one.what.partition(".")[0]))


def _facts(environment: Environment) -> dict[str, Value]:
    """The facts of an environment that are shown; accelerators by their place."""
    told = schema.encode(environment)
    told["devices"] = {str(i): facts for i, facts in enumerate(told["accelerators"])}
    return {name: told[name] for name in _FACTS}
