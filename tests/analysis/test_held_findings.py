"""What runs told of that were put into quarantine later is taken back, unless judged runs show it as well."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.analysis import detection
from benchwright.records.findings import Remark, State
from benchwright.records.machines import Quarantine
from benchwright.store import Store, open_store

KEY = schema.environment_key(made.ENVIRONMENT)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.db")
    yield opened
    opened.close()


def _instant(i: int) -> int:
    return round(datetime.fromisoformat(made.run_of(i, 0.01).started_at).timestamp() * 1_000_000)


def _hold(store: Store, first: int, end: int) -> None:
    """Puts the machine into quarantine from one run up to another, which is judged again."""
    store.quarantine(Quarantine(machine=KEY, since=_instant(first), until=_instant(end), reason="fan broken"))


def _go_on(store: Store, start: int, level: float, count: int) -> list[str]:
    """Adds runs of a level, and judges after each; the state after each look."""
    states = []
    for i, value in enumerate(made.levels((level, count), seed=start), start=start):
        made.fill(store, [value], start=i)
        detection.judge(store, f"run-{i:04d}")
        states.append(next((str(finding.state) for finding in store.findings()), ""))
    return states


def test_a_finding_whose_run_is_held_later_is_resolved_and_says_why(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 30), (0.0125, 12)))
    (finding,) = detection.judge(store, runs[-1].id)
    assert (finding.run, finding.state) == ("run-0030", State.OPEN)
    _hold(store, 30, 42)
    assert _go_on(store, 42, 0.010, 3) == ["resolved"] * 3
    (after,) = store.findings()
    assert [remark.what for remark in after.remarks] == ["opened", "quarantined"]
    assert after.remarks[-1].text.startswith("the machine was in quarantine when it measured run run-0030")
    store.update_finding(after.id, Remark(at="", who="ada", what="reopened"), state=State.OPEN)
    assert _go_on(store, 45, 0.010, 2) == ["open"] * 2  # whoever opens it again has the last word


def test_a_change_that_lasts_after_the_quarantine_is_seen_again(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 30), (0.0125, 12)))
    (finding,) = detection.judge(store, runs[-1].id)
    _hold(store, 30, 43)
    assert _go_on(store, 42, 0.0125, 1) == ["resolved"]  # held as well
    states = _go_on(store, 43, 0.0125, 8)
    assert states[-1] == "open" and "suspected" in states
    (after,) = store.findings()
    assert (after.id, after.run) == (finding.id, "run-0043")
    assert [remark.what for remark in after.remarks] == ["opened", "quarantined", "returned", "confirmed"]


def test_a_suspicion_whose_run_is_held_vanishes(store: Store) -> None:
    made.fill(store, made.levels((0.010, 30)))
    assert _go_on(store, 30, 0.0125, 3)[-1] == "suspected"
    _hold(store, 30, 33)
    assert _go_on(store, 33, 0.010, 1) == ["resolved"]
    (after,) = store.findings()
    assert [remark.what for remark in after.remarks] == ["suspected", "vanished"] and not after.is_reported


def test_a_finding_before_a_quarantine_stays(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 20), (0.0125, 15)))
    (finding,) = detection.judge(store, runs[-1].id)
    _hold(store, 30, 40)
    assert _go_on(store, 35, 0.0125, 8) == ["open"] * 8
    assert store.finding(finding.id).run == "run-0020"
