"""Two sides against each other, as `benchwright compare` judges them, from points alone.

Cases pair by what is left of them when the dimension that is compared is taken out: between runs and revisions the
series itself, between machines the case with its params, between runtimes the case with its other params.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from benchwright import schema
from benchwright.analysis import notes
from benchwright.analysis.causes import changed_facts
from benchwright.analysis.comparison import (
    ONLY_FIRST,
    ONLY_SECOND,
    OTHER_MACHINES,
    OTHER_VERSION,
    ComparedMetric,
    ComparedRow,
    Rounds,
    cautions,
    describe_doubt,
    drop_chance_changes,
    judge,
    notes_of,
)
from benchwright.analysis.judged_metrics import judged_metrics, rank
from benchwright.analysis.rows import combine_estimates, show_scalar
from benchwright.errors import StoreError, did_you_mean
from benchwright.pages import at_once, sides
from benchwright.pages.machines import machine_note
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import ComparedLine, Comparison, Difference
from benchwright.records import Better, Environment, Estimate, Scalar, Status, Value, Verdict
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Archive, ResultOutcome, Valued

_DIRECTIONS = {"": None, **{better.value: better for better in Better}}
_FACTS = ("packages", "runtimes", "machine", "devices", "system", "knobs")  # in the order they are shown
Name = tuple[str, ...]


@at_once
def compare(archive: Archive, a: str, b: str, *, metrics: Sequence[str] = ()) -> Comparison:
    """The second side against the first: `run:REF`, `revision:ID`, `machine:KEY` or `runtime:NAME` each.

    Without metrics, those of each case that `benchwright compare` judges.
    """
    filled = sides.fill_sides(archive, a, b)
    known = sorted({value.metric for side in filled for value in side.values})
    _check_metric_names(metrics, known)
    cases = _cases(filled, metrics)
    rows = drop_chance_changes([_compare_case(case) for case in cases])
    names = _machine_names(archive, filled)
    lines = sorted((line for pair in zip(cases, rows, strict=True) for line in _lines(*pair, names)), key=_effect)
    return Comparison(
        a=filled[0].side,
        b=filled[1].side,
        lines=lines,
        differences=_differences(archive, filled),
        metrics=known,
        counts=Counter(line.verdict.value for line in lines),
        notes=[*notes_of(rows), *filter(None, [machine_note(archive, _machines(filled))])],
    )


def _machines(filled: Sequence[sides.FilledSide]) -> set[str]:
    return {value.machine for side in filled for value in side.values}


class _Metric(NamedTuple):
    """The values of one metric on both sides; one of them may be empty."""

    before: Sequence[Valued]
    after: Sequence[Valued]
    known: Valued  # any of them: what they have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A case with its metrics, and how its results ended on both sides."""

    name: str
    params: Mapping[str, Scalar]
    metrics: Sequence[_Metric]
    outcomes: tuple[Sequence[ResultOutcome], Sequence[ResultOutcome]]
    is_doubted: bool  # whether the instrument calls any result of the sides unreliable
    across: frozenset[str]  # the kinds of the sides

    @property
    def label(self) -> str:
        """Name and params in one line."""
        return " ".join([self.name, *(f"{name}={show_scalar(value)}" for name, value in self.params.items())])


def _check_metric_names(metrics: Sequence[str], known: Sequence[str]) -> None:
    for name in metrics:
        if name not in known:
            raise StoreError(f"neither side has a metric {name!r}", remedy=did_you_mean(name, known))


# ---- which goes with which ----


def _cases(filled: tuple[sides.FilledSide, sides.FilledSide], wanted: Sequence[str]) -> list[_Case]:
    kinds = frozenset(side.kind for side in filled)
    shown = _choose_metrics(filled, wanted) if wanted else _choose_judged(filled)
    pairs = list(_pairs(shown, kinds))
    ended = [_by_case(side.outcomes, kinds) for side in filled]
    groups: dict[Name, list[_Metric]] = {}
    for pair in pairs:
        groups.setdefault(_case_name(pair.known, kinds), []).append(pair)
    place = wanted.index if wanted else rank
    doubted = any(notes.is_doubtful([said]) for said in {one.verdict for side in filled for one in side.outcomes})
    return [
        _Case(
            name=metrics[0].known.case,
            params=_params(metrics[0].known.params, kinds),
            metrics=sorted(metrics, key=lambda one: place(one.known.metric)),
            outcomes=(ended[0].get(name[:2], ()), ended[1].get(name[:2], ())),
            is_doubted=doubted,
            across=kinds,
        )
        for name, metrics in groups.items()
    ]


def _choose_metrics(
    filled: tuple[sides.FilledSide, sides.FilledSide], wanted: Sequence[str]
) -> tuple[list[Valued], list[Valued]]:
    before, after = ([value for value in side.values if value.metric in wanted] for side in filled)
    return before, after


