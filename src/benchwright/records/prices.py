"""Prices of machines: what an hour costs, where, on which market, who says so and since when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Market(StrEnum):
    """On which terms a machine is paid for; the same shape differs severalfold between them."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"  # may be taken away
    RESERVED_1Y = "reserved-1y"
    RESERVED_3Y = "reserved-3y"
    OWN = "own"  # bought, and paid off over its life


HOURS = {"second": 1 / 3600, "minute": 1 / 60, "hour": 1.0, "day": 24.0, "month": 730.0, "year": 8760.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What the use of one machine costs, and what that rests on."""

    provider: str  # aws, gcp, azure, oci, another name, or "own"
    shape: str  # as the provider calls it: c7i.large; of an own machine its name
    region: str = ""  # "" where it is the same everywhere, or is not said
    market: Market = Market.ON_DEMAND
    amount: float  # never 0: lists write 0 for what they do not know
    currency: str = "USD"  # three letters, ISO 4217; "" for a bare number
    per: str = "hour"  # one of HOURS
    source: str = ""  # the list or page it was read from
    fetched_at: str = ""  # the day on which it was true, YYYY-MM-DD
    watts: float | None = None  # that the machine draws, as somebody says of it; the amount holds what they cost
    kilowatt_hour: float | None = None  # what one costs, in the same currency

    @property
    def per_hour(self) -> float:
        """The amount for one hour."""
        return self.amount / HOURS[self.per]

    @classmethod
    def bare(cls, per_hour: float) -> Price:
        """The price of the machine at hand as a mere number for an hour, in a currency that nobody said."""
        return cls(provider="own", shape="", market=Market.OWN, amount=per_hour, currency="")

    @property
    def name(self) -> str:
        """The machine: provider and shape, or what somebody calls it; "" for a mere amount."""
        return self.shape if self.market is Market.OWN else f"{self.provider}/{self.shape}"

    @property
    def basis(self) -> str:
        """What an amount of money rests on, in one line: shape, place, market and day."""
        if not self.shape:
            return f"{self.per_hour:g} {self.currency}".strip() + " an hour, as given"
        place = f" in {self.region}" if self.region else ""
        day = f", {self.fetched_at}" if self.fetched_at else ", no date"
        return f"{self.name}{place}, {self.market.value}{day}"
