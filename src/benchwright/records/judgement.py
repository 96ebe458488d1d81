"""What people decided about changes: which are muted, and how small ones may be. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchwright.records import Better, Verdict
from benchwright.records.findings import Mute, Threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRules:
    """Mutes and thresholds, as a store keeps them."""

    mutes: Sequence[Mute] = ()
    thresholds: Sequence[Threshold] = ()

    def muted(self, case: str, series: str = "") -> bool:
        """Whether nothing is reported of the case, or of that series of it."""
        return any((series and mute.what == series) or matches(mute.what, case) for mute in self.mutes)

    def smallest(self, case: str, metric: str, default: float) -> float:
        """The threshold that fits best: a name before a pattern, a longer pattern first, a metric's before all's."""
        fitting = [t for t in self.thresholds if t.metric in ("", metric) and matches(t.case, case)]
        best = max(fitting, key=lambda t: (t.case == case, len(t.case), t.metric != ""), default=None)
        return default if best is None else best.smallest


def matches(pattern: str, name: str) -> bool:
    """Whether the name is the pattern's, in which `*` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


def verdict_of(effect: float, better: Better) -> Verdict:
    """What a change by the factor `effect` is where `better` is the good direction."""
    return Verdict.BETTER if (effect > 1) == (better is Better.HIGHER) else Verdict.WORSE
