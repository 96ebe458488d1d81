"""What a team's server keeps beside results: tokens, an audit log, annotations, the last words of runs."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from benchwright.errors import DecodeError, OptionError, StoreError
from benchwright.store.archive import ENDED, SCOPES, Annotation, Progress
from benchwright.store.sql import SqlStore, access


def test_a_token_is_known_by_its_hash_alone(store: SqlStore) -> None:
    secret = store.token_add("ci", "write")
    assert secret.startswith("bw_") and len(secret) >= 43
    (listed,) = store.tokens()
    assert (listed.name, listed.scope, listed.used_at) == ("ci", "write", "")
    found = store.token_find(secret)
    assert found is not None and (found.name, found.scope) == ("ci", "write")
    assert store.tokens()[0].used_at.endswith(":00+00:00")
    with store._reading() as connection:
        rows = [str(row) for row in connection.exec_driver_sql("SELECT * FROM tokens")]
    assert len(rows) == 1 and secret not in rows[0] and secret.removeprefix("bw_") not in rows[0]


def test_a_token_that_is_wrong_revoked_or_expired_is_none(store: SqlStore) -> None:
    secret = store.token_add("ci", "read", expires_at="2999-01-01T00:00:00+00:00")
    old = store.token_add("old", "admin", expires_at="2020-01-01T00:00:00Z")
    assert store.token_find(secret) is not None
    for wrong in ("", secret[:-1], secret.upper(), "bw_\udcff", old, access._hash(secret)):
        assert store.token_find(wrong) is None
    assert store.token_drop("ci") and not store.token_drop("ci")
    assert store.token_find(secret) is None


def test_a_token_that_cannot_be_made_says_why(store: SqlStore) -> None:
    store.token_add("ci", "read")
    with pytest.raises(StoreError, match="a token 'ci' already"):
        store.token_add("ci", "write")
    with pytest.raises(OptionError, match=r"unknown scope 'wirte'\n  did you mean 'write'"):
        store.token_add("x", "wirte")
    with pytest.raises(DecodeError, match="expires_at"):
        store.token_add("x", "read", expires_at="soon")
    for name in ("", " ", "a\nb", "x" * 201):
        with pytest.raises(OptionError, match="name"):
            store.token_add(name, "read")
    assert [(token.name, token.scope) for token in store.tokens()] == [("ci", "read")]
    assert SCOPES == ("read", "triage", "write", "admin")


def test_the_audit_log_keeps_the_newest(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MOST_LINES", 5)
    for number in range(8):
        store.audit_add(who="ci", address="192.0.2.1", action="upload run", what=f"run-{number}\0" + "x" * 999)
    lines = store.audit()
    assert [line.what[:5] for line in lines] == ["run-7", "run-6", "run-5", "run-4", "run-3"]
    assert all(len(line.what) == 500 for line in lines)
    assert abs(lines[0].at - time.time_ns() // 1000) < 600_000_000
    assert store.audit(limit=2) == lines[:2]
    assert store.audit(limit=2, before=lines[1].id) == lines[2:4]


def test_annotations_stand_beside_one_series_or_all(store: SqlStore) -> None:
    blank = Annotation(id=0, series="key", at=20, text="new driver", who="ann", made_at="")
    one = store.annotate(blank)
    everywhere = store.annotate(replace(blank, series="", at=10, text="moved\0", made_at="2026-01-01T00:00:00+00:00"))
    assert one.id and one.made_at and everywhere.made_at == "2026-01-01T00:00:00+00:00"
    assert [note.text for note in store.annotations("key")] == ["moved\\x00", "new driver"]
    assert [note.id for note in store.annotations("other")] == [everywhere.id]
    assert store.drop_annotation(one.id) and not store.drop_annotation(one.id)
    assert [note.id for note in store.annotations(None)] == [everywhere.id]
    for text in ("", "  ", "x" * 10_001):
        with pytest.raises(OptionError, match="characters"):
            store.annotate(replace(blank, text=text))


def test_a_runs_last_word_replaces_the_one_before(store: SqlStore) -> None:
    word = Progress(
        run="a", started_at="2026-01-01T00:00:00Z", planned=3, done=1, params={"batch": "1"}, phase="warming"
    )
    store.tell_progress(word)
    store.tell_progress(replace(word, run="b"))
    store.tell_progress(replace(word, done=2))
    newest, other = store.progress()
    assert (newest.run, newest.done, other.run) == ("a", 2, "b")
    assert replace(newest, spoke_at=0) == replace(word, done=2)
    assert store.progress(since=newest.spoke_at) == [newest]
    store.tell_progress(replace(word, phase=ENDED))
    assert [one.run for one in store.progress()] == ["b"]


def test_a_run_that_fell_silent_is_forgotten(store: SqlStore) -> None:
    word = Progress(run="silent", started_at="2026-01-01T00:00:00Z", planned=3, done=1)
    store.tell_progress(word)
    with store._writing() as connection:
        connection.exec_driver_sql("UPDATE progress SET at = at - 90000000000")
    store.tell_progress(replace(word, run="b"))
    assert [one.run for one in store.progress()] == ["b"]


def test_the_audit_log_is_narrowed(store: SqlStore) -> None:
    for number in range(3):
        store.audit_add(who=f"Ada_{number}", address="192.0.2.1", action="set threshold", what="vision/*: 5 % -> 10 %")
    store.audit_add(who="ci", address="192.0.2.9", action="upload run", what="run-1")
    assert [line.who for line in store.audit(who="ada_1")] == ["Ada_1"]
    assert len(store.audit(action="THRESHOLD")) == 3 and store.audit(who="Ada%") == []
    assert [line.who for line in store.audit(words="192.0.2.9 run-1")] == ["ci"] and store.audit(words="run-1 x") == []
    first = store.audit(action="threshold", limit=2)
    assert [line.who for line in store.audit(action="threshold", before=first[-1].id)] == ["Ada_0"]
