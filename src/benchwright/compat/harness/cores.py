"""One core of this machine for the programs of one harness, and another one for a harness beside it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def claimed(cores: Sequence[int]) -> Iterator[int | None]:
    """The last of these cores that no other harness has at this time; None when each is taken.

    It is ours until the end of the block, or of this process, however that ends.
    """
    for core in reversed(cores):
        path = Path(tempfile.gettempdir(), f"benchwright-core-{core}.lock")
        handle = _lock(path)
        if handle is None:
            continue
        try:
            yield core
        finally:
            with contextlib.suppress(OSError):
                path.unlink()  # while it is still held: who opened it meanwhile sees that it is gone
            os.close(handle)
        return
    yield None


def _lock(path: Path) -> int | None:
    """A handle that holds the lock of this file; None when somebody else holds it, or it cannot be made."""
    import fcntl

    while True:
        try:
            handle = _opened(path)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), path.lstat()):
                return handle
        except FileNotFoundError:
            pass  # it was removed when the one before us ended: make a new one
        except OSError:
            os.close(handle)
            return None
        os.close(handle)


def _opened(path: Path) -> int:
    """Another user's file cannot be made anew in a folder for all, only read, which is enough to lock it."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
