"""What people make of findings, and what they write beside series."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchwright.store.archive import SeriesFilter


@pytest.fixture(scope="module")
def team(serving: Callable[..., Any], filled: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server of a store with a finding."""
    with serving(tmp_path_factory.mktemp("team")) as made:
        filled(made.store)
        yield made


def test_a_finding_is_acknowledged_and_its_story_goes_on(team: Any) -> None:
    found = next(one for one in team.store.findings() if one.state == "open")
    wish = {"state": "acknowledged", "assignee": "Grace", "comment": "<b>mine</b>"}
    told = team.patch(f"findings/{found.id}", json=wish, headers=team.token("Ada", "triage"))
    assert told.status_code == 200
    assert (told.json()["line"]["state"], told.json()["line"]["assignee"]) == ("acknowledged", "Grace")
    kept = team.store.finding(found.id)
    story = [(remark.who, remark.what, remark.text) for remark in kept.remarks[len(found.remarks) :]]
    assert story == [("Ada", "acknowledged", "<b>mine</b>"), ("Ada", "assigned", "to Grace")]
    again = team.patch(f"findings/{found.id}", json={"state": "acknowledged", "assignee": "Grace"})
    assert again.status_code == 200 and team.store.finding(found.id) == kept  # nothing is new
    team.patch(f"findings/{found.id}", json={"comment": "seen"})
    assert team.store.finding(found.id).remarks[-1].text == "seen"


@pytest.mark.parametrize("body", ['{"state": "lost"}', '{"stat": "open"}', "[]", '{"comment": "%s"}' % ("x" * 10_001)])
def test_a_wish_that_cannot_be_read_changes_nothing(team: Any, body: str) -> None:
    found = team.store.findings()[0]
    assert team.patch(f"findings/{found.id}", content=body).status_code == 400
    assert team.patch("findings/nobody", content="{}").status_code == 404
    assert team.store.finding(found.id) == found


def test_notes_are_written_and_taken_away(team: Any) -> None:
    key = team.store.series(SeriesFilter(limit=1))[0].series.key
    told = team.post(f"series/{key}/notes", json={"at": 1_772_000_000_000, "text": "new compiler"})
    assert told.status_code == 201 and told.json()["text"] == "new compiler" and not told.json()["everywhere"]
    number = told.json()["id"]
    assert [note.text for note in team.store.annotations(key)] == ["new compiler"]
    everywhere = team.post(f"series/{key}/notes", json={"at": 0, "text": "power cut", "everywhere": True}).json()
    assert {note.series for note in team.store.annotations(key)} == {key, ""}
    for one in (number, everywhere["id"]):
        assert [team.delete(f"notes/{one}").status_code for _ in range(2)] == [204, 404]
    assert team.store.annotations(key) == []


@pytest.mark.parametrize(
    "body", ['{"at": 0, "text": " "}', '{"at": 9223372036854775807, "text": "a"}', '{"text": "a"}']
)
def test_a_note_that_makes_no_sense_is_refused(team: Any, body: str) -> None:
    key = team.store.series(SeriesFilter(limit=1))[0].series.key
    assert team.post(f"series/{key}/notes", content=body).status_code == 400
    assert team.post("series/nobody/notes", json={"at": 0, "text": "a"}).status_code == 404
