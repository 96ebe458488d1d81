"""How long each operator of a trace took, all its calls together. Pure, but for reading the trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(slots=True, kw_only=True)
class OperatorTime:
    """Microseconds of one operator: its own, and with those it called."""

    name: str
    calls: int = 0
    own: float = 0.0
    total: float = 0.0


def from_chrome_trace(path: Path, *, category: str) -> list[OperatorTime]:
    """The operators of a trace, which are its complete events of one category.

    Events that were still going on when the trace ended are left out: their durations are made up.
    """
    events = json.loads(path.read_bytes())["traceEvents"]
    complete = (event for event in events if event.get("cat") == category and event.get("ph") == "X")
    return sum_by_name(event for event in complete if event.get("args", {}).get("finished", True))


def sum_by_name(events: Iterable[Mapping[str, Any]]) -> list[OperatorTime]:
    """Complete events added up by name, the longest first. Events of one thread lie beside or within each other."""
    found: dict[str, OperatorTime] = {}
    threads: dict[Any, list[tuple[float, OperatorTime]]] = {}  # what is running: when it ends, what it is
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        name, begin, duration = str(event["name"]), float(event["ts"]), float(event["dur"])
        operator = found.setdefault(name, OperatorTime(name=name))
        operator.calls += 1
        operator.own += duration
        running = threads.setdefault(event.get("tid"), [])
        while running and running[-1][0] <= begin:
            running.pop()
        if running:
            running[-1][1].own -= duration
        if all(each is not operator for _, each in running):  # one that calls itself is counted once
            operator.total += duration
        running.append((begin + duration, operator))
    return sorted(found.values(), key=lambda operator: -operator.own)


def table(operators: Iterable[OperatorTime]) -> str:
    """The operators as text, one a line."""
    listed = list(operators)
    whole = sum(operator.own for operator in listed) or 1.0
    width = max([len("operator"), *(len(operator.name) for operator in listed)])
    lines = [f"{'operator':<{width}}  {'own ms':>12}  {'own %':>6}  {'total ms':>12}  {'calls':>9}  {'mean us':>12}"]
    lines += [
        f"{o.name:<{width}}  {o.own / 1e3:>12.3f}  {100 * o.own / whole:>6.1f}  {o.total / 1e3:>12.3f}"
        f"  {o.calls:>9}  {o.total / o.calls:>12.3f}"
        for o in listed
    ]
    return "\n".join(lines) + "\n"
