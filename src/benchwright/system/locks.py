"""One process at a time, among all that agree on a file. The lock ends with its process, however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock that `path` stands for, waiting for it if need be. The file is gone afterwards."""
    handle = _acquire(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is still held: who waits for this file sees that it is gone
        os.close(handle)


def _acquire(path: Path) -> int:
    import fcntl

    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_at(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the one before us removed the file that we waited for: others now lock a new one


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
