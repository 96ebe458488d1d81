"""Which values of two sides belong together.

Cases pair by what is left of them when the dimension that is compared is taken out: between runs, revisions and
branches the series itself, between machines the case with its params, between runtimes the case with its other params.
Params that somebody names may differ too: what is equal but for these is a pair, and where that leaves several, none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from benchwright.analysis import notes
from benchwright.analysis.across import change_text
from benchwright.analysis.judged_metrics import judged_metrics, rank
from benchwright.analysis.rows import show_scalar
from benchwright.errors import OptionError, did_you_mean
from benchwright.pages.sides import FilledSide
from benchwright.records import Scalar
from benchwright.records.costs import COSTS
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import ResultOutcome, Valued

Name = tuple[str, ...]
Kinds = frozenset[str]
_TAKEN_OUT = frozenset(["machine", "runtime"])  # kinds of sides that are part of what a series is
_PARAM = "param:"  # begins, among the kinds, a param that is taken out


class MetricOfSides(NamedTuple):
    """The values of one metric on both sides; one of them may be empty."""

    before: Sequence[Valued]
    after: Sequence[Valued]
    known: Valued  # any of them: what they have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOfSides:
    """A case with its metrics, and how its results ended on both sides."""

    name: str
    params: Mapping[str, Scalar]
    metrics: Sequence[MetricOfSides]
    outcomes: tuple[Sequence[ResultOutcome], Sequence[ResultOutcome]]
    is_doubted: bool  # whether the instrument calls any result of the sides unreliable
    across: Kinds  # the kinds of all sides that are looked at

    @property
    def label(self) -> str:
        """Name and params in one line."""
        return " ".join([self.name, *(f"{name}={show_scalar(value)}" for name, value in self.params.items())])

    def key_of(self, metric: MetricOfSides) -> Name:
        """Returns what names a metric in every comparison with the same first side."""
        known = metric.before[0] if metric.before else metric.known
        return _name_value(known, self.across)


def pair_cases(
    filled: Sequence[FilledSide], wanted: Sequence[str], across: Sequence[str] = ()
) -> list[list[CaseOfSides]]:
    """For each side but the first, its cases paired with those of the first, equal but for the params `across`.

    Without `wanted` metrics, those that are judged; which these are depends on the metrics that each case has.
    """
    _check_params(filled, across)
    kinds = frozenset([*(side.kind for side in filled), *(f"{_PARAM}{name}" for name in across)])
    for side in filled if across else ():
        _refuse_several(side, kinds, across)
    shown = _choose_metrics(filled, wanted) if wanted else _choose_judged(filled)
    ended = [_by_case(side.outcomes, kinds) for side in filled]
    doubted = any(notes.is_doubtful([said]) for said in {one.verdict for side in filled for one in side.outcomes})
    place = wanted.index if wanted else rank
    columns = []
    for other, outcomes in zip(shown[1:], ended[1:], strict=True):
        groups: dict[Name, list[MetricOfSides]] = {}
        for pair in _pairs(shown[0], other, kinds):
            groups.setdefault(_case_name(pair.known, kinds), []).append(pair)
        columns.append(
            [
                CaseOfSides(
                    name=metrics[0].known.case,
                    params=_params_of(metrics, kinds, across if len(filled) == 2 else ()),
                    metrics=sorted(metrics, key=lambda one: place(one.known.metric)),
                    outcomes=(ended[0].get(name[:2], ()), outcomes.get(name[:2], ())),
                    is_doubted=doubted,
                    across=kinds,
                )
                for name, metrics in groups.items()
            ]
        )
    return columns


def param_names(filled: Sequence[FilledSide]) -> list[str]:
    """Every param of the sides' cases, in the order of their appearance."""
    return list(dict.fromkeys(name for side in filled for one in side.values for name in json_mapping(one.params)))


def describe_params(filled: Sequence[FilledSide], across: Sequence[str]) -> list[str]:
    """Which values each side has of the params that may differ, in words."""
    found = []
    for side in filled if across else ():
        told = [json_mapping(text) for text in dict.fromkeys(value.params for value in side.values)]
        parts = [
            f"{name}={notes.list_some(list(dict.fromkeys(show_scalar(one[name]) for one in told if name in one)))}"
            for name in across
        ]
        found.append(f"{side.side.label}: {', '.join(parts)}")
    return found


def _check_params(filled: Sequence[FilledSide], across: Sequence[str]) -> None:
    known = param_names(filled) if across else []
    for name in across:
        if name not in known:
            raise OptionError(f"no case has a parameter {name!r}", remedy=did_you_mean(name, known))


def _refuse_several(side: FilledSide, kinds: Kinds, across: Sequence[str]) -> None:
    """Refuses a side of which several cases are equal but for the params: nothing says which is meant."""
    found: dict[Name, str] = {}
    for value in side.values:
        name = _case_name(value, kinds)
        if found.setdefault(name, value.params) != value.params:
            values = [json_mapping(text) for text in (found[name], value.params)]
            shown = " and ".join(
                " ".join(f"{param}={show_scalar(one.get(param))}" for param in across) for one in values
            )
            raise OptionError(
                f"{side.side.label}: several cases of {value.case} are equal but for {' and '.join(across)} ({shown}), "
                "so nothing says which is meant",
                remedy=f"leave {'one of ' * (len(across) > 1)}{', '.join(across)} out, or look at the matrix, which "
                "crosses values of one run",
            )


