"""Views: saved, renamed, removed, made the home page, by those who may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def team(serving: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server that asks for tokens, with one of each scope."""
    with serving(tmp_path_factory.mktemp("views"), require_token=True) as made:
        made.people = {scope: made.token(scope, scope) for scope in ("read", "triage", "write", "admin")}
        made.people["other"] = made.token("other", "triage")
        yield made


def _save(team: Any, name: str, who: str = "triage", **more: Any) -> Any:
    body = {"name": name, "address": "#/series?metric=latency_p50", **more}
    return team.post("views", json=body, headers=team.people[who])


def test_a_view_is_saved_listed_renamed_and_removed(team: Any) -> None:
    told = _save(team, "p50")
    assert told.status_code == 201
    view = told.json()
    assert (view["name"], view["address"], view["who"]) == ("p50", "series?metric=latency_p50", "triage")
    assert view in team.get("views", headers=team.people["read"]).json()["views"]
    where = f"views/{view['id']}"
    renamed = team.patch(where, json={"name": "median"}, headers=team.people["triage"])
    assert renamed.status_code == 200 and renamed.json()["name"] == "median"
    gone = [team.delete(where, headers=team.people["triage"]).status_code for _ in range(2)]
    assert gone == [204, 404]
    told = [(line.action, line.what) for line in team.store.audit(limit=3)]
    assert told == [
        ("view removed", f"{view['id']} 'median': series?metric=latency_p50"),
        ("view changed", f"{view['id']}: name p50 -> median"),
        ("view", f"{view['id']} 'p50': series?metric=latency_p50"),
    ]


def test_only_those_who_may_change_views(team: Any) -> None:
    assert _save(team, "no", who="read").status_code == 403
    assert team.post("views", json={}, headers={}).status_code == 401
    number = _save(team, "mine").json()["id"]
    assert team.patch(f"views/{number}", json={"name": "x"}, headers=team.people["other"]).status_code == 403
    assert team.delete(f"views/{number}", headers=team.people["other"]).status_code == 403
    assert team.patch(f"views/{number}", json={"name": "ours"}, headers=team.people["write"]).status_code == 200


def test_the_home_page_needs_write_and_opens_first(team: Any) -> None:
    assert _save(team, "home", is_home=True).status_code == 403
    number = _save(team, "home").json()["id"]
    assert team.patch(f"views/{number}", json={"is_home": True}, headers=team.people["triage"]).status_code == 403
    assert team.get("about", headers=team.people["read"]).json()["home"] == ""
    assert team.patch(f"views/{number}", json={"is_home": True}, headers=team.people["write"]).status_code == 200
    assert team.get("about", headers=team.people["read"]).json()["home"] == "series?metric=latency_p50"
    assert team.get("about", headers={}).json()["home"] == ""  # who may read nothing is told nothing
    assert team.delete(f"views/{number}", headers=team.people["triage"]).status_code == 403  # it is the team's now
    assert team.delete(f"views/{number}", headers=team.people["write"]).status_code == 204


def test_a_name_is_taken_once(team: Any) -> None:
    number = _save(team, "taken").json()["id"]
    again = _save(team, " taken ")
    assert (again.status_code, again.json()["error"]) == (409, "another view is called 'taken'")
    other = _save(team, "free").json()["id"]
    clash = team.patch(f"views/{other}", json={"name": "taken"}, headers=team.people["triage"])
    assert clash.status_code == 409
    assert team.patch(f"views/{number}", json={"name": "taken"}, headers=team.people["triage"]).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"address": "javascript:alert(1)"},
        {"address": "a?" + "x" * 4000},
        {"nam": "x"},
    ],
)
def test_a_view_that_makes_no_sense_is_refused(team: Any, wrong: dict[str, str]) -> None:
    body = {"name": "fine", "address": "runs", **wrong}
    told = team.post("views", json=body, headers=team.people["triage"])
    assert told.status_code == 400 and told.json()["error"]
    assert "fine" not in [view.name for view in team.store.views()]
