"""The number in a text that a pattern captured."""

from __future__ import annotations

import math
import re

from benchwright.schema.soundness import LARGEST

# A sign counts only where no word ends before it: in `epoch-3` it is a hyphen. Commas count only between thousands, and
# a number that begins with 0 has none: `0,351` is not 351.
_NUMBER = re.compile(
    r"(?:(?<![\w.)\]])[-+])?"
    r"(?:[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)"
    r"(?:[eE][-+]?\d+)?",
    re.ASCII,
)
_SHOWN = 40


class NotANumberError(ValueError):
    """A captured text that holds no number, or more than one."""


class NotFiniteError(ValueError):
    """A captured text that says nan, inf or something absurd: a value that nothing can be computed with."""


def parse_number(text: str) -> float:
    """The one number in `text`, with its sign, exponent and thousands; what surrounds it does not matter.

    `'-0.5'`, `'1e-5'`, `'.5'`, `'007'`, `'1,234.5'`, `'12%'` and `'Speed: 829.01 samples/s'` each hold one.
    """
    text = text.replace("\N{MINUS SIGN}", "-")
    if "_" not in text:  # which Python's own reading would skip
        try:
            value = float(text)
        except ValueError:
            pass
        else:
            return _check_finite(value, text)
    found = _NUMBER.findall(text)
    if len(found) != 1:
        count = "no number" if not found else f"{len(found)} numbers"
        raise NotANumberError(f"{count} in {quote_text(text)}")
    return _check_finite(float(found[0].replace(",", "")), text)


def is_whole(text: str) -> bool:
    """Whether the number in `text` is written without a point or an exponent."""
    found = _NUMBER.search(text)
    return found is not None and not set(found[0]) & set(".eE")


def quote_text(text: str) -> str:
    """A captured text for a message, not longer than a line."""
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


def _check_finite(value: float, text: str) -> float:
    if not math.isfinite(value):
        raise NotFiniteError(f"{quote_text(text)} is not a finite number")
    if abs(value) > LARGEST:
        raise NotFiniteError(f"{quote_text(text)} is larger than anything that is measured")
    return value
