"""A stream of bytes as blocks of whole lines.

A line ends with \\n, \\r\\n or \\r, so each state of a progress bar is a line. Of a line longer than `LONGEST` bytes
the rest is dropped: what a pattern can be made to look at is bounded.
"""

from __future__ import annotations

LONGEST = 65_536


class Lines:
    """Puts lines together from whatever pieces arrive. Holds at most one line."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._partial = b""
        self._dropping = False  # the rest of a line that was too long
        self.cut = 0  # lines that were too long

    def feed(self, data: bytes) -> bytes:
        """Every line that is complete now, each ended by \\n; empty when there is none."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._dropping:
            end = data.find(b"\n")
            if end < 0:
                return b""
            data, self._dropping = data[end + 1 :], False
        end = data.rfind(b"\n") + 1
        if not end:
            return self._keep(self._partial + data)
        block = self._partial + data[:end]
        self._partial = b""
        return self._shorten_lines(block) + self._keep(data[end:])

    def finish(self) -> bytes:
        """The last line, when the stream ended in the middle of one."""
        rest, self._partial = self._partial, b""
        return rest + b"\n" if rest else b""

    def _keep(self, rest: bytes) -> bytes:
        if len(rest) <= self._longest:
            self._partial = rest
            return b""
        self._partial, self._dropping = b"", True
        self.cut += 1
        return rest[: self._longest] + b"\n"

    def _shorten_lines(self, block: bytes) -> bytes:
        pieces: list[bytes] = []
        begin = place = 0
        while place < len(block):  # jumps over whole lines, so this costs next to nothing
            end = block.rfind(b"\n", place, place + self._longest + 1)
            if end >= 0:
                place = end + 1
                continue
            pieces += (block[begin : place + self._longest], b"\n")
            self.cut += 1
            begin = place = block.find(b"\n", place) + 1
        return b"".join([*pieces, block[begin:]]) if pieces else block
