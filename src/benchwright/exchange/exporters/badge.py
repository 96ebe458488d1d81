"""A badge: a small picture of one value for a README or a page. Plain SVG, no script, no style, nothing to load."""

from __future__ import annotations

import unicodedata
from html import escape

from benchwright.records import Verdict

LONGEST = 60  # characters of each side
COLOURS = {  # white text is readable on each
    Verdict.BETTER: "#1a7f37",
    Verdict.SAME: "#1a7f37",
    Verdict.WORSE: "#c62828",
    Verdict.UNCLEAR: "#57606a",
}
_NARROW, _WIDE = "fijltrI.,:;'|!()[] ", "mwMW@%"


def svg(label: str, value: str, verdict: Verdict) -> str:
    """The picture: the label on grey, the value on green, red or grey. Whatever the texts hold, they are texts."""
    left, right = _visible_text(label), _visible_text(value)
    split, width = _width(left), _width(left) + _width(right)
    title = escape(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{split}" height="20" fill="#444c56"/>'
        f'<rect x="{split}" width="{width - split}" height="20" fill="{COLOURS[verdict]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">'
        f"{_text(left, 0, split)}{_text(right, split, width)}</g></svg>\n"
    )


def _text(text: str, begin: int, end: int) -> str:
    # The length is stated, so that a font of another width cannot run over the edge.
    return f'<text x="{(begin + end) / 2:g}" y="14" textLength="{end - begin - 10}">{escape(text)}</text>'


def _visible_text(text: str) -> str:
    """The text without characters that are invisible or turn the direction of writing, cut where it is too long."""
    plain = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text).strip() or "?"
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def _width(text: str) -> int:
    return 10 + round(sum(4 if c in _NARROW else 10 if c in _WIDE or ord(c) > 0x2E80 else 7 for c in text))
