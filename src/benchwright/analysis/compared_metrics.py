"""What two sides say of one metric and of one case: the records that every comparison is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from benchwright.analysis.change_words import format_ratio
from benchwright.records import Better, Estimate, Verdict
from benchwright.units.numbers import cell, scale_of


class Rounds(NamedTuple):
    """One metric of one case: what each round of both sides says."""

    name: str
    unit: str
    better: Better | None
    before: tuple[Estimate, ...]
    after: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMetric:
    """One metric of one case on both sides."""

    name: str
    unit: str
    better: Better | None
    before: Estimate
    after: Estimate
    ratio: Estimate | None  # after / before; None where a value is not positive, and of the share of failed requests
    verdict: Verdict
    sentence: str  # the verdict in words
    why: str
    p_value: float
    is_held: bool = False  # one of the sides was measured in quarantine

    @property
    def before_text(self) -> str:
        """The first side, in the unit of both."""
        return self._text(self.before)

    @property
    def after_text(self) -> str:
        """The second side, in the unit of both."""
        return self._text(self.after)

    @property
    def ratio_text(self) -> str:
        """The ratio with its interval."""
        return format_ratio(self.ratio) if self.ratio is not None else "-"

    def _text(self, estimate: Estimate) -> str:
        scale = scale_of([self.before.point, self.after.point], self.unit)
        return f"{cell(estimate, scale)} {scale.unit}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One case: its metrics on both sides, or notes that say why there are none."""

    label: str
    metrics: tuple[ComparedMetric, ...]
    notes: tuple[str, ...]
    verdict: Verdict  # the worst of its metrics; worse when the second side alone failed
