"""From what each recorded call of a model spent where to its operators. Pure.

A machine that does something else for a moment makes one operator of one call look slow, and libraries that count whole
microseconds make a short one look like nothing. So an operator's time is the mean of the middle three fifths of the
calls it occurred in: it neither follows the stalls nor snaps to the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchwright.records import Operator

CUT = 0.2  # of the calls on either side


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one execution of one operator took, without those it called."""

    name: str
    kind: str
    seconds: float
    shapes: str = ""


_Key = tuple[str, str, str]


def typical(calls: Sequence[Iterable[Spent]]) -> list[Operator]:
    """The operators of the recorded calls, one entry a call, the longest first.

    Times and counts are those of one call. What only some calls execute counts as much as they are many.
    """
    seconds: dict[_Key, list[float]] = {}
    executions: dict[_Key, int] = {}
    for call in calls:
        within: dict[_Key, float] = {}
        for spent in call:
            key = (spent.name, spent.kind, spent.shapes)
            within[key] = within.get(key, 0.0) + spent.seconds
            executions[key] = executions.get(key, 0) + 1
        for key, own in within.items():
            seconds.setdefault(key, []).append(own)
    found = {key: _middle(own) * len(own) / len(calls) for key, own in seconds.items()}
    whole = sum(found.values())
    operators = [
        Operator(
            name=name,
            kind=kind,
            shapes=shapes,
            seconds=own,
            share=own / whole if whole else 0.0,
            calls=executions[name, kind, shapes] / len(calls),
        )
        for (name, kind, shapes), own in found.items()
    ]
    return sorted(operators, key=lambda operator: -operator.seconds)


def own_times(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Complete events of a trace, each with its duration less those that lie within it on the same thread."""
    ordered = sorted(events, key=lambda event: (event["ts"], -event["dur"]))
    own = [float(event["dur"]) for event in ordered]
    running: dict[Any, list[tuple[float, int]]] = {}  # by thread: when each ends that is going on, and which it is
    for index, event in enumerate(ordered):
        begin = float(event["ts"])
        stack = running.setdefault(event.get("tid"), [])
        while stack and stack[-1][0] <= begin:
            stack.pop()
        if stack:
            own[stack[-1][1]] -= float(event["dur"])
        stack.append((begin + float(event["dur"]), index))
    return ((event, max(0.0, spent)) for event, spent in zip(ordered, own, strict=True))


def _middle(values: Sequence[float]) -> float:
    """The mean without the smallest and the largest fifth."""
    cut = int(CUT * len(values))
    middle = sorted(values)[cut : len(values) - cut]
    return sum(middle) / len(middle)
