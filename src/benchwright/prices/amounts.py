"""Amounts of money for a time, as people type them: `0.34USD/h`, `12.5 EUR/month`, `1.2`."""

from __future__ import annotations

import re

from benchwright.records.prices import Market, Price
from benchwright.units.money import EXAMPLE as EXAMPLE
from benchwright.units.money import parse_amount
from benchwright.units.money import parse_money as parse_money


def is_amount(text: str) -> bool:
    """Whether a text is meant as an amount, and not as the name of something that has a price."""
    return bool(re.match(r"\s*[-+]?\s*[$€£¥]?\s*[\d.]", text))


def parse_price(text: str, *, what: str) -> Price:
    """An amount for a time as the price of the machine at hand; without a time, for an hour."""
    number, currency, per = parse_amount(text, what=what)
    return Price(
        provider="own", shape="", market=Market.OWN, amount=number, currency=currency, per=per or "hour", source=what
    )
