"""From what a command prints, while it prints it, to metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchwright.errors import OptionError
from benchwright.records import Estimate, Metric, Operator, ResultWarning, Timeline, Value
from benchwright.schema.soundness import LARGEST
from benchwright.targets.tasks.definition import Pattern, Task, TaskMetric
from benchwright.targets.tasks.goal_tables import warmup_name
from benchwright.worker.tasks import aggregates
from benchwright.worker.tasks.aggregates import CapturedSeries, UncomputableError
from benchwright.worker.tasks.goals import GoalWatch, details_of, metrics_of, warn_if_missed
from benchwright.worker.tasks.lines import LONGEST, Lines
from benchwright.worker.tasks.numbers import NotANumberError, NotFiniteError, is_whole, parse_number
from benchwright.worker.tasks.scanner import MOST_SECONDS, Block, Column, Scanner, TooSlowError, limit_cpu_time, scanner
from benchwright.worker.tasks.warmup import NOT_STEADY, CountedPart, KeptValues, count_part


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedValues:
    """The values of a log. `absent` tells why a metric has no value, `missing` the same without the optional ones."""

    metrics: tuple[Metric, ...]
    timelines: tuple[Timeline, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[ResultWarning, ...] = ()
    details: Mapping[str, Value] = field(default_factory=dict)
    operators: tuple[Operator, ...] = ()


@dataclass(slots=True)
class _SeriesInput:
    """A series of captured values, and the captured texts that are not numbers."""

    series: CapturedSeries
    whole: bool = True  # every number was written without a point
    rubbish: int = 0
    example: str = ""
    poison: str = ""  # the first nan or inf
    kept: KeptValues | None = None  # where a metric leaves a part of the values out


class Extractor:
    """Looks for a task's patterns in several streams at once, each made of lines of its own."""

    def __init__(self, task: Task, *, workers: int = 0, streams: int = 1) -> None:
        self._task, self._workers = task, workers
        self._lines = [Lines() for _ in range(streams)]
        used = {metric.series for metric in task.metrics} | {goal.series for goal in task.goals}
        used |= set(task.phases.values())
        self._searches: list[tuple[Pattern, list[Scanner]]] = [
            (pattern, [scanner(pattern.text, spanning=task.older) for _ in range(streams)])
            for pattern in task.patterns
            if used & pattern.series.keys()
        ]
        self._slow: dict[str, str] = {}  # series -> the pattern that was given up
        self.fed = {
            name: _SeriesInput(
                CapturedSeries(self._computations(name)),
                kept=KeptValues() if any(one.leaves_out and one.series == name for one in task.metrics) else None,
            )
            for name in used
        }
        self.goals = {goal.name: GoalWatch(goal) for goal in task.goals}
        self._parts: dict[str, CountedPart] = {}  # by metric, once it is computed
        self._end = 0.0

    def _computations(self, series: str) -> list[str]:
        """What is computed of a series; of one that only a goal is about, its last value."""
        computed = [self._computation_of(metric) for metric in self._task.metrics if metric.series == series]
        computed += ["sum" for phase in self._task.phases.values() if phase == series]
        return [*computed, *("last" for goal in self._task.goals if goal.series == series)]

    def feed(self, data: bytes, at: float = 0.0, stream: int = 0) -> None:
        """The next piece of a stream, cut anywhere, and the second it came at."""
        self._scan(self._lines[stream].feed(data), at, stream)

    def finish(self, at: float = 0.0) -> None:
        """The streams have ended; a last line without its end counts too."""
        for stream, lines in enumerate(self._lines):
            self._scan(lines.finish(), at, stream)
        self._end = at

    def latest(self) -> dict[str, float]:
        """The last number of every series that has one."""
        return {name: fed.series.last for name, fed in self.fed.items() if fed.series.count}

    def result(self) -> ExtractedValues:
        """Everything that can be computed from what was found."""
        found: dict[str, Metric] = {}
        absent: dict[str, str] = {}
        for metric in self._task.metrics:
            try:
                found[metric.name] = self._metric(metric)
            except UncomputableError as error:
                absent[metric.name] = str(error)
        optional = {metric.name for metric in self._task.metrics if metric.optional}
        goals = {name: watch.outcome(self._end) for name, watch in self.goals.items() if watch.values}
        absent |= {
            f"the goal {name}": "no value was printed that it is about" for name in self.goals if name not in goals
        }
        of_goals = [metric for name, outcome in goals.items() for metric in metrics_of(name, outcome)]
        return ExtractedValues(
            metrics=(*found.values(), *self._warmups(found), *of_goals),
            timelines=tuple(self._timelines(found)),
            missing={name: why for name, why in absent.items() if name not in optional},
            absent=absent,
            warnings=(*self._warnings(), *filter(None, map(warn_if_missed, goals.values()))),
            details={"log": self._details(found), **details_of(goals)},
            operators=self._phases(),
        )

    # ---- finding ----

    def _scan(self, data: bytes, at: float, stream: int) -> None:
        if not data:
            return
        block = Block(data)
        for pattern, scanners in list(self._searches):
            try:
                with limit_cpu_time():
                    columns = scanners[stream].scan(block)
            except TooSlowError:
                self._give_up(pattern)
                continue
            if columns:
                for watch in self.goals.values():
                    if watch.goal.series in pattern.series:
                        watch.take(columns, pattern.series, at)
                for name, group in pattern.series.items():
                    if name in self.fed:
                        self._take(self.fed[name], columns[max(0, group - 1)], at)

    def _give_up(self, pattern: Pattern) -> None:
        self._searches = [(each, scanners) for each, scanners in self._searches if each is not pattern]
        self._slow.update(dict.fromkeys(pattern.series, pattern.text))

    def _take(self, fed: _SeriesInput, column: Column, at: float) -> None:
        texts = column if all(column) else [text for text in column if text]
        if not texts:
            return
        fed.series.hit(len(texts), at)
        if not fed.series.wants_numbers:
            return
        values = _parse_all(texts)
        if values is None:
            values = _parse_each(fed, texts)
        if values:
            fed.series.add(values, at)
            if fed.kept is not None:
                fed.kept.add(values, at)
            fed.whole = fed.whole and all(value.is_integer() for value in values) and all(map(_is_whole, texts))

    # ---- computing ----

    def _metric(self, wanted: TaskMetric) -> Metric:
        fed = self.fed[wanted.series]
        if wanted.series in self._slow:
            pattern = self._slow[wanted.series]
            raise UncomputableError(
                f"{pattern!r} was given up: it took more than {MOST_SECONDS:g} s for one block of lines"
            )
        how = self._computation_of(wanted)
        if not fed.series.hits and aggregates.canonical(how) != "count":
            raise UncomputableError("its pattern matched no line")
        if fed.poison and fed.series.wants_numbers and aggregates.canonical(how) not in aggregates.OF_HITS:
            raise UncomputableError(fed.poison)
        if fed.rubbish and not fed.series.count:
            raise UncomputableError(fed.example)
        try:
            estimate = self._estimate(wanted, fed, how)
        except OptionError as error:
            raise UncomputableError(error.message) from None
        return Metric(
            name=wanted.name,
            unit=wanted.unit,
            better=wanted.better,
            estimate=_scale(estimate, wanted.factor),
            count=max(1, fed.series.hits),
            least=wanted.least,
            most=wanted.most,
        )

    def _estimate(self, wanted: TaskMetric, fed: _SeriesInput, how: str) -> Estimate:
        if fed.kept is None or not wanted.leaves_out or not fed.kept.count:
            return aggregates.compute(fed.series, how, self._workers)
        part = self._parts[wanted.name] = count_part(fed.kept, wanted, how)
        estimate = aggregates.compute(part.series, how, self._workers)
        return replace(estimate, method=f"{estimate.method}; {part.method}")

    def _phases(self) -> tuple[Operator, ...]:
        """The parts of the work that the task tells the seconds of, over the whole command, the longest first."""
        sums = {name: self.fed[series].series for name, series in self._task.phases.items()}
        spent = {name: (series.sum, series.count) for name, series in sums.items() if series.count}
        whole = sum(seconds for seconds, _ in spent.values())
        found = [
            Operator(name=name, kind=name, seconds=seconds, share=seconds / whole if whole else 0.0, calls=float(count))
            for name, (seconds, count) in spent.items()
        ]
        return tuple(sorted(found, key=lambda one: -one.seconds))

    def _warmups(self, found: Mapping[str, Metric]) -> list[Metric]:
        """How long the part lasted that each metric leaves out."""
        return [
            Metric(
                name=warmup_name(name),
                unit="s",
                better=None,
                estimate=Estimate(point=part.until, low=None, high=None, method=part.method),
            )
            for name, part in self._parts.items()
            if name in found
        ]

    def _computation_of(self, wanted: TaskMetric) -> str:
        """The older form's `total` is for each worker when their number is known."""
        share = self._task.older and wanted.compute == "total" and self._workers > 0
        return "sum_per_worker" if share else wanted.compute

    def _timelines(self, found: Mapping[str, Metric]) -> list[Timeline]:
        """One for each series over time, named after the first metric that is made of it."""
        shown: dict[str, TaskMetric] = {}
        for metric in self._task.metrics:
            if metric.name in found:
                shown.setdefault(metric.series, metric)
        of_goals = {goal.series for goal in self._task.goals} - {metric.series for metric in self._task.metrics}
        return [
            *(
                self.fed[name].series.timeline(metric.name, metric.unit, metric.factor)
                for name, metric in shown.items()
                if self.fed[name].series.count > 1
            ),
            *(self.fed[name].series.timeline(name, "") for name in of_goals if self.fed[name].series.count > 1),
        ]

    def _warnings(self) -> list[ResultWarning]:
        found = []
        for name, fed in self.fed.items():
            if fed.rubbish:
                seen = f"{fed.rubbish} of {fed.series.hits} hits for {name!r} were left out: {fed.example}"
                found.append(
                    ResultWarning(code="not-a-number", seen=seen, remedy="make the pattern capture the number")
                )
        for name, part in self._parts.items():
            if not part.steady:
                remedy = "let it print more values, or say with `skip` how many belong to the warm-up"
                found.append(ResultWarning(code=NOT_STEADY, seen=f"{name}: {part.method}", remedy=remedy))
        cut = sum(lines.cut for lines in self._lines)
        if cut:
            seen = f"{cut} lines are longer than {LONGEST} bytes; what lies beyond was not looked at"
            found.append(ResultWarning(code="long-lines", seen=seen, remedy="print values near the start of a line"))
        return found

    def _details(self, found: Mapping[str, Metric]) -> dict[str, Value]:
        """For each metric how many hits it is made of, whether they were whole numbers, and what was left out."""
        return {
            metric.name: {
                "hits": fed.series.hits,
                "whole": fed.whole and fed.series.count > 0,
                **_describe_part(self._parts.get(metric.name)),
            }
            for metric in self._task.metrics
            if (fed := self.fed[metric.series]) and metric.name in found
        }


