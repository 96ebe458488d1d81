"""Findings in the store: kept once, changed by many at a time, found by their state and series."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchwright.errors import StoreError
from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding, Mute, Remark, State, Suspect, Threshold
from benchwright.store.sql import SqlStore, codec, findings


def _finding(name: str = "f1", *, series: str = "s1", minute: int = 0, runs: tuple[str, ...] = ("r1", "r2")) -> Finding:
    level = Estimate(point=1.0, low=0.9, high=1.1)
    return Finding(
        id=name,
        series=series,
        before=level,
        after=level,
        effect=level,
        method="test",
        verdict=Verdict.WORSE,
        runs=runs,
        found_at=f"2026-03-01T10:{minute:02}:00+00:00",
        why={"cause": "code"},
        cause="cause-1",
    )


def _remark(text: str, what: str = "comment") -> Remark:
    return Remark(at="2026-03-01T11:00:00+00:00", who="ada", what=what, text=text)


def test_a_finding_comes_back_as_it_was(store: SqlStore) -> None:
    finding = replace(_finding(), suspects=(Suspect(revision="abc", probability=0.9),), remarks=(_remark("first"),))
    assert store.keep_finding(finding) == finding
    assert store.findings() == [finding]
    assert store.finding("f1") == finding


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(data=st.data())
def test_every_finding_can_be_written(data: st.DataObject, records_of: Callable[[type], Any]) -> None:
    finding = data.draw(records_of(Finding))
    assert codec.read_finding(codec.finding_document(finding), 1, where="here") == finding


def test_the_same_change_is_kept_once(store: SqlStore) -> None:
    first = store.keep_finding(_finding())
    assert store.keep_finding(_finding("f2", runs=("r2", "r3"))) == first  # it moved by a run
    assert store.keep_finding(_finding("f1", runs=("r9",))) == first  # the very same id
    assert store.findings() == [first]
    others = [
        _finding("other series", series="s2"),
        _finding("elsewhere", runs=("r7",)),
        replace(_finding("the other way"), verdict=Verdict.BETTER),
    ]
    assert [store.keep_finding(other) for other in others] == others
    assert len(store.findings()) == 4


def test_findings_are_newest_first_and_chosen_by_state_and_series(store: SqlStore) -> None:
    for i, name in enumerate("abc"):
        store.keep_finding(_finding(name, series=f"s-{name}", minute=i))
    store.update_finding("b", _remark("", "resolved"), state=State.RESOLVED)
    assert [f.id for f in store.findings()] == ["c", "b", "a"]
    assert [f.id for f in store.findings(limit=1)] == ["c"]
    assert [f.id for f in store.findings(states=[State.OPEN])] == ["c", "a"]
    assert [f.id for f in store.findings(states=[State.RESOLVED, State.OPEN], series=["s-a", "s-b"])] == ["b", "a"]


def test_more_series_than_a_statement_takes_parameters(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for i, name in enumerate("abcde"):
        store.keep_finding(_finding(name, series=f"s{i}", minute=i))
    monkeypatch.setattr(findings, "_SERIES", 2)
    keys = ["s4", "s0", "s3", "s1", "s0"]
    assert [one.id for one in store.findings(series=keys)] == ["e", "d", "b", "a"]
    assert [one.id for one in store.findings(series=keys, limit=2, skip=1)] == ["d", "b"]


def test_an_update_changes_fields_and_writes_the_story(store: SqlStore) -> None:
    store.keep_finding(_finding())
    store.update_finding("f1", _remark("looking", "acknowledged"), state=State.ACKNOWLEDGED, assignee="bob")
    changed = store.update_finding("f1", None, why={"packages": {"numpy": ["1", "2"]}})
    assert changed == store.finding("f1")
    assert (changed.state, changed.assignee) == (State.ACKNOWLEDGED, "bob")
    assert changed.why == {"cause": "code", "packages": {"numpy": ["1", "2"]}}
    assert [remark.text for remark in changed.remarks] == ["looking"]
    with pytest.raises(ValueError, match="remarks of a finding"):
        store.update_finding("f1", remarks=())  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        store.update_finding("f1", colour="red")  # type: ignore[call-arg]
    assert store.finding("f1") == changed


def test_a_finding_is_named_by_the_beginning_of_its_id(store: SqlStore) -> None:
    with pytest.raises(StoreError, match=r"no finding 'x' in this store\n  there are none"):
        store.finding("x")
    for name in ("ab12", "ab34", "ab1"):
        store.keep_finding(_finding(name, series=name))
    assert store.finding("ab3").id == "ab34"
    assert store.finding("ab1").id == "ab1"  # exact, though another begins so
    with pytest.raises(StoreError, match=r"'ab' may be any of 3 findings\n  write more of one of: "):
        store.finding("ab")
    for wrong in ("", "AB3", "%"):
        with pytest.raises(StoreError, match="no finding"):
            store.finding(wrong)


def test_writers_at_once_lose_nothing_and_repeat_nothing(url: str) -> None:
    stores = [SqlStore(url) for _ in range(4)]

    def work(number: int) -> None:
        stores[number].keep_finding(_finding(f"from-{number}", runs=("r1", f"only-{number}")))
        for i in range(5):
            name = stores[number].findings()[0].id
            stores[number].update_finding(name, _remark(f"{number}.{i}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (only,) = stores[0].findings()
    assert sorted(remark.text for remark in only.remarks) == sorted(f"{n}.{i}" for n in range(4) for i in range(5))
    for opened in stores:
        opened.close()


def test_mutes_and_thresholds(store: SqlStore) -> None:
    assert (store.mutes(), store.thresholds()) == ([], [])
    store.mute(Mute(what="b*", who="ada", at="2026-03-01", reason="noisy"))
    store.mute(Mute(what="a"))
    store.mute(Mute(what="a", reason="again"))
    assert [(mute.what, mute.reason) for mute in store.mutes()] == [("a", "again"), ("b*", "noisy")]
    assert (store.unmute("a"), store.unmute("a")) == (True, False)
    assert [mute.what for mute in store.mutes()] == ["b*"]
    store.set_threshold(Threshold(case="m", smallest=0.05))
    store.set_threshold(Threshold(case="m", smallest=0.1, metric="rss_peak"))
    store.set_threshold(Threshold(case="m", smallest=0.02))
    assert store.thresholds() == [
        Threshold(case="m", smallest=0.02),
        Threshold(case="m", smallest=0.1, metric="rss_peak"),
    ]
    assert (store.drop_threshold("m"), store.drop_threshold("m")) == (True, False)
    assert [threshold.metric for threshold in store.thresholds()] == ["rss_peak"]
