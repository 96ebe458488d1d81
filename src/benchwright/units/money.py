"""Amounts of money as people type them: `5USD`, `$0.05`, `0.34 EUR/h`."""

from __future__ import annotations

import re
from typing import NamedTuple

from benchwright.errors import OptionError

TIMES = {"s": "second", "min": "minute", "h": "hour", "d": "day", "mo": "month", "y": "year"}
EXAMPLE = "write it as 0.34USD/h"
_AMOUNT = re.compile(
    r"\s*(?P<number>\d+(?:\.\d*)?|\.\d+)(?P<power>[eE][-+]?\d+)?\s*(?P<currency>[A-Za-z]{3})?\s*(?:/\s*(?P<per>[a-z]+)\s*)?"
)
_SIGN = re.compile(r"\s*(?P<sign>[$€£¥])\s*(?P<rest>.*)")
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP"}


class Amount(NamedTuple):
    """A number, its currency, and for which time it is; "" for what is not said."""

    number: float
    currency: str
    per: str


def parse_amount(text: str, *, what: str, example: str = EXAMPLE) -> Amount:
    """Reads an amount, of a time or alone. `what` is the flag, for errors."""
    sign, rest = "", text
    if match := _SIGN.fullmatch(text):
        sign, rest = match["sign"], match["rest"]
        if sign not in _SIGNS:
            raise OptionError(f"{what}: {sign} is the sign of several currencies", remedy=example)
    found = _AMOUNT.fullmatch(rest)
    if found is None or (sign and found["currency"]):
        raise OptionError(f"{what}: {text!r} is not an amount of money", remedy=example)
    per = found["per"] or ""
    per = TIMES.get(per, per)
    if per and per not in TIMES.values():
        known = ", ".join((*TIMES, *TIMES.values()))
        raise OptionError(f"{what}: {found['per']!r} is not a time", remedy=f"one of {known}")
    number = float(found["number"] + (found["power"] or ""))
    if not 0 < number < 1e12:
        raise OptionError(f"{what}: {text!r} must be more than 0", remedy=example)
    return Amount(number, _SIGNS.get(sign) or (found["currency"] or "").upper(), per)


def parse_money(text: str, *, what: str, example: str = "write the amount alone, as 5USD") -> tuple[float, str]:
    """The number and the currency of an amount without a time: `5USD` is 5.0 and USD."""
    number, currency, per = parse_amount(text, what=what, example=example)
    if per:
        raise OptionError(f"{what}: {text!r} is an amount per {per}", remedy="write the amount alone, as 5USD")
    return number, currency
