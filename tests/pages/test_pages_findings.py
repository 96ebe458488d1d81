"""The triage list, and one finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import sample_project as project
from benchwright.errors import OptionError, StoreError
from benchwright.pages.findings import finding_view, findings_page
from benchwright.records import Estimate, Run, Verdict
from benchwright.records.findings import Finding, State
from benchwright.store.sql import SqlStore


def test_the_list_by_states_with_all_counts(archive: SqlStore) -> None:
    page = findings_page(archive, [State.ACKNOWLEDGED])
    (only,) = page.findings
    assert (only.case, only.metric, only.assignee, only.unit) == ("text/bert.onnx", "rss_peak", "grace", "B")
    assert page.counts == {"suspected": 0, "open": 6, "acknowledged": 1, "resolved": 1, "ignored": 0}
    assert len(findings_page(archive).findings) == 8


def test_the_list_goes_on(archive: SqlStore) -> None:
    first = findings_page(archive, limit=5)
    second = findings_page(archive, limit=5, after=first.next)
    shown = (*first.findings, *second.findings)
    assert [one.id for one in shown] == [one.id for one in sorted(shown, key=lambda one: (-one.found_at, one.id))]
    assert {one.id for one in shown} == {one.id for one in archive.findings()}
    assert second.next == ""


@pytest.mark.parametrize("after", ["9" * 5000, "\u0661", "x", "1.", f"{'9' * 30}.f1"])
def test_a_page_that_there_is_not(after: str, archive: SqlStore) -> None:
    assert not findings_page(archive, after="9" * 18).findings
    with pytest.raises(OptionError, match="no place in the list of findings"):
        findings_page(archive, after=after)


def test_a_finding_has_its_culprit_its_story_and_its_picture(archive: SqlStore) -> None:
    finding = next(one for one in archive.findings(states=[State.OPEN]) if one.verdict is Verdict.WORSE)
    view = finding_view(archive, finding.id[:6])
    assert view.line.culprit is not None and view.line.culprit.subject == project.CULPRIT_SUBJECT
    assert view.suspects == finding.suspects
    assert view.why["cause"] == "code"
    assert view.view is not None and view.view.line.key == finding.series
    assert [mark.finding for mark in view.view.marks] == [finding.id]
    before = finding.runs[finding.runs.index(finding.run) - 1]
    assert list(view.commands) == [
        f"benchwright findings show {finding.id}",
        f"benchwright bisect {finding.id}",
        f"benchwright compare {before} {finding.run}",
    ]


def test_a_finding_without_its_series_is_shown_without_a_picture(kept: Callable[[Sequence[Run]], SqlStore]) -> None:
    level = Estimate(point=1.0, low=None, high=None)
    alone = Finding(
        id="f1",
        series="gone",
        before=level,
        after=level,
        effect=level,
        method="",
        verdict=Verdict.WORSE,
        found_at="2026-03-01T10:00:00+00:00",
    )
    archive = kept([])
    archive.keep_finding(alone)
    view = finding_view(archive, "f1")
    assert view.view is None
    assert list(view.line.spark) == []
    assert list(view.commands) == ["benchwright findings show f1"]


def test_an_unknown_finding_is_refused(archive: SqlStore) -> None:
    with pytest.raises(StoreError):
        finding_view(archive, "zzz")
