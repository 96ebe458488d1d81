"""`pricing.json` of Apache Libcloud: AWS and Azure by shape and region, Google by cores and memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from benchwright.prices.lists import google
from benchwright.records.prices import Market, Price

FORM = "libcloud's pricing.json"
_BY_SHAPE = {"ec2_linux": "aws", "azure_linux": "azure"}
_LOW_PRIORITY = "lowpriority"  # begins the name of a shape of Azure's that is standard but for its terms
_MARKETS = {
    "on_demand": Market.ON_DEMAND,
    "preemptible": Market.SPOT,
    "1yr_commitment": Market.RESERVED_1Y,
    "3yr_commitment": Market.RESERVED_3Y,
}


def fits(value: Any) -> bool:
    """Whether a document is that file."""
    return isinstance(value, dict) and {"compute", "updated"} <= set(value) and isinstance(value["compute"], dict)


def read(value: dict[str, Any]) -> Iterator[Price]:
    """Every price of a Linux machine."""
    day = datetime.fromtimestamp(int(value["updated"]), UTC).date().isoformat()
    compute = value["compute"]
    for key, provider in _BY_SHAPE.items():
        for shape, regions in compute.get(key, {}).items():
            is_taken = provider == "azure" and shape.startswith(_LOW_PRIORITY)  # which the cloud may take back
            name, market = (
                (shape.replace(_LOW_PRIORITY, "standard", 1), Market.SPOT) if is_taken else (shape, Market.ON_DEMAND)
            )
            for region, amount in regions.items():
                found = Price(provider=provider, shape=name, region=region, amount=float(amount), fetched_at=day)
                yield replace(found, market=market)
    rates = google.Rates()
    for family, parts in compute.get("gce_instances", {}).items():
        for part in google.PARTS:
            for key, market in _MARKETS.items():
                for region, told in parts.get(part, {}).get(key, {}).items():
                    rates.add(family, part, market, region, float(told["price"]))
    yield from rates.prices(day)
