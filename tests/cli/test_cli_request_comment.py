"""`benchwright notify comment`: one comment on a request, that later ones change."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import http_peer
from forge_peer import TOKEN, ForgePeer

Call = Callable[..., "subprocess.CompletedProcess[str]"]
VARIABLES = (
    "GITHUB_ACTIONS",
    "GITHUB_REPOSITORY",
    "GITHUB_SERVER_URL",
    "GITHUB_API_URL",
    "GITHUB_EVENT_PATH",
    "GITHUB_REF",
    "GITLAB_CI",
    "CI_PROJECT_URL",
    "CI_API_V4_URL",
    "CI_MERGE_REQUEST_IID",
    "GH_TOKEN",
    "GITHUB_TOKEN",
)


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "comment.md").write_text("**worse**\n")


@pytest.fixture
def peer() -> Iterator[http_peer.Peer]:
    with http_peer.Peer() as server, http_peer.serving_peer(server):
        yield server


@pytest.fixture(params=["github", "gitlab", "gitea"])
def forge(request: pytest.FixtureRequest, peer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgePeer:
    """A forge that benchwright.toml names, with its token in the usual variable."""
    forge = ForgePeer(peer, request.param)
    monkeypatch.setenv(f"{forge.kind.upper()}_TOKEN", TOKEN)
    (tmp_path / "benchwright.toml").write_text(f'[project]\nurl = "{forge.url}"\nforge = "{forge.kind}"\n')
    return forge


def test_a_comment_is_made_once_and_then_changed(forge: ForgePeer, inside: Call, tmp_path: Path) -> None:
    made = inside("notify", "comment", "comment.md", "--pull-request", "12", "--json")
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["kind"] == "request-comment" and document["data"]["made"]
    changed = inside("notify", "comment", "--pull-request", "#12", input="**better**")
    assert changed.stdout.endswith("was changed\n") and document["data"]["url"] in changed.stdout
    other = inside("notify", "comment", "comment.md", "--pull-request", "12", "--comment-name", "memory")
    assert other.stdout.endswith("was made\n")
    assert [entry["body"] for entry in forge.comments["12"]] == [
        "<!-- benchwright:comparison -->\n**better**\n",
        "<!-- benchwright:memory -->\n**worse**\n",
    ]
    assert TOKEN not in made.stdout + changed.stdout


def test_a_comment_of_somebody_else_is_left_alone(forge: ForgePeer, inside: Call) -> None:
    forge.comments["3"] = [
        {"id": 1, "body": "see <!-- benchwright:comparison --> above"},
        {"id": 2, "body": "<!-- benchwright:comparison -->\nspoofed", "foreign": True},
    ]
    for _ in range(2):
        assert inside("notify", "comment", "comment.md", "--pull-request", "3").returncode == 0
    assert [entry["id"] for entry in forge.comments["3"]] == [1, 2, 502]
    assert "spoofed" in forge.comments["3"][1]["body"]


@pytest.mark.parametrize(
    ("status", "headers"),
    [(502, {}), (401, {}), (500, {}), (422, {}), (403, {"X-RateLimit-Remaining": "0"}), (403, {"Retry-After": "60"})],
)
def test_a_change_that_fails_makes_no_second_comment(
    forge: ForgePeer, inside: Call, status: int, headers: dict[str, str]
) -> None:
    assert inside("notify", "comment", "comment.md", "--pull-request", "12").returncode == 0
    forge.refuse_change = (status, headers)
    failed = inside("notify", "comment", "--pull-request", "12", input="**better**")
    assert failed.returncode == 2 and "comment 500 could not be changed, and no second one was made" in failed.stderr
    assert str(status) in failed.stderr and failed.stderr.count(forge.url) == 1
    assert [entry["body"] for entry in forge.comments["12"]] == ["<!-- benchwright:comparison -->\n**worse**\n"]
    forge.refuse_change = None
    assert inside("notify", "comment", "--pull-request", "12", input="**better**").stdout.endswith("was changed\n")


def test_a_long_text_is_cut(forge: ForgePeer, inside: Call) -> None:
    assert inside("notify", "comment", "--pull-request", "1", input="x" * 100_000).returncode == 0
    assert len(forge.comments["1"][0]["body"]) < 65_536 and "is cut here" in forge.comments["1"][0]["body"]


@pytest.mark.parametrize("event", ["pull_request", "issue_comment", "GITHUB_REF"])
def test_github_says_which_request_is_built(
    peer: Any, inside: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    forge = ForgePeer(peer, "github")
    described = (
        {"pull_request": {"number": 7}} if event == "pull_request" else {"issue": {"number": 7, "pull_request": {}}}
    )
    (tmp_path / "event.json").write_text(json.dumps(described))
    for name, value in {
        "GITHUB_ACTIONS": "true",
        "GITHUB_SERVER_URL": f"http://{peer.host}",
        "GITHUB_API_URL": f"http://{peer.host}/api/v3",
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_TOKEN": TOKEN,
        **({"GITHUB_REF": "refs/pull/7/merge"} if event == "GITHUB_REF" else {"GITHUB_EVENT_PATH": "event.json"}),
    }.items():
        monkeypatch.setenv(name, value)
    ended = inside("notify", "comment", "comment.md")
    assert ended.returncode == 0, ended.stderr
    assert len(forge.comments["7"]) == 1


def test_gitlab_says_which_request_is_built(peer: Any, inside: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    forge = ForgePeer(peer, "gitlab", path="group/sub/name")
    for name, value in {
        "GITLAB_CI": "true",
        "CI_PROJECT_URL": forge.url,
        "CI_API_V4_URL": f"http://{peer.host}/api/v4",
        "CI_MERGE_REQUEST_IID": "5",
        "GITLAB_TOKEN": TOKEN,
    }.items():
        monkeypatch.setenv(name, value)
    assert inside("notify", "comment", "comment.md").returncode == 0
    assert len(forge.comments["5"]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["comment.md"], "not the build of a pull or merge request"),
        (["comment.md", "--pull-request", "x"], "is not a number"),
        (["comment.md", "--pull-request", "1", "--comment-name", "--><script>"], "is not a name"),
        (["nowhere.md", "--pull-request", "1"], "cannot be read"),
        (["empty.md", "--pull-request", "1"], "no text for the comment"),
        (["comment.md", "--pull-request", "1"], "the forge is not known"),
    ],
)
def test_what_cannot_be_said_anywhere_is_refused(
    inside: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    (tmp_path / "empty.md").touch()
    (tmp_path / "event.json").write_text("[1]")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    ended = inside("notify", "comment", *words)
    assert ended.returncode == 2 and said in ended.stderr
