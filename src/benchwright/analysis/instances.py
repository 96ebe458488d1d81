"""Results of several cloud instances of one shape: which measured what, and how much the instances differ.

Two machines of one shape are not the same machine: the hosts below them differ in age, neighbours and settings. Rounds
on one instance share its host, so where several measured, the instance is the unit of repetition and not the round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from benchwright.records import Estimate, Result, ResultWarning
from benchwright.stats.summary import combine
from benchwright.stats.variance_parts import VarianceParts, variance_parts

CODE = "instances-differ"
OTHER_INSTANCES = (
    "measured on one cloud instance each, and not the same: a difference may be that of two hosts of one shape "
    "(run --instances 3 shows how much they differ)"
)
_EVIDENT = 0.05  # below: instances differ by more than their rounds explain
_WORTH_A_WORD = 0.01  # a range below this changes no decision


class InstanceSpread(NamedTuple):
    """What several instances of one shape say of one metric."""

    metric: str
    shape: str
    rounds: dict[str, list[float]]  # what each round says, by instance
    parts: VarianceParts

    @property
    def is_evident(self) -> bool:
        """Whether instances differ by more than rounds on one of them do."""
        return self.parts.p_value is not None and self.parts.p_value < _EVIDENT


def instance_of(result: Result) -> str:
    """The id of the cloud instance that measured a result; "" for any other machine."""
    return _fact(result, "id")


def by_instance(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results by the instance that measured them, in order of appearance."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(instance_of(result), []).append(result)
    return found


def is_one_instance_each(before: Iterable[Result], after: Iterable[Result]) -> bool:
    """Whether two instances stand against each other: nothing tells how they differ from what was changed."""
    left, right = ({*by_instance(results)} for results in (before, after))
    return len(left) == len(right) == 1 and left != right and "" not in left | right


def repeated_estimates(
    results: Sequence[Result],
    metric: str,
    together: Callable[[Sequence[Estimate]], Estimate] = combine,
) -> tuple[Estimate, ...]:
    """One estimate for each repetition: of rounds where one machine measured them, of instances where several did.

    `together` makes one estimate of the rounds of an instance.
    """
    groups = by_instance(result for result in results if result.metric(metric) is not None)
    if len(groups) < 2 or "" in groups:
        return tuple(found.estimate for result in results if (found := result.metric(metric)))
    return tuple(
        together([found.estimate for result in group if (found := result.metric(metric))]) for group in groups.values()
    )


def spread_of(results: Sequence[Result], metric: str) -> InstanceSpread | None:
    """How much the instances that measured a case differ; None unless several of one shape did."""
    rounds: dict[str, list[float]] = {}
    for result in results:
        found = result.metric(metric)
        if found is not None and instance_of(result):
            rounds.setdefault(instance_of(result), []).append(found.estimate.point)
    shapes = {_fact(result, "shape") for result in results if instance_of(result)}
    parts = variance_parts(list(rounds.values())) if len(shapes) == 1 else None
    return None if parts is None else InstanceSpread(metric=metric, shape=shapes.pop(), rounds=rounds, parts=parts)


def warn_of_spread(results: Sequence[Result], metric: str) -> Iterator[ResultWarning]:
    """A warning where instances of one shape differ by more than rounds on one of them: the next may differ as well."""
    found = spread_of(results, metric)
    if found is not None and found.is_evident and found.parts.range > _WORTH_A_WORD:
        remedy = "the interval is of the instances: more --instances narrow it, more rounds on these do not"
        yield ResultWarning(code=CODE, seen=describe_spread(found), remedy=remedy)


def describe_spread(found: InstanceSpread) -> str:
    """How much the instances differ, against how much the rounds on one of them do."""
    parts, count = found.parts, len(found.rounds)
    said = f"{count} instances of {found.shape} differ by up to {parts.range:.1%} in {found.metric}"
    if parts.within is None or parts.between is None:
        return f"{said}; each measured one round, so nothing tells instances from rounds (give more --rounds)"
    if not found.is_evident:
        return f"{said}, no more than rounds on one of them explain ({parts.within:.1%} standard deviation)"
    return f"{said}: {parts.between:.1%} standard deviation between instances, {parts.within:.1%} within one"


def _fact(result: Result, name: str) -> str:
    told = result.environment.system.get("instance")
    return str(told.get(name) or "") if isinstance(told, dict) else ""