def _describe_part(part: CountedPart | None) -> dict[str, Value]:
    if part is None:
        return {}
    return {"left_out": part.left_out, "left_out_until": part.until, "left_out_why": part.why, "steady": part.steady}


def _parse_all(texts: Column) -> list[float] | None:
    """Returns all texts as numbers, when each is a plain number; None when one needs a closer look."""
    try:
        values = list(map(float, texts))
    except ValueError:
        return None
    joined = b"".join(texts) if isinstance(texts[0], bytes) else "".join(texts).encode()  # type: ignore[arg-type]
    if b"_" in joined or b"n" in joined.lower():  # nan, inf
        return None
    return values if max(values) <= LARGEST and min(values) >= -LARGEST else None


def _parse_each(fed: _SeriesInput, texts: Column) -> list[float]:
    values = []
    for text in map(_text, texts):
        try:
            values.append(parse_number(text))
        except NotFiniteError as error:
            fed.poison = fed.poison or str(error)
        except NotANumberError as error:
            fed.rubbish += 1
            fed.example = fed.example or str(error)
    return values


def _text(text: str | bytes) -> str:
    return text.decode("ascii") if isinstance(text, bytes) else text


def _is_whole(text: str | bytes) -> bool:
    return text.isdigit() or is_whole(_text(text))


def _scale(estimate: Estimate, factor: float) -> Estimate:
    """The estimate in another unit. `stats.summary` could do that as well, and would bring numpy into the worker."""
    return replace(
        estimate,
        point=estimate.point * factor,
        low=None if estimate.low is None else estimate.low * factor,
        high=None if estimate.high is None else estimate.high * factor,
    )
