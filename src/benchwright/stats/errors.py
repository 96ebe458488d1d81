"""How far two arrays are apart: errors, similarity, and which elements are too far. Pure functions over numpy.

Equal NaNs agree, and so do equal infinities. An element that is no finite number on one side only, or unlike on both,
is always out of tolerance; it is counted, and left out of means and maxima, which stay finite. Relative errors are of
elements whose expected value is not zero: what an error is relative to must be something.

Arrays are gone through in pieces of bounded size, so comparing takes little memory beyond them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

PIECE = 1 << 17  # elements that are looked at together
_WHOLE = "bui"  # numpy's kinds of truth values and whole numbers
_LARGEST = sys.float_info.max


class ShapeError(ValueError):
    """Two arrays that cannot be compared element by element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """What comparing found; every number is finite, and of the elements that are so on both sides."""

    size: int
    max_abs: float = 0.0
    mean_abs: float = 0.0
    rms: float = 0.0  # of the differences
    max_rel: float = 0.0
    mean_rel: float = 0.0
    cosine: float | None = 1.0  # arrays of zeros are alike, one is unlike anything else; None: no finite pair
    off: int = 0  # elements out of tolerance
    unlike: int = 0  # of those, the ones that are no finite number on one side, or not the same one
    worst: tuple[int, ...] | None = None  # where the tolerance is exceeded most, or nearest to it; None: no difference


def compare(found: Array, expected: Array, *, absolute: float = 0.0, relative: float = 0.0) -> Errors:
    """The errors of `found`. An element is near when |found - expected| <= absolute + relative * |expected|.

    Shapes must be equal, or it is a `ShapeError`: nothing is broadcast, repeated or cut off.
    """
    _check(found, expected)
    sums, start = _Sums(), 0
    for piece, wanted in _pieces(found, expected):
        sums.add(piece, wanted, start, absolute, relative)
        start += piece.size
    return sums.errors(found.shape)


def scale(array: Array) -> float:
    """The root mean square of its finite elements: how large they are. 0 for none."""
    total, count = 0.0, 0
    for piece, _ in _pieces(array, array):
        sizes = np.abs(_wide(piece))
        sizes = sizes[np.isfinite(sizes)]
        total, count = total + _sum(sizes * sizes), count + sizes.size
    return math.sqrt(_finite(total) / count) if count else 0.0


