"""Azure's retail prices, as `https://prices.azure.com/api/retail/prices` answers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchwright.records.prices import Market, Price

FORM = "Azure's retail prices"
_YEARS = {"1 Year": (Market.RESERVED_1Y, 8760.0), "3 Years": (Market.RESERVED_3Y, 3 * 8760.0)}


def fits(value: Any) -> bool:
    """Whether a document is an answer of that address, or several of them in a list."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "Items" in first and "BillingCurrency" in first


def read(value: Any) -> Iterator[Price]:
    """Every price of a Linux machine; of a reservation, what it comes to for an hour."""
    for answer in value if isinstance(value, list) else [value]:
        for item in answer["Items"]:
            if item.get("serviceName") != "Virtual Machines" or not item.get("armSkuName"):
                continue
            if "Windows" in item.get("productName", "") or "Low Priority" in item.get("skuName", ""):
                continue
            yield from _price(item)


def _price(item: dict[str, Any]) -> Iterator[Price]:
    amount, market = float(item["retailPrice"]), Market.ON_DEMAND
    if item.get("type") == "Reservation":
        if item.get("reservationTerm") not in _YEARS:
            return
        market, hours = _YEARS[item["reservationTerm"]]
        amount /= hours  # the list has the sum of the whole term
    elif item.get("type") != "Consumption" or item.get("unitOfMeasure") != "1 Hour":
        return
    elif "Spot" in item.get("skuName", ""):
        market = Market.SPOT
    yield Price(
        provider="azure",
        shape=item["armSkuName"],
        region=item.get("armRegionName", ""),
        market=market,
        amount=amount,
        currency=item["currencyCode"],
    )
