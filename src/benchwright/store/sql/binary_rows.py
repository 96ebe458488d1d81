"""Rows of numbers in the form that PostgreSQL's COPY takes: made by numpy, all rows at once.

The driver writes row by row, which takes longer than everything else that is done with a point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

_BEGIN = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # the signature, no flags, no further header
_END = b"\xff\xff"
_KINDS = {"int8": ">i8", "float8": ">f8"}
_NULL = -1  # as the length of a value


def can_write(types: Sequence[str]) -> bool:
    """Whether all columns are of these types of PostgreSQL that this module knows."""
    return all(name in _KINDS for name in types)


def write(rows: Sequence[tuple[Any, ...]], types: Sequence[str]) -> Iterator[bytes]:
    """A whole copy of these rows, whose columns are of these types; the order of rows is not kept."""
    import numpy

    yield _BEGIN
    for absent, several in _by_absence(rows):
        written = numpy.empty(len(several), dtype=_form(tuple(types), absent))
        written["count"] = len(types)
        for place, column in enumerate(zip(*several, strict=True)):
            if place in absent:
                written[f"length {place}"] = _NULL
            else:
                written[f"length {place}"] = 8
                written[f"value {place}"] = column
        yield written.tobytes()
    yield _END


def _by_absence(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[frozenset[int], Sequence[tuple[Any, ...]]]]:
    """The rows, those together that lack values in the same columns."""
    lacking = [place for place, column in enumerate(zip(*rows, strict=True)) if None in column]
    if not lacking:
        yield frozenset(), rows
        return
    found: dict[frozenset[int], list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(frozenset(place for place in lacking if row[place] is None), []).append(row)
    yield from found.items()


@lru_cache(maxsize=64)
def _form(types: tuple[str, ...], absent: frozenset[int]) -> numpy.dtype[Any]:
    import numpy

    parts: list[tuple[str, str]] = [("count", ">i2")]
    for place, name in enumerate(types):
        parts.append((f"length {place}", ">i4"))
        if place not in absent:
            parts.append((f"value {place}", _KINDS[name]))
    return numpy.dtype(parts)
