"""Google's list of SKUs. It prices cores and memory; what a shape costs follows from how many it has of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from benchwright.records.prices import Market, Price

FORM = "Google's list of SKUs"
PARTS = ("cpu", "ram")
# GiB for each core of the predefined shapes: https://cloud.google.com/compute/docs/general-purpose-machines
_MEMORY = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
_N1 = {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9}  # the first generation has other shares
_SIZES = {
    "n1": (1, 2, 4, 8, 16, 32, 64, 96),
    "e2": (2, 4, 8, 16, 32),
    "n2": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128),
    "n2d": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224),
    "c2": (4, 8, 16, 30, 60),
}
_ONLY_STANDARD = ("c2",)
_DESCRIPTION = re.compile(
    r"(?P<spot>(?:Spot )?Preemptible )?(?P<family>[A-Z]\d\w*) (?:Instance|Predefined Instance) (?P<part>Core|Ram)"
    r" running in .*"
)
_USAGE = {
    "OnDemand": Market.ON_DEMAND,
    "Preemptible": Market.SPOT,
    "Commit1Yr": Market.RESERVED_1Y,
    "Commit3Yr": Market.RESERVED_3Y,
}


class Rates:
    """What a core and a GiB cost for an hour, by family, market and region."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Market, str], dict[str, float]] = {}

    def add(self, family: str, part: str, market: Market, region: str, amount: float) -> None:
        """Keeps the price of one core (`cpu`) or of one GiB (`ram`)."""
        self._known.setdefault((family, market, region), {})[part] = amount

    def prices(self, day: str) -> Iterator[Price]:
        """The predefined shapes of every family of which both parts are known."""
        for (family, market, region), parts in self._known.items():
            if not all(parts.get(part, 0) > 0 for part in PARTS):
                continue
            for shape, cores, memory in _shapes(family):
                yield Price(
                    provider="gcp",
                    shape=shape,
                    region=region,
                    market=market,
                    amount=cores * parts["cpu"] + memory * parts["ram"],
                    fetched_at=day,
                )


def fits(value: Any) -> bool:
    """Whether a document is an answer of the billing catalogue, `services/.../skus`."""
    return isinstance(value, dict) and isinstance(value.get("skus"), list)


def read(value: dict[str, Any]) -> Iterator[Price]:
    """The predefined shapes whose cores and memory are in the list."""
    rates, day = Rates(), ""
    for sku in value["skus"]:
        found = _DESCRIPTION.fullmatch(sku["description"])
        market = _USAGE.get(sku["category"]["usageType"])
        if found is None or market is None or not sku["pricingInfo"]:
            continue
        priced = sku["pricingInfo"][-1]
        day = max(day, priced["effectiveTime"][:10])
        money = priced["pricingExpression"]["tieredRates"][-1]["unitPrice"]
        if money["currencyCode"] != "USD":
            raise ValueError("the list is not in USD")
        amount = int(money.get("units") or 0) + money.get("nanos", 0) / 1e9
        part = "cpu" if found["part"] == "Core" else "ram"
        for region in sku["serviceRegions"]:
            rates.add(found["family"].lower(), part, market, region, amount)
    return rates.prices(day)


def _shapes(family: str) -> Iterator[tuple[str, int, float]]:
    for kind, each in (_N1 if family == "n1" else _MEMORY).items():
        if kind != "standard" and family in _ONLY_STANDARD:
            continue
        for cores in _SIZES.get(family, ()):
            yield f"{family}-{kind}-{cores}", cores, cores * each
