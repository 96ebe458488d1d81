"""One bad commit is one message, whatever it touched; who knows of it is not told again of each series that joins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.config import Notify
from benchwright.notify import DeliveryOutcome, Notifier
from benchwright.notify.messages import Message, Notice
from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding, Remark, State, Suspect
from benchwright.store import Store, open_store

Make = Callable[..., Finding]
DAY = 86400.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.db")
    yield opened
    opened.close()


@pytest.fixture
def many(found: Make, store: Store) -> Callable[..., list[Finding]]:
    """`many(300)`: so many findings of one commit in the store, each in a series of its own."""

    def keep(count: int, start: int = 0, **changes: Any) -> list[Finding]:
        return [
            store.keep_finding(
                found(
                    f"f{number:03}",
                    series=f"series {number}",
                    case=f"bench.py::case{number % 40}",
                    found_at="2026-11-01T00:00:00+00:00",
                    runs=("run-2",),
                    effect=Estimate(point=1.05 + number / 1000, low=1.04, high=2.0),
                    **changes,
                )
            )
            for number in range(start, start + count)
        ]

    return keep


class Told:
    """Tells a target of findings, with a clock."""

    def __init__(self, target: str, folder: Path) -> None:
        self.now, self._target, self._path = 1_800_000_000.0, target, folder / "notified.jsonl"

    def __call__(self, findings: list[Finding], store: Store, **how: Any) -> list[Any]:
        settings = Notify(targets=(self._target,), link="https://bench.example/#/findings/{cause}")
        return Notifier(settings, journal=self._path, clock=lambda: self.now).tell(findings, store, **how)


def test_a_commit_that_touches_300_series_is_one_message(
    peer: Any, many: Callable[..., list[Finding]], store: Store, tmp_path: Path
) -> None:
    tell = Told(f"webhook+http://{peer.host}/", tmp_path)
    found = many(300)
    (told,) = tell(found, store)
    assert told.outcome is DeliveryOutcome.SENT and len(told.findings) == 300
    (request,) = peer.requests
    document = request.json()
    assert document["title"] == (
        "Worse: 300 series of 40 cases, latency_p50: up to 34.9 % slower, median 19.9 %; "
        "commit c0ffee Use a list (Ann), 97 % sure"
    )
    assert document["type"] == "benchwright.findings" and document["causes"] == [found[0].cause]
    assert len(document["findings"]) == 300 and document["findings"][0]["finding"]["data"]["id"] == "f299"
    assert document["findings"][0]["link"].endswith(f"/findings/{found[0].cause}")
    assert document["text"].count("\n") < 60 and "and 280 more of this cause" in document["text"]
    assert tell(found, store) == []


def test_each_cause_has_its_message(
    peer: Any, many: Callable[..., list[Finding]], store: Store, tmp_path: Path
) -> None:
    tell = Told(f"webhook+http://{peer.host}/", tmp_path)
    other = (Suspect(revision="another", probability=0.9),)
    told = tell([*many(4), *many(5, 10, suspects=other)], store)
    assert [len(one.findings) for one in told] == [4, 5]
    crowd = [many(2, 100 + 10 * i, suspects=(Suspect(revision=f"c{i}", probability=0.9),)) for i in range(5)]
    (told,) = tell([one for each in crowd for one in each], store)  # more causes than are told apart
    assert len(told.findings) == 10 and peer.requests[-1].json()["title"] == "10 changes in benchmarks of 5 causes"


def test_people_hear_of_a_cause_once_within_a_week(
    post: Any, many: Callable[..., list[Finding]], store: Store, tmp_path: Path
) -> None:
    tell = Told(f"mailto://127.0.0.1:{post.port}?from=a@example.com&to=b@example.com", tmp_path)
    assert [one.outcome for one in tell(many(2), store)] == [DeliveryOutcome.SENT]
    tell.now += 6 * DAY
    later = many(3, 10)
    (told,) = tell(later, store)
    assert (told.outcome, len(told.findings)) == (DeliveryOutcome.JOINED, 3) and len(post.letters) == 1
    assert tell(later, store) == []  # nor later, nor after a restart
    assert [one.outcome for one in tell(later[:1], store, asked=True, again=True)] == [DeliveryOutcome.SENT]
    tell.now += 8 * DAY
    assert [one.outcome for one in tell(many(1, 20), store)] == [DeliveryOutcome.SENT]
    assert len(post.letters) == 3


def test_a_program_hears_of_every_series_that_joins(
    peer: Any, many: Callable[..., list[Finding]], store: Store, tmp_path: Path
) -> None:
    tell = Told(f"webhook+http://{peer.host}/", tmp_path)
    tell(many(1), store)
    tell(many(2, 10), store)
    first, second = (request.json() for request in peer.requests)
    assert (first["type"], second["type"]) == ("benchwright.findings", "benchwright.joined")
    assert second["title"].startswith("Also: Worse: 2 series of 2 cases") and first["causes"] == second["causes"]


def test_who_was_told_of_a_cause_hears_once_that_it_is_over(
    peer: Any, many: Callable[..., list[Finding]], store: Store, tmp_path: Path
) -> None:
    tell = Told(f"webhook+http://{peer.host}/", tmp_path)
    tell(many(3), store)
    over = Remark(at="2026-11-02T00:00:00+00:00", who="benchwright", what="recovered")
    for name in ("f000", "f001"):
        store.update_finding(name, over, state=State.RESOLVED)
        assert tell([], store) == []
    store.update_finding("f002", over, state=State.RESOLVED)
    (told,) = tell([], store)
    assert (told.outcome, len(told.findings)) == (DeliveryOutcome.WITHDRAWN, 3)
    assert peer.requests[-1].json()["type"] == "benchwright.resolved" and tell([], store) == []


def test_a_forge_gets_one_comment_at_the_commit_that_most_point_to(
    peer: Any, many: Callable[..., list[Finding]], store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "5ecre7")
    monkeypatch.setenv("GITHUB_API_URL", f"http://{peer.host}")
    tell = Told("github://owner/name", tmp_path)
    unsure = (Suspect(revision="badcafe", probability=0.6), Suspect(revision="c0ffee", probability=0.4))
    found = [*many(5), *many(1, 10, suspects=unsure)]
    assert len({one.cause for one in found}) == 1
    (told,) = tell(found, store)
    assert told.why == "1 comments, 1 statuses"
    assert {request.path.split("?")[0] for request in peer.requests} == {
        "/repos/owner/name/commits/c0ffee/comments",
        "/repos/owner/name/statuses/c0ffee",
    }
    body = next(request for request in peer.posts() if "comments" in request.path).json()["body"]
    assert "`Worse: 6 series of 6 cases, latency_p50: up to" in body and body.count("<!-- benchwright") == 6
    peer.requests.clear()
    for one in found:
        store.update_finding(one.id, state=State.IGNORED)
    (told,) = tell([], store)
    assert told.outcome is DeliveryOutcome.WITHDRAWN
    assert [request.path for request in peer.posts()] == ["/repos/owner/name/statuses/c0ffee"]


def test_a_journal_from_before_causes_is_read(peer: Any, found: Make, store: Store, tmp_path: Path) -> None:
    tell = Told(f"webhook+http://{peer.host}/", tmp_path)
    tell([found("a")], store)
    lines = [json.loads(line) for line in (tmp_path / "notified.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("commits", None)
        line.get("finding", {}).get("data", {}).pop("cause", None)
    (tmp_path / "notified.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert tell([found("a")], store) == []


def test_both_directions_are_one_message(found: Make) -> None:
    better = Estimate(point=0.9, low=0.89, high=0.91)
    pair = [found("a", cause="c"), replace(found("b", cause="c"), verdict=Verdict.BETTER, effect=better)]
    message = Message(id="m", notices=tuple(Notice(finding=one) for one in pair))
    assert message.title.startswith(
        "Worse: 1 series of 1 case, latency_p50: up to 10 % slower, median 10 %; 1 worse, 1 better"
    )
    assert "all of them: benchwright findings show c" in message.text
    assert message.markdown.count("**`Better: ") == 1