def agreement(found: Array, expected: Array, top: int) -> float:
    """The share of rows, along the last axis, whose `top` largest elements are the same ones.

    Among equal elements no order is expected; NaN is smaller than any number. Fewer elements are a `ShapeError`.
    """
    _check(found, expected)
    if not found.size:
        return 1.0
    width = found.shape[-1] if found.ndim else 1
    if not 1 <= top <= width:
        raise ShapeError(f"there are no {top} largest of {width} elements")
    mine, theirs = found.reshape(-1, width), expected.reshape(-1, width)
    rows, alike = max(1, PIECE // width), 0
    for start in range(0, len(mine), rows):
        alike += _count_alike(_order_rows(mine[start : start + rows]), _order_rows(theirs[start : start + rows]), top)
    return alike / len(mine)


def _check(found: Array, expected: Array) -> None:
    if found.shape != expected.shape:
        raise ShapeError(f"{describe_shape(found.shape)}, expected {describe_shape(expected.shape)}")
    for array in (found, expected):
        if array.dtype.kind not in "buifc" and not np.can_cast(array.dtype, np.float64):  # bfloat16 can, text cannot
            raise ShapeError(f"elements of type {array.dtype} are not numbers")


def describe_shape(shape: tuple[int, ...]) -> str:
    """A shape in words: `1x3x224x224`, `a scalar`."""
    return "x".join(map(str, shape)) or "a scalar"


def _pieces(found: Array, expected: Array) -> Iterator[tuple[Array, Array]]:
    """Both arrays as flat pieces in C order, whatever their layout."""
    mine, theirs = (a.reshape(-1) if a.flags.c_contiguous else a.flat for a in (found, expected))
    for start in range(0, found.size, PIECE):
        yield mine[start : start + PIECE], theirs[start : start + PIECE]


def _wide(piece: Array) -> Array:
    """The numbers with room to compute in; also from types that numpy itself does not know, as bfloat16."""
    return piece.astype(np.complex128 if piece.dtype.kind == "c" else np.float64, copy=False)


def _differences(found: Array, expected: Array) -> Array:
    """Returns the absolute differences. Between whole numbers none is lost, however large they are."""
    if found.dtype.kind in _WHOLE and expected.dtype.kind in _WHOLE:
        both = np.result_type(found.dtype, expected.dtype)
        if both.kind in _WHOLE:  # not so for int64 with uint64, which only floats hold together
            high, low = np.maximum(found, expected, dtype=both), np.minimum(found, expected, dtype=both)
            return np.asarray(high.astype(np.uint64) - low.astype(np.uint64), dtype=np.float64)
    return np.asarray(np.abs(_wide(found) - _wide(expected)))


class _Sums:
    """What is known after the pieces seen so far."""

    def __init__(self) -> None:
        self._size = self._finite = self._based = self._off = self._unlike = 0
        self._abs = self._squares = self._rel = self._max_abs = self._max_rel = 0.0
        self._dot = self._mine = self._theirs = 0.0
        self._worst, self._excess = None, -math.inf  # type: int | None, float

    def add(self, found: Array, expected: Array, start: int, absolute: float, relative: float) -> None:
        with np.errstate(all="ignore"):  # of what is not finite; it is told apart below
            mine, theirs = _wide(found), _wide(expected)
            differences, sizes = _differences(found, expected), np.abs(theirs)
            finite = np.isfinite(mine) & np.isfinite(theirs)
            same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
            excess = np.where(finite, differences - (absolute + relative * sizes), np.where(same, -np.inf, np.inf))
        self._size += mine.size
        self._off += int(np.count_nonzero(excess > 0))
        self._unlike += int(np.count_nonzero(~finite & ~same))
        at = int(np.argmax(excess))
        if excess[at] > self._excess:
            self._worst, self._excess = start + at, float(excess[at])
        self._count(mine[finite], theirs[finite], differences[finite], sizes[finite])

    def _count(self, mine: Array, theirs: Array, differences: Array, sizes: Array) -> None:
        with np.errstate(all="ignore"):
            self._finite += differences.size
            self._abs += _sum(differences)
            self._squares += _sum(differences * differences)
            self._max_abs = max(self._max_abs, float(differences.max(initial=0.0)))
            based = sizes > 0
            relatives = np.minimum(differences[based] / sizes[based], _LARGEST)
            self._based += relatives.size
            self._rel += _sum(relatives)
            self._max_rel = max(self._max_rel, float(relatives.max(initial=0.0)))
            self._dot += float(np.vdot(theirs, mine).real)
            self._mine += _sum(np.abs(mine) ** 2)
            self._theirs += _sum(sizes * sizes)

    def errors(self, shape: tuple[int, ...]) -> Errors:
        apart = self._worst is not None and (self._max_abs > 0 or self._unlike)
        worst = tuple(int(i) for i in np.unravel_index(self._worst or 0, shape)) if apart else None
        count, based = max(1, self._finite), max(1, self._based)
        return Errors(
            size=self._size,
            max_abs=_finite(self._max_abs),
            mean_abs=_finite(self._abs) / count,
            rms=math.sqrt(_finite(self._squares) / count),
            max_rel=_finite(self._max_rel),
            mean_rel=_finite(self._rel) / based,
            cosine=self._cosine(),
            off=self._off,
            unlike=self._unlike,
            worst=worst,
        )

    def _cosine(self) -> float | None:
        if self._size and not self._finite:
            return None
        if not self._mine or not self._theirs:
            return float(self._mine == self._theirs)
        whole = math.sqrt(_finite(self._mine)) * math.sqrt(_finite(self._theirs))
        return max(-1.0, min(1.0, _finite(self._dot) / whole))


def _sum(values: Array) -> float:
    return float(np.sum(values))


def _finite(value: float) -> float:
    """Bounds a sum that may have overflowed: what is reported must be finite."""
    return max(-_LARGEST, min(_LARGEST, value)) if not math.isnan(value) else 0.0


# ---- the largest elements ----


def _order_rows(rows: Array) -> Array:
    wide = rows if rows.dtype.kind in _WHOLE else _wide(rows)
    if wide.dtype.kind == "c":
        wide = np.abs(wide)
    return np.where(np.isnan(wide), -np.inf, wide) if wide.dtype.kind == "f" else wide


def _count_alike(mine: Array, theirs: Array, top: int) -> int:
    """How many rows agree: what one side holds largest is, up to equal elements, what the other holds largest."""
    my_top, their_top = _largest(mine, top), _largest(theirs, top)
    by_theirs = _same(np.take_along_axis(theirs, my_top, -1), np.take_along_axis(theirs, their_top, -1))
    by_mine = _same(np.take_along_axis(mine, their_top, -1), np.take_along_axis(mine, my_top, -1))
    return int(np.count_nonzero(by_theirs | by_mine))


def _largest(rows: Array, top: int) -> Array:
    return np.argpartition(rows, rows.shape[-1] - top, axis=-1)[:, -top:]


def _same(some: Array, others: Array) -> Array:
    return np.asarray((np.sort(some, axis=-1) == np.sort(others, axis=-1)).all(axis=-1))
