"""Findings that one commit or one run may be behind have one cause, whatever comes first and whatever comes later."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.records import Estimate, Verdict
from benchwright.records import causes as rules
from benchwright.records.findings import Drift, Finding, Remark, State, Suspect, Triage

ONE = Estimate(point=1.0, low=0.9, high=1.1)


def _finding(name: str, commits: dict[str, float] | None = None, **changes: Any) -> Finding:
    suspects = tuple(Suspect(revision=each, probability=p) for each, p in (commits or {}).items())
    fields: dict[str, Any] = {
        "id": name,
        "series": f"series of {name}",
        "before": ONE,
        "after": ONE,
        "effect": Estimate(point=1.1, low=1.08, high=1.12),
        "method": "test",
        "verdict": Verdict.WORSE,
        "suspects": tuple(sorted(suspects, key=lambda one: -one.probability)),
        "case": f"case of {name}",
        "metric": "latency_p50",
        "machine": "m1",
        "run": "r5",
        "found_at": "2026-03-01T10:00:00+00:00",
    }
    return Finding(**(fields | changes))


def _assign(findings: Iterable[Finding]) -> dict[str, str]:
    """The cause of each finding, given as a store gives them: one after the other."""
    known: dict[str, dict[str, float]] = {}
    found: dict[str, str] = {}
    for finding in findings:
        places = rules.places_of(finding)
        cause = rules.choose(places, known) or rules.new_id(finding, known.__contains__)
        known.setdefault(cause, places)
        found[finding.id] = cause
    return found


# ---- which cause ----


def test_findings_that_share_a_suspect_have_one_cause_on_any_machine_and_in_both_directions() -> None:
    found = _assign(
        [
            _finding("a", {"c5": 0.99}),
            _finding("b", {"c5": 0.5, "c6": 0.5}, machine="m2", run="s5"),
            _finding("c", {"c5": 0.9, "c4": 0.1}, verdict=Verdict.BETTER),
            _finding("d", {"c7": 0.9}, run="r7"),
        ]
    )
    assert found["a"] == found["b"] == found["c"] != found["d"]


def test_a_version_that_two_projects_have_is_a_cause_of_each() -> None:
    ours, theirs = "https://forge.example/ours", "https://forge.example/theirs"
    found = _assign(
        [
            _finding("a", {"1.2.3": 0.9}, repository=ours),
            _finding("b", {"1.2.3": 0.9}, repository=theirs, run="s5"),
            _finding("c", {"1.2.3": 0.9}, repository=ours, machine="m2", run="t5"),
            _finding("d", {"1.2.3": 0.9}, run="u5"),  # nobody knows whose: as findings that were kept before
        ]
    )
    assert found["a"] == found["c"]
    assert len({found["a"], found["b"], found["d"]}) == 3
    assert rules.places_of(_finding("d", {"1.2.3": 0.9}, run="")) == {"commit 1.2.3": 0.9}


@pytest.mark.parametrize("commit", ["c0ffee12" * 5, "c0ffee12" * 8])
def test_a_whole_hash_is_one_commit_whatever_the_repository_is_called(commit: str) -> None:
    found = _assign(
        [
            _finding("a", {commit: 0.9}),
            _finding("b", {commit: 0.9}, repository="https://forge.example/ours", run="s5"),
            _finding("c", {commit: 0.9}, repository="https://code.example/ours", run="t5"),
        ]
    )
    assert len({*found.values()}) == 1


def test_a_commit_that_is_hardly_a_suspect_joins_nothing() -> None:
    found = _assign([_finding("a", {"c5": 1.0}), _finding("b", {"c6": 0.95, "c5": 0.05}, run="r6")])
    assert found["a"] != found["b"]


def test_a_long_range_of_commits_is_one_cause() -> None:
    night = {f"c{i}": 1 / 300 for i in range(300)}
    found = _assign([_finding("a", night), _finding("b", night, machine="m2"), _finding("c", {"c7": 1.0})])
    assert len({*found.values()}) == 1


def test_without_commits_the_run_counts() -> None:
    found = _assign(
        [_finding("a"), _finding("b"), _finding("c", run="r9"), _finding("d", {"c5": 1.0}), _finding("e", run="")]
    )
    assert found["a"] == found["b"] == found["d"]  # of one run, and nothing says that the commits differ
    assert len({found["a"], found["c"], found["e"]}) == 3


def test_a_run_does_not_join_what_different_commits_did() -> None:
    found = _assign([_finding("a", {"c5": 1.0}), _finding("b", {"c6": 1.0})])
    assert found["a"] != found["b"]


def test_a_drift_shares_its_cause_with_drifts_alone() -> None:
    drift = Drift(first="r4", last="r9", ongoing=True, length=5, slope=ONE)
    found = _assign([_finding("a"), _finding("b", drift=drift), _finding("c", drift=drift)])
    assert found["a"] != found["b"] == found["c"]


commits = st.dictionaries(st.sampled_from([f"c{i}" for i in range(12)]), st.floats(0.01, 1.0), max_size=4)
many = st.lists(commits, min_size=1, max_size=12).map(
    lambda given: [_finding(f"f{i}", one, run=f"r{i % 3}") for i, one in enumerate(given)]
)


@given(many, many)
def test_what_comes_later_changes_no_cause(before: Sequence[Finding], after: Sequence[Finding]) -> None:
    later = [replace(finding, id=f"later {finding.id}") for finding in after]
    assert _assign([*before, *later]).items() >= _assign(before).items()


@given(many, st.randoms(use_true_random=False))
def test_a_bad_commit_has_one_cause_under_one_id_in_any_order(findings: list[Finding], random: Any) -> None:
    bad = Suspect(revision="bad", probability=1.0)
    alike = [
        replace(one, suspects=(bad, *(replace(s, probability=s.probability / 2) for s in one.suspects)))
        for one in findings
    ]
    expected = _assign(alike)
    random.shuffle(alike)
    assert _assign(alike) == expected and len({*expected.values()}) == 1


@given(many)
def test_no_cause_grows_together_with_the_next(findings: Sequence[Finding]) -> None:
    found = _assign(findings)
    founders = {cause: next(f for f in findings if found[f.id] == cause) for cause in found.values()}
    for finding in findings:
        mine, theirs = rules.places_of(finding), rules.places_of(founders[found[finding.id]])
        assert mine.keys() & theirs.keys()


# ---- what it is in all ----


def test_a_cause_sums_its_findings_up() -> None:
    sizes = [1.05, 1.1, 1.38, 1.2]
    found = [
        _finding(
            f"w{i}", {"c5": 0.6 + i / 8, "c6": 0.1}, cause="cause-1", effect=Estimate(point=size, low=None, high=None)
        )
        for i, size in enumerate(sizes)
    ]
    better = _finding(
        "b", {"c6": 0.99}, cause="cause-1", verdict=Verdict.BETTER, effect=Estimate(point=0.1, low=None, high=None)
    )
    other = _finding("o", cause="cause-2", state=State.ACKNOWLEDGED, assignee="ada", machine="m2")
    first, second = rules.causes_of([better, other, *found])
    assert (first.id, first.lead.id, first.findings, first.series, first.cases) == ("cause-1", "w2", 5, 5, 5)
    assert (first.worse, first.better, first.state) == (4, 1, State.OPEN)
    assert first.largest == pytest.approx(1.38) and first.median == pytest.approx(math.sqrt(1.1 * 1.2))
    assert first.culprit is not None and (first.culprit.revision, first.culprit.probability) == ("c5", 0.975)
    assert (second.state, second.assignees, second.machines, second.culprit) == (
        State.ACKNOWLEDGED,
        ("ada",),
        ("m2",),
        None,
    )


@given(many, st.randoms(use_true_random=False))
def test_the_order_of_findings_does_not_matter(findings: list[Finding], random: Any) -> None:
    kept = [replace(finding, cause=f"cause-{i % 3}") for i, finding in enumerate(findings)]
    expected = rules.causes_of(kept)
    random.shuffle(kept)
    assert rules.causes_of(kept) == expected
    assert sum(cause.findings for cause in expected) == len(kept)


def test_a_change_without_a_ratio_is_the_largest() -> None:
    gone = _finding("gone", cause="cause-1", effect=Estimate(point=0.0, low=None, high=None))
    (cause,) = rules.causes_of([gone, _finding("a", cause="cause-1", found_at="")])
    assert cause.lead == gone and math.isfinite(cause.largest)


# ---- what people make of it ----


def test_a_wish_for_a_cause_leaves_alone_what_is_past_it_and_what_nobody_was_told_of() -> None:
    gone = Remark(at="", who="", what="vanished")
    found = {state: _finding(state.value, state=state) for state in State}
    found_all = [*found.values(), _finding("gone", state=State.RESOLVED, remarks=(gone,))]
    meant = {state: {one.id for one in Triage(state=state).meant(found_all)} for state in State}
    assert meant[State.ACKNOWLEDGED] == {"open"}
    assert meant[State.RESOLVED] == meant[State.IGNORED] == {"open", "acknowledged"}
    assert meant[State.OPEN] == {"acknowledged", "resolved", "ignored"}
    assert {one.id for one in Triage(comment="x").meant(found_all)} == {"open", "acknowledged", "resolved", "ignored"}
    suspected = [found[State.SUSPECTED]]
    assert Triage(state=State.IGNORED).meant(suspected) == suspected  # where nobody was told of any
