"""Who is signed in, and the targets of messages that people keep, in both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchwright.errors import StoreError
from benchwright.store.archive import NotifyTarget
from benchwright.store.sql import SqlStore, sessions

IDLE, LONGEST = 3600.0, 86400.0


def begin(store: SqlStore, subject: str = "https://login.example 7", **changes: float) -> str:
    lengths = {"idle": IDLE, "longest": LONGEST, **changes}
    return store.session_add(subject=subject, who="Ada <ada@example.com>", groups=("a", "b"), **lengths)


def test_a_session_is_found_by_what_the_browser_holds_alone(store: SqlStore) -> None:
    held = begin(store)
    found = store.session_find(held, idle=IDLE)
    assert found is not None
    assert (found.subject, found.who, found.groups) == ("https://login.example 7", "Ada <ada@example.com>", ("a", "b"))
    assert found.ends_at - found.made_at == int(LONGEST * 1e6)
    assert [one.name for one in store.sessions(idle=IDLE)] == [found.name] and found.name not in held
    for wrong in ("", "bws_", held[:-1], held + "x", found.name, "\0", "\ud800"):
        assert store.session_find(wrong, idle=IDLE) is None
    assert store.session_drop(held) and not store.session_drop(held)
    assert store.session_find(held, idle=IDLE) is None


def test_a_session_ends_after_its_time_and_after_silence(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    now = sessions._now()
    held = begin(store)
    monkeypatch.setattr(sessions, "_now", lambda: now + int(0.9 * IDLE * 1e6))
    assert store.session_find(held, idle=IDLE) is not None  # and its use is put on record
    monkeypatch.setattr(sessions, "_now", lambda: now + int(1.8 * IDLE * 1e6))
    assert store.session_find(held, idle=IDLE) is not None
    monkeypatch.setattr(sessions, "_now", lambda: now + int(3 * IDLE * 1e6))
    assert store.session_find(held, idle=IDLE) is None and store.sessions(idle=IDLE) == []
    assert store.session_find(held, idle=1e6) is not None
    monkeypatch.setattr(sessions, "_now", lambda: now + int((LONGEST + 1) * 1e6))
    assert store.session_find(held, idle=1e6) is None


def test_what_is_over_is_removed_and_nobody_holds_too_many(store: SqlStore) -> None:
    held = [begin(store) for _ in range(sessions.MOST_EACH + 2)]
    other = begin(store, "https://login.example 8")
    assert len(store.sessions(idle=IDLE)) == sessions.MOST_EACH + 1
    assert store.session_find(held[-1], idle=IDLE) and store.session_find(other, idle=IDLE)
    assert begin(store, "x y", longest=-1.0)
    begin(store, "x z")
    assert not [one for one in store.sessions(idle=1e9) if one.subject == "x y"]


def test_a_session_is_ended_by_its_name(store: SqlStore) -> None:
    held = begin(store)
    (found,) = store.sessions(idle=IDLE)
    assert not store.session_end("%" * 16) and not store.session_end("") and not store.session_end(found.name[:-1])
    assert store.session_end(found.name) and store.session_find(held, idle=IDLE) is None


def test_targets_are_kept_changed_and_removed(store: SqlStore) -> None:
    first = store.put_notify_target(NotifyTarget(address="github://owner/name", who="Ada", made_at="2026"))
    second = store.put_notify_target(
        NotifyTarget(address="${BENCHWRIGHT_NOTIFY_SLACK}", verdicts=("worse", "better"), cases="vision*", smallest=0.1)
    )
    assert store.notify_targets() == [first, second] and first.id and second.id != first.id
    changed = store.put_notify_target(replace(first, smallest=0.2))
    assert store.notify_targets() == [changed, second]
    with pytest.raises(StoreError, match="address already"):
        store.put_notify_target(replace(first, id=0))
    with pytest.raises(StoreError, match="no target"):
        store.put_notify_target(replace(first, id=99, address="github://other/name"))
    assert store.drop_notify_target(first.id) == changed and store.drop_notify_target(first.id) is None
    assert store.notify_targets() == [second]
