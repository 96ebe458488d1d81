"""Results that wait go together; each is answered for itself, and a server of before gets them one by one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import series_of_runs as made
from benchwright.records import Result
from benchwright.store.remote import RemoteStore, sender
from benchwright.store.remote.spool import Spool


@pytest.fixture
def results() -> list[Result]:
    """Six results."""
    return [result for i in range(3) for result in made.run_of(i, 0.01).results]


@pytest.fixture
def waiting(desk: Any, results: list[Result], monkeypatch: pytest.MonkeyPatch) -> RemoteStore:
    """A store whose results wait on the disk, for a server that is well again."""
    monkeypatch.setattr(sender, "LEAST_PAUSE", 60.0)
    store = RemoteStore(desk.address)
    store.begin(replace(made.run_of(0, 0.01), results=()))
    desk.fail(1)
    for result in results:
        store.add("run-0000", result)
    desk.seen.clear()
    return store


def _requests(desk: Any) -> list[str]:
    return [f"{method} {path.rpartition('/')[2][:8]}" for method, path, _, _ in desk.seen if "about" not in path]


def test_what_waits_goes_in_one_request(desk: Any, waiting: RemoteStore, results: list[Result]) -> None:
    waiting.close()
    assert _requests(desk) == ["POST results"] and Spool(desk.address).is_empty
    [(_, _, headers, body)] = desk.seen
    assert headers["Content-Type"] == "application/x-ndjson"
    assert [json.loads(line)["data"]["id"] for line in body.splitlines()] == [result.id for result in results]


def test_a_server_of_before_gets_them_one_by_one(desk: Any, waiting: RemoteStore, results: list[Result]) -> None:
    desk.is_old = True
    waiting.close()
    assert [one[:4] for one in _requests(desk)] == ["POST", *["PUT "] * len(results)]
    assert Spool(desk.address).is_empty


def test_one_that_is_refused_is_put_aside_and_what_may_pass_waits_in_order(
    desk: Any, waiting: RemoteStore, results: list[Result]
) -> None:
    told = [{"id": result.id, "added": True, "status": 201} for result in results]
    told[1] = {"id": "", "added": False, "status": 409, "error": "another has it", "remedy": "choose"}
    told[3] = {"id": "", "added": False, "status": 503, "error": "the disk", "remedy": "wait"}
    desk.answers.append((200, {}, {"results": told}))
    desk.fail(1)
    waiting.close()
    spool = Spool(desk.address)
    left = [spool.read(entry).what for entry in spool.entries()]
    assert left == [f"result {result.id}" for result in results[3:]]
    [why] = [path.read_text() for path in (spool.folder / "refused").glob("*.txt")]
    assert "another has it (choose)" in why
    desk.answers.clear()
    RemoteStore(desk.address).close()
    assert spool.is_empty and spool.refused_count == 1


def test_only_results_of_one_run_that_add_and_nothing_else_go_together(desk: Any, results: list[Result]) -> None:
    outbox = RemoteStore(desk.address)
    desk.fail(1)
    first, second, third, *_ = results
    outbox.begin(replace(made.run_of(0, 0.01), results=()))
    for run, result, instead_of in (("a", first, ""), ("b", second, ""), ("b", third, "other")):
        outbox.add(run, result, instead_of=instead_of)
    desk.seen.clear()
    outbox.close()
    assert [one[:4] for one in _requests(desk)] == ["PUT "] * 4
    assert [path.partition("?")[2] for *_, path, _, _ in desk.seen][-1] == "instead_of=other"


def test_a_request_holds_only_so_many(desk: Any, waiting: RemoteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "MOST_AT_ONCE", 4)
    waiting.close()
    assert _requests(desk) == ["POST results"] * 2
    assert [len(body.splitlines()) for *_, body in desk.seen] == [4, 2]
