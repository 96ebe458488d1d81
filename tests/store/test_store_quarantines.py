"""Stretches of time in which what a machine measured is not judged, on every database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchwright.errors import OptionError
from benchwright.records.machines import Quarantine, Quarantines
from benchwright.store.sql import SqlStore

HOUR = 3_600_000_000
HELD = Quarantine(machine="m1", since=10 * HOUR, reason="fan broken", who="ada", made_at="2026-11-17T08:00:00+00:00")


def test_a_quarantine_is_kept_ended_and_told_to_whoever_asks(store: SqlStore) -> None:
    store.quarantine(HELD)
    store.quarantine(replace(HELD, machine="m2", since=20 * HOUR, until=30 * HOUR, reason="\0moved"))
    assert store.quarantines("m1") == [HELD]
    assert [(one.machine, one.reason) for one in store.quarantines()] == [("m2", "\\x00moved"), ("m1", "fan broken")]
    assert store.release("m1", 12 * HOUR, "grace") == 1
    assert store.release("m1", 13 * HOUR, "grace") == 0
    assert store.quarantines("m1") == [replace(HELD, until=12 * HOUR, released_by="grace")]
    assert store.release("m2", 31 * HOUR) == 0  # it ended by itself
    assert store.quarantines("m3") == []


def test_the_same_beginning_is_the_same_quarantine(store: SqlStore) -> None:
    store.quarantine(HELD)
    longer = replace(HELD, until=11 * HOUR, reason="fan and disk")
    store.quarantine(longer)
    assert store.quarantines() == [longer]


def test_one_that_was_to_begin_later_is_gone_when_the_machine_is_released(store: SqlStore) -> None:
    store.quarantine(replace(HELD, since=50 * HOUR))
    assert store.release("m1", 12 * HOUR) == 1
    assert store.quarantines() == []


@pytest.mark.parametrize("until", [10 * HOUR, 9 * HOUR])
def test_an_end_before_the_beginning_is_refused(store: SqlStore, until: int) -> None:
    with pytest.raises(OptionError, match="ends after it begins"):
        store.quarantine(replace(HELD, until=until))
    assert store.quarantines() == []


def test_what_is_judged_is_said_in_one_place() -> None:
    held = Quarantines([replace(HELD, until=12 * HOUR), replace(HELD, since=20 * HOUR), replace(HELD, machine="m2")])
    judged = [at for at in range(8, 24, 2) if held.is_judged("m1", at * HOUR)]
    assert judged == [8, 12, 14, 16, 18]  # from `since` on, and again from `until` on
    assert not held.is_judged("m2", 10 * HOUR) and held.is_judged("m3", 10 * HOUR)
    assert held.is_judged_result("m1", "1970-01-01T09:59:59Z") and not held.is_judged_result(
        "m1", "1970-01-01T10:00:00"
    )
    assert held.is_judged_result("m1", "yesterday")
    assert held and not Quarantines()
