"""Causes over HTTP: listed, shown, dealt with as one, split and joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchwright.records.findings import Finding, State


@pytest.fixture
def team(serving: Callable[..., Any], filled: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server of a store with three findings of one cause."""
    with serving(tmp_path_factory.mktemp("team"), require_token=True) as made:
        first: Finding = filled(made.store)
        for name in ("f2", "f3"):
            made.store.keep_finding(replace(first, id=name, series=f"series of {name}"))
        made.cause = first.cause
        made.headers.update(made.token("Ada", "triage"))
        yield made


def test_a_cause_is_listed_and_shown(team: Any) -> None:
    told = team.get("causes", params={"state": ["open", "acknowledged"]}).json()
    assert [(one["id"], one["findings"]) for one in told["causes"]] == [(team.cause, 3)]
    assert (told["total"], told["findings"], told["next"]) == (1, 3, "")
    shown = team.get(f"causes/{team.cause}", params={"limit": 2}).json()
    assert len(shown["findings"]) == 2
    rest = team.get(f"causes/{team.cause}", params={"limit": 2, "after": shown["next"]}).json()
    assert {one["id"] for one in (*shown["findings"], *rest["findings"])} == {"f1", "f2", "f3"}
    assert len(team.get("findings", params={"cause": team.cause}).json()["findings"]) == 3
    assert team.get("causes/cause-none").status_code == 404
    assert team.get("findings/f1").json()["siblings"] == 2


def test_a_cause_is_acknowledged_and_taken_back_in_one_request_each(team: Any) -> None:
    team.store.update_finding("f3", state=State.IGNORED)
    wish = {"findings": [team.cause], "state": "acknowledged", "assignee": "Grace", "comment": "mine"}
    changed = team.patch("findings", json=wish).json()["changed"]
    assert sorted((one["id"], one["before"], one["state"]) for one in changed) == [
        ("f1", "open", "acknowledged"),
        ("f2", "open", "acknowledged"),
    ]
    for name in ("f1", "f2"):
        kept = team.store.finding(name)
        assert [(line.who, line.what, line.text) for line in kept.remarks] == [
            ("Ada", "acknowledged", "mine"),
            ("Ada", "assigned", "to Grace"),
        ]
    assert team.store.finding("f3").state is State.IGNORED
    (line,) = team.store.audit(limit=1)
    assert (line.who, line.action) == ("Ada", "finding assigned") and line.what.startswith(f"2 of {team.cause}: f")
    team.patch("findings", json={"findings": ["f1", "f2"], "state": "open"})
    assert team.store.finding("f1").state is State.OPEN


def test_what_is_done_with_a_narrowed_cause_is_done_with_what_is_shown(team: Any) -> None:
    team.store.update_finding("f2", machine="other machine")
    shown = team.get("causes", params={"machines": ["other machine"], "facets": True}).json()
    assert [(one["id"], one["findings"]) for one in shown["causes"]] == [(team.cause, 1)]
    facets = {one["name"]: {value["value"]: value["count"] for value in one["values"]} for one in shown["facets"]}
    assert facets["machine"]["other machine"] == 1 and len(facets["machine"]) == 2 and facets["state"] == {"open": 1}
    wish = {"findings": [team.cause], "state": "acknowledged", "only": {"machines": ["other machine"]}}
    assert [one["id"] for one in team.patch("findings", json=wish).json()["changed"]] == ["f2"]
    assert team.store.finding("f1").state is State.OPEN
    assert team.patch("findings", json={**wish, "only": {"machine": "x"}}).status_code == 400


def test_findings_are_split_from_a_cause_and_joined_again(team: Any) -> None:
    told = team.post("causes", json={"findings": ["f2", "f3"], "comment": "another commit"})
    assert told.status_code == 201
    apart = told.json()["line"]["id"]
    assert apart != team.cause and told.json()["line"]["findings"] == 2
    assert [line["what"] for line in told.json()["remarks"]] == ["split"] * 2 or len(told.json()["remarks"]) == 1
    assert team.get("causes").json()["total"] == 2
    back = team.post(f"causes/{team.cause}/findings", json={"findings": [apart]}).json()
    assert (back["line"]["findings"], team.get("causes").json()["total"]) == (3, 1)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("patch", "findings", {"findings": []}, 400),
        ("patch", "findings", {"findings": ["x"] * 2001}, 400),
        ("patch", "findings", {"findings": ["f1", "nobody"], "state": "resolved"}, 404),
        ("patch", "findings", {"findings": ["f1"], "state": "lost"}, 400),
        ("patch", "findings", {"findings": ["f1"], "comment": "x" * 10_001}, 400),
        ("post", "causes", {"findings": ["nobody"]}, 404),
        ("post", "causes", {"findings": ["f1"], "comment": "x" * 10_001}, 400),
        ("post", "causes/cause-none/findings", {"findings": ["f1"]}, 404),
    ],
)
def test_what_cannot_be_done_changes_nothing(team: Any, method: str, path: str, body: Any, status: int) -> None:
    before = team.store.findings()
    told = getattr(team, method)(path, json=body)
    assert told.status_code == status and told.json()["error"]
    assert team.store.findings() == before


def test_who_only_reads_changes_nothing(team: Any) -> None:
    reader = team.token("Rita", "read")
    assert team.patch("findings", json={"findings": ["f1"], "state": "resolved"}, headers=reader).status_code == 403
    assert team.post("causes", json={"findings": ["f1"]}, headers=reader).status_code == 403
    assert team.get("causes", headers=reader).status_code == 200
