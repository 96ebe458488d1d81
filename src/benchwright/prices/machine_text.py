"""Machines as people write them: `PROVIDER/SHAPE[@REGION][:MARKET][?zone=...&image=...]`, the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import parse_qsl, quote

from benchwright.errors import OptionError, did_you_mean
from benchwright.records.prices import Market

_MACHINE = re.compile(
    r"(?P<provider>[\w-]+)/(?P<shape>[^@:?,\s]+)(?:@(?P<region>[\w.-]+))?(?::(?P<market>[\w-]+))?(?:\?(?P<query>\S*))?"
)
FORM = "PROVIDER/SHAPE[@REGION][:MARKET][?zone=ZONE&image=IMAGE], as in aws/c7i.large@eu-central-1:spot"
LONGEST = 1000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedMachine:
    """A machine that somebody asks for: "" for a region leaves it open; `options` are the words after `?`."""

    provider: str
    shape: str
    region: str = ""
    market: Market = Market.ON_DEMAND
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __str__(self) -> str:
        region = f"@{self.region}" if self.region else ""
        market = f":{self.market.value}" if self.market is not Market.ON_DEMAND else ""
        words = "&".join(f"{word}={quote(value, safe='/:.')}" for word, value in self.options.items())
        return f"{self.provider}/{self.shape}{region}{market}" + (f"?{words}" if words else "")


def parse_machine(text: str, *, what: str) -> WantedMachine:
    """Reads `aws/c7i.large@eu-central-1:spot?zone=eu-central-1a`."""
    found = _MACHINE.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if found is None:
        raise OptionError(f"{what}: {text[:80]!r} names no machine", remedy=f"write {FORM}")
    market = found["market"] or Market.ON_DEMAND.value
    if market not in (known := [one.value for one in Market]):
        raise OptionError(
            f"{what}: {market!r} is no market", remedy=did_you_mean(market, known) or f"one of {', '.join(known)}"
        )
    return WantedMachine(
        provider=found["provider"].lower(),
        shape=found["shape"],
        region=found["region"] or "",
        market=Market(market),
        options=_options(found["query"] or "", what),
    )


def parse_machines(text: str, *, what: str) -> list[WantedMachine]:
    """Several machines with commas between them; a comma inside a value is written %2C."""
    return [parse_machine(part, what=what) for part in text.split(",")]


def _options(query: str, what: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word, value in parse_qsl(query, keep_blank_values=True) if query else ():
        if word in found:
            raise OptionError(f"{what}: {word} is said twice", remedy="say it once")
        found[word] = value
    return found
