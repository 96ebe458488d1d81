"""Files that appear whole or not at all: written under a hidden name beside their place, which they then take."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from benchwright.errors import OptionError

BINARY = getattr(os, "O_BINARY", 0)  # Windows writes other ends of lines unless it is said
UNFINISHED = ".partial"  # how the name of a file ends until it is whole
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)


def write_text(path: Path, text: str, *, mode: int = 0o666, durable: bool = False) -> None:
    """Puts the text, as UTF-8, in place of what `path` holds; see `replace_file`."""
    write_bytes(path, text.encode(), mode=mode, durable=durable)


def write_bytes(path: Path, content: bytes, *, mode: int = 0o666, durable: bool = False) -> None:
    """Puts the bytes in place of what `path` holds; see `replace_file`."""
    with replace_file(path, mode=mode, durable=durable) as file:
        file.write(content)


@contextlib.contextmanager
def replace_file(path: Path, *, mode: int = 0o666, durable: bool = False) -> Iterator[BinaryIO]:
    """Yields a file to write, which takes the name `path` when the block ends well and is removed when it does not.

    Its permissions are `mode` less the process's mask. With `durable`, a power cut afterwards does not undo it.
    """
    with _unfinished_file(path, mode) as (file, unfinished):
        yield file
        _settle(file, durable=durable)
        unfinished.replace(path)
    if durable:
        sync_folder(path.parent)


@contextlib.contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Yields a file to write, which takes the name `path` when the block ends well and is removed when it does not.

    A file that is there already is an `OptionError` unless `force` is set; even one that appears meanwhile is kept.
    """
    if path.exists() and not force:
        raise _exists(path)
    try:
        with _unfinished_file(path) as (file, unfinished):
            yield file
            _settle(file, durable=True)
            if force:
                unfinished.replace(path)
            else:
                name_file(unfinished, path)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror}") from None


def name_file(file: Path, path: Path) -> None:
    """Gives a file the name `path`; a `FileExistsError` when that is taken. `file` may still be there afterwards."""
    try:
        path.hardlink_to(file)  # unlike a rename, never replaces
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        file.replace(path)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder survive a power cut, where the file system can do that and we may ask for it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


@contextlib.contextmanager
def _unfinished_file(path: Path, mode: int = 0o666) -> Iterator[tuple[BinaryIO, Path]]:
    """Yields a file beside `path`, and its name, which is gone in the end."""
    # Of a long name only a part: what is added must not make it longer than file systems allow.
    unfinished = path.with_name(f".{path.name[:40]}.{os.urandom(6).hex()}{UNFINISHED}")
    handle = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, mode)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - of the handle, which has its mode
            yield file, unfinished
    finally:
        unfinished.unlink(missing_ok=True)


def _settle(file: BinaryIO, *, durable: bool) -> None:
    """Hands over all that was written, to the disk itself where it must last. Windows renames no file that is open."""
    file.flush()
    if durable:
        os.fsync(file.fileno())
    file.close()


def _exists(path: Path) -> OptionError:
    return OptionError(f"{path}: is there already", remedy="add --force to replace it, or choose another name")
