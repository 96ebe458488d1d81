"""The events of one stream that differ by their text alone, which need not be taken apart again and again.

A model's answer of a thousand tokens is a thousand events of JSON, all alike but for one string. Once one of them was
read, the bytes before and after that string are known: whatever else stands between the same bytes, without a quote, a
backslash or a control character, is the string of an event that is otherwise the same. It costs a tenth of reading it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

_PLAIN = re.compile(rb'[^"\\\x00-\x1f]+')  # what a string of JSON may hold without an escape
_OTHER = b"another text"
MOST_MISSES = 3  # templates in a row that fitted nothing: events of this stream differ in more than their text
ReadText = Callable[[Any], tuple[int, str] | None]  # the kind and the text of an event that holds nothing else


class EventTemplate(NamedTuple):
    """The bytes around the text of an event, and the kind of what it brings."""

    before: bytes
    after: bytes
    kind: int


class TemplateReader:
    """Reads events of one stream that are like an earlier one but for their text."""

    def __init__(self, parse: Callable[[bytes], Any], read: ReadText) -> None:
        self._parse, self._read = parse, read
        self._known: EventTemplate | None = None
        self._misses = 0

    def match(self, data: bytes) -> tuple[int, bytes, str] | None:
        """The kind, the bytes and the text of an event that is like the last one that was learnt; None of another."""
        known = self._known
        if known is None or not (data.startswith(known.before) and data.endswith(known.after)):
            return None
        raw = data[len(known.before) : len(data) - len(known.after)]
        if not _PLAIN.fullmatch(raw):
            return None
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return None
        self._misses = 0
        return known.kind, raw, text

    def learn(self, data: bytes, kind: int, text: str) -> None:
        """Takes an event, of this kind and with this text, for those that follow to be like it."""
        if self._misses >= MOST_MISSES:
            return
        self._misses += 1  # until it fits
        self._known = None
        raw = text.encode("utf-8", "surrogatepass")
        quoted = b'"' + raw + b'"'
        if not _PLAIN.fullmatch(raw) or data.count(quoted) != 1:
            return
        place = data.index(quoted) + 1
        before, after = data[:place], data[place + len(raw) :]
        # The text is where the string stood, and nothing else of the event changes with it.
        if self._read(self._parse(before + _OTHER + after)) == (kind, _OTHER.decode()):
            self._known = EventTemplate(before, after, kind)