def _choose_judged(filled: tuple[sides.FilledSide, sides.FilledSide]) -> tuple[list[Valued], list[Valued]]:
    """The judged values of both sides; which metrics are judged depends on the metrics that each case has."""
    known: dict[tuple[str, str], dict[str, str]] = {}
    for side in filled:
        for value in side.values:
            known.setdefault((value.case, value.params), {})[value.metric] = value.better
    judged = {name: _names_judged(tuple(metrics.items())) for name, metrics in known.items()}
    before, after = (
        [value for value in side.values if value.metric in judged[value.case, value.params]] for side in filled
    )
    return before, after


@lru_cache(maxsize=1024)
def _names_judged(metrics: tuple[tuple[str, str], ...]) -> frozenset[str]:
    """The names of the judged metrics. Cached: cases of one suite have the same metrics."""
    return frozenset(judged_metrics(dict(metrics)))


def _pairs(values: tuple[list[Valued], list[Valued]], kinds: frozenset[str]) -> Iterator[_Metric]:
    """Equal names first; then, of runs on two machines, what is equal but for the machine; then what is left over."""
    exact = not kinds & {"machine", "runtime"}
    before, after = (_by_name(side, kinds, exact=exact) for side in values)
    for name in [name for name in before if name in after]:
        there = after.pop(name)
        yield _Metric(before.pop(name), there, there[0])
    loose = [_one_of_each(side, kinds) for side in (before, after)]
    for common in [name for name in loose[0] if name in loose[1]]:
        there = after.pop(loose[1][common])
        yield _Metric(before.pop(loose[0][common]), there, there[0])
    yield from (_Metric(left, (), left[0]) for left in before.values())
    yield from (_Metric((), left, left[0]) for left in after.values())


def _by_name(values: Iterable[Valued], kinds: frozenset[str], *, exact: bool) -> dict[Name, list[Valued]]:
    """The rounds of each; of two series with the same name, those of the newer."""
    found: dict[Name, list[Valued]] = {}
    for value in values:
        name = (value.series, value.unit) if exact else (*_case_name(value, kinds), value.metric, value.unit)
        there = found.get(name)
        if there is None:
            found[name] = [value]
        elif (there[0].series, there[0].run) == (value.series, value.run):
            there.append(value)
        elif value.at > there[0].at:
            found[name] = [value]
    return found


def _one_of_each(side: dict[Name, list[Valued]], kinds: frozenset[str]) -> dict[Name, Name]:
    """Names without the machine that only one of the side has -> its name."""
    loose: dict[Name, list[Name]] = {}
    for name, values in side.items():
        loose.setdefault((*_case_name(values[0], kinds)[:2], values[0].metric, values[0].unit), []).append(name)
    return {name: names[0] for name, names in loose.items() if len(names) == 1}


def _case_name(value: Valued | ResultOutcome, kinds: frozenset[str]) -> Name:
    return (value.case, _spell_params(value.params, kinds), "" if "machine" in kinds else value.machine)


@lru_cache(maxsize=4096)
def _spell_params(params: str, kinds: frozenset[str]) -> str:
    """Params in one spelling, whatever their order was."""
    return repr(sorted(_params(params, kinds).items()))


@lru_cache(maxsize=4096)
def _params(text: str, kinds: frozenset[str]) -> Mapping[str, Scalar]:
    told = json_mapping(text)
    if "runtime" in kinds:
        told.pop("runtime", None)
    return told


def _by_case(outcomes: Iterable[ResultOutcome], kinds: frozenset[str]) -> dict[Name, list[ResultOutcome]]:
    found: dict[Name, list[ResultOutcome]] = {}
    for outcome in outcomes:
        found.setdefault(_case_name(outcome, kinds)[:2], []).append(outcome)
    return found


# ---- one case ----


def _compare_case(case: _Case) -> ComparedRow:
    unsure = notes.name_unreliable_runs(_unreliable(case)) if case.is_doubted else ""
    both = [metric for metric in case.metrics if metric.before and metric.after]
    found = tuple([judge(_rounds(metric), unsure=unsure) for metric in both])
    said = list(_failures(case))
    if both and "machine" not in case.across and any(m.before[0].machine != m.after[0].machine for m in both):
        said.append(OTHER_MACHINES)
    versions = [{one.version for one in side if one.status is Status.OK} for side in case.outcomes]
    if both and "runtime" not in case.across and all(versions) and versions[0] != versions[1]:
        said.append(OTHER_VERSION)
    if unsure:
        said.append(describe_doubt(unsure))
    said += cautions(found)
    return ComparedRow(label=case.label, metrics=found, notes=tuple(said), verdict=Verdict.UNCLEAR)


def _rounds(metric: _Metric) -> Rounds:
    before, after, known = metric
    return Rounds(
        known.metric,
        known.unit,
        _DIRECTIONS.get(known.better),
        tuple([value.estimate for value in before]),
        tuple([value.estimate for value in after]),
    )


