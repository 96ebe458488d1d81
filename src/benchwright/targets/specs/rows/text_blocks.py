"""The rows of early 2018: blocks between `Delay Start` and `Delay End`, each row `name - value (unit)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchwright.targets.specs.rows.entries import BadRowError, CustomRow, PrintedRow
from benchwright.targets.specs.rows.json_rows import number

NET = "NET_DELAY"
START, END = "Delay Start", "Delay End"
_ROW = re.compile(r"(\S.*?) - (\S+) \(([^()]*)\)\s*")


class TextBlocks:
    """Reads what follows `marker`. Of a block that also tells of operators, the whole model's value is left out:
    timing each operator disturbs it."""

    def __init__(self, marker: str) -> None:
        self._marker = self.sign = marker
        self._block: list[PrintedRow] | None = None

    def feed(self, line: str) -> Sequence[PrintedRow | CustomRow]:
        """The rows of a block, when this line ends it; a `BadRowError` for a row that makes no sense."""
        _, found, text = line.partition(self._marker)
        if not found:
            return ()
        text = text.strip()
        if text == START:
            lost, self._block = self._block, []
            if lost:
                raise BadRowError(f"a block of {len(lost)} rows has no end")
            return ()
        if text == END:
            block, self._block = self._block or [], None
            only_net = all(row.type == NET for row in block)
            return block if only_net else [row for row in block if row.type != NET]
        if self._block is None:
            return ()
        match = _ROW.fullmatch(text)
        if match is None:
            raise BadRowError("it is not `name - value (unit)`")
        self._block.append(PrintedRow(type=match[1], unit=match[3], value=number(match[2])))
        return ()

    def finish(self) -> Sequence[PrintedRow | CustomRow]:
        """What an unfinished block would have told of is unknown, so it is left out."""
        lost, self._block = self._block, None
        if lost:
            raise BadRowError(f"the last block of {len(lost)} rows has no end")
        return ()
