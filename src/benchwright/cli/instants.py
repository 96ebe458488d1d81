"""Instants that people write: a date, how far it lies from now, or a time of the clock."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from benchwright.errors import OptionError
from benchwright.units import parse_quantity

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_LONGEST = 100 * 366 * 86400  # seconds


def parse_instant(text: str, option: str, *, sign: int) -> int:
    """An instant in microseconds since 1970; "" is now.

    `2026-11-17T08:00` is a date, in UTC unless it says otherwise. `2h` lies so far from now, in the direction of
    `sign`. `17:00` is the next time that the clock of this machine shows it, or the last one.
    """
    now = time.time_ns() // 1000
    if not text:
        return now
    if clock := _CLOCK.fullmatch(text):
        return _by_the_clock(int(clock[1]), int(clock[2]), sign)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            seconds = parse_quantity(text, "s", what=option, bare=False)
        except OptionError:
            remedy = "write a time such as 17:00, a date such as 2026-11-20, or how far from now, such as 2h or 3d"
            raise OptionError(f"{option}: {text[:60]!r} is no instant", remedy=remedy) from None
        if not 0 <= seconds < _LONGEST:
            raise OptionError(f"{option} {text}: give at most a hundred years", remedy="such as 2h or 3d") from None
        return now + sign * round(seconds * 1e6)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e6)


def _by_the_clock(hour: int, minute: int, sign: int) -> int:
    here = datetime.now().astimezone()
    found = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if (found - here).total_seconds() * sign < 0:
        found += timedelta(days=sign)
    return round(found.timestamp() * 1e6)