def _unreliable(case: _Case) -> list[str]:
    """The sides whose values came from results that the instrument does not trust."""
    found = []
    for name, ended, values in (
        ("first", case.outcomes[0], [value for metric in case.metrics for value in metric.before]),
        ("second", case.outcomes[1], [value for metric in case.metrics for value in metric.after]),
    ):
        behind = {value.result for value in values}
        if notes.is_doubtful([one.verdict for one in ended if one.result in behind]):
            found.append(name)
    return found


def _failures(case: _Case) -> Iterator[str]:
    """What went wrong on a side, unless it went wrong on both as much."""
    bad = [[one for one in side if one.status is not Status.OK] for side in case.outcomes]
    for i, name in enumerate(("first", "second")):
        if bad[i] and len(bad[i]) == len(case.outcomes[i]):
            yield f"{name} run: {_reason(bad[i][0])}"
        elif bad[i] and i == 1 and not bad[0]:
            yield f"{name} run: {_reason(bad[i][0])} in some rounds"


def _reason(outcome: ResultOutcome) -> str:
    reason = notes.reason(outcome.failure) if outcome.failure else ""
    return f"{outcome.status}: {reason}" if reason else str(outcome.status)


# ---- lines ----


def _machine_names(archive: Archive, filled: Sequence[sides.FilledSide]) -> Mapping[str, str]:
    """Names that tell lines of the same case apart; none where each side is of one machine."""
    several = any(len({value.machine for value in side.values}) > 1 for side in filled)
    return machine_names(archive) if several else {}


def _lines(case: _Case, row: ComparedRow, names: Mapping[str, str]) -> Iterator[ComparedLine]:
    judged = iter(row.metrics)
    for metric in case.metrics:
        found = next(judged) if metric.before and metric.after else None
        yield _line(case, metric, found, names.get(metric.known.machine, ""))


def _line(case: _Case, metric: _Metric, found: ComparedMetric | None, machine: str) -> ComparedLine:
    known = metric.known
    first, second = metric.before[0] if metric.before else None, metric.after[0] if metric.after else None
    verdict, sentence = (found.verdict, found.sentence) if found else _judge_one_sided(case, metric)
    return ComparedLine(
        case=case.name,
        params=case.params,
        metric=known.metric,
        unit=known.unit,
        better=known.better,
        before=found.before if found else _combine_values(metric.before),
        after=found.after if found else _combine_values(metric.after),
        ratio=found.ratio if found else None,
        verdict=verdict,
        sentence=sentence,
        before_result=first.result if first else "",
        after_result=second.result if second else "",
        series=[first.series, known.series] if first and first.series != known.series else [known.series],
        machine=machine,
    )


def _combine_values(values: Sequence[Valued]) -> Estimate | None:
    return combine_estimates(values[0].metric, values[0].unit, [value.estimate for value in values]) if values else None


def _judge_one_sided(case: _Case, metric: _Metric) -> tuple[Verdict, str]:
    """The verdict on a metric that one side lacks: worse when it failed in the second run, else unclear."""
    lacking = 0 if metric.after else 1
    ended = case.outcomes[lacking]
    bad = [one for one in ended if one.status is not Status.OK]
    if not bad:
        return Verdict.UNCLEAR, ONLY_FIRST if lacking else ONLY_SECOND
    verdict = Verdict.WORSE if lacking and len(bad) == len(ended) else Verdict.UNCLEAR
    return verdict, f"{('first', 'second')[lacking]} run: {_reason(bad[0])}"


def _effect(line: ComparedLine) -> tuple[bool, float]:
    """Sorts what went wrong first, then by the size of the change; what one side alone has comes last."""
    if line.ratio is None:
        return (line.verdict is not Verdict.WORSE, 0.0 if line.verdict is Verdict.WORSE else 1.0)
    return (True, -abs(math.log(line.ratio.point)))


# ---- what else differs ----


def _differences(archive: Archive, filled: Sequence[sides.FilledSide]) -> list[Difference]:
    """The facts of both environments that differ, as the newest result of each side recorded them."""
    newest = [max(side.values, key=lambda value: value.at).result for side in filled if side.values]
    if len(newest) < len(filled):
        return []
    before, after = (_facts(archive.environment_of(result)) for result in newest)
    found = []
    for what, pair in changed_facts(before, after).items():
        assert isinstance(pair, list)
        found.append(Difference(what=what, before=pair[0], after=pair[1]))
    return sorted(found, key=lambda one: _FACTS.index(one.what.partition(".")[0]))


def _facts(environment: Environment) -> dict[str, Value]:
    """The facts of an environment that are shown; accelerators by their place."""
    told = schema.encode(environment)
    told["devices"] = {str(i): facts for i, facts in enumerate(told["accelerators"])}
    return {name: told[name] for name in _FACTS}
