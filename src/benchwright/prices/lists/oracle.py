"""OCI's list of products. It prices an OCPU and a GiB of a family; a flexible shape names how many it has.

A shape is written as `VM.Standard.E5.Flex.2.16`: two OCPUs and 16 GiB. Prices are the same in all regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from benchwright.records.prices import Price

FORM = "OCI's list of products"
_NAME = re.compile(r"Compute - (?:Virtual Machine )?Standard - (?P<family>[AEX]\d+) - (?P<part>OCPU|Memory).*")
_SIZES = ((1, 8), (1, 16), (2, 16), (2, 32), (4, 32), (4, 64), (8, 64), (8, 128), (16, 128), (16, 256))


def fits(value: Any) -> bool:
    """Whether a document is an answer of the list of products."""
    items = value.get("items") if isinstance(value, dict) else None
    return isinstance(items, list) and bool(items) and isinstance(items[0], dict) and "partNumber" in items[0]


def read(value: dict[str, Any]) -> Iterator[Price]:
    """Usual sizes of the flexible shapes whose OCPU and memory are in the list."""
    parts: dict[tuple[str, str], dict[str, float]] = {}
    for item in value["items"]:
        found = _NAME.fullmatch(item["displayName"])
        if found is None:
            continue
        for told in item["currencyCodeLocalizations"]:
            amounts = [float(one["value"]) for one in told["prices"] if one["model"] == "PAY_AS_YOU_GO"]
            if amounts:
                parts.setdefault((found["family"], told["currencyCode"]), {})[found["part"]] = max(amounts)
    for (family, currency), amount in parts.items():
        if not all(amount.get(part, 0) > 0 for part in ("OCPU", "Memory")):
            continue
        for cores, memory in _SIZES:
            yield Price(
                provider="oci",
                shape=f"VM.Standard.{family}.Flex.{cores}.{memory}",
                amount=cores * amount["OCPU"] + memory * amount["Memory"],
                currency=currency,
            )
