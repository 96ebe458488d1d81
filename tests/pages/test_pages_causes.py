"""The list of causes, and one cause with its findings; quick however many are open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import sample_project as project
from benchwright.errors import OptionError, StoreError
from benchwright.pages.causes import cause_view, causes_page
from benchwright.pages.finding_lists import FACETS
from benchwright.pages.findings import finding_view, findings_page
from benchwright.pages.overview import CHANGED, overview
from benchwright.records import Run, Verdict
from benchwright.records.findings import State
from benchwright.store.choices import FindingChoice
from benchwright.store.sql import SqlStore

STANDING = [State.OPEN, State.ACKNOWLEDGED]


def test_one_bad_commit_is_one_line(archive: SqlStore) -> None:
    page = causes_page(archive, STANDING)
    assert [(one.findings, one.lead.case) for one in page.causes] == [
        (4, "vision/resnet50.onnx"),
        (1, "text/bert.onnx"),
        (2, "vision/resnet50.onnx"),
    ]
    assert (page.total, page.findings, page.counts["resolved"], page.next) == (3, 7, 1, "")
    bad = page.causes[0]
    assert bad.culprit is not None and bad.culprit.subject == project.CULPRIT_SUBJECT
    assert (bad.series, bad.cases, bad.worse, bad.better, bad.state) == (4, 2, 4, 0, State.OPEN)
    assert (list(bad.metrics), list(bad.suites)) == (["latency_p50"], ["vision"])
    assert sorted(bad.machines.values()) == ["Example Core 9000, 8 cores", "Example Server 7, 32 cores"]
    assert bad.largest == pytest.approx(1.12) and bad.median == pytest.approx(1.12)
    assert list(page.causes[1].assignees) == ["grace"]


def test_the_list_goes_on(archive: SqlStore) -> None:
    first = causes_page(archive, limit=3)
    second = causes_page(archive, limit=3, after=first.next)
    assert [one.id for one in (*first.causes, *second.causes)] == [one.id for one in archive.causes()]
    assert second.next == "" and first.total == 4
    assert list(causes_page(archive, after="9" * 18).causes) == []


def test_a_list_that_is_read_in_parts_neither_repeats_nor_loses(
    kept: Callable[[Sequence[Run]], SqlStore], archive: SqlStore
) -> None:
    store = kept([])
    model = archive.findings(states=[State.OPEN])[0]

    def keep(number: int, *, cause: int, minute: int) -> None:
        when = f"2026-03-01T10:{minute:02}:00+00:00"
        new = replace(model, id=f"f{number}", series=f"s{number}", runs=(f"r{number}",))
        store.keep_finding(replace(new, cause=f"cause-{cause}", found_at=when))

    for number in range(6):
        keep(number, cause=number, minute=10)
        keep(10 + number, cause=number, minute=20 + number)
    whole = [one.id for one in causes_page(store, STANDING).causes]
    first = causes_page(store, STANDING, limit=2)
    store.update_finding("f15", state=State.RESOLVED)  # of a cause that was read: what is left of it is older
    store.update_finding("f5", state=State.IGNORED)
    store.update_finding("f5", state=State.OPEN)
    keep(20, cause=1, minute=40)  # joins a cause that is yet to be read
    keep(21, cause=7, minute=50)
    second = causes_page(store, STANDING, limit=2, after=first.next)
    third = causes_page(store, STANDING, limit=2, after=second.next)
    assert [one.id for page in (first, second, third) for one in page.causes] == whole and third.next == ""
    findings = findings_page(store, STANDING, limit=5)
    store.update_finding(findings.findings[0].id, state=State.RESOLVED)
    rest = findings_page(store, STANDING, limit=50, after=findings.next).findings
    ids = [one.id for one in (*findings.findings, *rest)]
    assert len(ids) == len(set(ids)) == 13
    for page in (causes_page, findings_page):
        with pytest.raises(OptionError, match="begin with the newest again"):
            page(store, after="nowhere")


def test_each_facet_says_how_much_its_choice_leaves(archive: SqlStore) -> None:
    for page, rows in ((causes_page, "causes"), (findings_page, "findings")):
        told = page(archive, STANDING, facets=True)
        assert {one.name for one in told.facets} >= {"state", "verdict", "suite", "machine", "metric", "branch"}
        for facet in told.facets:
            for value in facet.values:
                if facet.name == "state":
                    shown = page(archive, [State(value.value)])
                else:
                    shown = page(archive, STANDING, chosen=FindingChoice(**{FACETS[facet.name]: (value.value,)}))
                assert len(getattr(shown, rows)) == value.count > 0, (rows, facet.name, value)
    named = causes_page(archive, STANDING, words=f"{project.CULPRIT_SUBJECT.upper()} resnet50")
    assert [one.findings for one in named.causes] == [4] and causes_page(archive, words="no-such").total == 0


def test_a_cause_shows_its_findings_the_largest_first(archive: SqlStore) -> None:
    bad = causes_page(archive, [State.OPEN]).causes[0]
    view = cause_view(archive, bad.id[:10], limit=3)
    assert view.line == bad and [one.cause for one in view.findings] == [bad.id] * 3
    rest = cause_view(archive, bad.id, limit=3, after=view.next)
    assert (len(rest.findings), rest.next) == (1, "")
    assert list(view.commands) == [f"benchwright findings show {bad.id}", f"benchwright bisect {bad.lead.id}"]
    assert list(view.remarks) == []  # nobody said anything
    assert finding_view(archive, bad.lead.id).siblings == 3
    assert len(findings_page(archive, cause=bad.id).findings) == 4
    with pytest.raises(StoreError, match="no cause 'cause-none'"):
        cause_view(archive, "cause-none")


def test_a_cause_is_told_by_what_is_not_dealt_with_yet(
    kept: Callable[[Sequence[Run]], SqlStore], archive: SqlStore
) -> None:
    store, model = kept([]), archive.findings(states=[State.OPEN])[0]
    for name, verdict, state in (("w", Verdict.WORSE, State.RESOLVED), ("b", Verdict.BETTER, State.OPEN)):
        new = replace(model, id=name, series=name, verdict=verdict, state=state, cause="cause-1", runs=(name,))
        store.keep_finding(new)
    view = cause_view(store, "cause-1")
    assert (view.line.lead.id, view.line.worse, view.line.better) == ("b", 1, 1)
    assert [one.id for one in view.findings] == ["w", "b"]
    store.update_finding("b", state=State.IGNORED)
    assert cause_view(store, "cause-1").line.lead.id == "w"


def test_a_cause_shows_what_people_said_and_not_what_the_judge_wrote(archive: SqlStore) -> None:
    known = next(one for one in causes_page(archive, [State.ACKNOWLEDGED]).causes)
    said = cause_view(archive, known.id).remarks
    assert [(line.who, line.what) for line in said] == [
        ("grace", "acknowledged"),
        ("grace", "assigned"),
        ("ada", "comment"),
    ]


def test_many_open_findings_make_a_page_of_bounded_length(
    kept: Callable[[Sequence[Run]], SqlStore], archive: SqlStore
) -> None:
    store = kept([])
    model = next(one for one in archive.findings(states=[State.OPEN]) if one.verdict is Verdict.WORSE)
    for number in range(600):
        commit = f"{number // 3 if number < 450 else 'bad'}".rjust(40, "0")
        store.keep_finding(
            replace(
                model,
                id=f"f{number:05d}",
                series=f"s{number}",
                case=f"suite{number % 40}/case{number}",
                cause=f"cause-{commit[-6:]}",
                suspects=(replace(model.suspects[0], revision=commit),),
                runs=(f"r{number}",),
            )
        )
    first = overview(store)
    assert first.counts["causes"] == 151
    assert len(first.worse) <= CHANGED
    listed = causes_page(store, STANDING)
    assert len(listed.causes) == 100 and listed.next
    whole = cause_view(store, "cause-000bad")
    assert whole.line.series == 150
