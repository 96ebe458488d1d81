"""One expression, looked for in blocks of lines.

Most lines hold nothing that is looked for, so a block is first searched for the plain text that every hit needs, at
the speed of memory; then the expression is tried over many lines at once, from the first that holds it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

from benchwright.worker.tasks import expressions
from benchwright.worker.tasks.needles import Needle

SPARSE = 500  # bytes between lines that hold the needed text; nearer, picking them out one by one costs more
FAR = 2500  # the same where the expression begins with plain text, and goes over a block nearly as fast
HELD = 8192  # characters kept of earlier lines, for a hit that spans lines

Column = Sequence[str | bytes]  # what one group captured, a text for each hit; "" where it took no part in the hit


class Block:
    """Whole lines, as bytes and, once somebody asks, as text."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.is_ascii = data.isascii()
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The lines; a byte that is no UTF-8 becomes a replacement character."""
        if self._text is None:
            self._text = _decode(self.data)
        return self._text


class Scanner:
    """Finds every hit of one expression. A line's beginning and end are `^` and `$`, and a hit lies in one line."""

    def __init__(self, text: str) -> None:
        self.expression = compile_expression(text)
        known = expressions.inspect(text)
        self._needle = Needle(known.needed.encode()) if known.needed else None
        self._prefixed = known.prefixed
        self._bounded = compile_expression(known.bounded) if known.bounded else None
        self._of_bytes = _for_bytes(known.bounded)

    def scan(self, block: Block) -> Sequence[Column]:
        """A column for each group, or one of whole hits when there is no group; empty when nothing was found."""
        data = block.data
        if self._needle is not None:
            place = self._needle.find(data)
            if place < 0:
                return ()
            at_once = self._prefixed and block.is_ascii  # the expression skips what does not fit by itself
            if not at_once or self._needle.is_rare:
                data = self._needle.lines(data, place, apart=FAR if at_once else SPARSE)
        if self._bounded is None:
            lines = _decode(data).split("\n")
            return _columns(self.expression, [hit for line in lines for hit in self.expression.findall(line)])
        if self._of_bytes is not None and block.is_ascii:
            return _columns(self._of_bytes, self._of_bytes.findall(data))
        text = block.text if data is block.data else _decode(data)
        return _columns(self._bounded, self._bounded.findall(text))


class SpanningScanner(Scanner):
    """Also finds hits that reach over lines, as the older driver did; what it may look back at is bounded."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._held = ""
        self._resume = 0  # what lies before was part of a hit already

    def scan(self, block: Block) -> Sequence[Column]:
        text = self._held + block.text
        found = []
        for match in self.expression.finditer(text, self._resume):
            found.append(match.groups("") if self.expression.groups > 1 else match[self.expression.groups] or "")
            self._resume = match.end()
        cut = text.rfind("\n", 0, max(0, len(text) - HELD)) + 1
        self._held, self._resume = text[cut:], max(0, self._resume - cut)
        return _columns(self.expression, found)


def scanner(text: str, *, spanning: bool) -> Scanner:
    """For an expression whose hits may span lines only where the task file's form allows it."""
    if spanning and expressions.inspect(text).spans:
        return SpanningScanner(text)
    return Scanner(text)


def compile_expression(text: str) -> re.Pattern[str]:
    """The expression, or `re.error`. What Python finds doubtful in it today still means what it meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(text, re.MULTILINE)


def _for_bytes(text: str) -> re.Pattern[bytes] | None:
    """The expression for lines of plain ASCII, which need not be decoded then; None where it cannot be had."""
    if not text or not text.isascii():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(text.encode(), re.MULTILINE)
        except re.error:  # what exists for text only
            return None


def _columns(expression: re.Pattern[str] | re.Pattern[bytes], found: Sequence[object]) -> Sequence[Column]:
    if not found:
        return ()
    return tuple(zip(*found, strict=True)) if expression.groups > 1 else (found,)  # type: ignore[return-value]


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
