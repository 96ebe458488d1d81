"""One core of this machine for the programs of one harness, and another one for a harness beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchwright.system.locks import hold_free_lock


@contextmanager
def hold_free_core(cores: Sequence[int]) -> Iterator[int | None]:
    """The last of these cores that no other harness has at this time; None when each is taken.

    It is ours until the end of the block, or of this process, however that ends.
    """
    for core in reversed(cores):
        path = Path(tempfile.gettempdir(), f"benchwright-core-{core}.lock")
        with hold_free_lock(path) as is_ours:
            if is_ours:
                yield core
                return
    yield None
