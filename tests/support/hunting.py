"""How long tests hunt that draw their inputs by chance: briefly in `make test`, ten times as long in `make soak`."""

from __future__ import annotations

import os

TIMES = int(os.environ.get("BENCHWRIGHT_TEST_TIMES", "1"))


def examples(count: int) -> int:
    """How many inputs to draw, where `make test` draws `count`."""
    return count * TIMES
