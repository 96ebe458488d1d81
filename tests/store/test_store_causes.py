"""Causes in the store: found again by what comes later, dealt with as one, split and joined; many people at a time."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import StoreError
from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding, Remark, State, Suspect, Triage
from benchwright.store.sql import SqlStore, codec, tables, upgrade
from benchwright.store.sql import engine as engines

NOW = "2026-03-01T12:00:00+00:00"


def _finding(name: str, commit: str = "c5", *, minute: int = 0, **changes: Any) -> Finding:
    level = Estimate(point=1.1, low=1.0, high=1.2)
    fields: dict[str, Any] = {
        "id": name,
        "series": f"series of {name}",
        "before": level,
        "after": level,
        "effect": level,
        "method": "test",
        "verdict": Verdict.WORSE,
        "case": f"case {name}",
        "metric": "latency_p50",
        "run": f"run of {commit}",
        "suspects": (Suspect(revision=commit, probability=0.9, subject=f"Change {commit}", author="Ada"),)
        if commit
        else (),
        "found_at": f"2026-03-01T10:{minute:02}:00+00:00",
    }
    return Finding(**(fields | changes))


def test_a_finding_gets_its_cause_when_it_is_kept(store: SqlStore) -> None:
    first = store.keep_finding(_finding("a"))
    assert first.cause.startswith("cause-") and store.finding("a") == first
    assert store.keep_finding(_finding("b", machine="m2")).cause == first.cause
    other = store.keep_finding(_finding("c", "c9", minute=5))
    assert other.cause != first.cause
    assert store.keep_finding(_finding("d", "c5", cause=other.cause)).cause == other.cause  # it came with one
    assert [(cause.id, cause.findings) for cause in store.causes()] == [(other.cause, 2), (first.cause, 2)]
    assert [cause.id for cause in store.causes(limit=1, skip=1)] == [first.cause]
    (cause,) = [one for one in store.causes() if one.id == first.cause]
    assert cause.culprit is not None and (cause.culprit.subject, cause.machines) == ("Change c5", ("", "m2"))


def test_two_projects_with_the_same_version_have_a_cause_each(store: SqlStore) -> None:
    ours = store.keep_finding(_finding("a", "1.2.3", run="r1", repository="https://forge.example/ours"))
    theirs = store.keep_finding(_finding("b", "1.2.3", run="s1", repository="https://forge.example/theirs"))
    assert ours.cause != theirs.cause
    again = store.keep_finding(_finding("c", "1.2.3", run="t1", repository="https://forge.example/theirs"))
    assert again.cause == theirs.cause


def test_findings_of_a_cause_are_listed_by_it(store: SqlStore) -> None:
    for number, name in enumerate("abc"):
        store.keep_finding(_finding(name, "c5" if name != "c" else "c9", minute=number))
    cause = store.finding("a").cause
    assert [one.id for one in store.findings(cause=cause)] == ["b", "a"]
    assert [one.id for one in store.findings(skip=1, limit=1)] == ["b"]
    with pytest.raises(StoreError, match="no cause 'cause-x' in this store"):
        store.findings(cause="cause-x")
    with pytest.raises(StoreError, match=r"'cause-' may be any of 2 causes\n  write more of one of: "):
        store.findings(cause="cause-")


def test_a_cause_keeps_its_id_when_a_bisection_names_another_commit(store: SqlStore) -> None:
    both = (Suspect(revision="c5", probability=0.6), Suspect(revision="c6", probability=0.4))
    first = store.keep_finding(_finding("a", suspects=both))
    assert store.keep_finding(_finding("b", suspects=both)).cause == first.cause
    found = Remark(at=NOW, who="benchwright", what="bisected")
    now = store.update_finding("a", found, suspects=(Suspect(revision="c6", probability=0.99),))
    assert now.cause == first.cause
    assert store.keep_finding(_finding("c", "c6")).cause == first.cause
    assert store.keep_finding(_finding("d", "c5")).cause != first.cause  # what c5 did as well is something else
    assert [one.findings for one in store.causes()] == [1, 3] or [one.findings for one in store.causes()] == [3, 1]


def test_a_cause_is_dealt_with_as_one_and_every_story_tells_who(store: SqlStore) -> None:
    for name in "abc":
        store.keep_finding(_finding(name))
    store.keep_finding(_finding("d", state=State.SUSPECTED))
    store.update_finding("c", state=State.RESOLVED)
    cause = store.finding("a").cause
    wish = Triage(state=State.ACKNOWLEDGED, assignee="bob", comment="one commit")
    assert {one.id for one in store.triage_findings([cause[:9]], wish, who="ada", at=NOW)} == {"a", "b"}
    for name in "ab":
        kept = store.finding(name)
        assert (kept.state, kept.assignee) == (State.ACKNOWLEDGED, "bob")
        assert [(line.who, line.what, line.text) for line in kept.remarks] == [
            ("ada", "acknowledged", "one commit"),
            ("ada", "assigned", "to bob"),
        ]
    assert [store.finding(name).state for name in "cd"] == [State.RESOLVED, State.SUSPECTED]
    assert store.triage_findings([cause], wish, who="ada", at=NOW) == []  # nothing is new
    assert [one.states for one in store.causes(states=[State.ACKNOWLEDGED])] == [{"acknowledged": 2}]
    assert {one.id for one in store.triage_findings([cause], Triage(state=State.OPEN), who="bob", at=NOW)} == {*"abc"}


def test_all_of_a_wish_is_done_or_nothing(store: SqlStore) -> None:
    store.keep_finding(_finding("a"))
    with pytest.raises(StoreError, match="no finding 'x'"):
        store.triage_findings(["a", "x"], Triage(state=State.RESOLVED), who="ada", at=NOW)
    assert store.finding("a").state is State.OPEN


def test_a_cause_is_split_and_joined_again(store: SqlStore) -> None:
    for name in "abcd":
        store.keep_finding(_finding(name))
    cause = store.finding("a").cause
    apart = store.split_findings(["c", "d"], who="ada", at=NOW, comment="another cause")
    assert {one.id for one in apart} == {"c", "d"} and len({one.cause for one in apart}) == 1
    assert apart[0].cause != cause
    said = apart[0].remarks[-1]
    assert (said.who, said.what, said.text) == ("ada", "split", f"from {cause} to {apart[0].cause}. another cause")
    assert store.keep_finding(_finding("e")).cause == cause  # what comes later joins the one of its commit
    assert {one.id for one in store.join_findings([cause, apart[0].cause], who="ada", at=NOW)} == {"c", "d"}
    assert {store.finding(name).cause for name in "abcde"} == {cause}
    assert store.finding("c").remarks[-1].text == f"from {apart[0].cause} to {cause}"
    for wrong in ([], ["a"]):
        with pytest.raises(StoreError, match="nothing to join"):
            store.join_findings(wrong)
    with pytest.raises(StoreError, match="nothing to split"):
        store.split_findings([])


def test_what_was_split_stays_so_in_another_store(store: SqlStore, tmp_path: Path) -> None:
    for name in "ab":
        store.keep_finding(_finding(name))
    store.split_findings(["a"])
    with closing(SqlStore(f"sqlite:///{tmp_path / 'copy.db'}")) as other:
        for finding in store.findings():
            assert other.keep_finding(finding) == finding
        assert other.keep_finding(_finding("c")).cause == store.finding("b").cause
        assert len(other.causes()) == 2


def test_what_comes_later_joins_the_cause_that_another_was_joined_to(store: SqlStore) -> None:
    first, second = store.keep_finding(_finding("a", "c5")), store.keep_finding(_finding("b", "c9"))
    store.join_findings([first.cause, second.cause])
    assert store.keep_finding(_finding("c", "c9")).cause == first.cause
    assert [one.findings for one in store.causes()] == [3]


def test_people_and_judges_at_once_lose_nothing(url: str) -> None:
    stores = [SqlStore(url) for _ in range(4)]
    first = stores[0].keep_finding(_finding("first"))

    def work(number: int) -> None:
        for i in range(5):
            stores[number].keep_finding(_finding(f"f{number}-{i}"))
            stores[number].triage_findings([first.cause], Triage(comment=f"{number}.{i}"), who="ada", at=NOW)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (cause,) = stores[0].causes()
    assert (cause.id, cause.findings) == (first.cause, 21)
    said = [remark.text for remark in stores[0].finding("first").remarks]
    assert sorted(said) == sorted(f"{n}.{i}" for n in range(4) for i in range(5))
    for opened in stores:
        opened.close()


def test_findings_of_an_older_store_get_their_causes(url: str) -> None:
    engine = engines.connect(url, timeout=5)
    with engine.connect() as connection, engines.writing(connection).begin():
        upgrade.upgrade(connection, to="0004")
        kept = [_finding("a"), _finding("b"), _finding("c", ""), _finding("d", "", assignee="bob"), _finding("e", "c9")]
        for number, finding in enumerate(kept):
            data = json.loads(codec.finding_document(finding))
            del data["cause"]
            row = {"finding": finding.id, "series": finding.series, "state": "open", "at": number, "format": 1}
            connection.execute(tables.findings.insert(), row | {"document": json.dumps(data)})
        damaged = {"finding": "x", "series": "x", "state": "ignored", "at": 9, "format": 1, "document": "[" * 99}
        connection.execute(tables.findings.insert(), damaged)
    engine.dispose()
    store = SqlStore(url)
    causes = [store.finding(name).cause for name in "abcde"]
    assert causes[0] == causes[1] and causes[2] == causes[3] and len({*causes}) == 3
    assert [replace(store.finding(one.id), cause="") for one in kept] == kept
    assert {cause.id for cause in store.causes(states=[State.OPEN])} == {*causes}
    assert {head.assignee for head in store.finding_heads(states=[State.OPEN])} == {"", "bob"}
    assert store.keep_finding(_finding("new")).cause == causes[0]
    store.close()


def test_what_must_be_done_once_is_claimed_by_one(store: SqlStore) -> None:
    assert store.claim("issue c", "first server", seconds=60)
    assert not store.claim("issue c", "second server", seconds=60)
    assert store.claim("issue d", "second server", seconds=60)
    store.give_back("issue c", "second server")  # it is not its own
    assert not store.claim("issue c", "second server", seconds=60)
    store.give_back("issue c", "first server")
    assert store.claim("issue c", "second server", seconds=-1)  # and was killed
    assert store.claim("issue c", "third server", seconds=60)
