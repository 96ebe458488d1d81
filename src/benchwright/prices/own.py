"""`prices.yaml`: one's own prices, of rented machines and of the one under the desk.

    prices:
      - {provider: aws, shape: c7i.large, region: eu-central-1, amount: 0.1019, fetched_at: 2026-11-02,
         source: "https://aws.amazon.com/ec2/pricing/"}
    machines:
      desk: {price: 2400 EUR, lifetime: 4y, use: 60 %, watts: 180, kilowatt_hour: 0.31}

What is bought costs its price over the hours of its life in which it is used, and the power that it draws.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError, OptionError
from benchwright.prices.amounts import parse_money
from benchwright.records.prices import HOURS, Market, Price
from benchwright.schema.soundness import LARGEST_AMOUNT, price_flaw
from benchwright.targets.specs import validator
from benchwright.targets.specs.places import PlacedDocument, errors, read
from benchwright.units import parse_percent, parse_quantity

FILE = "prices.yaml"
VARIABLE = "BENCHWRIGHT_PRICES"  # names another file
OWN = "own"
_LONGEST = 500  # characters of a text; an address may be long

_TEXT = {"type": "string", "minLength": 1}
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "prices": {"type": "array", "items": {"$ref": "#/$defs/price"}},
        "machines": {"type": "object", "additionalProperties": {"$ref": "#/$defs/machine"}},
    },
    "additionalProperties": False,
    "$defs": {
        "price": {
            "type": "object",
            "required": ["provider", "shape", "amount"],
            "properties": {
                **dict.fromkeys(("provider", "shape", "region", "currency", "source", "fetched_at"), _TEXT),
                "amount": {"type": "number"},
                "market": {"type": "string", "enum": [market.value for market in Market]},
                "per": {"type": "string", "enum": list(HOURS)},
            },
            "additionalProperties": False,
        },
        "machine": {
            "type": "object",
            "required": ["price", "lifetime"],
            "properties": {
                **dict.fromkeys(("price", "lifetime", "use", "fetched_at", "source"), _TEXT),
                "watts": {"type": "number"},
                "kilowatt_hour": {"type": "number"},
            },
            "additionalProperties": False,
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPrices:
    """What one's own file says: prices of shapes, and of machines by their names."""

    path: Path | None = None  # None: there is no such file
    prices: tuple[Price, ...] = ()
    machines: Mapping[str, Price]


def find_file(start: Path | None = None) -> Path | None:
    """The file that BENCHWRIGHT_PRICES names, else the nearest `prices.yaml` here or in the folders above."""
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser()
    here = (start or Path.cwd()).resolve()
    return next((path for folder in (here, *here.parents) if (path := folder / FILE).is_file()), None)


def load_own(path: Path | None = None) -> OwnPrices:
    """One's own prices; a `DecodeError` tells everything that is wrong with the file, at its line."""
    found = path or find_file()
    if found is None:
        return OwnPrices(machines={})
    document = read(found)
    value = document.value if document.value is not None else {}
    for place, told in _texts(value):
        if len(told) > _LONGEST:
            raise DecodeError(f"{document.at(*place)}: a text of more than {_LONGEST} characters", remedy="shorten it")
    problems = errors(validator.find_problems(document, FORM))
    if problems:
        raise DecodeError("\n".join(map(str, problems)))
    return OwnPrices(
        path=found,
        prices=tuple(_price(told, document, i) for i, told in enumerate(value.get("prices", ()))),
        machines={name: _machine(name, told, document) for name, told in value.get("machines", {}).items()},
    )


def _texts(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in the file, names of machines among them, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield (*place, name), name
            yield from _texts(inner, (*place, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, (*place, number))


def _price(told: Mapping[str, Any], document: PlacedDocument, number: int) -> Price:
    at = document.at("prices", number)
    amount = float(told["amount"])
    if not 0 < amount <= LARGEST_AMOUNT:
        raise DecodeError(
            f"{at}: the amount must be more than 0, and one that somebody pays", remedy="leave out what you do not know"
        )
    return Price(
        provider=told["provider"].lower(),
        shape=told["shape"],
        region=told.get("region", ""),
        market=Market(told.get("market", Market.ON_DEMAND)),
        amount=amount,
        currency=_currency(told.get("currency", "USD"), at),
        per=told.get("per", "hour"),
        source=told.get("source", str(document.where)),
        fetched_at=_day(told.get("fetched_at", ""), at),
    )


def _machine(name: str, told: Mapping[str, Any], document: PlacedDocument) -> Price:
    at = document.at("machines", name)
    try:
        paid, currency = parse_money(told["price"], what="price")
        life = parse_quantity(told["lifetime"], "s", what="lifetime", bare=False) / 3600
        use = parse_percent(told["use"], "use", zero=False) if "use" in told else 1.0
    except OptionError as error:
        raise DecodeError(f"{at}: {error.message}", remedy=error.remedy) from None
    if not life > 0:
        raise DecodeError(f"{at}: the lifetime must be more than 0", remedy="write it as 4y")
    watts, tariff = (told.get(word) for word in ("watts", "kilowatt_hour"))
    if (watts is None) != (tariff is None) or any(value is not None and not value > 0 for value in (watts, tariff)):
        raise DecodeError(
            f"{at}: `watts` and `kilowatt_hour` belong together", remedy="write both, each more than 0, or neither"
        )
    found = Price(
        provider=OWN,
        shape=name,
        market=Market.OWN,
        amount=paid / (life * use) + (watts or 0) / 1000 * (tariff or 0),
        currency=_currency(currency or "USD", at),
        source=told.get("source", str(document.where)),
        fetched_at=_day(told.get("fetched_at", ""), at),
        watts=None if watts is None else float(watts),
        kilowatt_hour=None if tariff is None else float(tariff),
    )
    if flaw := price_flaw(found):
        raise DecodeError(f"{at}: it comes to {flaw}", remedy="check its price and its lifetime")
    return found


def _currency(text: str, at: str) -> str:
    if len(text) != 3 or not (text.isascii() and text.isalpha()):
        raise DecodeError(f"{at}: {text!r} is no currency", remedy="write its three letters, as USD or EUR")
    return text.upper()


def _day(text: str, at: str) -> str:
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        raise DecodeError(f"{at}: {text!r} is no day", remedy="write it as 2026-11-02") from None
