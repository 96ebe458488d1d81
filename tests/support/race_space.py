"""A small space in which speed saturates: two runtimes, six batch sizes, three numbers of copies."""

from __future__ import annotations

import itertools

from benchwright.stats.race import Cell, Dimension

SPACE = (
    Dimension(name="runtime", values=("a", "b")),
    Dimension(name="batch", values=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0)),
    Dimension(name="copies", values=(1.0, 2.0, 4.0)),
)
CELLS: list[Cell] = list(itertools.product(*(dimension.values for dimension in SPACE)))


def speed(cell: Cell) -> float:
    """The true throughput of a cell."""
    runtime, batch, copies = cell
    assert not isinstance(batch, str) and not isinstance(copies, str)
    return (1.3 if runtime == "a" else 1.0) * batch / (batch + 3.0) * copies / (copies + 0.5)
