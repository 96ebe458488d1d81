"""The price lists of AWS: the offer files (JSON and CSV), and what `aws pricing get-products` answers.

Of the many prices of a shape, those of a shared Linux machine without further software count; of reservations, those
without anything paid in advance and with the standard class, so that an hour has one price.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchwright.records.prices import Market, Price
from benchwright.schema.parsing import json_value

FORM = "AWS price list"
_COLUMNS = {"SKU", "TermType", "PricePerUnit", "Currency", "Instance Type"}
_PREAMBLE = ("FormatVersion", "Disclaimer", "Publication Date", "Version", "OfferCode")
_YEARS = {"1yr": Market.RESERVED_1Y, "1 yr": Market.RESERVED_1Y, "3yr": Market.RESERVED_3Y, "3 yr": Market.RESERVED_3Y}
_MEANT = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
_IN_TABLES = {
    "operatingSystem": "Operating System",
    "tenancy": "Tenancy",
    "preInstalledSw": "Pre Installed S/W",
    "capacitystatus": "CapacityStatus",
}


def fits(value: Any) -> bool:
    """Whether a document is an offer file, or an answer of `get-products`."""
    return isinstance(value, dict) and ({"products", "terms"} <= set(value) or "PriceList" in value)


def read(value: dict[str, Any]) -> Iterator[Price]:
    """Every price of a shared Linux machine."""
    if "PriceList" in value:
        for text in value["PriceList"]:
            offer = json_value(text) if isinstance(text, str) else text
            yield from _of_product(offer["product"]["attributes"], offer["terms"], offer.get("publicationDate", ""))
        return
    day = value.get("publicationDate", "")
    for sku, product in value["products"].items():
        terms = {kind: of.get(sku, {}) for kind, of in value["terms"].items()}
        yield from _of_product(product.get("attributes", {}), terms, day)


def is_preamble(row: Sequence[str]) -> bool:
    """Whether a line of a table stands before the names of its columns."""
    return not row or row[0] in _PREAMBLE


def is_table(header: Sequence[str]) -> bool:
    """Whether these are the columns of an offer file."""
    return set(header) >= _COLUMNS


def read_rows(rows: Iterable[Mapping[str, str]]) -> Iterator[Price]:
    """Every price of a shared Linux machine in an offer file that is a table."""
    for row in rows:
        if any(row.get(column, "") != _MEANT[name] for name, column in _IN_TABLES.items()):
            continue
        market = _market(row["TermType"], {name: row.get(name, "") for name in _TERM_COLUMNS})
        if market is None or row.get("Unit", "Hrs") != "Hrs":
            continue
        yield Price(
            provider="aws",
            shape=row["Instance Type"],
            region=row.get("Region Code", ""),
            market=market,
            amount=float(row["PricePerUnit"]),
            currency=row["Currency"],
        )


_TERM_COLUMNS = ("LeaseContractLength", "PurchaseOption", "OfferingClass")


def _of_product(attributes: Mapping[str, Any], terms: Mapping[str, Any], published: str) -> Iterator[Price]:
    if "instanceType" not in attributes or any(attributes.get(name) != meant for name, meant in _MEANT.items()):
        return
    for kind, of_kind in terms.items():
        for term in of_kind.values():
            market = _market(kind, term.get("termAttributes", {}))
            if market is None:
                continue
            for part in term["priceDimensions"].values():
                if part.get("unit") != "Hrs":
                    continue
                for currency, amount in part["pricePerUnit"].items():
                    yield Price(
                        provider="aws",
                        shape=attributes["instanceType"],
                        region=attributes.get("regionCode", ""),
                        market=market,
                        amount=float(amount),
                        currency=currency,
                        fetched_at=published[:10],
                    )


def _market(kind: str, term: Mapping[str, str]) -> Market | None:
    if kind == "OnDemand":
        return Market.ON_DEMAND
    if term.get("PurchaseOption") != "No Upfront" or term.get("OfferingClass") != "standard":
        return None
    return _YEARS.get(term.get("LeaseContractLength", ""))
