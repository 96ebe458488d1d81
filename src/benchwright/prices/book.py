"""The prices that are known, from whatever source: asked for by provider, shape, region and market."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchwright.errors import OptionError
from benchwright.prices.machine_text import parse_machine
from benchwright.records.prices import Market, Price


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPrice:
    """What a price is looked for of: "" for a region leaves it open."""

    provider: str
    shape: str
    region: str = ""
    market: Market = Market.ON_DEMAND

    def __str__(self) -> str:
        region = f"@{self.region}" if self.region else ""
        market = f":{self.market.value}" if self.market is not Market.ON_DEMAND else ""
        return f"{self.provider}/{self.shape}{region}{market}"


def parse_wanted(text: str, *, what: str) -> WantedPrice:
    """Reads `aws/c7i.large@eu-central-1:spot`; what follows a question mark changes no price."""
    machine = parse_machine(text, what=what)
    return WantedPrice(provider=machine.provider, shape=machine.shape, region=machine.region, market=machine.market)


class PriceBook:
    """Prices by what they are of. One's own count before those of lists; of several, the newest."""

    def __init__(self, *, own: Iterable[Price] = (), listed: Iterable[Price] = ()) -> None:
        self._own, self._listed = _by_shape(own), _by_shape(listed)

    def all(self) -> list[Price]:
        """Every price, one's own first, by provider, shape, market and region."""
        return [
            price
            for by_shape in (self._own, self._listed)
            for key in sorted(by_shape)
            for price in sorted(by_shape[key], key=_order)
        ]

    def find(self, wanted: WantedPrice) -> Price | None:
        """The price of a shape; None where none is known.

        Without a region, only where all regions that are known cost the same: a guess between regions would be a wrong
        number that looks right.
        """
        for by_shape in (self._own, self._listed):
            if found := _find(by_shape.get(_key(wanted), []), wanted):
                return found
        return None

    def get(self, wanted: WantedPrice, *, what: str) -> Price:
        """The same, where a price must be known: an error names what there is instead."""
        found = self.find(wanted)
        if found is not None:
            return found
        of_shape = self._of(wanted)
        if not of_shape:
            raise OptionError(f"{what}: no price of {wanted} is known", remedy=f"{self._near(wanted)}{HOW}")
        markets = sorted({price.market.value for price in of_shape})
        if wanted.market.value not in markets:
            raise OptionError(
                f"{what}: no price of {wanted} on the market {wanted.market.value} is known",
                remedy=f"known: {', '.join(markets)}; {HOW}",
            )
        regions = sorted({price.region for price in of_shape if price.market is wanted.market})
        shown = ", ".join(regions[:8]) + (f" and {len(regions) - 8} more" if len(regions) > 8 else "")
        said = f"in {wanted.region}" if wanted.region else "without a region: regions differ"
        raise OptionError(f"{what}: no price of {wanted} {said}", remedy=f"name one of: {shown}")

    def _of(self, wanted: WantedPrice) -> list[Price]:
        return [*self._own.get(_key(wanted), []), *self._listed.get(_key(wanted), [])]

    def _near(self, wanted: WantedPrice) -> str:
        import difflib  # needed only when something is wrong

        known = sorted({f"{provider}/{shape}" for provider, shape in (*self._own, *self._listed)})
        near = difflib.get_close_matches("/".join(_key(wanted)), known, n=3, cutoff=0.7)
        return f"the nearest that is known: {', '.join(near)}; or " if near else ""


HOW = "write it into prices.yaml, or `benchwright prices import` a list"


def _by_shape(prices: Iterable[Price]) -> dict[tuple[str, str], list[Price]]:
    found: dict[tuple[str, str], list[Price]] = {}
    for price in prices:
        found.setdefault((price.provider.lower(), price.shape.lower()), []).append(price)
    return found


def _key(wanted: WantedPrice) -> tuple[str, str]:
    return wanted.provider.lower(), wanted.shape.lower()


def _find(of_shape: Iterable[Price], wanted: WantedPrice) -> Price | None:
    newest: dict[str, Price] = {}
    for price in of_shape:
        if price.market is wanted.market and (not wanted.region or price.region in ("", wanted.region)):
            known = newest.get(price.region)
            if known is None or price.fetched_at > known.fetched_at:
                newest[price.region] = price
    if wanted.region:
        return newest.get(wanted.region) or newest.get("")
    different = {(price.per_hour, price.currency) for price in newest.values()}
    return min(newest.values(), key=_order) if len(different) == 1 else None


def _order(price: Price) -> tuple[str, str, str]:
    return price.market.value, price.region, price.fetched_at
