"""A machine is put into quarantine and released over HTTP, by those who may, and the audit log says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

NOVEMBER = 1_794_000_000_000


@pytest.fixture(scope="module")
def team(serving: Callable[..., Any], filled: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server of a store with one machine."""
    with serving(tmp_path_factory.mktemp("machines")) as made:
        filled(made.store)
        yield made


@pytest.fixture
def key(team: Any) -> Iterator[str]:
    """The machine; no quarantine of it outlives a test."""
    found = team.store.machines()[0].key
    yield found
    team.store.release(found, 0)


def test_a_machine_is_held_and_released(team: Any, key: str) -> None:
    body = {"reason": " fan broken ", "since": 1_000, "until": NOVEMBER * 2}
    told = team.put(f"machines/{key[:10]}/quarantine", json=body, headers=team.token("Ada", "triage"))
    assert told.status_code == 200, told.text
    held = told.json()["line"]["quarantine"]
    assert (held["since"], held["until"], held["reason"], held["who"]) == (1_000, NOVEMBER * 2, "fan broken", "Ada")
    assert [one["name"] for one in told.json()["health"]] == ["noise"]
    (notice,) = team.get("machines/notices").json()["notices"]
    assert (notice["key"], notice["quarantine"]["reason"]) == (key, "fan broken")
    run = team.store.runs(limit=1)[0].id
    assert team.get(f"runs/{run}").json()["quarantines"][key]["reason"] == "fan broken"
    result = team.store.run(run, samples=False).results[0].id
    assert team.get(f"results/{result}").json()["quarantine"]["reason"] == "fan broken"
    asked = {"runs": [run, "unknown"]}
    counted = team.post("store/held_results", json=asked).json()["answer"]
    assert counted == dict(team.store.held_results(**asked)) and list(counted) == [run]
    again = team.put(f"machines/{key}/quarantine", json={"reason": "again"})
    assert again.status_code == 409 and "fan broken" in again.json()["error"]
    gone = team.delete(f"machines/{key}/quarantine", headers=team.token("Grace", "triage"))
    assert gone.status_code == 200 and gone.json()["line"]["quarantine"] is None
    assert gone.json()["quarantines"][0]["released_by"] == "Grace"
    assert team.delete(f"machines/{key}/quarantine").status_code == 404
    lines = [(line.who, line.action, line.what) for line in team.store.audit(limit=2)]
    assert lines[0] == ("Grace", "release machine", key[:12])
    assert lines[1][:2] == ("Ada", "quarantine machine") and lines[1][2].endswith(": fan broken")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"reason": " "}, 400),
        ({}, 400),
        ({"reason": "x" * 501}, 400),
        ({"reason": "a", "since": 10**16}, 400),
        ({"reason": "a", "since": 2_000, "until": 1_000}, 400),
        ({"reason": "a", "whom": "b"}, 400),
    ],
)
def test_what_makes_no_sense_is_refused(team: Any, key: str, body: dict[str, Any], status: int) -> None:
    told = team.put(f"machines/{key}/quarantine", json=body)
    assert (told.status_code, bool(told.json()["error"])) == (status, True)
    assert team.store.quarantines(key) == [] or team.store.quarantines(key)[0].until is not None


def test_who_may_only_read_changes_nothing(team: Any, key: str) -> None:
    reader = team.token("Eve", "read")
    assert team.put(f"machines/{key}/quarantine", json={"reason": "a"}, headers=reader).status_code == 403
    assert team.delete(f"machines/{key}/quarantine", headers=reader).status_code == 403
    assert team.get(f"machines/{key}", headers=reader).status_code == 200
    assert team.get("machines/nobody").status_code == 404
