"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from benchwright.errors import OptionError


@contextlib.contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A file to write, put in place under its name when the block ends well and removed when it does not.

    A file that is there already is an `OptionError` unless `force` is set; even one that appears meanwhile is kept.
    """
    if path.exists() and not force:
        raise _exists(path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror}") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        temporary.chmod(0o666 & ~_umask())
        _put(temporary, path, force=force)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _put(temporary: Path, path: Path, *, force: bool) -> None:
    if not force:
        try:
            path.hardlink_to(temporary)  # unlike a rename, never replaces
            return
        except FileExistsError:
            raise _exists(path) from None
        except OSError:
            pass  # a file system without hard links
    temporary.replace(path)


def _exists(path: Path) -> OptionError:
    return OptionError(f"{path}: is there already", remedy="add --force to replace it, or choose another name")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
