"""A run that several machines measured: a line for each case, with what each machine says of its chief metric.

The same for cloud instances of one shape that shared its rounds out; and the part of a run that one of them measured,
so that machines can be compared as runs are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchwright.analysis.instances import by_instance, describe_spread, spread_of
from benchwright.analysis.judged_metrics import directions_of, first_shared, headline_metrics
from benchwright.analysis.rows import HOST, Row, machine_names, part_row
from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Metric, Result, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseByMachine:
    """One case on every machine; None where a machine did not measure it."""

    case: str
    metric: str  # its chief one; "" where no machine has a number
    rows: tuple[Row | None, ...]

    @property
    def metrics(self) -> tuple[Metric | None, ...]:
        """What each machine measured; None where it has no number."""
        return tuple(row.metrics.get(self.metric) if row else None for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineColumns:
    """All cases of a run, a column for each machine."""

    machines: tuple[str, ...]
    lines: tuple[CaseByMachine, ...]


def machine_columns(table: Sequence[Row]) -> MachineColumns | None:
    """The rows of a run by machine; None unless some case was measured on more than one."""
    # By name, and this machine last: which one was the first to finish would be another order in every run.
    machines = tuple(sorted({row.machine for row in table if row.machine}, key=_place))
    groups: dict[tuple[str, str], dict[str, Row]] = {}
    for row in table:
        groups.setdefault((row.key, row.case.target.uri), {})[row.machine] = row
    if len(machines) < 2 or all(len(group) < 2 for group in groups.values()):
        return None
    lines = []
    for group in groups.values():
        first = next(iter(group.values()))
        params = {name: value for name, value in first.params.items() if name != HOST}
        lines.append(
            CaseByMachine(
                case=replace(first, params=params).label,
                metric=_chief_metric([row for row in group.values() if row.metrics]),
                rows=tuple(group.get(machine) for machine in machines),
            )
        )
    return MachineColumns(machines=machines, lines=tuple(lines))


def instance_columns(table: Sequence[Row]) -> list[MachineColumns]:
    """For each machine whose rounds several cloud instances shared out, the rows with a column for each instance."""
    machines: dict[str, list[tuple[Row, dict[str, list[Result]]]]] = {}
    for row in table:
        groups = by_instance(row.results)
        if len([name for name in groups if name]) > 1:
            machines.setdefault(row.machine, []).append((row, groups))
    found = []
    for members in machines.values():
        names = tuple(dict.fromkeys(name for _, groups in members for name in groups if name))
        lines = [
            CaseByMachine(
                case=row.label,
                metric=row.chief,
                rows=tuple(part_row(row, groups[name]) if name in groups else None for name in names),
            )
            for row, groups in members
        ]
        found.append(MachineColumns(machines=names, lines=tuple(lines)))
    return found


def describe_instances(table: Sequence[Row]) -> list[str]:
    """For each case that several cloud instances of one shape measured, how much they differ."""
    found = [(row, spread) for row in table if (spread := spread_of(row.ok, row.chief))]
    return [f"{row.label}: {describe_spread(spread)}" for row, spread in found]


def part_of(run: Run, machine: str) -> Run:
    """What one machine measured of a run, as a run: its name says which. `rack7` stands for `ssh:rack7`.

    The id of a cloud instance is a name, too.
    """
    names = machine_names(run.results)
    if machine in (ids := by_instance(run.results)) and machine:
        return replace(run, id=f"{run.id} on {machine}", results=tuple(ids[machine]), planned=len(ids[machine]))
    known = list(dict.fromkeys(names))
    found = [name for name in known if machine in (name, name.partition(":")[2])]
    if len(found) != 1:
        trouble = f"{machine!r} is no machine of run {run.id}" if not found else f"{machine!r} may be {found}"
        raise OptionError(trouble, remedy=did_you_mean(machine, known) or f"its machines: {', '.join(known)}")
    own = tuple(result for result, name in zip(run.results, names, strict=True) if name == found[0])
    return replace(run, id=f"{run.id} on {found[0]}", results=own, planned=len(own))


def _place(machine: str) -> tuple[bool, list[tuple[str, int]]]:
    """Where a machine stands among others: `rack9` before `rack10`."""
    parts = re.findall(r"(\D*)(\d*)", machine)
    return machine == "local", [(text, int(digits or 0)) for text, digits in parts]


def _chief_metric(rows: Sequence[Row]) -> str:
    sides = [directions_of(row.metrics.values()) for row in rows]
    if not sides:
        return ""
    return first_shared(sides) or next(iter(headline_metrics(sides[0])), "")
