"""Comments and statuses on GitHub and GitLab, against servers that answer as theirs do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.config import Notify
from benchwright.errors import OptionError, UploadError
from benchwright.notify import DeliveryOutcome, Message, Notice, Notifier, sender_at, try_target
from benchwright.records import Verdict
from benchwright.records.findings import Finding, State
from benchwright.store import Store, open_store
from benchwright.system.http import PassingError

Make = Callable[..., Finding]
TOKEN = "ghp_deadbeef"


class Forge:
    """Keeps comments and hands them out again, a hundred to a page."""

    def __init__(self, peer: Any) -> None:
        self.comments: dict[str, list[dict[str, Any]]] = {}
        self.statuses: list[tuple[str, dict[str, Any]]] = []
        peer.answer = self.answer

    def answer(self, request: Any) -> tuple[int, dict[str, str], Any]:
        if TOKEN not in request.headers.get("authorization", "") + request.headers.get("private-token", ""):
            return 401, {}, {"message": "Bad credentials"}
        path, _, query = request.path.partition("?")
        if "/statuses/" in path:
            status = request.json()
            if path.startswith("/gl") and status["state"] == dict(self.states()).get(path):
                return 400, {}, {"message": f"Cannot transition status via :event from :{status['state']}"}
            self.statuses.append((path, status))
            return 201, {}, {}
        if path.endswith(("/comments", "/notes")):
            there = self.comments.setdefault(path, [])
            if request.method == "POST":
                there.append(request.json())
                return 201, {}, {}
            page = int(query.rpartition("page=")[2])
            return 200, {}, there[100 * (page - 1) : 100 * page]
        return 200, {}, {}

    def states(self) -> list[tuple[str, str]]:
        return [(path, status["state"]) for path, status in self.statuses]


@pytest.fixture
def forge(peer: Any, monkeypatch: pytest.MonkeyPatch) -> Forge:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("GITLAB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_API_URL", f"http://{peer.host}/gh")
    monkeypatch.setenv("CI_API_V4_URL", f"http://{peer.host}/gl")
    return Forge(peer)


def message(*findings: Finding, sketch: str = "▁│█") -> Message:
    notices = (Notice(finding=finding, link=f"https://x/{finding.id}", sketch=sketch) for finding in findings)
    return Message(id="m1", notices=tuple(notices))


PLACES = [
    ("github://owner/name", "/gh/repos/owner/name/commits/c0ffee/comments", "body", "failure"),
    ("gitlab://group/sub/name", "/gl/projects/group%2Fsub%2Fname/repository/commits/c0ffee/comments", "note", "failed"),
]


@pytest.mark.parametrize(("url", "path", "key", "state"), PLACES, ids=["github", "gitlab"])
def test_the_commit_gets_one_comment_and_a_status(
    url: str, path: str, key: str, state: str, forge: Forge, found: Make
) -> None:
    assert sender_at(url).send(message(found())) == "1 comments, 1 statuses"
    assert sender_at(url).send(message(found())) == "0 comments, 1 statuses"  # as after a crash before it was noted
    assert [*forge.comments] == [path]
    (comment,) = forge.comments[path]
    assert "▁│█" in comment[key] and "https://x/f1" in comment[key] and "10 % slower" in comment[key]
    where, status = forge.statuses[0]
    assert where.endswith("/statuses/c0ffee") and (status["state"], status["target_url"]) == (state, "https://x/f1")
    assert status["description"].startswith("Worse: bench.py::encode n=4  latency_p50 10 % slower")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "results.db")) as opened:
        yield opened


def _kept(store: Store, finding: Finding) -> Finding:
    return store.keep_finding(replace(finding, runs=("run-2",), found_at="2026-11-01T00:00:00+00:00"))


@pytest.mark.parametrize(
    ("url", "failure"),
    [("github://owner/name", "failure"), ("gitlab://group/name", "failed")],
    ids=["github", "gitlab"],
)
def test_a_status_is_taken_back_when_nothing_at_its_commit_stands_and_set_again_when_it_returns(
    url: str, failure: str, forge: Forge, found: Make, store: Store, tmp_path: Path
) -> None:
    notifier = Notifier(Notify(targets=(url,), together=1), journal=tmp_path / "notified.jsonl")
    first, second, other = (_kept(store, found(name, series=name)) for name in ("a", "b", "c"))
    elsewhere = replace(other, suspects=(), revisions=("1", "2"), cause="cause-2")
    notifier.tell([first, second, elsewhere], store)
    store.update_finding("a", state=State.RESOLVED)
    assert notifier.tell([], store) == []  # another one at that commit stands
    store.update_finding("b", state=State.IGNORED)
    (told,) = notifier.tell([], store)
    assert (told.outcome, told.findings) == (DeliveryOutcome.WITHDRAWN, ("a", "b")) and "1 statuses" in told.why
    assert notifier.tell([], store) == []  # once
    store.update_finding("a", state=State.OPEN)
    (told,) = notifier.tell([], store)
    assert (told.outcome, told.findings, told.why) == (DeliveryOutcome.SENT, ("a",), "0 comments, 1 statuses")
    store.update_finding("a", state=State.RESOLVED)
    assert [told.outcome for told in notifier.tell([], store)] == [DeliveryOutcome.WITHDRAWN]
    assert [(path.rpartition("/")[2], state) for path, state in forge.states()] == [
        ("c0ffee", failure), ("2", failure), ("c0ffee", "success"), ("c0ffee", failure), ("c0ffee", "success"),
    ]  # fmt: skip
    assert forge.statuses[-1][1]["description"].startswith("Settled: bench.py::encode n=4  latency_p50 10 % slower")


def test_a_status_that_cannot_be_taken_back_is_tried_again_and_dropped_after_a_week(
    forge: Forge, peer: Any, found: Make, store: Store, tmp_path: Path
) -> None:
    now = [1_800_000_000.0]
    settings = Notify(targets=("github://owner/name",))
    notifier = Notifier(settings, journal=tmp_path / "notified.jsonl", clock=lambda: now[0])
    notifier.tell([_kept(store, found("a"))], store)
    store.update_finding("a", state=State.RESOLVED)
    peer.answer = lambda _: (503, {}, {})
    outcomes = []
    for pause in (0, 30, 60, 8 * 24 * 3600, 3600):
        now[0] += pause
        outcomes += [told.outcome for told in notifier.tell([], store)]
    assert outcomes == [DeliveryOutcome.FAILED, DeliveryOutcome.LATER, DeliveryOutcome.FAILED, DeliveryOutcome.DROPPED]


def test_a_message_is_not_taken_back_where_that_means_nothing(
    peer: Any, found: Make, store: Store, tmp_path: Path
) -> None:
    notifier = Notifier(Notify(targets=(f"webhook+http://{peer.host}/",)), journal=tmp_path / "notified.jsonl")
    notifier.tell([_kept(store, found("a"))], store)
    store.update_finding("a", state=State.RESOLVED)
    assert notifier.tell([], store) == [] and len(peer.requests) == 1


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("github://owner/name?pull=12&status=no", "/gh/repos/owner/name/issues/12/comments"),
        ("gitlab://group/name?merge_request=12&status=no", "/gl/projects/group%2Fname/merge_requests/12/notes"),
    ],
)
def test_a_request_gets_the_comment_in_the_commits_place(url: str, path: str, forge: Forge, found: Make) -> None:
    both = message(found("a"), found("b", revisions=(), suspects=()))
    assert sender_at(url).send(both) == "1 comments, 0 statuses"
    assert [*forge.comments] == [path] and forge.statuses == []


def test_findings_of_several_commits_are_told_at_each_and_what_is_there_is_not_repeated(
    forge: Forge, found: Make
) -> None:
    sender = sender_at("github://owner/name")
    sender.send(message(found("a")))
    other = found("c", revisions=("1", "2"), suspects=())
    better = found("d", revisions=("1", "3"), suspects=(), verdict=Verdict.BETTER)
    assert sender.send(message(found("a"), found("b"), other, better)) == "3 comments, 2 statuses"
    first, second = (each["body"] for each in forge.comments["/gh/repos/owner/name/commits/c0ffee/comments"])
    assert "https://x/a" in first and "https://x/a" not in second and "https://x/b" in second
    assert [where.rpartition("/")[2] for where, _ in forge.statuses] == ["c0ffee", "c0ffee", "2"]


def test_a_comment_far_back_is_seen(forge: Forge, found: Make) -> None:
    sender = sender_at("github://owner/name")
    sender.send(message(found()))
    path = "/gh/repos/owner/name/commits/c0ffee/comments"
    forge.comments[path] = [{"body": "hello"}] * 150 + forge.comments[path]
    assert sender.send(message(found())) == "0 comments, 1 statuses"


def test_a_test_leaves_nothing_behind(forge: Forge, peer: Any) -> None:
    for url in ("github://owner/name", "gitlab://group/name"):
        assert "leaves no comment" in try_target(url)
    assert peer.posts() == [] and len(peer.requests) == 2


def test_a_token_may_be_in_a_file_or_a_variable_of_its_own(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("MINE", TOKEN)
    try_target("github://${MINE}@owner/name")
    try_target(f"github://${{file:{tmp_path / 'token'}}}@owner/name")
    monkeypatch.setenv("GITHUB_TOKEN_FILE", str(tmp_path / "token"))
    try_target("github://owner/name")


def test_a_wrong_token_is_refused_without_being_shown(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "wr0ng")
    with pytest.raises(UploadError, match="check its token") as raised:
        try_target("github://owner/name")
    assert "wr0ng" not in str(raised.value)


def test_an_hour_that_is_used_up_is_trouble_that_passes(forge: Forge, peer: Any) -> None:
    peer.answer = lambda _: (403, {"X-RateLimit-Remaining": "0"}, {})
    with pytest.raises(PassingError) as raised:
        try_target("github://owner/name")
    assert raised.value.pause == 600


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("github://owner", "does not name a repository"),
        ("github://owner/../name", "does not name a repository"),
        ("github://owner/na{me}", "does not name a repository"),
        ("github://owner/name?pul=1", "did you mean 'pull'"),
        ("github://owner/name?pull=x", "not a number"),
        ("github://owner/name?comment=maybe", "yes or no"),
        ("gitlab://group/name?api=http://gitlab.example.com/api/v4", "without encryption"),
        ("gitlab://group/name?api=gitlab.example.com", "https://"),
    ],
)
def test_a_wrong_address_is_refused_before_anything_is_sent(url: str, message: str, forge: Forge) -> None:
    with pytest.raises(OptionError, match=message):
        sender_at(url)


def test_a_token_of_two_lines_is_refused_and_not_shown(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "dead\nbeef")
    with pytest.raises(OptionError, match="more than one line") as raised:
        sender_at("github://owner/name")
    assert "beef" not in str(raised.value)
