"""Instants of recorded requests, in nanoseconds since the first of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from benchwright.worker.endpoints.data_files import DataRow

SECOND = 10**9
MILLISECOND = 10**6
DATE = 0  # in place of a unit: a day and a time of the clock
_LATEST = 2**62  # nanoseconds: a hundred and forty years


class Instants:
    """Reads the instants of one file, in its order."""

    def __init__(self, key: str, unit: int) -> None:
        self._key, self._unit = key, unit
        self._first: int | None = None
        self._last = 0

    def read(self, row: DataRow, value: Mapping[str, Any]) -> int:
        """Nanoseconds since the first row's instant; an error where it is none, or before the row above it."""
        instant = self._date(row, value) if self._unit == DATE else self._number(row, value)
        if self._first is None:
            self._first = instant
        elif instant < self._last:
            raise row.refuse(f"{self._key!r} lies before that of the row above it", "sort the file by it")
        self._last = instant
        return instant - self._first

    def _number(self, row: DataRow, value: Mapping[str, Any]) -> int:
        given = value.get(self._key)
        try:
            number = math.nan if isinstance(given, bool) else float(given)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 <= number * self._unit < _LATEST:
            raise row.refuse(f"{self._key!r} is {str(given)[:40]!r}, no instant", "write a number, from 0 on")
        return round(number * self._unit)

    def _date(self, row: DataRow, value: Mapping[str, Any]) -> int:
        given = value.get(self._key)
        try:
            instant = datetime.fromisoformat(str(given).strip())
            since = (instant if instant.tzinfo else instant.replace(tzinfo=UTC)) - datetime.fromtimestamp(0, UTC)
        except (ValueError, OverflowError):
            raise row.refuse(
                f"{self._key!r} is {str(given)[:40]!r}, no day and time", "write 2024-05-10 00:00:00.009930"
            ) from None
        return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds * 1000
