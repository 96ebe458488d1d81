"""Sentences that differ in their numbers only, as one sentence with ranges."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A number on its own: no part of a name (p99, float32), of a signed number or of a power of ten.
_NUMBER = re.compile(r"(?<![\w.,±-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)")


def most_common(texts: Sequence[str]) -> tuple[str, int]:
    """The wording that occurs most, with `140 to 158` where its numbers differ, and how many of the texts it covers."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(_NUMBER.sub("0", text), []).append(text)
    largest = max(groups.values(), key=len)
    ranges = [_range(numbers) for numbers in zip(*map(_NUMBER.findall, largest), strict=True)]
    left = iter(ranges)
    return _NUMBER.sub(lambda _: next(left), largest[0]), len(largest)


def _range(numbers: Sequence[str]) -> str:
    low, *_, high = sorted([numbers[0], *numbers], key=lambda text: float(text.replace(",", "")))
    return low if low == high else f"{low} to {high}"