def _params_of(metrics: Sequence[MetricOfSides], kinds: Kinds, across: Sequence[str]) -> Mapping[str, Scalar]:
    """The params of a case, and of those that may differ how they do."""
    found = _params(metrics[0].known.params, kinds)
    if not across:
        return found
    before, after, _ = metrics[0]
    sides = [json_mapping(side[0].params) if side else {} for side in (before, after)]
    if not all(sides):
        return {**found, **{name: value for side in sides for name, value in side.items() if name in across}}
    return {**found, **{name: change_text(sides[0], sides[1], name) for name in across}}


def _choose_metrics(filled: Sequence[FilledSide], wanted: Sequence[str]) -> list[list[Valued]]:
    return [[value for value in side.values if value.metric in wanted] for side in filled]


def _choose_judged(filled: Sequence[FilledSide]) -> list[list[Valued]]:
    known: dict[tuple[str, str], dict[str, str]] = {}
    for side in filled:
        for value in side.values:
            known.setdefault((value.case, value.params), {})[value.metric] = value.better
    judged = {name: _names_judged(tuple(metrics.items())) for name, metrics in known.items()}
    return [[value for value in side.values if value.metric in judged[value.case, value.params]] for side in filled]


@lru_cache(maxsize=1024)
def _names_judged(metrics: tuple[tuple[str, str], ...]) -> frozenset[str]:
    """The names of the judged metrics, and of costs. Cached: cases of one suite have the same metrics."""
    known = dict(metrics)
    return frozenset([*judged_metrics(known), *(name for name in COSTS if name in known)])


def _pairs(first: Sequence[Valued], second: Sequence[Valued], kinds: Kinds) -> Iterator[MetricOfSides]:
    """Equal names first; then, of runs on two machines, what is equal but for the machine; then what is left over."""
    before, after = (_by_name(side, kinds) for side in (first, second))
    for name in [name for name in before if name in after]:
        there = after.pop(name)
        yield MetricOfSides(before.pop(name), there, there[0])
    loose = [_one_of_each(side, kinds) for side in (before, after)]
    for common in [name for name in loose[0] if name in loose[1]]:
        there = after.pop(loose[1][common])
        yield MetricOfSides(before.pop(loose[0][common]), there, there[0])
    yield from (MetricOfSides(left, (), left[0]) for left in before.values())
    yield from (MetricOfSides((), left, left[0]) for left in after.values())


def _by_name(values: Iterable[Valued], kinds: Kinds) -> dict[Name, list[Valued]]:
    """The rounds of each; of two series with the same name, those of the newer."""
    found: dict[Name, list[Valued]] = {}
    for value in values:
        name = _name_value(value, kinds)
        there = found.get(name)
        if there is None:
            found[name] = [value]
        elif (there[0].series, there[0].run) == (value.series, value.run):
            there.append(value)
        elif value.at > there[0].at:
            found[name] = [value]
    return found


def _one_of_each(side: dict[Name, list[Valued]], kinds: Kinds) -> dict[Name, Name]:
    """Names without the machine that only one of the side has -> its name."""
    loose: dict[Name, list[Name]] = {}
    for name, values in side.items():
        loose.setdefault((*_case_name(values[0], kinds)[:2], values[0].metric, values[0].unit), []).append(name)
    return {name: names[0] for name, names in loose.items() if len(names) == 1}


def _name_value(value: Valued, kinds: Kinds) -> Name:
    """Names the series, or what is left of it without what is compared."""
    if not kinds.isdisjoint(_TAKEN_OUT) or any(kind.startswith(_PARAM) for kind in kinds):
        return (*_case_name(value, kinds), value.metric, value.unit)
    return value.series, value.unit


def _case_name(value: Valued | ResultOutcome, kinds: Kinds) -> Name:
    return (value.case, _spell_params(value.params, kinds), "" if "machine" in kinds else value.machine)


@lru_cache(maxsize=4096)
def _spell_params(params: str, kinds: Kinds) -> str:
    """Params in one spelling, whatever their order was."""
    return repr(sorted(_params(params, kinds).items()))


@lru_cache(maxsize=4096)
def _params(text: str, kinds: Kinds) -> Mapping[str, Scalar]:
    told = json_mapping(text)
    if "runtime" in kinds:
        told.pop("runtime", None)
    return {name: value for name, value in told.items() if f"{_PARAM}{name}" not in kinds}


def _by_case(outcomes: Iterable[ResultOutcome], kinds: Kinds) -> dict[Name, list[ResultOutcome]]:
    found: dict[Name, list[ResultOutcome]] = {}
    for outcome in outcomes:
        found.setdefault(_case_name(outcome, kinds)[:2], []).append(outcome)
    return found
