"""One process at a time, among all that agree on a file. A lock ends with its process, however that ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such thing
_PAUSE = 0.05  # seconds between attempts of one that waits a limited time


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Holds the lock that `path` stands for, waiting for it if need be. The file is gone afterwards."""
    handle = _open_held(path, _open_own, _wait_for)
    assert handle is not None
    try:
        yield
    finally:
        _release(handle, path)


@contextlib.contextmanager
def hold_free_lock(path: Path) -> Iterator[bool]:
    """Holds the lock that `path` stands for, in a folder where any user may write; yields whether it could be had.

    The file is gone afterwards.
    """
    try:
        handle = _open_held(path, _open_anyones, try_lock)
    except OSError:
        handle = None
    try:
        yield handle is not None
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):  # another user's file
                _release(handle, path)


def open_lock(path: Path, *, patience: float = 0.0, mode: int = 0o666) -> int | None:
    """Opens a file that stays, and locks it until the handle is closed; None when another process holds it.

    A process that holds it already is waited for at most `patience` seconds.
    """
    handle = _open_own(path, mode)
    try:
        if try_lock(handle, patience):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def try_lock(handle: int, patience: float = 0.0) -> bool:
    """Locks an open file, waiting at most `patience` seconds; returns whether it is ours now."""
    import fcntl

    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE)


def wait_for_lock(handle: int, *, shared: bool = False) -> None:
    """Locks an open file, however long that takes; with `shared`, together with others that ask for the same."""
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def unlock(handle: int) -> None:
    """Gives an open file back."""
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_UN)


@contextlib.contextmanager
def hold_byte(handle: int, place: int) -> Iterator[None]:
    """Holds one byte of an open file, waiting for it if need be: many locks in one file.

    It is kept from other processes alone. Threads of this process need a lock of their own around it.
    """
    import fcntl

    fcntl.lockf(handle, fcntl.LOCK_EX, 1, place)
    try:
        yield
    finally:
        fcntl.lockf(handle, fcntl.LOCK_UN, 1, place)


def _wait_for(handle: int) -> bool:
    wait_for_lock(handle)
    return True


def _open_held(path: Path, open_file: Callable[[Path], int], lock: Callable[[int], bool]) -> int | None:
    """A handle that holds the lock of the file that lies at `path` now; None when `lock` does not get it."""
    while True:
        handle = open_file(path)
        try:
            if not lock(handle):
                os.close(handle)
                return None
            if _is_at(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the one before us removed the file that we waited for: others now lock a new one


def _open_own(path: Path, mode: int = 0o666) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, mode)


def _open_anyones(path: Path) -> int:
    """Another user's file cannot be made anew in a folder for all, only read, which is enough to lock it."""
    try:
        return os.open(path, os.O_RDONLY | _NO_LINK)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT | _NO_LINK, 0o644)


def _release(handle: int, path: Path) -> None:
    try:
        path.unlink(missing_ok=True)  # while it is still held: who waits for this file sees that it is gone
    finally:
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False
