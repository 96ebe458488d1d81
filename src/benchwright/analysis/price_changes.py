"""Prices that differ between two sides: what follows from them is no change of what was measured.

The same throughput looks half as dear when a table goes from prices on demand to reserved ones. So a cost is judged
only where both sides rest on the same amount, and the prices of both are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from benchwright.analysis.change_words import describe_change
from benchwright.analysis.rows import Row
from benchwright.execution.pricing import price_of_result
from benchwright.records import Estimate, Result
from benchwright.records.prices import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """The prices of two sides that are not the same."""

    before: tuple[Price, ...]  # several, where rounds were priced differently
    after: tuple[Price, ...]

    @property
    def factor(self) -> float | None:
        """The later price over the earlier; None where they cannot be held against each other, as two currencies."""
        amounts = [{(price.per_hour, price.currency) for price in side} for side in (self.before, self.after)]
        if any(len(side) != 1 for side in amounts):
            return None
        (first, currency), (second, other) = (side.pop() for side in amounts)
        return second / first if currency == other else None

    @property
    def said(self) -> str:
        """What changed, in a few words."""
        if self.factor is None:
            return "but the prices cannot be compared"
        return "the same price" if self.factor == 1.0 else f"but the price is {describe_change(self.factor, '')}"

    @property
    def words(self) -> str:
        """The note that names both prices."""
        first, second = (" and ".join(dict.fromkeys(map(describe_price, side))) for side in (self.before, self.after))
        same = (
            ", the same amount" if self.factor == 1.0 else ": a change of the price is no change of what was measured"
        )
        return f"the costs rest on different prices, {first} against {second}{same}"

    def at_first_price(self, costs: Sequence[Estimate]) -> tuple[Estimate, ...]:
        """Costs of the second side as they would be at the price of the first."""
        by = self.factor or 1.0
        return tuple(
            replace(
                one,
                point=one.point / by,
                low=None if one.low is None else one.low / by,
                high=None if one.high is None else one.high / by,
            )
            for one in costs
        )


def find_price_change(before: Iterable[Result], after: Iterable[Result]) -> PriceChange | None:
    """How the prices of two sides differ; None where they are the same, or a side has none."""
    return compare_prices(*(map(price_of_result, side) for side in (before, after)))


def compare_prices(before: Iterable[Price | None], after: Iterable[Price | None]) -> PriceChange | None:
    """The same of the prices themselves; None is what was measured without one."""
    first, second = (tuple(dict.fromkeys(filter(None, side))) for side in (before, after))
    if not first or not second or {*first} == {*second}:
        return None
    return PriceChange(before=first, after=second)


def price_bases(results: Iterable[Result]) -> list[str]:
    """What the costs of results rest on, each price once, with its amount."""
    return list(dict.fromkeys(describe_price(price) for result in results if (price := price_of_result(result))))


def describe_bases(table: Iterable[Row]) -> str:
    """The sentence that says what the costs of a table rest on; "" where it has none."""
    bases = price_bases(result for row in table for result in row.ok)
    return f"Costs rest on {'; '.join(bases)}" if bases else ""


def describe_price(price: Price) -> str:
    """A price with all that it rests on, in one line."""
    if not price.shape:
        return price.basis
    source = f", {price.source}" if price.source else ""
    return f"{price.basis}: {price.per_hour:.4g} {price.currency}/h{source}".replace(" /h", "/h")
