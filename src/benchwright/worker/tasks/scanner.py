"""One expression, looked for in blocks of lines.

Most lines hold nothing that is looked for, so a block is first searched for the plain text that every hit needs, at
the speed of memory; then the expression is tried over many lines at once, from the first that holds it.
"""

from __future__ import annotations

import re
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchwright.worker.tasks import expressions

SPARSE = 500  # bytes between lines that hold the needed text; nearer, picking them out one by one costs more
FAR = 2500  # the same where the expression begins with plain text, and goes over a block nearly as fast
HELD = 8192  # characters kept of earlier lines, for a hit that spans lines

RARE = 250  # bytes between two places of a byte: nearer, trying each of them costs more than looking for the text
LEARN = 256  # blocks after which the log may have changed
MOST_SECONDS = 2.0  # seconds of CPU time for one expression on one block of lines

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
        self._needle = SoughtText(known.needed.encode()) if known.needed else None
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
    """Makes the scanner of an expression; hits may span lines only where the task file's form allows it."""
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


# ---- plain text in a block ----


class SoughtText:
    """A text to be found in one block after another, through its rarest byte.

    Looking for one byte goes many times faster than looking for a text, as long as the byte is rare; which one is rare
    is learnt from the log itself.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._blocks = 0
        self._rarest = b""
        self._offset = 0  # of the rarest byte in the text; -1: none is rare enough
        self._crowded = False  # its lines were too many to pick out

    @property
    def is_rare(self) -> bool:
        """Whether the text is found fast and few lines held it so far."""
        return self._offset >= 0 and not self._crowded

    def find(self, data: bytes) -> int:
        """The first place of the text in the next block, or -1."""
        if self._blocks % LEARN == 0:
            self._learn(data)
        self._blocks += 1
        return self._next(data, 0)

    def lines(self, data: bytes, place: int, *, apart: int) -> bytes:
        """The lines that hold the text, from `place` on; everything, when they lie nearer than `apart` bytes."""
        found: list[bytes] = []
        most = len(data) // apart
        while place >= 0:
            if len(found) > most:
                self._crowded = True
                return data
            begin, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place) + 1
            found.append(data[begin:end])
            place = self._next(data, end)
        return b"".join(found)

    def _next(self, data: bytes, start: int) -> int:
        if self._offset < 0:
            return data.find(self.text, start)
        at = data.find(self._rarest, start + self._offset)
        while at >= 0:
            if data.startswith(self.text, at - self._offset):
                return at - self._offset
            at = data.find(self._rarest, at + 1)
        return -1

    def _learn(self, data: bytes) -> None:
        counts = {byte: data.count(byte) for byte in set(self.text)}
        rarest = min(counts, key=lambda byte: (counts[byte], byte))
        self._rarest = bytes([rarest])
        self._crowded = False
        self._offset = self.text.index(rarest) if counts[rarest] * RARE < len(data) else -1


# ---- a bound on the time that one search may take ----


class TooSlowError(Exception):
    """A search took more CPU time than it may."""


@contextmanager
def limit_cpu_time(seconds: float = MOST_SECONDS) -> Iterator[None]:
    """Raises `TooSlowError` in what it surrounds once that took so much CPU time.

    A regular expression can need longer than the age of the universe. Python's own matcher looks for signals while it
    works, so a timer of CPU time can end it. Only the main thread gets signals; elsewhere the bound on the length of
    lines is all there is.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _raise_too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _raise_too_slow(number: int, frame: object) -> None:
    raise TooSlowError
