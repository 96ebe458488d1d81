"""Were there enough calls for the percentiles that are reported? Standard library only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchwright.stats import ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A percentile that was asked of too few calls."""

    quantile: float
    needed: int
    have: int

    def __str__(self) -> str:
        return f"p{100 * self.quantile:.6g} from {self.have:,} calls is a guess: needs {self.needed:,}"


def check(
    count: int,
    quantiles: Iterable[float],
    *,
    confidence: float = 0.95,
    inflation: float = 1.0,
    margin: float | None = None,
) -> list[Shortfall]:
    """The quantiles for which `count` calls are too few, in the order given.

    Enough means that both ends of an interval exist at all (`ranks.samples_for_quantile`); with a `margin`, that the
    share of calls below the quantile is known to within it, which is MLPerf's rule (`ranks.queries_for_percentile`).
    Calls that resemble each other count for less: `inflation` (from `ranks.inflation`) raises what is needed.
    """
    found = []
    for q in quantiles:
        needed = needed_for_percentile(q, confidence, inflation=inflation, margin=margin)
        if count < needed:
            found.append(Shortfall(quantile=q, needed=needed, have=count))
    return found


def enough_for_percentile(count: int, q: float, confidence: float = 0.95) -> bool:
    """Whether `count` independent calls can bound the q-quantile on both sides."""
    return count >= needed_for_percentile(q, confidence)


def needed_for_percentile(
    q: float, confidence: float = 0.95, *, inflation: float = 1.0, margin: float | None = None
) -> int:
    """The fewest calls that `check` is content with."""
    if margin is None:
        independent = ranks.samples_for_quantile(q, confidence)
    else:
        independent = ranks.queries_for_percentile(q, margin, confidence)
    return round(independent * max(1.0, inflation))
