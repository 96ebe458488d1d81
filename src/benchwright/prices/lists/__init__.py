"""Price lists of others, each recognised by what is in it: the vendors' own, libcloud's, SkyPilot's and gpuhunt's.

A list is read whole into prices. What it writes as 0 it does not know, and is left out.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError, OptionError, TargetError
from benchwright.prices.lists import amazon, google, libcloud, microsoft, oracle, tables
from benchwright.records.prices import Price
from benchwright.schema.parsing import TextError, json_value
from benchwright.system.texts import describe_error

LARGEST = 1 << 30  # bytes of a list
MOST = 2_000_000  # prices in one
LONGEST = 200  # characters of a name in it
KNOWN = (
    "AWS price lists (JSON or CSV), answers of `aws pricing get-products`, Azure's retail prices, Google's list of "
    "SKUs, OCI's list of products, libcloud's pricing.json, SkyPilot's and gpuhunt's tables (CSV)"
)
_PROVIDER = re.compile(r"aws|azure|gcp|oci|lambda|runpod|vast|nebius|datacrunch|tensordock|cudo|vultr|cudocompute")

ReadJson = Callable[[Any], Iterable[Price]]
ReadRows = Callable[[Iterable[Mapping[str, str]], str], Iterable[Price]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """What was read from one file."""

    form: str  # whose list it is
    prices: tuple[Price, ...]
    unknown: int  # entries without an amount


def read_list(path: Path, *, provider: str = "", day: str = "") -> PriceList:
    """The prices of a file. `provider` is for tables that do not name theirs, `day` for lists without a date.

    Without a day the file's own counts, which is no earlier than that of the prices in it.
    """
    try:
        size, changed = path.stat().st_size, path.stat().st_mtime
        if size > LARGEST:
            raise DecodeError(f"{path}: it is larger than {LARGEST >> 30} GiB", remedy="take the list of one region")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TargetError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise DecodeError(f"{path}: not UTF-8 text: {error.reason}", remedy=f"known are {KNOWN}") from None
    day = parse_day(day) if day else datetime.fromtimestamp(changed, UTC).date().isoformat()
    try:
        form, found = _read(text, path, provider)
        kept, unknown = _keep_known(found, f"{form}: {path.name}", day)
    except (LookupError, TypeError, ValueError, AttributeError, csv.Error) as error:
        raise DecodeError(
            f"{path}: not the list that it begins as: {describe_error(error, 200)}", remedy=f"known are {KNOWN}"
        ) from None
    if not kept:
        raise DecodeError(f"{path}: no price is in it", remedy=f"known are {KNOWN}")
    return PriceList(form=form, prices=tuple(kept), unknown=unknown)


def _read(text: str, path: Path, provider: str) -> tuple[str, Iterable[Price]]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json_value(text)
        except TextError as error:
            raise DecodeError(f"{path}: {error}") from None
        for form, fits, read in _JSON:
            if fits(value):
                return form, read(value)
        raise DecodeError(f"{path}: not a price list that is known", remedy=f"known are {KNOWN}")
    lines = io.StringIO(text)
    header = _header(lines)
    rows = csv.DictReader(lines, fieldnames=header)
    if amazon.is_table(header):
        return amazon.FORM, amazon.read_rows(rows)
    for form, is_one, read_rows in _TABLES:
        if is_one(header):
            return form, read_rows(rows, provider or _provider_of(path))
    raise DecodeError(f"{path}: not a price list that is known", remedy=f"known are {KNOWN}")


def _header(lines: io.StringIO) -> list[str]:
    """The names of the columns; AWS writes lines of two fields before them."""
    for row in csv.reader(lines):
        if len(row) > 2 or not amazon.is_preamble(row):
            return row
    return []


def _provider_of(path: Path) -> str:
    """SkyPilot's tables are called `aws/vms.csv`, gpuhunt's `aws.csv`."""
    for word in (path.stem, path.parent.name):
        if found := _PROVIDER.match(word.lower()):
            return found[0]
    raise OptionError(
        f"{path}: the table does not say whose prices it holds", remedy="add --provider, as in --provider aws"
    )


def parse_day(text: str) -> str:
    """The day that somebody writes."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise OptionError(f"--day: {text!r} is no day", remedy="write it as 2026-11-02") from None


def _day_or(text: object, day: str) -> str:
    """The day of a list, where it is one; else the other."""
    try:
        return date.fromisoformat(text).isoformat() if isinstance(text, str) else day
    except ValueError:
        return day


def _keep_known(found: Iterable[Price], source: str, day: str) -> tuple[list[Price], int]:
    kept: list[Price] = []
    unknown = 0
    for price in found:
        if not 0 < price.amount < 1e9:
            unknown += 1
            continue
        texts = (price.provider, price.shape, price.region, price.currency)
        if not all(isinstance(text, str) and len(text) <= LONGEST for text in texts):
            raise TypeError(f"the machine of a price is {texts!r}"[:200])
        if len(kept) == MOST:
            raise ValueError(f"it holds more than {MOST} prices")
        kept.append(replace(price, source=source, fetched_at=_day_or(price.fetched_at, day)))
    return kept, unknown


_JSON: tuple[tuple[str, Callable[[Any], bool], ReadJson], ...] = (
    (libcloud.FORM, libcloud.fits, libcloud.read),
    (amazon.FORM, amazon.fits, amazon.read),
    (microsoft.FORM, microsoft.fits, microsoft.read),
    (google.FORM, google.fits, google.read),
    (oracle.FORM, oracle.fits, oracle.read),
)
_TABLES: tuple[tuple[str, Callable[[list[str]], bool], ReadRows], ...] = (
    (tables.SKYPILOT, tables.is_skypilot, tables.read_skypilot),
    (tables.GPUHUNT, tables.is_gpuhunt, tables.read_gpuhunt),
)
