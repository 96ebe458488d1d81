"""Plain text in a block of bytes, found through its rarest byte.

Looking for one byte goes many times faster than looking for a text, as long as the byte is rare; which one is rare is
learnt from the log itself.
"""

from __future__ import annotations

RARE = 250  # bytes between two places of a byte: nearer, trying each of them costs more than looking for the text
LEARN = 256  # blocks after which the log may have changed


class Needle:
    """A text to be found in one block after another."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._blocks = 0
        self._rarest = b""
        self._offset = 0  # of the rarest byte in the text; -1: none is rare enough
        self._crowded = False  # its lines were too many to pick out

    @property
    def is_rare(self) -> bool:
        """Whether it is found fast and its lines were few, as far as was learnt."""
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
