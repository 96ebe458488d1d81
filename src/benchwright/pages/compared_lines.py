"""Lines of a comparison: one metric of one case on every side, which of them are shown, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchwright.analysis import notes
from benchwright.analysis.comparison import ComparedMetric
from benchwright.analysis.geomeans import RatioMember, is_averaged, suite_of
from benchwright.analysis.judged_metrics import rank
from benchwright.analysis.rows import combine_estimates
from benchwright.pages.pairs import CaseOfSides, MetricOfSides
from benchwright.pages.shapes import ComparedColumn, ComparedLine
from benchwright.records import Better, Estimate, Status, Verdict
from benchwright.store.archive import ResultOutcome, Valued

DIRECTIONS = {"": None, **{better.value: better for better in Better}}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
ORDERS = ("effect", "case", "metric", "ratio", "-ratio")
_CHANGES = (Verdict.BETTER, Verdict.WORSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFilter:
    """Which lines of a comparison are shown, in which order, and from where on; without a limit, all of them."""

    words: str = ""  # each occurs in the case, a param, the metric or the machine
    metric: str = ""
    verdict: str = ""  # of any side
    changed: bool | None = None  # only those called better or worse on any side, or only the others
    order: str = "effect"
    by_case: bool = False  # lines of one case stand together
    after: int = 0
    limit: int | None = None

    @property
    def chooses(self) -> bool:
        """Whether any line may be left out, changed or not."""
        return bool(self.metric or self.verdict or self.words.strip())


class JudgedMetric(NamedTuple):
    """One metric of one case, on one side against the first. A tuple: there are thousands of them."""

    place: int
    case: CaseOfSides
    metric: MetricOfSides
    found: ComparedMetric | None  # None: one side lacks it

    @property
    def verdict(self) -> Verdict:
        """Returns the verdict; of a metric that one side lacks, worse when it failed there."""
        return self.found.verdict if self.found else _judge_one_sided(self)[0]

    def member(self) -> RatioMember:
        """Returns what it gives to the means of ratios."""
        before, after, known = self.metric
        is_held = self.found is not None and self.found.is_held  # what was measured in quarantine is left out
        points_before = [] if is_held else [(value.round, value.estimate.point) for value in before]
        points_after = [] if is_held else [(value.round, value.estimate.point) for value in after]
        better = DIRECTIONS.get(known.better) if is_averaged(known.metric, known.unit) else None
        return RatioMember(suite_of(known.case), known.metric, better, points_before, points_after, self.verdict)

    def column(self) -> ComparedColumn:
        """Returns it as a page shows it."""
        verdict, sentence = (self.found.verdict, self.found.sentence) if self.found else _judge_one_sided(self)
        there = self.metric.after[0] if self.metric.after else None
        return ComparedColumn(
            after=self.found.after if self.found else _combine_values(self.metric.after),
            ratio=self.found.ratio if self.found else None,
            verdict=verdict,
            sentence=sentence,
            result=there.result if there else "",
            series=there.series if there else "",
        )


def _judge_one_sided(one: JudgedMetric) -> tuple[Verdict, str]:
    """The verdict on a metric that one side lacks: worse when it failed in the later run, else unclear."""
    lacking = 0 if one.metric.after else 1
    names = (ORDINALS[0], ORDINALS[one.place])
    ended = one.case.outcomes[lacking]
    bad = [outcome for outcome in ended if outcome.status is not Status.OK]
    if not bad:
        return Verdict.UNCLEAR, f"only in the {names[1 - lacking]} run"
    verdict = Verdict.WORSE if lacking and len(bad) == len(ended) else Verdict.UNCLEAR
    return verdict, f"{names[lacking]} run: {describe_outcome(bad[0])}"


def describe_outcome(outcome: ResultOutcome) -> str:
    """How a result ended that has no numbers, and why."""
    reason = notes.reason(outcome.failure) if outcome.failure else ""
    return f"{outcome.status}: {reason}" if reason else str(outcome.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOfSides:
    """One metric of one case in every column, before it is built: of thousands a page shows a few."""

    known: JudgedMetric  # any of the columns
    machine: str
    cells: list[JudgedMetric | None] = field(default_factory=list)

    @property
    def is_changed(self) -> bool:
        """Whether any column is called better or worse."""
        return bool([one for one in self.cells if one and one.verdict in _CHANGES])

    def fits(self, asked: LineFilter) -> bool:
        """Whether the line was asked for, changed or not."""
        if asked.metric and self.known.metric.known.metric != asked.metric:
            return False
        if asked.verdict and all(one is None or one.verdict.value != asked.verdict for one in self.cells):
            return False
        if not asked.words.strip():
            return True
        text = f"{self.known.case.label} {self.known.metric.known.metric} {self.machine}".lower()
        return all(word in text for word in asked.words.lower().split())

    def effect(self) -> tuple[int, float]:
        """Sorts changes first, what failed before them, then by size; what one side alone has comes last."""
        ratios = [one.found.ratio.point for one in self.cells if one and one.found and one.found.ratio]
        if not ratios:
            return (0, 0.0) if self.is_changed else (2, 1.0)
        size = max([abs(math.log(ratio)) if ratio > 0 else math.inf for ratio in ratios])
        return (0 if self.is_changed else 1, -size)

    def ratio(self) -> float:
        """Returns the ratio of the first column that has one; a number below all of them where none has."""
        ratios = (one.found.ratio.point for one in self.cells if one and one.found and one.found.ratio)
        return next(ratios, -math.inf)

    def build(self) -> ComparedLine:
        """Returns the line as a page shows it."""
        case, known = self.known.case, self.known.metric.known
        before = next((one.metric.before for one in self.cells if one and one.metric.before), ())
        cells = [one.column() if one else self._lacking(before) for one in self.cells]
        second = cells[0]
        keys = dict.fromkeys([*([before[0].series] if before else []), *(one.series for one in cells if one.series)])
        return ComparedLine(
            case=case.name,
            params=case.params,
            metric=known.metric,
            unit=known.unit,
            better=known.better,
            before=self._before(before),
            after=second.after,
            ratio=second.ratio,
            verdict=second.verdict,
            sentence=second.sentence,
            before_result=before[0].result if before else "",
            after_result=second.result,
            series=list(keys),
            machine=self.machine,
            suite=suite_of(case.name),
            others=cells[1:],
        )

    def _before(self, before: Sequence[Valued]) -> Estimate | None:
        judged = next((one.found.before for one in self.cells if one and one.found), None)
        return judged or _combine_values(before)

    def _lacking(self, before: Sequence[Valued]) -> ComparedColumn:
        """A column in which neither the first side nor its own has the metric."""
        assert not before  # what the first side has stands in every column
        return ComparedColumn(
            after=None, ratio=None, verdict=Verdict.UNCLEAR, sentence="not measured", result="", series=""
        )


def order_lines(lines: Iterable[LineOfSides], asked: LineFilter) -> list[LineOfSides]:
    """The lines in the order that was asked for; those of one case together where that was asked for."""
    if asked.order == "effect":
        found = sorted(lines, key=LineOfSides.effect)
    elif asked.order in ("ratio", "-ratio"):
        found = sorted(lines, key=LineOfSides.ratio, reverse=asked.order.startswith("-"))
    else:
        found = sorted(lines, key=_words_of if asked.order == "case" else _metric_of)
    if not asked.by_case:
        return found
    first: dict[str, int] = {}
    for place, line in enumerate(found):
        first.setdefault(line.known.case.name, place)
    return sorted(found, key=lambda line: (first[line.known.case.name], *_words_of(line)[1:]))


def _words_of(line: LineOfSides) -> tuple[str, str, str, int, str]:
    metric = line.known.metric.known.metric
    return line.known.case.name, line.known.case.label, line.machine, rank(metric), metric


def _metric_of(line: LineOfSides) -> tuple[int, str, str]:
    metric = line.known.metric.known.metric
    return rank(metric), metric, line.known.case.label


def _combine_values(values: Sequence[Valued]) -> Estimate | None:
    return combine_estimates(values[0].metric, values[0].unit, [value.estimate for value in values]) if values else None
