"""Links to the code on pages, and issues and comments that a server makes, at a forge on the loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchwright.config import Project
from benchwright.records.findings import Suspect
from benchwright.vcs.forges import Projects
from benchwright.workflows import forge_issues
from forge_peer import TOKEN, ForgePeer, unquoted_query
from http_peer import Peer, serving_peer

OLD, NEW = "a" * 40, "b" * 40


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgePeer]:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    with Peer() as peer, serving_peer(peer):
        yield ForgePeer(peer, "gitlab", path="group/sub/name")


@pytest.fixture
def team(serving: Callable[..., Any], filled: Any, forge: ForgePeer, tmp_path: Any) -> Iterator[Any]:
    """A server that may write at the forge, with a finding whose commit is known."""
    project = Project(url=forge.url, forge="gitlab", token="${FORGE_TOKEN}", remotes=("https://copies.example/*",))
    with serving(tmp_path, projects=Projects((project,)), require_token=True) as made:
        found = filled(made.store)
        suspect = Suspect(revision=NEW, probability=0.9, subject="Use a list", author="Ada", pull_request=12)
        made.store.update_finding(found.id, revisions=(OLD, NEW), suspects=(suspect,))
        yield made


def test_pages_say_where_their_repositories_show_code(team: Any, forge: ForgePeer) -> None:
    read = team.token("eve", "read")
    for path in ("overview", "findings", "findings/f1", "runs", "causes"):
        (links,) = team.get(path, headers=read).json()["code"].values()
        assert links["commit"] == f"{forge.url}/-/commit/{{commit}}"
        assert TOKEN not in str(links) and "FORGE_TOKEN" not in str(links)
    team.store.update_finding("f1", repository="https://copies.example/x/y")
    code = team.get("findings/f1", headers=read).json()["code"]
    assert {name: links["web"] for name, links in code.items()} == {
        "": forge.url, "https://copies.example/x/y": forge.url,
    }  # fmt: skip


def test_whoever_reads_gets_the_form_and_only_who_triages_sends(team: Any, forge: ForgePeer) -> None:
    page = "http://127.0.0.1:8765/#/findings/f1"
    read, triage = team.token("eve", "read"), team.token("Ada", "triage")
    draft = team.get("findings/f1/issue", params={"page": page}, headers=read).json()
    assert draft["can_send"] and draft["opened"] == "" and draft["request"] == 12
    fields = unquoted_query(draft["form"])
    assert (fields["issue[title]"], fields["issue[description]"]) == (draft["title"], draft["text"])
    assert page not in draft["text"]  # nobody else can open an address of this machine
    for path in ("issue", "pull-request-comment"):
        assert team.post(f"findings/f1/{path}", json={}, headers=read).status_code == 403
        assert team.post(f"findings/f1/{path}", json={}).status_code == 401
    assert forge.peer.requests == []
    made = [team.post("findings/f1/issue", json={"page": page}, headers=triage) for _ in range(2)]
    assert [one.status_code for one in made] == [200, 200]
    assert [one.json()["opened"] for one in made] == [f"{forge.url}/-/issues/1"] * 2 and len(forge.issues) == 1
    told = team.post("findings/f1/pull-request-comment", json={}, headers=triage).json()
    assert told["commented"] == f"{forge.url}/-/merge_requests/12#note_500" and [*forge.comments] == ["12"]
    story = [(remark.who, remark.what, remark.text) for remark in team.store.finding("f1").remarks]
    assert story == [
        ("Ada", "issue", f"{forge.url}/-/issues/1"),
        ("Ada", "commented on the pull request", told["commented"]),
    ]
    said = str([entry.what for entry in team.store.audit(limit=100, before=0)])
    assert f"f1: {forge.url}/-/issues/1" in said and TOKEN not in said


def test_a_cause_is_one_issue_and_each_finding_tells_of_it(team: Any, forge: ForgePeer) -> None:
    cause = team.store.finding("f1").cause
    triage = team.token("Ada", "triage")
    assert f"<!-- benchwright {cause} -->" in team.get(f"causes/{cause}/issue", headers=triage).json()["text"]
    opened = team.post(f"causes/{cause}/issue", json={}, headers=triage).json()["opened"]
    assert opened == f"{forge.url}/-/issues/1" and team.store.finding("f1").remarks[-1].text == opened
    assert team.get("causes/cause-none/issue", headers=triage).status_code == 404
    assert team.get("causes/f1/issue", headers=triage).status_code == 422


def test_another_server_of_the_database_waits_for_the_one_that_makes_an_issue(
    team: Any, forge: ForgePeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    triage = team.token("Ada", "triage")
    what = "issue <!-- benchwright f1 -->"
    assert team.store.claim(what, "another server", seconds=60)
    monkeypatch.setattr(forge_issues, "PATIENCE", 0.0)
    busy = team.post("findings/f1/issue", json={}, headers=triage)
    assert busy.status_code == 502 and "is being made" in busy.json()["error"] and not forge.issues
    team.store.give_back(what, "another server")
    assert team.post("findings/f1/issue", json={}, headers=triage).status_code == 200 and len(forge.issues) == 1
    assert team.store.claim(what, "another server", seconds=60)  # it was given back


def test_an_address_that_others_reach_is_told_and_another_servers_is_not(team: Any) -> None:
    read = team.token("eve", "read")
    for host, page, told in (
        ("bench.example", "https://bench.example/sub/#/findings/f1", True),
        ("bench.example", "https://evil.example/#/findings/f1", False),
        ("bench.example", "javascript:alert(1)", False),
    ):
        headers = {**read, "Host": host}
        answer = team.get("findings/f1/issue", params={"page": page}, headers=headers)
        if answer.status_code == 200:
            assert ("bench.example/sub/#/findings/f1" in answer.json()["text"]) is told
            assert "evil" not in answer.json()["text"] and "javascript" not in answer.json()["text"]


def test_trouble_at_the_forge_is_told_and_tried_again_makes_one(team: Any, forge: ForgePeer) -> None:
    triage = team.token("Ada", "triage")
    forge.lose = 1
    lost = team.post("findings/f1/issue", json={}, headers=triage)
    assert lost.status_code == 502 and "nothing is made twice" in lost.json()["remedy"] and TOKEN not in lost.text
    assert team.store.finding("f1").remarks == ()
    assert team.post("findings/f1/issue", json={}, headers=triage).json()["opened"] and len(forge.issues) == 1


@pytest.mark.parametrize("body", ['{"pull_request": -1}', '{"pull_request": "12"}', '{"what": 1}', "[]"])
def test_a_wish_that_cannot_be_read_sends_nothing(team: Any, forge: ForgePeer, body: str) -> None:
    triage = team.token("Ada", "triage")
    assert team.post("findings/f1/pull-request-comment", content=body, headers=triage).status_code == 400
    assert forge.peer.requests == []


def test_a_server_without_a_token_offers_the_form_alone(
    serving: Callable[..., Any], filled: Any, tmp_path: Any
) -> None:
    with serving(tmp_path, projects=Projects((Project(url="https://github.com/o/n"),))) as plain:
        filled(plain.store)
        draft = plain.get("findings/f1/issue").json()
        assert not draft["can_send"] and draft["form"].startswith("https://github.com/o/n/issues/new?title=")
        refused = plain.post("findings/f1/issue", json={})
        assert refused.status_code == 400 and "has no token" in refused.json()["error"]
        assert plain.post("findings/f1/pull-request-comment", json={}).status_code == 422
