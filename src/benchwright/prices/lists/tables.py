"""Tables that others gather over many clouds: SkyPilot's catalogues and gpuhunt's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from benchwright.records.prices import Market, Price

SKYPILOT = "SkyPilot's catalogue"
GPUHUNT = "gpuhunt's catalogue"


def is_skypilot(header: list[str]) -> bool:
    """Whether these are the columns of a SkyPilot catalogue."""
    return {"InstanceType", "Price", "SpotPrice", "Region"} <= set(header)


def read_skypilot(rows: Iterable[Mapping[str, str]], provider: str) -> Iterator[Price]:
    """A price on demand for each shape and region; of the spot prices of a region's zones, the lowest."""
    spot: dict[tuple[str, str], float] = {}
    seen: set[tuple[str, str]] = set()
    for row in rows:
        shape, region = row["InstanceType"], row["Region"]
        if not shape:
            continue  # an accelerator that is rented apart from a machine
        if (shape, region) not in seen:
            seen.add((shape, region))
            yield Price(provider=provider, shape=shape, region=region, amount=_number(row["Price"]))
        if (low := _number(row["SpotPrice"])) > 0:
            spot[shape, region] = min(low, spot.get((shape, region), low))
    for (shape, region), amount in spot.items():
        yield Price(provider=provider, shape=shape, region=region, market=Market.SPOT, amount=amount)


def is_gpuhunt(header: list[str]) -> bool:
    """Whether these are the columns of a gpuhunt catalogue."""
    return {"instance_name", "location", "price", "spot"} <= set(header)


def read_gpuhunt(rows: Iterable[Mapping[str, str]], provider: str) -> Iterator[Price]:
    """A price for each shape and place, on demand or spot."""
    for row in rows:
        yield Price(
            provider=row.get("provider") or provider,
            shape=row["instance_name"],
            region=row["location"],
            market=Market.SPOT if row["spot"].lower() == "true" else Market.ON_DEMAND,
            amount=_number(row["price"]),
        )


def _number(text: str) -> float:
    return float(text) if text else 0.0
