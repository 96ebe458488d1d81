"""Which machines somebody means: `cpu=*EPYC*,device=pixel*|SM-G96*,team=vision,quiet`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from benchwright.errors import OptionError

MOST_PARTS = 20
LONGEST = 1000  # characters of a selector
NEAREST = 3  # machines that are named where none fits
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_REMEDY = "write name=pattern, several with commas between: cpu=*EPYC*,device=pixel*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Conditions that all hold for the machines that are meant; none: every machine is."""

    parts: tuple[tuple[str, str], ...] = ()  # a name, and patterns of its value with | between; "*" for any

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Reads `name=pattern` and bare names, with commas between; `*` and nothing mean every machine."""
        return _parse(text)

    @property
    def text(self) -> str:
        """The selector as it is written, always the same for the same conditions."""
        return ",".join(f"{name}={pattern}" for name, pattern in self.parts) or "*"

    def matches(self, described: Mapping[str, str]) -> bool:
        """Whether a machine of which these words are known is meant."""
        return all(_holds(name, pattern, described) for name, pattern in self.parts)

    def mismatches(self, described: Mapping[str, str]) -> list[str]:
        """The conditions that do not hold, each with what holds instead."""
        return [
            f"{name}={pattern} ({'it is ' + described[name] if name in described else 'it has none'})"
            for name, pattern in self.parts
            if not _holds(name, pattern, described)
        ]


def nearest(selector: Selector, machines: Iterable[tuple[str, Mapping[str, str]]]) -> str:
    """The machines that lack least of what is asked for, and what each lacks; "" where there is none."""
    found = [(_distance(selector, described), name, selector.mismatches(described)) for name, described in machines]
    fewest = min((distance[0] for distance, _, _ in found), default=0)
    near = [one for one in sorted(found) if one[0][0] == fewest][:NEAREST]
    return "; ".join(f"{name}, but for {', '.join(lacking)}" if lacking else name for _, name, lacking in near)


def _distance(selector: Selector, described: Mapping[str, str]) -> tuple[int, float]:
    """How many conditions do not hold, and how little what holds instead looks like them: a word may be misspelt."""
    unlike = 0.0
    for name, pattern in selector.parts:
        if not _holds(name, pattern, described):
            wanted, there = pattern.strip("*").lower(), described.get(name, "")[:LONGEST].lower()
            words = [there, *there.split()]
            unlike += 1 - max(SequenceMatcher(None, wanted, word).ratio() for word in words) if there else 2
    return len(selector.mismatches(described)), unlike


def is_name(text: str) -> bool:
    """Whether a text can be the name of a fact or a label."""
    return _NAME.fullmatch(text) is not None


@lru_cache(maxsize=1000)
def _parse(text: str) -> Selector:
    if len(text) > LONGEST or not text.isprintable():
        raise OptionError(f"a selector has at most {LONGEST} printable characters", remedy=_REMEDY)
    parts: dict[tuple[str, str], None] = {}
    for part in text.split(","):
        name, sign, pattern = (word.strip() for word in part.partition("="))
        if (name in ("", "*") and not sign) or not part.strip():
            continue
        if not _NAME.fullmatch(name):
            raise OptionError(f"{part.strip()[:60]!r} is no condition that a machine can meet", remedy=_REMEDY)
        if sign and not pattern:
            raise OptionError(f"{name}= says nothing of {name}", remedy=f"write {name}=PATTERN, or {name}")
        parts[name.lower(), pattern or "*"] = None
    if len(parts) > MOST_PARTS:
        raise OptionError(f"a selector has at most {MOST_PARTS} conditions", remedy=_REMEDY)
    return Selector(parts=tuple(parts))


def _holds(name: str, pattern: str, described: Mapping[str, str]) -> bool:
    value = described.get(name)
    return value is not None and _pattern(pattern).match(" ".join(value.split())) is not None


@lru_cache(maxsize=1000)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(one.strip()) for one in pattern.split("|")), re.IGNORECASE)
