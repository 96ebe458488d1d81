"""Claims with their bars, as one aligned table."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass

from harness.rounds import Spread

_HEADINGS = ("claim", "ours", "against", "measured", "bar", "verdict")
_RELATIONS = {"<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What a figure must reach."""

    relation: str
    value: float

    def verdict(self, figure: Spread) -> str:
        """`holds` or `missed` when the whole spread lies on one side of the bar, else `unclear`."""
        meets = _RELATIONS[self.relation]
        sides = {meets(figure.low, self.value), meets(figure.high, self.value)}
        if len(sides) == 2:
            return "unclear, holds at the median" if meets(figure.point, self.value) else "unclear"
        return "holds" if sides == {True} else "missed"

    def __str__(self) -> str:
        return f"{self.relation} {_number(self.value)}"


def at_most(value: float) -> Bar:
    """The figure must not exceed `value`."""
    return Bar(relation="<=", value=value)


def at_least(value: float) -> Bar:
    """The figure must reach `value`."""
    return Bar(relation=">=", value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two tools that should say the same: their ratio is one within what each scatters by from round to round."""

    scatter: float

    def verdict(self, figure: Spread) -> str:
        """`holds` when the ratio's spread reaches into the scatter around one."""
        near = figure.low <= 1 + self.scatter and figure.high >= 1 - self.scatter
        return "holds" if near else "missed"

    def __str__(self) -> str:
        return f"1 ± {self.scatter:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One row: what is claimed, both sides as text, the figure with its spread, and its bar. Without one: context."""

    what: str
    figure: Spread
    ours: str = ""
    against: str = ""
    unit: str = "x"
    bar: Bar | Agreement | None = None

    def cells(self, judged: bool) -> tuple[str, ...]:
        """The row as text."""
        bar = f"{self.bar} {self.unit}" if self.bar else ""
        verdict = "" if self.bar is None else self.bar.verdict(self.figure) if judged else "not judged"
        return self.what, self.ours, self.against, self._measured(), bar, verdict

    def _measured(self) -> str:
        figure = self.figure
        return f"{_number(figure.point)} {self.unit}  [{_number(figure.low)}, {_number(figure.high)}]"


def report(claims: Sequence[Claim], *, judged: bool = True) -> int:
    """Prints the table. 1 when a bar is clearly missed, else 0; a quick look is not judged."""
    rows = [_HEADINGS, *(claim.cells(judged) for claim in claims)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    load, cpus = os.getloadavg()[0], os.cpu_count() or 1
    if load > cpus:
        print(f"note: load average {load:.1f} on {cpus} CPUs, this benchmark included")
    return int(judged and any(claim.bar and claim.bar.verdict(claim.figure) == "missed" for claim in claims))


def _number(value: float) -> str:
    """Three significant digits, no exponent."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    digits = 2 if size >= 1 else 3 if size >= 0.1 else 4 if size >= 0.01 else 6
    return f"{value:.{digits}f}"
