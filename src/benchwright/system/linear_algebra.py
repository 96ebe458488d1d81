"""Keeps numpy's linear algebra on one thread for a while: many small matrices are slower on several.

The OpenBLAS that numpy's wheels bring starts a thread for each CPU, and these wait for work by spinning. Between the
processes of a race that takes CPU time from what is measured next, and on a busy machine the small solutions of a race
took ten times as long. Only what this process does is changed, and only meanwhile: a variable of the environment would
reach the measured processes too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

# OpenBLAS as numpy's wheels name its functions, and as it names them itself: {} is get or set.
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_")


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one thread inside of `with`; changes nothing where numpy brings another library."""
    found = _threads()
    if found is None:
        yield
        return
    count, limit = found
    before = count()
    limit(1)
    try:
        yield
    finally:
        limit(before)


def count_threads() -> int | None:
    """How many threads linear algebra uses now; None where nobody can tell."""
    found = _threads()
    return found[0]() if found else None


@lru_cache(maxsize=1)
def _threads() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What tells the number of threads and what sets it, in the library that this process has loaded already."""
    import numpy as np

    package = Path(np.__file__).parent
    for file in [*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")]:
        with suppress(OSError):
            library = ctypes.CDLL(str(file))
            for name in _NAMES:
                with suppress(AttributeError):
                    count, limit = getattr(library, name.format("get")), getattr(library, name.format("set"))
                    count.argtypes, count.restype = [], ctypes.c_int
                    limit.argtypes, limit.restype = [ctypes.c_int], None
                    return count, limit
    return None
