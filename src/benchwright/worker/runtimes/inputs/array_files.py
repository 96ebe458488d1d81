"""Arrays in files: .npy, .npz, text with one number a line. Nothing is unpickled, nothing pickled."""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchwright.errors import LoadError, did_you_mean
from benchwright.stats.errors import describe_shape

Array = npt.NDArray[Any]

TEXT = (".txt", ".csv", ".text")
# What numpy and its helpers raise for a file that is not what it says; memory runs out for shapes that nobody has.
DAMAGE = (
    ValueError,
    EOFError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    MemoryError,
)
_PART = "::"  # file.npz::name
_MEMBER = ".npy"


def read(place: str, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """The array at `place`: a .npy file, `file.npz::name`, or text with one number a line; else a `LoadError`.

    Of an .npz file without `::` it is the array called `name`, or its only one. Text has no shape, so its numbers take
    `shape`, when there are as many.
    """
    file, _, part = place.partition(_PART)
    path = Path(file)
    try:
        if path.suffix == ".npz":
            return _member(path, part, name)
        if path.suffix == ".npy":
            with path.open("rb") as stream:
                return np.lib.format.read_array(stream, allow_pickle=False)
        return _reshape(_numbers(path), shape, place)
    except OSError as error:
        raise LoadError(f"{file}: {error.strerror or error}", remedy="name a file that can be read") from None
    except DAMAGE as error:
        raise LoadError(
            f"{file}: no numbers can be read from it: {error}",
            remedy="write it with numpy.save or numpy.savez, or as text with one number a line",
        ) from None


def names(path: Path) -> list[str]:
    """The names of the arrays in an .npz file, in order."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [member.removesuffix(_MEMBER) for member in archive.namelist() if member.endswith(_MEMBER)]
    except OSError as error:
        raise LoadError(f"{path}: {error.strerror or error}", remedy="name a file that can be read") from None
    except DAMAGE as error:
        raise LoadError(f"{path}: {error}", remedy="write it with numpy.savez") from None


def write(path: Path, arrays: Mapping[str, Array]) -> None:
    """An .npz file with these arrays, whatever their names are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(name + _MEMBER), content.getbuffer())


def _member(path: Path, part: str, name: str) -> Array:
    known = names(path)
    wanted = part or (known[0] if len(known) == 1 else name)
    if wanted not in known:
        raise LoadError(f"{path} holds no array {wanted!r}", remedy=did_you_mean(wanted, known) or "it is empty")
    with zipfile.ZipFile(path) as archive, archive.open(wanted + _MEMBER) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _numbers(path: Path) -> Array:
    if path.suffix and path.suffix not in TEXT:
        raise LoadError(f"{path}: unknown ending {path.suffix}", remedy=f"known: .npy, .npz, {', '.join(TEXT)}")
    values = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for count, line in enumerate(lines, start=1):
            text = line.strip()
            if not text:
                continue
            try:
                values.append(float(text))
            except ValueError:
                raise LoadError(
                    f"{path}:{count}: {text[:40]!r} is not a number", remedy="write one number on each line"
                ) from None
    return np.array(values, dtype=np.float64)


def _reshape(values: Array, shape: tuple[int, ...] | None, place: str) -> Array:
    if shape is None:
        return values
    if values.size != int(np.prod(shape)):
        raise LoadError(f"{place} holds {values.size:,} numbers; {describe_shape(shape)} takes {int(np.prod(shape)):,}")
    return values.reshape(shape)
